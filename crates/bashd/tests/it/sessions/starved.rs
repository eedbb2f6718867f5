//! Sessions whose shell has no descriptors, no memory or no files left: a later call runs exactly
//! once, with its own status, in this shell or in a new one; the reply says which.

use super::Session;
use bashd_testkit::Home;
use bashd_testkit::repeat::is_soak;

/// Runs `breaking` in a session, and then a few calls, each of which must run exactly once.
async fn drive(session: &Session, home: &Home, breaking: &str) {
    let ran = home.workspace().join("ran");
    let first = session.run(&format!("kept=yes; {breaking}")).await;
    // What the command itself did is between it and bash.
    let mut kept = first.session_reset.is_none();
    for number in 1..=3 {
        let command =
            format!("\\builtin echo ran >>ran; \\builtin echo \"{number}[$kept]\"; (exit 7)");
        let reply = session.run(&command).await;
        if let Some(why) = &reply.session_reset {
            // By `SIGXFSZ`, where it may write no file.
            let known = [
                "could not begin",
                "did not report",
                "exited",
                "killed by signal 25",
            ];
            assert!(
                known.iter().any(|known| why.contains(known)),
                "{breaking}: {why}"
            );
            kept = false;
        }
        let shown = if kept { "yes" } else { "" };
        let lines = std::fs::read_to_string(&ran).unwrap_or_default();
        let times = lines.lines().count();
        // A shell that can't report has no status; one that was begun is never begun again.
        let is_unknown = reply.exit_code.is_none() && reply.session_reset.is_some();
        if is_unknown {
            assert!(times <= 1, "{breaking}: ran {times} times");
            kept = false;
        } else {
            assert_eq!(reply.exit_code, Some(7), "{breaking}: {reply:?}");
            assert!(
                reply.output.ends_with(&format!("{number}[{shown}]\n")),
                "{breaking}: {reply:?}"
            );
            // A limit on the size of files may keep it from being written.
            assert!(times <= 1, "{breaking}: ran {times} times");
        }
        let _ = std::fs::remove_file(&ran);
    }
    session.run("exit").await;
}

#[tokio::test]
async fn a_limit_on_descriptors_never_gives_a_call_an_invented_status() {
    let home = Home::new();
    let session = Session::new(&home);
    for most in (0..=14).chain([63, 64, 255, 256]) {
        drive(&session, &home, &format!("ulimit -n {most}")).await;
    }
    let all = (3..=15)
        .map(|fd| format!("{fd}</dev/null"))
        .collect::<Vec<_>>();
    drive(
        &session,
        &home,
        &format!("ulimit -n 16; exec {}", all.join(" ")),
    )
    .await;
}

#[tokio::test]
async fn other_limits_never_give_a_call_an_invented_status() {
    let home = Home::new();
    let session = Session::new(&home);
    for limit in [
        "-f 0", "-f 1", "-u 1", "-v 1", "-v 9000", "-s 1", "-s 64", "-d 1", "-d 100", "-l 0",
        "-m 1",
    ] {
        drive(&session, &home, &format!("ulimit {limit}")).await;
        drive(
            &session,
            &home,
            &format!("x=$(printf %200000s x); ulimit {limit}"),
        )
        .await;
    }
}

#[tokio::test]
async fn no_descriptor_that_a_command_takes_wedges_its_session() {
    let home = Home::new();
    let session = Session::new(&home);
    let few = [0, 1, 2, 3, 10, 11, 63, 255];
    let all = (0..=64).chain([200, 254, 255]);
    let fds: Vec<_> = if is_soak() {
        all.collect()
    } else {
        few.to_vec()
    };
    for fd in fds {
        for what in ["<&-", ">&-", "</dev/null", ">/dev/null", "<>/dev/null"] {
            drive(&session, &home, &format!("exec {fd}{what}")).await;
        }
    }
}

/// Wherever the descriptors run out, the shell has not begun the call: another one runs it.
#[tokio::test]
async fn a_call_that_lacks_descriptors_runs_in_another_shell() {
    let home = Home::new();
    let session = Session::new(&home);
    for most in 5..=14 {
        session.run(&format!("kept=yes; ulimit -n {most}")).await;
        let reply = session.run("echo \"[$kept]\"; (exit 7)").await;
        assert_eq!(reply.exit_code, Some(7), "{most}: {reply:?}");
        let shown = match &reply.session_reset {
            None => "[yes]\n",
            Some(_) => "[]\n",
        };
        assert_eq!(reply.output, shown, "{most}: {reply:?}");
        session.run("exit").await;
    }
}

/// bash keeps in high descriptors what the frame of a call replaces, and complains where one is
/// gone: not in the call's output.
#[tokio::test]
async fn a_command_that_takes_descriptors_sees_nothing_of_the_frame() {
    let home = Home::new();
    let session = Session::new(&home);
    for how in [">&-", ">file", "<>file", "</dev/null"] {
        let all = (3..=40).map(|fd| format!("{fd}{how}")).collect::<Vec<_>>();
        let each = (3..=20).map(|fd| format!("{fd}{how}"));
        for taken in each.chain([all.join(" ")]) {
            let command = format!("exec {taken}; echo out; echo err >&2; (exit 7)");
            let reply = session.run(&command).await;
            assert_eq!(reply.output, "out\nerr\n", "{taken}: {reply:?}");
            assert_eq!(reply.exit_code, Some(7), "{taken}: {reply:?}");
            let next = session.run("echo next; echo err >&2").await;
            assert_eq!(next.output, "next\nerr\n", "after {taken}: {next:?}");
            assert_eq!(next.session_reset, None, "after {taken}: {next:?}");
        }
        let written = std::fs::read_to_string(home.workspace().join("file"));
        assert_eq!(written.unwrap_or_default(), "", "{how}");
    }
}

/// What traces commands traces those of the call, and none of the frame.
#[tokio::test]
async fn what_traces_commands_shows_nothing_of_the_frame() {
    let home = Home::new();
    for (left_on, shown) in [
        ("set -x", "++ echo out\nout\n++ echo err\nerr\n"),
        (
            "BASH_XTRACEFD=1; set -x",
            "++ echo out\nout\n++ echo err\nerr\n",
        ),
        (
            "PS4='$(echo p >&2)> '; set -x",
            "p\n>> echo out\nout\np\n>> echo err\nerr\n",
        ),
        ("set -v", "echo out; echo err >&2\nout\nerr\n"),
        (
            "trap 'echo \"[$BASH_COMMAND]\"' DEBUG",
            "[echo out]\nout\n[echo err 1>&2]\nerr\n",
        ),
        ("trap 'echo \"[$BASH_COMMAND]\"' ERR", "out\nerr\n"),
        ("set -T; trap 'echo returned' RETURN", "out\nerr\n"),
        (
            "set -ETx; trap 'echo \"[$BASH_COMMAND]\"' DEBUG; exec 11>&- 12>&- 13>&-; set +x",
            "[echo out]\nout\n[echo err 1>&2]\nerr\n",
        ),
    ] {
        let session = Session::new(&home);
        session.run(left_on).await;
        for _ in 0..2 {
            let reply = session.run("echo out; echo err >&2").await;
            assert_eq!(reply.output, shown, "{left_on}: {reply:?}");
            assert_eq!(reply.exit_code, Some(0), "{left_on}: {reply:?}");
            assert_eq!(reply.session_reset, None, "{left_on}: {reply:?}");
        }
        session.run("exit").await;
    }
}
