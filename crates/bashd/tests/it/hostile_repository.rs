//! Strict safe mode in a repository whose own configuration wants to run programs: none of them
//! runs.

use bashd::Request;
use bashd::guard::safe_mode::SafeMode;
use bashd_testkit::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A repository whose own configuration wants to run programs on every occasion.
fn hostile_repository(home: &Home) {
    let sentinel = home.root().join("RAN");
    let program = home.root().join("evil");
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\ncat\n", sentinel.display()),
    )
    .expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let evil = program.display().to_string();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=me", "-c", "user.email=me@example.org"];
        let output = Command::new("git")
            .args(who)
            .args(arguments)
            .current_dir(home.workspace())
            .env_clear()
            .envs(home.env())
            .output();
        let output = output.expect("git");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    git(&["init", "-q"]);
    fs::write(home.workspace().join("f.txt"), "one\n").expect("a file");
    git(&["add", "f.txt"]);
    git(&["commit", "-qm", "one"]);
    fs::write(home.workspace().join("f.txt"), "two\n").expect("a file");
    fs::write(
        home.workspace().join(".gitattributes"),
        "*.txt filter=d diff=d merge=d\n",
    )
    .expect("attributes");
    for key in [
        "core.fsmonitor",
        "diff.external",
        "diff.d.textconv",
        "diff.d.command",
        "filter.d.clean",
        "filter.d.smudge",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "gpg.program",
        "merge.d.driver",
        "core.hooksPath",
    ] {
        git(&["config", key, &evil]);
    }
    git(&["config", "filter.d.required", "true"]);
    git(&["config", "log.showSignature", "true"]);
    let _ = fs::remove_file(&sentinel);
}

#[tokio::test]
async fn no_program_of_a_repository_runs_in_strict() {
    let home = Home::new();
    hostile_repository(&home);
    let sentinel = home.root().join("RAN");
    let engine = crate::engine_under_test::engine(&home);
    for command in [
        "git status",
        "git diff",
        "git diff HEAD",
        "git log -p",
        "git show",
        "git blame f.txt",
        "git grep two",
        "git stash list -p",
        "git ls-files -m",
        "git describe --always --dirty",
        "git diff-files -p",
        "git status -v",
        "git cat-file -p HEAD",
        "git diff | head -n 1 && git status",
    ] {
        let reply = engine
            .run(Request::new(command).safe_mode(SafeMode::Strict))
            .await;
        assert_eq!(reply.denied, None, "{command}");
        assert_eq!(reply.exit_code, Some(0), "{command}: {}", reply.text);
        assert!(
            !sentinel.exists(),
            "{command} ran a program of the repository's"
        );
    }
    let reply = engine
        .run(Request::new("git diff").safe_mode(SafeMode::Strict))
        .await;
    assert!(
        reply.output.contains("-one") && reply.output.contains("+two"),
        "{}",
        reply.output
    );
    // That the repository is hostile indeed: without safe mode its programs run.
    engine.run(Request::new("git status")).await;
    assert!(sentinel.exists(), "the test's repository is harmless");
}
