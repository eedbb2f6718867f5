//! Every block of the pages that can be run is run, or the page says why not.
//!
//! `sh` blocks run as scripts, `console` blocks are compared with what their commands print, `json`
//! and `toml` are parsed. Before a block, a comment that readers do not see may say:
//!
//! - `<!-- not run: WHY -->`
//! - `<!-- run after: SCRIPT -->`, which makes what the block needs
//! - `<!-- run with: LINE -->`, which comes first in the block's own shell
//! - `<!-- exits with: N -->`, instead of 0
//! - `<!-- used as: configuration -->`, of TOML that bashd must accept

use bashd_testkit::{Home, loudly, sources};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

/// A fenced block of a page.
struct Snippet {
    place: String,
    language: String,
    text: String,
    not_run: Option<String>,
    run_after: String,
    run_with: String,
    is_configuration: bool,
    status: i32,
}

/// What a test must never run, whatever a page forgot to say of it.
const NEVER: &[&str] = &["sudo ", "systemctl ", "| sh", "npm install", "pip install"];

/// Languages that other tests run or compile, or that only show something.
const ELSEWHERE: &[&str] = &["python", "rust", "rust,no_run", "text", "typescript"];

/// The pages for users, and those at the top.
fn pages() -> Vec<sources::Source> {
    let is_page = |source: &sources::Source| {
        let is_ours = !source.path.contains('/') || source.path.starts_with("docs/");
        // That one is made of what was run.
        source.is("md") && is_ours && source.path != "docs/acceptance.md"
    };
    let pages: Vec<_> = sources::all().into_iter().filter(is_page).collect();
    assert!(pages.len() > 30, "only {} pages", pages.len());
    pages
}

fn snippets(path: &str, text: &str) -> Vec<Snippet> {
    let (mut found, mut open): (Vec<Snippet>, Option<Snippet>) = (Vec::new(), None);
    let (mut directives, mut indent): (Vec<(&str, &str)>, String) = Default::default();
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            if let Some(block) = open.take() {
                found.push(block);
                continue;
            }
            let said = |key: &str| {
                let said = directives.iter().find(|(name, _)| *name == key);
                said.map(|(_, value)| (*value).to_owned())
            };
            open = Some(Snippet {
                place: format!("{path}:{}", index + 1),
                language: language.to_owned(),
                text: String::new(),
                not_run: said("not run"),
                run_after: said("run after").unwrap_or_default(),
                run_with: said("run with").unwrap_or_default(),
                is_configuration: said("used as").is_some_and(|what| what == "configuration"),
                status: said("exits with").map_or(0, |status| status.parse().unwrap()),
            });
            line.chars()
                .take_while(|c| *c == ' ')
                .collect::<String>()
                .clone_into(&mut indent);
            directives.clear();
        } else if let Some(block) = &mut open {
            // A block in a list is indented as far as its fence.
            let text = line.strip_prefix(&*indent).unwrap_or(line);
            writeln!(block.text, "{text}").unwrap();
        } else if let Some(said) = line
            .trim_start()
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            directives.extend(said.split_once(": "));
        } else if !line.is_empty() {
            directives.clear();
        }
    }
    assert!(open.is_none(), "{path}: a block does not end");
    found
}

/// Runs a script with the built `bashd` first in `PATH`, and without stdin.
fn script(home: &Home, text: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_bashd"));
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers/node/node_modules/.bin");
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin:{}",
        binary.parent().unwrap().display(),
        peers.display()
    );
    Command::new("bash")
        .args(["-c", text])
        .env_clear()
        .envs(home.env())
        .env("PATH", path)
        .env("TZ", "UTC")
        .current_dir(home.workspace())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
}

/// What a block needs and is not here.
fn missing(home: &Home, text: &str) -> Option<&'static str> {
    let needed = ["acpx"]
        .into_iter()
        .find(|program| text.contains(program))?;
    let here = script(home, &format!("command -v {needed}"));
    (!here.status.success()).then_some(needed)
}

/// What is wrong with a block.
fn problem(snippet: &Snippet) -> Option<String> {
    let is_run = ["sh", "console"].contains(&snippet.language.as_str());
    if is_run && NEVER.iter().any(|words| snippet.text.contains(words)) {
        return Some("no test may run this: say `not run`, and why".to_owned());
    }
    match snippet.language.as_str() {
        "sh" => runs(snippet),
        "console" => shows(snippet),
        "json" => {
            let read = serde_json::from_str::<serde_json::Value>(&snippet.text);
            read.err().map(|error| error.to_string())
        }
        "toml" if snippet.is_configuration => is_accepted(snippet),
        "toml" => {
            let read = toml::from_str::<toml::Table>(&snippet.text);
            read.err().map(|error| error.to_string())
        }
        "" => Some("say its language; what is only shown is `text`".to_owned()),
        other if ELSEWHERE.contains(&other) => None,
        other => Some(format!("nothing runs `{other}`")),
    }
}

/// What bashd says against a configuration.
fn is_accepted(snippet: &Snippet) -> Option<String> {
    let home = Home::new();
    let file = home.config().join("config.toml");
    std::fs::write(&file, &snippet.text).unwrap();
    let done = script(&home, "bashd config show && bashd rules");
    let complaints = String::from_utf8_lossy(&done.stderr).into_owned();
    (!done.status.success() || !complaints.is_empty()).then_some(complaints)
}

fn home_for(snippet: &Snippet) -> Home {
    let home = Home::new().keeping_in_state(&["runs", "artifacts", "changes", "init"]);
    let made = script(&home, &snippet.run_after);
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{}: {stderr}", snippet.place);
    home
}

fn runs(snippet: &Snippet) -> Option<String> {
    let home = home_for(snippet);
    if let Some(program) = missing(&home, &snippet.text) {
        loudly(&format!(
            "{} is NOT run: there is no {program}",
            snippet.place
        ));
        return None;
    }
    let done = script(
        &home,
        &format!("set -eo pipefail\n{}\n{}", snippet.run_with, snippet.text),
    );
    let told = String::from_utf8_lossy(&done.stdout);
    let complaints = String::from_utf8_lossy(&done.stderr);
    let code = done.status.code();
    (code != Some(snippet.status)).then(|| format!("status {code:?}\n{told}{complaints}"))
}

/// Compares what each `$ command` prints with what the page shows.
fn shows(snippet: &Snippet) -> Option<String> {
    let home = home_for(snippet);
    let mut problems = String::new();
    for step in snippet.text.split("$ ").filter(|step| !step.is_empty()) {
        let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
        let done = script(&home, command);
        let mut told = String::from_utf8_lossy(&done.stdout).into_owned();
        if !told.is_empty() && !told.ends_with('\n') {
            told.push('\n');
        }
        if redacted(&told) != redacted(expected) {
            let complaints = String::from_utf8_lossy(&done.stderr);
            write!(problems, "$ {command}\n{told}{complaints}").unwrap();
        }
    }
    end_survivors(&home);
    (!problems.is_empty()).then_some(problems)
}

/// The text with a placeholder for the process id, which differs from run to run.
fn redacted(text: &str) -> String {
    let Some((before, after)) = text.split_once("process ") else {
        return text.to_owned();
    };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}process N{rest}")
}

/// What a block leaves running on purpose is ended, by its pid.
fn end_survivors(home: &Home) {
    let found = script(
        home,
        "pgrep -x sleep | while read -r pid; do \
        tr '\\0' '\\n' </proc/$pid/environ 2>/dev/null | grep -qx \"BASHD_TEST_MARK=$BASHD_TEST_MARK\" \
        && kill $pid; done; true",
    );
    assert!(found.status.success());
}

#[test]
fn every_block_of_the_pages_runs_or_says_why_not() {
    let (mut problems, mut run) = (Vec::new(), 0);
    for page in pages() {
        for snippet in snippets(&page.path, &page.text) {
            if let Some(reason) = &snippet.not_run {
                assert!(reason.len() > 10, "{}: {reason}", snippet.place);
                continue;
            }
            run += usize::from(["sh", "console"].contains(&snippet.language.as_str()));
            let found = problem(&snippet);
            problems.extend(found.map(|what| format!("{}: {what}", snippet.place)));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(run > 8, "only {run} blocks were run");
}

#[test]
fn every_rule_that_a_page_names_exists() {
    let home = Home::new();
    let rules = script(&home, "bashd rules");
    let rules = String::from_utf8_lossy(&rules.stdout).into_owned();
    let (mut unknown, mut named) = (Vec::new(), 0);
    for page in [
        "README.md",
        "SECURITY.md",
        "docs/guard.md",
        "docs/hook.md",
        "docs/safe-mode.md",
    ] {
        let text = sources::text(page).unwrap();
        let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        for word in words.filter(|word| word.starts_with("no_")) {
            named += 1;
            let is_known = rules.split_whitespace().any(|rule| rule == word);
            unknown.extend((!is_known).then(|| format!("{page}: {word}")));
        }
    }
    assert!(named > 20, "only {named} rules are named");
    assert!(unknown.is_empty(), "not in `bashd rules`: {unknown:?}");
}

#[test]
fn blocks_and_what_is_said_of_them_are_found() {
    let page = "<!-- not run: it takes an hour -->\n\n```sh\none\n```\n\n<!-- run after: a; b -->\n\
        <!-- exits with: 3 -->\n```sh\ntwo\n```\n<!-- not run: of another -->\ntext\n```sh\nthree\n```\n";
    let found = snippets("page", page);
    let [one, two, three] = &found[..] else {
        panic!("{} blocks", found.len());
    };
    assert_eq!(one.not_run.as_deref(), Some("it takes an hour"));
    assert_eq!((two.run_after.as_str(), two.status), ("a; b", 3));
    assert_eq!(
        (three.not_run.as_deref(), three.text.as_str()),
        (None, "three\n")
    );
}
