//! What stays from call to call, and what does not.

use super::Session;
use crate::engine_under_test::engine;
use crate::profile_under_test::records;
use bashd::Request;
use bashd_testkit::Home;
use std::fs;

#[tokio::test]
async fn what_a_call_sets_the_next_one_finds() {
    let home = Home::new();
    let session = Session::new(&home);
    for (set, ask, answer) in [
        ("x=1", "echo $x", "1\n"),
        // Names that something of ours might have.
        (
            "for n in {1..40}; do eval B$n=$n; done; P=p O=o B=b",
            "echo $B1 $B2 $B3 $B4 $B5 $B30 $P $O $B",
            "1 2 3 4 5 30 p o b\n",
        ),
        (
            "cd / && BASHD_P=p BASHD_O=o",
            "cd - >/dev/null; echo $BASHD_P $BASHD_O $B3 $B40",
            "p o 3 40\n",
        ),
        ("export y='a b'", "sh -c 'echo \"$y\"'", "a b\n"),
        ("f() { echo \"f $1\"; }", "f 2", "f 2\n"),
        ("alias hello='echo hello'", "hello you", "hello you\n"),
        ("set -o pipefail", "false | true; echo $?", "1\n"),
        ("shopt -s nullglob", "echo no-such-*", "\n"),
        (
            "mkdir -p d/e; cd d",
            "cd e; pwd | tail -c 5; cd ..",
            "/d/e\n",
        ),
        ("umask 077", "umask", "0077\n"),
        ("set -- a b c", "echo $#", "3\n"),
        (
            "exec 9>kept; echo first >&9",
            "echo second >&9; cat kept",
            "first\nsecond\n",
        ),
        ("sleep 0 & wait $!", "jobs; echo $?", "0\n"),
    ] {
        assert_eq!(session.output(set).await, "", "{set}");
        assert_eq!(session.output(ask).await, answer, "{ask}");
    }
}

#[tokio::test]
async fn sessions_know_nothing_of_each_other() {
    let home = Home::new();
    let engine = engine(&home);
    let (one, two) = (Session::on(&engine, "one"), Session::on(&engine, "two"));
    one.output("x=1; cd /; f() { :; }; alias a=b; set -f").await;
    let ask = "echo \"[$x]$(type -t f)$(alias)\"; pwd; case $- in *f*) echo noglob;; esac";
    let cwd = home.workspace();
    let expected = format!("[]\n{}\n", cwd.display());
    assert_eq!(two.output(ask).await, expected);
    let alone = engine.run(Request::new(ask)).await;
    assert_eq!(alone.output, expected);
    assert_eq!(one.output("echo $x$PWD").await, "1/\n");
}

#[tokio::test]
async fn variables_of_one_call_do_not_leak_into_the_next() {
    let home = Home::new();
    let session = Session::new(&home);
    let request = session.request("echo \"$A\"; sh -c 'echo \"$A\"'; kept=$A");
    let reply = session
        .engine
        .run(request.env("A", "it's\n$x `y` \\"))
        .await;
    let value = "it's\n$x `y` \\\n";
    assert_eq!(reply.output, format!("{value}{value}"));
    assert_eq!(session.output("echo \"[$A]\"").await, "[]\n");
    assert_eq!(session.output("echo \"$kept\"").await, value);
    session.output("export B=own").await;
    let reply = session
        .engine
        .run(session.request("echo $B").env("B", "call"))
        .await;
    assert_eq!(reply.output, "call\n");
    assert_eq!(session.output("echo $B").await, "own\n");
    // What only bash itself may set is left alone.
    let reply = session
        .engine
        .run(session.request("echo ok").env("UID", "7"))
        .await;
    assert_eq!((&*reply.output, reply.exit_code), ("ok\n", Some(0)));
}

#[tokio::test]
async fn honours_cwd_for_its_call_only() {
    let home = Home::new();
    let session = Session::new(&home);
    let cwd = home.workspace();
    fs::create_dir_all(cwd.join("it's here/deeper")).expect("a directory");
    fs::create_dir_all(cwd.join("other")).expect("a directory");
    session.output("cd other").await;
    let request = session.request("pwd; cd deeper; x=1").cwd("it's here");
    let reply = session.engine.run(request).await;
    assert_eq!(reply.output, format!("{}/it's here\n", cwd.display()));
    let asked = session.output("pwd; echo $x; cd - >/dev/null; pwd").await;
    let expected = format!("{0}/other\n1\n{0}\n", cwd.display());
    assert_eq!(
        asked, expected,
        "`cd -` still knows where the session came from"
    );
    let request = session.request("pwd").cwd("no such");
    let reply = session.engine.run(request).await;
    assert!(
        reply
            .error
            .is_some_and(|error| error.contains("does not exist"))
    );
    assert_eq!(session.output("pwd").await, format!("{}\n", cwd.display()));
}

#[tokio::test]
async fn a_leading_cd_stays_in_a_session() {
    let home = Home::new();
    let engine = engine(&home);
    let deep = home.workspace().join("one/two");
    fs::create_dir_all(&deep).expect("a directory");
    let pi = async |command: String| engine.run(Request::new(command).profile("pi")).await;
    for (command, expected) in [
        ("cd one && pwd".to_owned(), "one"),
        ("cd two && pwd".to_owned(), "one/two"),
        ("pwd".to_owned(), "one/two"),
        (
            format!("cd {} && pwd", home.workspace().join("one").display()),
            "one",
        ),
        ("pwd".to_owned(), "one"),
    ] {
        let reply = pi(command.clone()).await;
        let expected = format!("{}\n", home.workspace().join(expected).display());
        assert_eq!(reply.output, expected, "{command}: {reply:?}");
    }
}

#[tokio::test]
async fn the_shell_looks_like_bash() {
    let home = Home::new();
    let session = Session::new(&home);
    assert_eq!(session.output("echo $0").await, "bash\n");
    assert_eq!(session.output("ls /proc/self/fd | wc -l").await, "4\n");
    let reply = session.run("no-such-program").await;
    assert_eq!(reply.exit_code, Some(127));
    let first = "bash: line ";
    assert!(reply.output.starts_with(first), "{}", reply.output);
    let reply = session
        .engine
        .run(session.request("cat").stdin("some\ntext"))
        .await;
    assert_eq!(reply.output, "some\ntext");
    assert_eq!(session.output("cat").await, "");
    assert_eq!(session.output("echo \"[$OLDPWD]\"").await, "[]\n");
    let mark = session.output("echo $BASHD_RUN").await;
    assert_ne!(session.output("echo $BASHD_RUN").await, mark);
}

#[tokio::test]
async fn dollar_bang_is_a_real_pid_and_its_job_is_there_in_the_next_call() {
    let home = Home::new();
    let session = Session::new(&home);
    let reply = session.run("sleep 60 >/dev/null 2>&1 & echo $!").await;
    let pid: i32 = reply.output.trim().parse().expect("a pid");
    assert_eq!(reply.left_behind.len(), 1, "{reply:?}");
    assert_eq!(reply.left_behind[0].pid, pid);
    let told = session.output("jobs -p").await;
    assert_eq!(told.trim(), pid.to_string());
    let told = session.run("kill %1; wait %1").await;
    assert_eq!((told.exit_code, told.signal), (Some(143), None));
}

#[tokio::test]
async fn streams_that_are_apart_stay_apart() {
    let home = Home::new();
    let session = Session::new(&home);
    let run = session
        .engine
        .run(session.request("echo out; echo err >&2").profile("harness"))
        .await;
    assert_eq!(
        run.text,
        r#"{"stdout":"out\n","stderr":"err\n","exitCode":0}"#
    );
    let again = session.request("x=1; echo ${#x}").profile("harness");
    assert!(
        session
            .engine
            .run(again)
            .await
            .text
            .contains(r#""stdout":"1\n""#)
    );
}

#[tokio::test]
async fn a_shell_that_is_not_bash_runs_one_shot() {
    let home = Home::new();
    let session = Session::new(&home);
    let mut config = session.engine.config().clone();
    config.shell = Some("sh".to_owned());
    let surroundings = bashd::Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine =
        bashd::Engine::new(config, surroundings, bashd::KeeperSource::Hook).expect("an engine");
    let session = Session::on(&engine, "one");
    let reply = session.run("x=1; echo $0").await;
    assert!(reply.text.contains("sessions need bash"), "{}", reply.text);
    assert_eq!(session.output("echo \"[$x]\"").await, "[]\n");
}

#[tokio::test]
async fn the_prefix_stands_before_every_command() {
    let home = Home::new();
    let session = Session::new(&home);
    let mut config = session.engine.config().clone();
    config.prefix = Some("env PREFIXED=yes".to_owned());
    let surroundings = bashd::Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine =
        bashd::Engine::new(config, surroundings, bashd::KeeperSource::Hook).expect("an engine");
    let session = Session::on(&engine, "one");
    assert_eq!(session.output("printenv PREFIXED").await, "yes\n");
    let alone = engine.run(Request::new("printenv PREFIXED")).await;
    assert_eq!(alone.output, "yes\n");
    let voice = engine
        .run(Request::new("printenv PREFIXED").profile("voice"))
        .await;
    assert_eq!(voice.exit_code, Some(1), "{voice:?}");
}

#[tokio::test]
async fn the_ledger_tells_where_the_session_was() {
    let home = Home::new();
    let session = Session::new(&home);
    let place = |name: &str| home.workspace().join(name).display().to_string();
    session.output("mkdir -p a/b; cd a").await;
    session.output("cd b").await;
    session.output("true").await;
    let elsewhere = session.request("pwd").cwd(home.home());
    session.engine.run(elsewhere).await;
    session.output("true").await;
    let places: Vec<_> = records(&home)
        .into_iter()
        .map(|record| record.cwd)
        .collect();
    let workspace = home.workspace().display().to_string();
    let elsewhere = home.home().display().to_string();
    assert_eq!(
        places,
        [workspace, place("a"), place("a/b"), elsewhere, place("a/b")]
    );
}
