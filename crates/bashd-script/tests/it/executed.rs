//! What a script really runs against the verdict: random scripts under real bash, with stubs in
//! place of the programs that could do harm.
//!
//! Each script hides one command by several means. It runs in a scratch directory with a `PATH`
//! that has nothing but stubs and a few harmless programs; a stub writes down its name and words.
//! Where a stub was called in a way that a rule denies, the verdict on the script must not be
//! `allow`. Where none was, the script was harmless, and refusals are counted.

use crate::disguises::{DisguiseTakes, HANDED, STRUCTURES};
use crate::guard_properties::Random;
use crate::spellings::{ROWS, spelled, spelled_by_row};
use bashd_script::guard::{Guard, RULES, Verdict};
use bashd_script::script::Script;
use bashd_testkit::repeat::is_soak;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scripts in a soak run.
const SCRIPTS: usize = 100_000;

/// Scripts that one bash runs, one after the other: starting it takes longer than a script.
const AT_ONCE: usize = 50;

/// How long they may take together.
const SECONDS: &str = "300";

/// One of so many may be missed in a soak run, and none in any other.
const MOST_MISSED: usize = 2000;

/// A user without rights and without processes, as whom root has scripts run.
const SCRIPTS_USER: u32 = 64_533;

/// Programs that a stub stands for.
const STUBS: [&str; 14] = [
    "rm",
    "git",
    "dd",
    "mkfs.ext4",
    "chmod",
    "chown",
    "shred",
    "wipefs",
    "sudo",
    "docker",
    "kubectl",
    "terraform",
    "dropdb",
    "systemctl",
];

/// What a stub does: it writes down how many words it has, its name and the words. A word may have
/// lines of its own.
const NOTED: &str = "#!/bin/sh\nprintf '%s\\0' $# \"${0##*/}\" \"$@\" >> \"$LOG\"\n";

/// What the stub of git does then: it runs what git would run.
const GIT: &str = r#"
case "$1 $2" in
'-c alias.'*=!*) [ "$3" = zz ] && exec bash -c "${2#*=!}" ;;
'config alias.zz') printf '%s' "$3" > "$LOG.alias" ;;
'bisect run') shift 2; exec "$@" ;;
'submodule foreach') exec bash -c "$3" ;;
'rebase -x') exec bash -c "$3" ;;
esac
[ "$1" = zz ] || exit 0
text=$GIT_CONFIG_VALUE_0
unset GIT_CONFIG_VALUE_0
if [ -z "$text" ] && [ -e "$LOG.alias" ]; then text=$(cat "$LOG.alias"); : > "$LOG.alias"; fi
exec bash -c "${text#!}"
"#;

/// Stubs of programs that run what they are given: what they do, and their names.
const RUNNERS: [(&str, &[&str]); 4] = [
    (
        "#!/bin/bash\nwhile [ $# -gt 0 ]; do case $1 in -c | -qc) exec bash -c \"$2\" ;; esac; shift; done\n",
        &["su", "runuser", "script", "npx", "npm"],
    ),
    (
        "#!/bin/bash\nwhile :; do case $1 in -n1 | host) shift ;; *) break ;; esac; done; exec bash -c \"$*\"\n",
        &["ssh", "watch"],
    ),
    (
        "#!/bin/bash\nwhile :; do case $1 in -* | run | exec) shift ;; *) break ;; esac; done; exec \"$@\"\n",
        &[
            "uv", "poetry", "pipenv", "bundle", "doas", "prlimit", "setpriv", "nsenter",
        ],
    ),
    (
        "#!/bin/bash\nc=; while [ $# -gt 0 ] && [ \"$1\" != ::: ]; do c+=\"$1 \"; shift; done\n\
         if [ $# -gt 0 ]; then shift; for a; do bash -c \"$c$a\"; done\n\
         else while read -r a; do bash -c \"$c$a\"; done; fi\n",
        &["parallel"],
    ),
];

/// Harmless programs that scripts may use.
const TOOLS: [&str; 31] = [
    "cat", "base64", "rev", "tr", "sed", "cut", "head", "tail", "env", "xargs", "nice", "timeout",
    "tee", "nohup", "sh", "bash", "printf", "echo", "find", "dirname", "perl", "awk", "cp", "mv",
    "stdbuf", "setsid", "flock", "python3", "xxd", "sort", "basename",
];

/// Rules that are about how something is run, whatever that is: text that is decoded and run, and
/// scripts that nobody could judge. They may object to one of so many harmless scripts, each of
/// which is a disguise.
const HIDING: [&str; 2] = ["no_hidden_script", "script_within_bounds"];
const MOST_ASKED: usize = 10;

/// Means with which something else may run than did: the guard judges what may.
const POSSIBLE: [&str; 1] = ["branch"];

/// Means that the guard does not see through.
const UNSEEN: [&str; 0] = [];

/// Commands that a rule denies or asks about, and harmless ones of the same shape.
const BAD: [&[&str]; 23] = [
    &["rm", "-rf", "/"],
    &["rm", "-r", "-f", "/home/../"],
    &["rm", "-rf", "build", "/etc"],
    &["sudo", "rm", "-rf", "/usr"],
    &["git", "push", "--force", "origin"],
    &["git", "push", "origin", "+main"],
    &["git", "push", "origin", ":main"],
    &["git", "-c", "remote.o.mirror=true", "push", "o"],
    &["git", "-c", "alias.x=push", "x", "--force"],
    &["git", "reset", "--hard"],
    &["git", "checkout", ":/"],
    &["git", "restore", "src/.."],
    &["git", "clean", "-fd"],
    &["git", "stash", "clear"],
    &["dd", "if=x", "of=/dev/sda"],
    &["mkfs.ext4", "/dev/sda1"],
    &["wipefs", "-a", "/dev/sda"],
    &["chmod", "-R", "777", "/"],
    &["chown", "-R", "nobody", "/etc"],
    &["docker", "volume", "prune"],
    &["kubectl", "delete", "ns", "prod"],
    &["terraform", "destroy"],
    &["dropdb", "app"],
];
const GOOD: [&[&str]; 13] = [
    &["rm", "-rf", "build"],
    &["rm", "-f", "a.txt"],
    &["sudo", "rm", "-rf", "build"],
    &["git", "push", "origin", "main"],
    &["git", "push", "origin", "a:b"],
    &["git", "status"],
    &["git", "stash"],
    &["git", "restore", "--staged", "src"],
    &["dd", "if=x", "of=y.img", "count=1"],
    &["chmod", "-R", "755", "build"],
    &["docker", "ps", "-a"],
    &["kubectl", "get", "ns"],
    &["terraform", "plan"],
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
        let from = if random.next(2) > 0 {
            HANDED
        } else {
            STRUCTURES
        };
        let around = &from[random.next(from.len())];
        if around.takes != DisguiseTakes::Text && !is_words {
            continue;
        }
        let is_line = !script.contains('\n') && !before.contains('\n');
        if around.takes_lines() && !is_line {
            continue;
        }
        // In an alias, bash looks for the text of a here-document behind the line that uses it.
        if around.name == "alias" && format!("{before}{script}").contains("<<E") {
            continue;
        }
        // Another shell gets the text with what the text needs.
        let needs = if around.is_read_here() { "" } else { &before };
        let Some(filled) = around.filled(&format!("{needs}{script}")) else {
            continue;
        };
        if !around.is_read_here() {
            before.clear();
        }
        script = filled;
        is_words &= around.takes == DisguiseTakes::Prefix;
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
        let install = |name: &str, script: &str| {
            let file = path.join(name);
            fs::write(&file, script).expect("a stub");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its mode");
        };
        for stub in STUBS {
            let then = if stub == "git" { GIT } else { "" };
            install(stub, &format!("{NOTED}{then}"));
        }
        for (script, names) in RUNNERS {
            for name in names {
                install(name, script);
            }
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
        // A script that does not end, or starts itself, must not take the machine with it. No
        // limit on processes binds root.
        let driver = "ulimit -u 1000; i=0; while [ $i -lt $COUNT ]; do export LOG=$PWD/$i.log; \
                      echo $i >at; ( . ./$i.script ) </dev/null >/dev/null 2>&1; i=$((i+1)); done";
        let mut command = Command::new("timeout");
        if fs::metadata(&work).is_ok_and(|work| work.uid() == 0) {
            let open = fs::Permissions::from_mode(0o711);
            fs::set_permissions(&self.root, open).expect("a way to it");
            chown(&work, Some(SCRIPTS_USER), Some(SCRIPTS_USER)).expect("a directory of its user");
            command.uid(SCRIPTS_USER).gid(SCRIPTS_USER);
        }
        let status = command
            .args(["--signal=KILL", SECONDS, "/bin/bash"])
            .args(["--norc", "--noprofile", "-c", driver])
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.root.join("path"))
            .env("HOME", &work)
            .env("COUNT", scripts.len().to_string())
            .stdin(Stdio::null())
            .status();
        let last = || {
            let at = fs::read_to_string(work.join("at")).unwrap_or_default();
            let at: Option<usize> = at.trim().parse().ok();
            at.and_then(|at| scripts.get(at)).map(|script| &script.text)
        };
        assert!(
            status.expect("bash").success(),
            "the driver failed, or took {SECONDS} s, at this script: {:?}",
            last()
        );
        let called = |index: usize| {
            let log = fs::read(work.join(format!("{index}.log"))).unwrap_or_default();
            let text = String::from_utf8_lossy(&log).into_owned();
            let mut words = text.split_terminator('\0').map(str::to_owned);
            let mut calls: Vec<Vec<String>> = Vec::new();
            while let Some(count) = words.next() {
                let count: usize = count.parse().expect("a count of words");
                calls.push(words.by_ref().take(count + 1).collect());
            }
            calls
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

/// Where the random numbers begin: always the same, or what `BASHD_FUZZ_SEED` says.
fn seed() -> u64 {
    let told = std::env::var("BASHD_FUZZ_SEED").ok();
    let told = told.and_then(|seed| seed.parse::<u64>().ok());
    0xB5AD_4ECE_DA1C_E2A9 ^ told.unwrap_or(0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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
    let mut random = Random(seed());
    let count = scripts_to_run();
    let (mut ran_bad, mut ran_good, mut asked, mut unseen) = (0, 0, 0, 0);
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
                let is_known = script.means.iter().any(|means| UNSEEN.contains(means));
                if !is_caught && is_known {
                    unseen += 1;
                } else if !is_caught {
                    missed
                        .entry(script.means.join(", "))
                        .or_default()
                        .push(script.text.clone());
                }
            } else if !calls.is_empty() {
                ran_good += 1;
                match by.as_deref() {
                    Some(rule) if HIDING.contains(&rule) => asked += 1,
                    Some(_) if script.means.iter().any(|it| POSSIBLE.contains(it)) => {}
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
    println!("{asked} of {ran_good} harmless ones were asked about because of how they hide");
    println!("{unseen} more were missed by means that nobody sees through: {UNSEEN:?}");
    // Whoever runs more of them sees what is missed, by class.
    println!("{told}");
    assert!(
        missed_count <= ran_bad / MOST_MISSED
            && refused.is_empty()
            && asked <= ran_good / MOST_ASKED,
        "{told}"
    );
}

/// Each row of both tables alone: that it runs what it should, and that the guard sees it.
#[test]
fn each_means_alone_is_seen_through() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let stage = Stage::new(home.path());
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let mut random = Random(1);
    let mut scripts = Vec::new();
    for command in ["rm -rf /", "git push --force", "docker volume prune"] {
        for around in STRUCTURES.iter().chain(HANDED) {
            scripts.push(Hidden {
                text: around.filled(command).expect("plain words stand anywhere"),
                means: vec![around.name],
            });
        }
        let words: Vec<&str> = command.split(' ').collect();
        for (row, place) in (0..ROWS).flat_map(|row| [(row, 0), (row, words.len() - 1)]) {
            let mut text = String::new();
            let (means, spelling) = spelled_by_row(&mut random, row, words[place], &mut text);
            let mut words: Vec<&str> = words.clone();
            words[place] = &spelling;
            text.push_str(&words.join(" "));
            let means = vec![means];
            scripts.push(Hidden { text, means });
        }
    }
    let (mut wrong, mut ran) = (Vec::new(), vec![false; scripts.len() / 3]);
    let rows = ran.len();
    for (chunk, scripts) in scripts.chunks(AT_ONCE).enumerate() {
        for (index, (script, calls)) in scripts.iter().zip(stage.run(scripts)).enumerate() {
            if calls.iter().any(|call| is_bad(&guard, call)) {
                ran[(chunk * AT_ONCE + index) % rows] = true;
                let is_known = UNSEEN.contains(&script.means[0]);
                if !is_known && verdict(&guard, &script.text) == Verdict::Allow {
                    wrong.push(format!("missed, {}: {}", script.means[0], script.text));
                }
            }
        }
    }
    // A row that never runs anything would show nothing.
    let idle = scripts.iter().zip(&ran).filter(|(_, ran)| !**ran);
    wrong.extend(idle.map(|(script, _)| format!("does not run: {}", script.text)));
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
