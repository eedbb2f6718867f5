//! What a script really runs against the verdict: random scripts under real bash, with stubs in
//! place of the programs that could do harm.
//!
//! Each script hides one command by several means. It runs in a scratch directory with a `PATH`
//! that has nothing but stubs and a few harmless programs; a stub writes down its name and words.
//! Where a stub was called in a way that a rule denies, the verdict on the script must not be
//! `allow`. Where none was, the script was harmless, and refusals are counted.

use crate::guard_properties::Random;
use crate::spellings::{base64, spelled};
use bashd_script::guard::{Guard, RULES, Verdict};
use bashd_script::script::Script;
use bashd_testkit::repeat::is_soak;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scripts in a soak run.
const SCRIPTS: usize = 100_000;

/// Scripts that one bash runs, one after the other: starting it takes longer than a script.
const AT_ONCE: usize = 50;

/// One of so many may be missed in a soak run, and none in any other.
const MOST_MISSED: usize = 2000;

/// Programs that a stub stands for.
const STUBS: [&str; 8] = [
    "rm",
    "git",
    "dd",
    "mkfs.ext4",
    "chmod",
    "chown",
    "shred",
    "sudo",
];

/// Harmless programs that scripts may use.
const TOOLS: [&str; 22] = [
    "cat", "base64", "rev", "tr", "sed", "cut", "head", "tail", "env", "xargs", "nice", "timeout",
    "tee", "nohup", "sh", "bash", "printf", "echo", "find", "dirname", "perl", "awk",
];

/// The rule that is about how something is run, whatever that is.
const HIDING: &str = "no_hidden_script";

/// The means that it asks about.
const DECODING: [&str; 6] = ["base64", "base64 | bash", "eval base64", "rev", "tr", "cut"];

/// Commands that a rule denies, and harmless ones of the same shape.
const BAD: [&[&str]; 6] = [
    &["rm", "-rf", "/"],
    &["rm", "-r", "-f", "/home/../"],
    &["git", "push", "--force", "origin"],
    &["dd", "if=x", "of=/dev/sda"],
    &["mkfs.ext4", "/dev/sda1"],
    &["chmod", "-R", "777", "/"],
];
const GOOD: [&[&str]; 6] = [
    &["rm", "-rf", "build"],
    &["rm", "-f", "a.txt"],
    &["git", "push", "origin", "main"],
    &["dd", "if=x", "of=y.img", "count=1"],
    &["git", "status"],
    &["chmod", "-R", "755", "build"],
];

/// What stands around a command.
struct Around {
    name: &'static str,
    /// `%` is the text, `%q` the text in single quotes, `%b` the text as base64, `%l` the text if
    /// it can stand in a literal of another language.
    template: &'static str,
    /// Whether it can only take the words of one command.
    takes_words: bool,
}

const fn text(name: &'static str, template: &'static str) -> Around {
    Around {
        name,
        template,
        takes_words: false,
    }
}

const fn words(name: &'static str, template: &'static str) -> Around {
    Around {
        name,
        template,
        takes_words: true,
    }
}

const AROUND: [Around; 56] = [
    text("list", "true && %"),
    text("list", "false || { %\n}"),
    text("subshell", "(%\n)"),
    text("condition", "if true; then %\nfi"),
    text("case", "case x in x) %\n;; esac"),
    text("loop", "for i in 1; do %\ndone"),
    text("while", "while true; do %\nbreak; done"),
    text("function", "f() { %\n}; f"),
    text("substitution", "x=$(%\n)"),
    text("negation", "! { %\n}"),
    words("function with words", "f() { \"$@\"; }; f %"),
    words(
        "function with words",
        "f() { local c=$1; shift; $c \"$@\"; }; f %",
    ),
    words("set --", "set -- %; \"$@\""),
    words("set and shift", "set -- x %; shift; \"$@\""),
    words("array", "a=(%); \"${a[@]}\""),
    words("array slice", "a=(x %); \"${a[@]:1}\""),
    words("env", "env A=b %"),
    words("nice", "nice -n 5 timeout 9 %"),
    words("command", "command %"),
    words("for", "for w in \"$(echo %)\"; do $w; done"),
    text("eval", "eval %q"),
    text("bash -c", "bash -c %q"),
    text("bash -c with words", "bash -c 'eval \"$1\"' _ %q"),
    text("bash <<<", "bash <<< %q"),
    text("echo | bash", "echo %q | bash"),
    text("printf | bash", "printf '%s\\n' %q | bash"),
    text("cat | bash", "cat <<< %q | bash"),
    text("base64 | bash", "echo %b | base64 -d | bash"),
    text("eval base64", "eval \"$(echo %b | base64 -d)\""),
    text("bash <(…)", "bash <(echo %q)"),
    text("source <(…)", "source <(echo %q)"),
    text("file", "echo %q > x.sh; bash x.sh"),
    text("sourced file", "echo %q > x.sh; . ./x.sh"),
    text("tee", "tee x.sh <<< %q > /dev/null; bash x.sh"),
    text("trap", "(trap %q EXIT)"),
    text("variable", "c=%q; eval \"$c\""),
    text("while read", "while read -r l; do eval \"$l\"; done <<< %q"),
    text("xargs", "printf '%s' %q | xargs -0 bash -c"),
    text("bash -s", "bash -s <<< %q"),
    text("exec", "(exec bash -c %q)"),
    text("coproc", "coproc { %\n}; wait"),
    text("group", "{ echo %q; } | bash"),
    text("background", "{ %\n} & wait"),
    text("pipe", "true | { %\n}"),
    text("function eval", "f() { eval \"$1\"; }; f %q"),
    text(
        "two functions",
        "g() { eval \"$*\"; }; f() { g \"$@\"; }; f %q",
    ),
    text("set eval", "set -- %q; eval \"$1\""),
    text("array eval", "a=(%q); eval \"${a[0]}\""),
    text("export", "export C=%q; bash -c 'eval \"$C\"'"),
    text("environment", "C=%q bash -c 'eval \"$C\"'"),
    text("find -exec", "find . -maxdepth 0 -exec bash -c %q \\;"),
    words("find -exec", "find . -maxdepth 0 -exec % \\;"),
    words("xargs -I", "echo x | xargs -I{} %"),
    words("variable", "c=\"%\"; $c"),
    text("awk", "awk 'BEGIN{system(\"%l\")}'"),
    text("perl", "perl -e 'system(\"%l\")'"),
];

/// A script that runs a command by several means.
struct Hidden {
    text: String,
    means: Vec<&'static str>,
}

fn hide(random: &mut Random, command: &[&str]) -> Hidden {
    let mut means = Vec::new();
    let mut before = String::new();
    let mut spellings = Vec::new();
    for word in command {
        spellings.push(spelled(random, word, &mut means, &mut before));
    }
    let mut script = spellings.join(" ");
    let mut is_words = true;
    for _ in 0..random.next(4) {
        let around = &AROUND[random.next(AROUND.len())];
        if around.takes_words && !is_words {
            continue;
        }
        let is_kept = !["%q", "%b", "%l"]
            .iter()
            .any(|it| around.template.contains(it));
        if !is_kept {
            // Another shell gets the text, with what the text needs.
            script = std::mem::take(&mut before) + &script;
        }
        if around.name == "while read" && script.contains('\n') {
            continue;
        }
        let is_literal = !script.contains(['\'', '"', '$', '\\', '@', '\n', '%', '`']);
        if around.template.contains("%l") && !is_literal {
            continue;
        }
        let quoted = format!("'{}'", script.replace('\'', "'\\''"));
        let template = around.template.replace("%s", "\0").replace("%q", "\u{1}");
        let template = template.replace("%b", "\u{2}");
        let template = template.replace("%l", "\u{3}").replace('%', "\u{3}");
        let coded = base64(&script);
        script = template.replace('\u{3}', &script).replace('\u{2}', &coded);
        script = script.replace('\u{1}', &quoted).replace('\0', "%s");
        is_words &= matches!(around.name, "env" | "nice" | "command");
        means.push(around.name);
    }
    Hidden {
        text: before + &script,
        means,
    }
}

/// A directory with stubs, tools and what they wrote down.
struct Stage {
    root: PathBuf,
}

impl Stage {
    fn new(root: &Path) -> Self {
        let path = root.join("path");
        fs::create_dir_all(&path).expect("a directory for programs");
        for stub in STUBS {
            let file = path.join(stub);
            let script =
                "#!/bin/sh\n{ printf '%s\\0' \"${0##*/}\" \"$@\"; printf '\\n'; } >> \"$LOG\"\n";
            fs::write(&file, script).expect("a stub");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        for tool in TOOLS {
            let found = ["/bin", "/usr/bin"]
                .iter()
                .map(|place| Path::new(place).join(tool));
            let found = found.into_iter().find(|place| place.exists());
            if let Some(found) = found {
                std::os::unix::fs::symlink(found, path.join(tool)).expect("a tool");
            }
        }
        Self {
            root: root.to_owned(),
        }
    }

    /// Runs scripts one after the other, each in a shell of its own; what stubs each has called.
    fn run(&self, scripts: &[Hidden]) -> Vec<Vec<Vec<String>>> {
        let work = self.root.join("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).expect("a directory to run in");
        for (index, script) in scripts.iter().enumerate() {
            fs::write(work.join(format!("{index}.script")), &script.text).expect("a script");
        }
        let driver = "i=0; while [ $i -lt $COUNT ]; do export LOG=$PWD/$i.log; \
                      ( . ./$i.script ) </dev/null >/dev/null 2>&1; i=$((i+1)); done";
        let status = Command::new("/bin/bash")
            .args(["--norc", "--noprofile", "-c", driver])
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.root.join("path"))
            .env("HOME", &work)
            .env("COUNT", scripts.len().to_string())
            .stdin(Stdio::null())
            .status();
        assert!(status.expect("bash").success(), "the driver failed");
        let called = |index: usize| {
            let log = fs::read(work.join(format!("{index}.log"))).unwrap_or_default();
            let text = String::from_utf8_lossy(&log).into_owned();
            let words = |line: &str| {
                line.split_terminator('\0')
                    .map(str::to_owned)
                    .collect::<Vec<String>>()
            };
            text.lines().map(words).collect()
        };
        (0..scripts.len()).map(called).collect()
    }
}

/// How many scripts are run: all in a soak run, a fraction otherwise, or what `BASHD_FUZZ_SCRIPTS`
/// says.
fn scripts_to_run() -> usize {
    let told = std::env::var("BASHD_FUZZ_SCRIPTS")
        .ok()
        .and_then(|count| count.parse().ok());
    told.unwrap_or(if is_soak() { SCRIPTS } else { SCRIPTS / 200 })
}

fn verdict(guard: &Guard, script: &str) -> Verdict {
    guard.check(&Script::parse(script), script)
}

/// Whether a call of a stub is one that a rule has something against.
fn is_bad(guard: &Guard, words: &[String]) -> bool {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    verdict(guard, &quoted.join(" ")) != Verdict::Allow
}

#[test]
fn what_scripts_really_run_is_what_was_judged() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let stage = Stage::new(home.path());
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let mut random = Random(0xB5AD_4ECE_DA1C_E2A9);
    let count = scripts_to_run();
    let (mut ran_bad, mut ran_good, mut asked) = (0, 0, 0);
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut refused = Vec::new();
    for _ in 0..count / AT_ONCE {
        let scripts: Vec<Hidden> = (0..AT_ONCE)
            .map(|_| {
                let from: &[&[&str]] = if random.next(3) > 0 { &BAD } else { &GOOD };
                let command = from[random.next(from.len())];
                hide(&mut random, command)
            })
            .collect();
        for (script, calls) in scripts.iter().zip(stage.run(&scripts)) {
            let given = verdict(&guard, &script.text);
            let is_caught = given != Verdict::Allow;
            let by = match given {
                Verdict::Allow => None,
                Verdict::Ask(it) | Verdict::Deny(it) => Some(it.rule),
            };
            if calls.iter().any(|call| is_bad(&guard, call)) {
                ran_bad += 1;
                if !is_caught {
                    missed
                        .entry(script.means.join(", "))
                        .or_default()
                        .push(script.text.clone());
                }
            } else if !calls.is_empty() {
                ran_good += 1;
                let is_decoded = script.means.iter().any(|means| DECODING.contains(means));
                match by.as_deref() {
                    Some(HIDING) if is_decoded => asked += 1,
                    Some(_) => refused.push(script.text.clone()),
                    None => {}
                }
            }
        }
    }
    assert!(
        ran_bad > count / 3 && ran_good > count / 10,
        "{ran_bad} and {ran_good} ran"
    );
    let classes: Vec<String> = missed
        .iter()
        .map(|(means, scripts)| format!("{} by {means}: {}", scripts.len(), scripts[0]))
        .collect();
    let missed_count: usize = missed.values().map(Vec::len).sum();
    let told = format!(
        "{missed_count} of {ran_bad} were missed:\n{}\n\n{} of {ran_good} were refused:\n{}",
        classes.join("\n"),
        refused.len(),
        refused.join("\n")
    );
    println!("{asked} of {ran_good} harmless ones were decoded before they ran, and asked about");
    // Whoever runs more of them sees what is missed, by class.
    println!("{told}");
    assert!(
        missed_count <= ran_bad / MOST_MISSED && refused.is_empty(),
        "{told}"
    );
}
