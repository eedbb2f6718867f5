//! What fails in the middle: whichever step it is, nothing runs half confined.

use super::{BASHD, command};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Home, loudly};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// What was planted, and must not be read.
const CANARY: &str = "canary";

/// System calls of which confining consists, and how often one process makes each at most.
const STEPS: &[(&str, usize)] = &[
    ("unshare", 2),
    ("setns", 3),
    ("mount", 14),
    ("move_mount", 40),
    ("open_tree", 40),
    ("mount_setattr", 40),
    ("pivot_root", 1),
    ("umount2", 2),
    ("clone", 3),
    ("clone3", 2),
    ("pipe2", 4),
    ("socketpair", 4),
    ("sendmsg", 4),
    ("capset", 1),
    ("seccomp", 1),
    ("landlock_create_ruleset", 3),
    ("landlock_add_rule", 12),
    ("landlock_restrict_self", 1),
    ("prctl", 50),
    ("mkdirat", 8),
    ("symlinkat", 4),
    ("statx", 40),
    ("openat", 60),
];

/// Those that are tried in every run of the tests: one of each kind.
const QUICK: &[(&str, usize)] = &[
    ("mount", 3),
    ("move_mount", 9),
    ("clone", 2),
    ("seccomp", 1),
    ("landlock_restrict_self", 1),
    ("capset", 1),
];

/// A home with a key, and a directory that commands see and may not write.
struct Site {
    home: Home,
    outside: std::path::PathBuf,
}

impl Site {
    fn new() -> Self {
        let home = Home::new();
        let outside = home.root().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::create_dir_all(home.home().join(".ssh")).unwrap();
        fs::write(home.home().join(".ssh/id"), CANARY).unwrap();
        Self { home, outside }
    }

    /// Tries, after these words, what a confined command can't do, and says what held.
    fn attempt(&self, before: &[&str]) -> Output {
        let script = format!(
            "read -r key < {}/.ssh/id; echo x > {}/written; \
             while read -r name value; do case $name in CapEff:|NoNewPrivs:|Seccomp:) held+=$value,;; esac; \
             done < /proc/self/status; echo \"ran with [$key] $held\"; echo x > made",
            self.home.home().display(),
            self.outside.display()
        );
        let read = format!("confinement.read=/,{}", self.outside.display());
        let run = [
            BASHD,
            "run",
            "--json",
            "--confine",
            "workspace",
            "--set",
            &read,
            &script,
        ];
        command(&self.home, &[before, &run].concat())
    }

    /// Whether it ran, which it may only have done with everything that confines it.
    fn judge(&self, output: &Output, what: &str) -> bool {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!self.outside.join("written").exists(), "{what}: {output:?}");
        assert!(!said.contains(CANARY), "{what}: {said}");
        let reply: Value = serde_json::from_str(&said).unwrap_or_default();
        let text = reply["output"].as_str().unwrap_or_default();
        let made = self.home.workspace().join("made");
        let ran = made.exists() || text.contains("ran with");
        if ran {
            let whole = "ran with [] 0000000000000000,1,2,";
            assert!(text.contains(whole), "{what}: {said}");
            assert_eq!(reply["confinement"]["level"], "full", "{what}: {said}");
            fs::remove_file(made).unwrap();
        }
        ran
    }
}

/// Each step of a confinement fails once.
#[test]
fn whichever_step_fails_nothing_runs_half_confined() {
    let strace = Path::new("/usr/bin/strace");
    if !strace.exists() {
        return loudly("no strace: steps that fail in the middle are NOT tested");
    }
    let site = Site::new();
    let untouched = site.attempt(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=none"]);
    assert!(site.judge(&untouched, "nothing fails"), "{untouched:?}");
    let steps = if is_soak() { STEPS } else { QUICK };
    let mut refused = 0;
    for (call, most) in steps {
        let first = if is_soak() { 1 } else { *most };
        for number in first..=*most {
            let failure = format!("inject={call}:error=ENOSPC:when={number}");
            let trace = format!("trace={call}");
            let before = [
                "strace",
                "-f",
                "-qq",
                "-o",
                "/dev/null",
                "-e",
                &trace,
                "-e",
                &failure,
            ];
            let output = site.attempt(&before);
            refused += usize::from(!site.judge(&output, &failure));
        }
    }
    assert!(refused * 2 >= steps.len(), "only {refused} were refused");
}

/// With ever fewer descriptors something else can't be opened each time.
#[test]
fn with_too_few_descriptors_nothing_runs_half_confined() {
    let site = Site::new();
    let (mut refused, mut ran) = (0, 0);
    let step = if is_soak() { 1 } else { 4 };
    for most in (6..80).step_by(step) {
        let limit = format!("ulimit -n {most} && exec \"$@\"");
        let output = site.attempt(&["sh", "-c", &limit, "sh"]);
        if site.judge(&output, &limit) {
            ran += 1;
        } else {
            refused += 1;
        }
    }
    assert!(refused > 0 && ran > 0, "{refused} refused, {ran} ran");
}
