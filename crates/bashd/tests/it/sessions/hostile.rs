//! Commands that end, wedge or confuse the shell: the reply is right, and the next call works.

use super::Session;
use bashd_testkit::Home;
use bashd_testkit::repeat::is_soak;

/// What a command does to its session.
enum Then {
    /// State is kept.
    Stays,
    /// The shell is gone, for this reason.
    Resets(&'static str),
}
use Then::{Resets, Stays};

/// Runs each command in a session that has a variable; then the variable is there, or the reply
/// said why not.
async fn drive(cases: &[(&str, Option<i32>, &str, Then)]) {
    let home = Home::new();
    let session = Session::new(&home);
    for (command, status, output, then) in cases {
        session.output("kept=yes").await;
        let reply = session.run(command).await;
        assert_eq!(reply.exit_code, *status, "{command}: {reply:?}");
        assert!(reply.output.contains(output), "{command}: {reply:?}");
        let kept = match then {
            Stays => {
                assert_eq!(reply.session_reset, None, "{command}");
                "yes\n"
            }
            Resets(why) => {
                let told = reply.session_reset.clone().unwrap_or_default();
                assert!(told.contains(why), "{command}: {told}");
                assert!(
                    reply.text.contains("session was restarted"),
                    "{}",
                    reply.text
                );
                "\n"
            }
        };
        let command = format!("{command}; then kept");
        let next = session.run("\\builtin echo \"$kept\"").await;
        assert_eq!(next.session_reset, None, "{command}");
        assert_eq!(next.exit_code, Some(0), "{command}: {next:?}");
        // `set -v` and the like may have something to say before it.
        assert!(next.output.ends_with(kept), "{command}: {next:?}");
        assert!(!reply.timed_out && !next.timed_out);
    }
}

#[tokio::test]
async fn what_ends_the_shell_ends_it_and_nothing_else() {
    drive(&[
        ("exit 3", Some(3), "", Resets("exited")),
        ("echo a; exit", Some(0), "a\n", Resets("exited")),
        (
            "exec echo replaced",
            Some(0),
            "replaced\n",
            Resets("exited"),
        ),
        (
            "set -e; echo a; false; echo b",
            Some(1),
            "a\n",
            Resets("exited"),
        ),
        (
            "set -u; echo $undefined",
            Some(1),
            "unbound",
            Resets("exited"),
        ),
        (
            "trap 'echo bye' EXIT; exit 4",
            Some(4),
            "bye\n",
            Resets("exited"),
        ),
        ("kill -9 $$", None, "", Resets("killed by signal 9")),
        ("kill -TERM $$", None, "", Resets("killed by signal 15")),
        ("(kill -9 $$)", None, "", Resets("killed by signal 9")),
        ("exec 1>&-; exit 5", Some(5), "", Resets("exited")),
    ])
    .await;
}

#[tokio::test]
async fn what_only_looks_dangerous_leaves_the_state_alone() {
    drive(&[
        ("return 3", Some(2), "can only `return'", Stays),
        ("break", Some(0), "only meaningful", Stays),
        ("echo \"unterminated", Some(2), "unexpected EOF", Stays),
        ("echo 'unterminated", Some(2), "unexpected EOF", Stays),
        ("if true; then", Some(2), "syntax error", Stays),
        ("cat <<END\ntext", Some(0), "text", Stays),
        ("echo $((1 +", Some(2), "unexpected EOF", Stays),
        ("}", Some(2), "syntax error", Stays),
        ("; ; ;", Some(2), "syntax error", Stays),
        ("(exit 7)", Some(7), "", Stays),
        ("sh -c 'kill -9 $$'", Some(137), "", Stays),
        ("false", Some(1), "", Stays),
        (
            "trap 'echo got it' USR1; kill -USR1 $$",
            Some(0),
            "got it\n",
            Stays,
        ),
        (
            "trap - USR1; trap '' TERM; kill -TERM $$; echo alive",
            Some(0),
            "alive\n",
            Stays,
        ),
        ("trap - TERM; exec >&- 2>&-", Some(0), "", Stays),
        ("exec >/dev/null; echo gone", Some(0), "", Stays),
        (
            "exec 0<&- 3<&- 4<&- 5<&- 10<&- 11<&- 201<&-",
            Some(0),
            "",
            Stays,
        ),
        ("exec </dev/null; cat", Some(0), "", Stays),
        ("read x; echo $?", Some(0), "1\n", Stays),
        (
            "alias builtin=false exit=false echo='echo aliased' eval=false",
            Some(0),
            "",
            Stays,
        ),
        ("unalias -a", Some(0), "", Stays),
        (
            "read() { :; }; eval() { :; }; echo() { :; }; exit() { :; }",
            Some(0),
            "",
            Stays,
        ),
        (
            "unset -f read eval echo exit; IFS=0123456789",
            Some(0),
            "",
            Stays,
        ),
        ("unset IFS; PATH=; cd /", Some(0), "", Stays),
        (
            "PATH=/usr/bin:/bin; set -x; true; set +x",
            Some(0),
            "+ true",
            Stays,
        ),
        ("set -v", Some(0), "", Stays),
        (
            "set +v; set -C; set -f; set -o posix; set +o posix",
            Some(0),
            "",
            Stays,
        ),
        ("trap 'true' DEBUG", Some(0), "", Stays),
        (
            "trap - DEBUG; shopt -s extglob; enable -n test",
            Some(0),
            "",
            Stays,
        ),
        ("unset BASHD_RUN PWD OLDPWD HOME", Some(0), "", Stays),
        ("printf '0 1 0\\n'", Some(0), "0 1 0\n", Stays),
    ])
    .await;
}

#[tokio::test]
async fn a_shell_that_cannot_report_is_discarded_at_once() {
    drive(&[
        ("set -n", None, "", Resets("did not report")),
        ("enable -n echo", None, "", Resets("did not report")),
        ("builtin() { :; }", None, "", Resets("did not report")),
        ("enable -n builtin", None, "", Resets("did not report")),
        (
            "shopt -s extdebug; trap false DEBUG",
            None,
            "",
            Resets("did not report"),
        ),
        ("ulimit -n 3", None, "", Resets("did not report")),
        (
            "set -o restricted; set -r",
            None,
            "",
            Resets("did not report"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_never_an_old_command() {
    let home = Home::new();
    let session = Session::new(&home);
    for breaking in [
        "enable -n read",
        "enable -n eval",
        "readonly B2 B3 B4 B5 B6",
        "builtin() { [ \"$1\" = read ] || command \"$@\"; }",
        "builtin() { case $* in *read*) true;; *) command \"$@\";; esac; }",
    ] {
        let reply = session.run(&format!("echo ran >>ran; {breaking}")).await;
        assert_eq!(reply.exit_code, Some(0), "{breaking}: {reply:?}");
        let next = session.run("echo next >>ran").await;
        assert!(
            next.session_reset.is_some() || next.exit_code == Some(0),
            "{breaking}: {next:?}"
        );
        session.run("true").await;
        let ran = std::fs::read_to_string(home.workspace().join("ran")).expect("a file");
        let old = ran.lines().filter(|line| *line == "ran").count();
        assert_eq!(old, 1, "{breaking}: an old command ran again");
        std::fs::remove_file(home.workspace().join("ran")).expect("a file");
        session.run("exit").await;
    }
}

/// Waits until there is no such process any more.
async fn until_gone(pid: &str) {
    let process = std::path::Path::new("/proc").join(pid);
    for _ in 0..2000 {
        if !process.exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{pid} is still there");
}

#[tokio::test]
async fn a_call_that_its_shell_never_came_to_runs_in_another_one() {
    // What is left running has a log, which stays.
    let home = Home::new().keeping_in_state(&["runs"]);
    let session = Session::new(&home);
    for leaving in [
        "trap 'exit 0' USR1; (sleep 0.002; kill -USR1 $$) & echo $!",
        "trap 'exit 3' USR1; (sleep 0.02; kill -USR1 $$) & echo $!",
        "set -t",
        "enable -n read",
        "enable -n eval",
        "enable -n command",
        "trap 'set -n' DEBUG",
    ] {
        for pause in ["", "sleep 0.05"] {
            let reply = session.run(&format!("kept=yes; {leaving}")).await;
            assert_eq!(reply.exit_code, Some(0), "{leaving}: {reply:?}");
            if leaving.contains("kill") {
                // On a busy machine the signal comes late; in the next call it would end that one.
                until_gone(reply.output.trim()).await;
            }
            let next = session
                .run(&format!("{pause}\necho \"ran[$kept]\"; (exit 7)"))
                .await;
            assert_eq!(
                (&*next.output, next.exit_code, next.signal),
                ("ran[]\n", Some(7), None),
                "{leaving}: {next:?}"
            );
            let is_told = reply.session_reset.is_some() || next.session_reset.is_some();
            assert!(is_told, "{leaving}: {next:?}");
            assert_eq!(session.output("echo next").await, "next\n", "{leaving}");
        }
    }
}

#[tokio::test]
async fn a_command_cannot_speak_for_another_call() {
    // What it writes into the pipe of a call that is just over goes to that call's log, which
    // stays.
    let home = Home::new().keeping_in_state(&["runs"]);
    let session = Session::new(&home);
    // It finds every pipe of its session, and writes reports of its own into all of them.
    let forge = "for pipe in /dev/shm/bashd-*/session-$PPID.*/*[or]; do \
        echo '0 2 0' 2>/dev/null >\"$pipe\"; done";
    let reply = session.run(&format!("{forge}; exit 9")).await;
    assert!(reply.session_reset.is_some(), "{reply:?}");
    let left = session
        .run(&format!(
            "(while sleep 0.01; do {forge}; done) >/dev/null 2>&1 & echo $!"
        ))
        .await;
    let mut was_reset = false;
    for number in 0..5 {
        let reply = session
            .run(&format!("echo {number}; (exit {number})"))
            .await;
        was_reset |= reply.session_reset.is_some();
        if reply.session_reset.is_none() {
            assert_eq!(reply.exit_code, Some(number), "{reply:?}");
        }
    }
    crate::profile_under_test::end(&left);
    session.run("kill $! 2>/dev/null; true").await;
    let reply = session.run("exit 6").await;
    assert_eq!(reply.exit_code, Some(6), "after {was_reset}: {reply:?}");
}

#[tokio::test]
async fn large_output_without_memory_growth_and_with_exact_counts() {
    let home = Home::new();
    let session = Session::new(&home);
    session.output("true").await;
    let bytes = (96_u64 << 20) + if is_soak() { 928 << 20 } else { 0 };
    let before = peak_memory();
    let flood = format!("yes 'a line of some length' | head -c {bytes}; exec 9>&1; x=1");
    let request = session
        .request(&flood)
        .timeout(std::time::Duration::from_mins(10));
    let reply = session.engine.run(request).await;
    let growth = peak_memory() - before;
    assert_eq!(
        (reply.exit_code, reply.output_bytes),
        (Some(0), bytes),
        "{reply:?}"
    );
    assert_eq!(reply.dropped_bytes, bytes - (64 << 20));
    assert!(growth < 32 << 20, "{growth} bytes more");
    assert_eq!(session.output("echo $x").await, "1\n");
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size")
}

#[tokio::test]
async fn exec_cannot_replace_host() {
    let home = Home::new();
    let session = Session::new(&home);
    let reply = session.run("exec sh -c 'echo other; exit 8'").await;
    assert_eq!((&*reply.output, reply.exit_code), ("other\n", Some(8)));
    assert_eq!(session.output("echo $0").await, "bash\n");
}

#[tokio::test]
async fn completes_when_background_job_holds_stdout_and_its_output_stays_its_own() {
    let home = Home::new();
    let session = Session::new(&home);
    let writer = "(while :; do echo noise; sleep 0.01; done) & echo started";
    let reply = session.run(writer).await;
    assert!(reply.output.starts_with("started\n") || reply.output.contains("noise"));
    assert!(!reply.left_behind.is_empty(), "{reply:?}");
    for number in 0..20 {
        let said = session.output(&format!("echo {number}")).await;
        assert_eq!(said, format!("{number}\n"));
    }
    // Its own log goes on growing.
    let runs = session.engine.config().runs_dir();
    let log = std::fs::read_dir(&runs)
        .expect("runs")
        .flatten()
        .map(|entry| entry.path().join("output"))
        .find(|path| path.exists())
        .expect("the writer's log");
    let before = std::fs::metadata(&log).expect("a log").len();
    session.output("sleep 0.2").await;
    assert!(std::fs::metadata(&log).expect("a log").len() > before);
    session.output("kill %1; wait %1 2>/dev/null; true").await;
    std::fs::remove_dir_all(log.parent().expect("a directory")).expect("a log");
}
