//! The test kit's own tests: that the leak check finds what it should, and nothing else.
#![expect(clippy::expect_used, reason = "test code")]

use bashd_testkit::keeper_hook::{MARK, process_mark};
use bashd_testkit::leak::Leak;
use bashd_testkit::{Binary, Home, Leaks, as_each_user, unprivileged};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(150);

/// What the check of `leaks` says, or nothing if it finds none.
fn complaint(leaks: Leaks) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| leaks.patience(SHORT).finish()));
    outcome
        .err()
        .map(|panic| *panic.downcast::<String>().expect("a text"))
}

fn sleeper(mark: &str) -> Child {
    Command::new("sleep")
        .arg("1000")
        .env(MARK, mark)
        .spawn()
        .expect("sleep is there")
}

#[test]
fn a_clean_test_passes() {
    let home = Home::new();
    let status = Command::new("true").envs(home.env()).status().unwrap();
    assert!(status.success());
    drop(File::create(home.tmp().join("f")).unwrap());
    std::fs::remove_file(home.tmp().join("f")).unwrap();
    home.finish();
}

#[test]
fn a_marked_process_is_found_and_ended_wherever_it_is() {
    let mut leaks = Leaks::watch();
    leaks.watch_mark("a-mark-of-this-test");
    // Double-forked into a session of its own: no longer below this test.
    let script = "setsid sleep 1000 >/dev/null 2>&1 & sleep 0.1";
    let bash = Command::new("bash")
        .args(["-c", script])
        .env(MARK, "a-mark-of-this-test")
        .status();
    assert!(bash.unwrap().success());
    let found = leaks.look();
    let [Leak::Marked(process)] = found.as_slice() else {
        panic!("{found:?}")
    };
    let text = complaint(leaks).expect("a complaint");
    assert!(
        text.contains(&format!("process {} (S) `sleep 1000`", process.pid)),
        "{text}"
    );
    assert!(text.contains("mark"), "{text}");
    process.wait_for_end(Duration::from_secs(5));
    let left = bashd_testkit::processes::with_variable(MARK, "a-mark-of-this-test");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_this_program_starts_is_marked_by_itself() {
    let leaks = Leaks::watch();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    let found = bashd_testkit::processes::with_variable(MARK, process_mark());
    assert!(
        found.iter().any(|process| process.pid == child.id() as i32),
        "{found:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    leaks.finish();
}

#[test]
fn a_child_without_a_mark_is_found() {
    let leaks = Leaks::watch();
    let mut child = Command::new("sleep")
        .arg("1000")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .spawn()
        .unwrap();
    let text = complaint(leaks).expect("a complaint");
    assert!(text.contains(&format!("process {}", child.id())), "{text}");
    assert!(text.contains("below the test"), "{text}");
    child.wait().unwrap();
}

#[test]
fn a_child_that_was_not_waited_for_is_found() {
    let leaks = Leaks::watch();
    let mut child = Command::new("true")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .spawn()
        .unwrap();
    let text = complaint(leaks).expect("a complaint");
    assert!(text.contains("(Z)"), "{text}");
    child.wait().unwrap();
}

#[test]
fn a_descriptor_is_found() {
    let leaks = Leaks::watch();
    let file = File::open("/etc/passwd").unwrap();
    let text = complaint(leaks).expect("a complaint");
    assert!(text.contains("-> /etc/passwd"), "{text}");
    drop(file);
}

#[test]
fn a_file_is_found_but_the_ledger_may_stay() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let mut leaks = Leaks::watch();
    leaks.watch_directory(&state, &["ledger"]);
    std::fs::create_dir_all(state.join("ledger")).unwrap();
    std::fs::write(state.join("ledger/2026-01.jsonl"), "{}").unwrap();
    std::fs::create_dir_all(state.join("runs")).unwrap();
    assert_eq!(leaks.look(), []);
    std::fs::write(state.join("runs/output"), "x").unwrap();
    let text = complaint(leaks).expect("a complaint");
    assert!(text.ends_with("state/runs/output"), "{text}");
    assert!(!text.contains("ledger"), "{text}");
}

#[test]
fn what_ends_in_time_is_no_leak() {
    let mut leaks = Leaks::watch();
    leaks.watch_mark("short-lived");
    let started = Instant::now();
    let mut bash = Command::new("bash")
        .args(["-c", "sleep 0.3 & :"])
        .env(MARK, "short-lived")
        .spawn()
        .unwrap();
    bash.wait().unwrap();
    leaks.finish();
    assert!(started.elapsed() >= Duration::from_millis(250));
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_failing_test_does_not_leave_its_processes_running() {
    let mut child = None;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let home = Home::new();
        child = Some(sleeper(home.mark()));
        panic!("the test's own failure");
    }));
    assert_eq!(
        outcome.unwrap_err().downcast_ref(),
        Some(&"the test's own failure")
    );
    let status = child.unwrap().wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
}

#[test]
fn a_home_is_hermetic_and_goes_away() {
    let home = Home::new();
    let root = home.root().to_owned();
    let shown = Binary::new("/usr/bin/env", &home).run();
    let text = shown.out();
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["BASHD_TEST_MARK", "HOME", "LANG", "PATH", "TMPDIR"]);
    home.finish();
    assert!(!root.exists());
}

#[test]
fn a_transcript_is_one_block() {
    let home = Home::new();
    let shown = Binary::new("/bin/bash", &home)
        .args(["-c", "cat; pwd; printf no-newline >&2; kill -TERM $$"])
        .stdin("in\n")
        .run();
    let expected = "--- stdout\nin\n[TEMP]/workspace\n--- stderr\nno-newline[no newline]\n--- status\nsignal 15\n";
    assert_eq!(shown.block(), expected);
    let shown = Binary::new("/bin/bash", &home).args(["-c", "exit 3"]).run();
    assert_eq!(
        shown.block(),
        "--- stdout\n--- stderr\n--- status\nexit 3\n"
    );
}

#[test]
fn a_binary_that_hangs_fails_the_test() {
    let home = Home::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        Binary::new("/bin/sleep", &home)
            .arg("1000")
            .limit(SHORT)
            .run()
    }));
    let panic = outcome
        .expect_err("it must not wait")
        .downcast::<String>()
        .unwrap();
    assert!(panic.contains("did not end within"), "{panic}");
}

#[test]
fn a_body_runs_as_each_user() {
    as_each_user(|| {
        let home = Home::new();
        let shown = Binary::new("/usr/bin/id", &home).arg("-u").run();
        assert_eq!(
            shown.out().trim(),
            rustix::process::getuid().as_raw().to_string()
        );
        if unprivileged::is_nobody() {
            let denied = std::fs::create_dir("/bashd-test-must-not-exist").unwrap_err();
            assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
        }
    });
}

#[test]
fn a_body_that_fails_for_nobody_fails_the_test() {
    if !rustix::process::getuid().is_root() && !unprivileged::is_second_run() {
        return bashd_testkit::loudly(
            "not root: cannot show that a failure as nobody fails the test",
        );
    }
    let body = || assert!(!unprivileged::is_second_run(), "only as nobody");
    if unprivileged::is_second_run() {
        return as_each_user(body);
    }
    let panic = catch_unwind(|| as_each_user(body)).expect_err("it must fail");
    let text = panic.downcast::<String>().unwrap();
    assert!(text.contains("only as nobody"), "{text}");
}
