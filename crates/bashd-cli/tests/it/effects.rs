//! `try`, `changes` and `undo`: what a command does to files is held, applied, discarded, undone.

use bashd_testkit::Home;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

pub(crate) const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// A home in whose state changes may stay.
pub(crate) fn held_home() -> Home {
    Home::new().keeping_in_state(&["changes"])
}

fn bashd(home: &Home, words: &[&str]) -> Output {
    Command::new(BASHD)
        .args(words)
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .output()
        .unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command whose effects are held or can be undone, and returns its reply.
pub(crate) fn run(home: &Home, mode: &str, command: &str) -> Value {
    let done = bashd(home, &["run", "--json", "--effects", mode, command]);
    let (out, errors) = (text(&done.stdout), text(&done.stderr));
    let reply: Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{errors}"));
    assert_eq!(reply["error"], Value::Null, "{reply}");
    reply
}

pub(crate) fn id(reply: &Value) -> String {
    reply["changes"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned()
}

pub(crate) fn succeeds(home: &Home, words: &[&str]) -> String {
    let done = bashd(home, words);
    assert!(done.status.success(), "{words:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

/// Every path with its mode and content.
pub(crate) fn picture(root: &Path) -> String {
    let script = "find . -printf '%P %y %m %l %n\\n' | LC_ALL=C sort; \
                  find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum";
    let shown = Command::new("sh")
        .args(["-c", script])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    text(&shown.stdout)
}

fn project(home: &Home) {
    let script = "mkdir -p src/deep empty; echo one >src/a; echo two >src/deep/b; printf 'x\\0y' >blob; \
                  ln -s src/a link; chmod 640 blob; echo '#!/bin/sh' >tool; chmod 755 tool";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(home.workspace())
        .status();
    assert!(made.unwrap().success());
}

/// What a command does that touches everything.
const BUSY: &str = "rm -r src; mkdir src; echo new >src/c; mv tool tool2; chmod 600 blob; rm link; ln -s b link; \
                    mkdir -p n/e/w; echo x >n/e/w/x; rmdir empty; echo file >empty; mkfifo pipe; \
                    printf 'q' >\"$(printf 'odd\\377name')\"";

#[test]
fn what_is_tried_is_seen_applied_and_undone() {
    let home = held_home();
    project(&home);
    let root = home.workspace();
    let before = picture(&root);
    let reply = run(&home, "hold", BUSY);
    assert_eq!(picture(&root), before, "nothing is real yet");
    assert_eq!(reply["exit_code"], 0, "{reply}");
    assert_eq!(reply["changes"]["state"], "held", "{reply}");
    let said = reply["text"].as_str().unwrap();
    let id = id(&reply);
    assert!(
        said.contains(&format!("`bashd changes apply {id}` applies it")),
        "{said}"
    );
    let listed = succeeds(&home, &["changes"]);
    assert!(listed.contains(&id) && listed.contains("held"), "{listed}");
    let shown = succeeds(&home, &["changes", "show", &id]);
    for line in [
        "D src/a",
        "A src/c",
        "M blob (mode 640 to 600)",
        "A pipe",
        "A n/e/w/x",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert!(shown.contains("M empty (directory to file"), "{shown}");
    let diff = succeeds(&home, &["changes", "show", &id, "--diff"]);
    assert!(
        diff.contains("+++ b/src/c\n@@ -0,0 +1 @@\n+new\n"),
        "{diff}"
    );
    assert!(
        diff.contains("Binary files a/blob and b/blob differ"),
        "{diff}"
    );
    for form in ["--stat", "--tree", "--json"] {
        assert!(succeeds(&home, &["changes", "show", &id, form]).contains("src"));
    }
    // What the plain command leaves.
    let plain = held_home();
    project(&plain);
    let ran = Command::new("bash")
        .args(["-c", BUSY])
        .current_dir(plain.workspace())
        .status();
    assert!(ran.unwrap().success());
    succeeds(&home, &["changes", "apply", &id]);
    assert_eq!(picture(&root), picture(&plain.workspace()));
    succeeds(&home, &["undo"]);
    assert_eq!(picture(&root), before);
    succeeds(&home, &["changes", "apply", &id]);
    assert_eq!(
        picture(&root),
        picture(&plain.workspace()),
        "an undo is undone"
    );
    succeeds(&home, &["changes", "undo", &id]);
    succeeds(&home, &["changes", "discard", &id]);
    assert_eq!(picture(&root), before);
    let none = bashd(&home, &["changes", "show", &id]);
    assert!(!none.status.success());
}

#[test]
fn an_undoable_command_is_real_when_it_ends_and_is_taken_back() {
    let home = held_home();
    project(&home);
    let before = picture(&home.workspace());
    let reply = run(&home, "undoable", "rm -rf src");
    assert_eq!(reply["changes"]["state"], "applied", "{reply}");
    assert_eq!(reply["changes"]["deleted"], 4, "{reply}");
    assert_eq!(reply["changes"]["paths"][0]["path"], "src/", "{reply}");
    assert!(!home.workspace().join("src").exists());
    succeeds(&home, &["undo"]);
    assert_eq!(picture(&home.workspace()), before);
    let again = bashd(&home, &["undo"]);
    assert!(!again.status.success(), "{}", text(&again.stderr));
}

#[test]
fn what_somebody_changed_since_is_not_overwritten() {
    let home = held_home();
    project(&home);
    let file = home.workspace().join("src/a");
    let held = id(&run(&home, "hold", "echo theirs >src/a; echo fine >fine"));
    fs::write(&file, "mine").unwrap();
    let refused = bashd(&home, &["changes", "apply", &held]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.contains("src/a was changed by somebody else"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(!home.workspace().join("fine").exists());
    succeeds(&home, &["changes", "apply", &held, "fine"]);
    assert_eq!(
        fs::read_to_string(home.workspace().join("fine")).unwrap(),
        "fine\n"
    );
    succeeds(&home, &["changes", "apply", &held, "--force", "src/a"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs\n");
    succeeds(&home, &["undo", &held]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine", "it was kept");
    // And the other way round: after it was applied.
    let done = id(&run(&home, "undoable", "echo agent >src/a"));
    fs::write(&file, "person").unwrap();
    let refused = bashd(&home, &["undo", &done]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert_eq!(fs::read_to_string(&file).unwrap(), "person");
}

#[test]
fn two_held_runs_over_one_workspace_do_not_see_each_other() {
    let home = held_home();
    project(&home);
    let one = id(&run(&home, "hold", "echo 1 >first; echo 1 >both"));
    let reply = run(&home, "hold", "ls; echo 2 >second; echo 2 >both");
    assert!(
        !reply["output"].as_str().unwrap().contains("first"),
        "{reply}"
    );
    let two = id(&reply);
    succeeds(&home, &["changes", "apply", &one]);
    let refused = bashd(&home, &["changes", "apply", &two]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert!(!home.workspace().join("second").exists());
    succeeds(&home, &["changes", "discard", &two]);
    assert_eq!(
        fs::read_to_string(home.workspace().join("both")).unwrap(),
        "1\n"
    );
}

#[test]
fn a_command_that_changes_nothing_leaves_nothing() {
    let home = held_home();
    project(&home);
    let reply = run(
        &home,
        "hold",
        "cat src/a; : >>src/a; touch /tmp/x; echo y >~/y",
    );
    assert_eq!(reply["changes"]["state"], "none", "{reply}");
    assert_eq!(reply["changes"]["id"], Value::Null);
    assert_eq!(succeeds(&home, &["changes", "--json"]), "");
    let left = fs::read_dir(home.state().join("changes"))
        .unwrap()
        .flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        left.iter().all(|name| name == "pruned" || name == "lock"),
        "{left:?}"
    );
}

#[test]
fn what_can_not_be_held_does_not_run() {
    let home = held_home();
    let words = [
        "run",
        "--json",
        "--effects",
        "hold",
        "--set",
        "confinement.most=landlock",
    ];
    let refused = bashd(&home, &[&words[..], &["touch made"]].concat());
    let reply: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert!(reply["error"].as_str().unwrap().contains("full"), "{reply}");
    assert!(!home.workspace().join("made").exists());
    let file = home.workspace().join("one-file");
    fs::write(&file, "x").unwrap();
    let write = format!("confinement.write={}", file.display());
    let elsewhere = home.workspace().join("sub");
    fs::create_dir(&elsewhere).unwrap();
    let words = [
        "run",
        "--json",
        "--effects",
        "hold",
        "--set",
        &write,
        "--cwd",
        "sub",
        "touch made",
    ];
    let reply: Value = serde_json::from_slice(&bashd(&home, &words).stdout).unwrap();
    assert!(
        reply["error"]
            .as_str()
            .unwrap()
            .contains("only directories"),
        "{reply}"
    );
    // A call can't have its effects earlier than configured.
    let words = [
        "run",
        "--json",
        "--effects",
        "now",
        "--set",
        "effects.mode=hold",
        "touch made",
    ];
    let reply: Value = serde_json::from_slice(&bashd(&home, &words).stdout).unwrap();
    assert!(
        reply["error"].as_str().unwrap().contains("later"),
        "{reply}"
    );
    assert!(!home.workspace().join("made").exists());
}

#[test]
fn from_inside_nothing_can_be_applied() {
    let home = held_home();
    let held = id(&run(&home, "hold", "touch made"));
    // The program may be in a place that is not seen inside, such as /tmp.
    fs::copy(BASHD, home.workspace().join("bashd")).unwrap();
    let command = format!("./bashd changes apply {held}; ./bashd undo; ./bashd changes");
    let words = ["run", "--json", "--confine", "workspace", &command];
    let reply: Value = serde_json::from_slice(&bashd(&home, &words).stdout).unwrap();
    let output = reply["output"].as_str().unwrap();
    assert_eq!(output.matches("inside a confinement").count(), 3, "{reply}");
    assert!(!home.workspace().join("made").exists());
}

#[test]
fn closed_and_linked_files_are_held_as_well() {
    let home = held_home();
    project(&home);
    let root = home.workspace();
    let script =
        "mkdir closed; echo x >closed/x; echo y >ro; chmod 444 ro; ln ro other; chmod 555 closed";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(&root)
        .status();
    assert!(made.unwrap().success());
    let before = picture(&root);
    let command = "chmod 755 closed; echo z >closed/z; chmod 555 closed; chmod 600 ro; echo yy >ro; mkdir -m 000 shut";
    let held = id(&run(&home, "hold", command));
    succeeds(&home, &["changes", "apply", &held]);
    assert_eq!(fs::read_to_string(root.join("closed/z")).unwrap(), "z\n");
    let bits = |name: &str| root.join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (bits("closed"), bits("shut"), bits("ro")),
        (0o555, 0, 0o600)
    );
    // As documented: a hard link ends at the layer.
    assert_eq!(fs::read_to_string(root.join("other")).unwrap(), "y\n");
    succeeds(&home, &["undo"]);
    assert_eq!(picture(&root), before);
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_job_is_held_until_it_ends() {
    let home = held_home();
    let words = [
        "run",
        "--json",
        "--effects",
        "hold",
        "--background",
        "echo 1 >made; read -r x <gate",
    ];
    let made = Command::new("mkfifo")
        .arg(home.workspace().join("gate"))
        .status();
    assert!(made.unwrap().success());
    let reply: Value = serde_json::from_slice(&bashd(&home, &words).stdout).unwrap();
    let job = reply["job"].as_str().unwrap_or_else(|| panic!("{reply}"));
    let listed: Value = serde_json::from_str(&succeeds(&home, &["changes", "--json"])).unwrap();
    assert_eq!(listed["state"], "running", "{listed}");
    let held = listed["id"].as_str().unwrap();
    let begun = std::time::Instant::now();
    while succeeds(&home, &["changes", "show"]) != "A made\n" {
        assert!(begun.elapsed().as_secs() < 30, "what it did so far is seen");
    }
    let still = bashd(&home, &["changes", "apply", held]);
    let said = text(&still.stderr);
    assert!(
        said.contains("still runs") && said.contains("hint: "),
        "{said}"
    );
    succeeds(&home, &["jobs", "kill", job]);
    succeeds(&home, &["changes", "apply", held]);
    assert_eq!(
        fs::read_to_string(home.workspace().join("made")).unwrap(),
        "1\n"
    );
}

/// Each level of directories is a level of a thread's stack.
#[test]
fn a_deep_directory_ends_no_process() {
    let home = held_home();
    let command = "mkdir -p \"$(printf 'a/%.0s' $(seq 1000))\"; touch a/b";
    let reply = run(&home, "undoable", command);
    assert_eq!(reply["changes"]["state"], "applied", "{reply}");
    succeeds(&home, &["undo", &id(&reply)]);
    assert!(!home.workspace().join("a").exists());
}

#[test]
fn what_is_too_deep_to_be_looked_through_can_be_discarded() {
    let home = held_home();
    // Deeper than a path may be, and than any process has open files.
    let command = "perl -e 'for(1..3000) { mkdir q(d); chdir q(d) or die }'; echo done";
    let done = bashd(&home, &["run", "--json", "--effects", "hold", command]);
    let reply: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(reply["output"], "done\n", "{reply}");
    run(&home, "hold", "echo 1 >beside");
    let listed = succeeds(&home, &["changes", "--json"]);
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [deep, beside] = &*listed else {
        panic!("{listed:?}");
    };
    assert_eq!(
        (&deep["state"], &beside["state"]),
        (&"unreadable".into(), &"held".into())
    );
    let id = deep["id"].as_str().unwrap();
    let shown = bashd(&home, &["changes", "show", id]);
    assert!(!shown.status.success());
    assert!(
        text(&shown.stderr).contains("levels deep"),
        "{}",
        text(&shown.stderr)
    );
    succeeds(&home, &["changes", "discard", id]);
    assert_eq!(succeeds(&home, &["changes", "--json"]).lines().count(), 1);
    assert!(!home.state().join("changes").join(id).exists());
}

#[test]
fn no_record_of_a_change_has_a_secret() {
    let home = held_home();
    let canary = "s3cr3t-canary-99";
    let command = format!(": {canary}; echo x >out");
    let done = Command::new(BASHD)
        .args(["try", &command])
        .env_clear()
        .envs(home.env())
        .env("API_TOKEN", canary)
        .current_dir(home.workspace())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let found = Command::new("grep")
        .args(["-rl", canary])
        .arg(home.state().join("changes"))
        .output();
    assert_eq!(text(&found.unwrap().stdout), "");
    assert!(succeeds(&home, &["changes"]).contains("[secret API_TOKEN"));
}
