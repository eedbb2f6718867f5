//! The documents about configuration, ledger and servers name everything that the code has, and
//! every command line in a page can be typed.

use crate::shown;
use crate::usage::subcommands;
use bashd::config::{KEYS, env_vars};
use bashd::ledger::{Record, RecordedOutcome};
use bashd_testkit::{Home, sources};
use std::collections::BTreeMap;

const CONFIG: &str = include_str!("../../../../docs/config.md");
const LEDGER: &str = include_str!("../../../../docs/ledger.md");

#[test]
fn every_key_has_its_row() {
    for key in KEYS {
        let row = CONFIG
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("docs/config.md has no row for {}", key.name));
        assert!(
            row.contains(&key.variable()),
            "the row of {} lacks {}",
            key.name,
            key.variable()
        );
    }
    let rows = CONFIG
        .lines()
        .filter(|line| line.contains(" | `BASHD_"))
        .count();
    assert_eq!(
        rows,
        KEYS.len(),
        "docs/config.md has rows for keys that don't exist"
    );
    for variable in env_vars::NOT_KEYS {
        assert!(
            CONFIG.contains(&format!("`{variable}`")),
            "docs/config.md lacks {variable}"
        );
    }
}

/// The table of keys as the document shows it, header aside.
fn rows() -> String {
    let (_, report) = bashd::config::resolve(&bashd::config::Sources::default()).unwrap();
    let row = |entry: &bashd::config::ConfigEntry| {
        let (key, value) = (entry.key, &entry.value);
        let meaning = linked(key.meaning);
        format!(
            "| `{}` | `{value}` | `{}` | {meaning} |\n",
            key.name,
            key.variable()
        )
    };
    report.entries.iter().map(row).collect()
}

/// `docs/safe-mode.md` as the link `[safe mode](safe-mode.md)`.
fn linked(text: &str) -> String {
    let split = text.split_once("docs/");
    let Some((before, (page, rest))) =
        split.and_then(|(before, after)| Some((before, after.split_once(".md")?)))
    else {
        return text.to_owned();
    };
    let title = page.replace('-', " ");
    format!("{before}[{title}]({page}.md){}", linked(rest))
}

#[test]
fn the_table_of_keys_is_made_of_the_code() {
    const HEADER: &str = "| key | default | variable | meaning |\n|---|---|---|---|\n";
    let (before, rest) = CONFIG.split_once(HEADER).expect("the table of keys");
    let (table, after) = rest.split_once("\n\n").expect("the table's end");
    let expected = rows();
    if std::env::var_os("BASHD_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
        std::fs::write(path, format!("{before}{HEADER}{expected}\n{after}")).unwrap();
    } else {
        let hint = "docs/config.md differs from the table of keys (BASHD_BLESS=1 writes it anew)";
        same_lines(table, &expected, hint);
    }
}

/// Compares line by line, so that a failure names the row.
fn same_lines(shown: &str, expected: &str, hint: &str) {
    for (shown, expected) in shown.lines().zip(expected.lines()) {
        assert_eq!(shown, expected, "{hint}");
    }
    assert_eq!(shown.lines().count(), expected.lines().count(), "{hint}");
}

#[test]
fn every_default_is_the_documented_one() {
    let sources = bashd::config::Sources::default();
    let (_, report) = bashd::config::resolve(&sources).unwrap();
    for entry in report.entries {
        let row = format!("| `{}` | `{}` |", entry.key.name, entry.value);
        assert!(CONFIG.contains(&row), "docs/config.md should say {row}");
    }
}

#[test]
fn every_field_of_a_record_has_its_row() {
    let record = Record::new(
        "x",
        bashd::ledger::Timestamp::UNIX_EPOCH,
        RecordedOutcome::Failed,
    );
    let json = serde_json::to_value(record).unwrap();
    for field in json.as_object().unwrap().keys() {
        assert!(
            LEDGER.contains(&format!("| `{field}` |")),
            "docs/ledger.md lacks {field}"
        );
    }
}

/// The command lines of bashd in a page: lines of code blocks, and code spans.
fn command_lines(page: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            lines.push(line.trim_start_matches("$ "));
        } else {
            lines.extend(line.split('`').skip(1).step_by(2));
        }
    }
    lines.retain(|line| line.starts_with("bashd "));
    lines
}

/// The words of a command line, without what it quotes and what comes after it.
fn words(line: &str) -> Vec<&str> {
    let line = line.split(" | ").next().unwrap_or(line);
    let line = line.split(" # ").next().unwrap_or(line);
    let outside = line.split(['\'', '"']).step_by(2);
    let words = outside.flat_map(str::split_whitespace);
    let words = words.map(|word| word.trim_matches(['[', ']', '…', ',', ';', ':']));
    words.skip(1).collect()
}

/// What a help text lacks of the options among these words.
fn unknown_options<'a>(words: &[&'a str], help: &str) -> Vec<&'a str> {
    let named = words.iter().filter(|word| word.starts_with("--"));
    let named = named.map(|word| word.split('=').next().unwrap_or(word));
    let known: Vec<&str> = help.split([' ', ',', '\n']).collect();
    named
        .filter(|word| *word != "--" && !known.contains(word))
        .collect()
}

/// The help of subcommands and their actions, each asked for once.
struct Helps {
    home: Home,
    known: BTreeMap<String, String>,
}

impl Helps {
    fn of(&mut self, words: &[&str]) -> String {
        let help = || shown(&self.home, &[words, &["--help"]].concat()).out();
        self.known
            .entry(words.join(" "))
            .or_insert_with(help)
            .clone()
    }

    /// What is wrong with a command line, if it names a subcommand.
    fn problems(&mut self, name: &str, words: &[&str]) -> Vec<String> {
        if !subcommands(&self.of(&[])).contains(&name) {
            return vec![format!("there is no `{name}`")];
        }
        let own = self.of(&[name]);
        let actions = subcommands(&own);
        let given = words.get(1).map_or("", |word| word);
        let given = given.split('|').filter(|word| actions.contains(word));
        let mut helps: Vec<String> = given.map(|action| self.of(&[name, action])).collect();
        if helps.is_empty() {
            helps.push(own.clone());
        }
        let unknown = helps.iter().flat_map(|help| unknown_options(words, help));
        unknown.map(|option| format!("no {option}")).collect()
    }
}

#[test]
fn every_command_line_in_a_page_can_be_typed() {
    let mut helps = Helps {
        home: Home::new(),
        known: BTreeMap::new(),
    };
    let whole = helps.of(&[]);
    let mut unseen = subcommands(&whole);
    let mut problems = Vec::new();
    let pages = sources::all().into_iter().filter(|source| {
        let is_ours = !source.path.contains('/') || source.path.starts_with("docs/");
        // What that one says is made of what was run.
        let is_made = source.path == "docs/acceptance.md";
        source.is("md") && (is_ours || source.path.ends_with("/README.md")) && !is_made
    });
    for page in pages {
        for line in command_lines(&page.text) {
            let words = words(line);
            // Words in capitals stand for others.
            let is_word = |name: &&&str| name.contains(|c: char| c.is_ascii_lowercase());
            let is_name = |name: &&&str| !name.starts_with('-') && is_word(name);
            // No person types it: a carrier does.
            let is_shown = |name: &&&str| **name != "outpost";
            let name = words.first().filter(is_name).filter(is_shown);
            if let Some(name) = name {
                unseen.retain(|subcommand| subcommand != name);
                let found = helps.problems(name, &words);
                problems.extend(
                    found
                        .iter()
                        .map(|problem| format!("{}: {line}: {problem}", page.path)),
                );
            }
        }
    }
    assert!(problems.is_empty(), "not bashd's:\n{}", problems.join("\n"));
    assert!(unseen.is_empty(), "no page shows how to use {unseen:?}");
}

#[test]
fn every_option_of_a_server_is_in_its_page() {
    let home = Home::new();
    for server in ["mcp", "rpc", "acp"] {
        let page = sources::text(&format!("docs/{server}.md")).unwrap();
        let help = shown(&home, &[server, "--help"]).out();
        let (own, _) = help.split_once("\nGlobal options:\n").unwrap();
        let lines = own.lines().map(str::trim_start);
        let lines = lines.filter(|line| line.starts_with("--"));
        let named: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        assert!(named.contains(&"--profile"), "{help}");
        let listed: Vec<&str> = page.split([' ', '`', '\n']).collect();
        for option in named {
            assert!(listed.contains(&option), "docs/{server}.md lacks {option}");
        }
    }
}
