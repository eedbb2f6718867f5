//! What is asked again over another carrier, and what is not: an order where its id can't be known,
//! and what is sent to a job. And what is removed of what is stored there.

use super::{carrier, ended, home_with, kill, on, reply_of, spawned, wait_until};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;

/// A carrier that notes its process id, and whose outpost has another directory each time: as where
/// the first one can't be written any more.
const MOVING: &str = "n=$(cat \"$TMPDIR/count\" 2>/dev/null || echo 0); \
    echo $((n + 1)) >\"$TMPDIR/count\"; echo $$ >>\"$TMPDIR/carriers\"; \
    exec \"$@\" --orphaned 0.3 --state \"$HOME/state$n\"";

#[test]
fn an_order_is_not_begun_again_by_an_outpost_that_can_not_know_of_it() {
    let carrier = [&["sh", "-c", MOVING, "sh"], &carrier()[..]].concat();
    let home = home_with(&carrier, "");
    let begun = home.tmp().join("begun");
    let script = "echo $BASHD_RUN >>marks; touch \"$TMPDIR/begun\"; sleep 1; exit 7";
    let child = spawned(&on(&home, &["--json", script]).stdin(""));
    wait_until("the command", || begun.exists());
    kill(super::carriers(&home)[0]);
    let (text, status) = ended(child);
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &reply["exit_code"]),
        (Some(125), &Value::Null),
        "{text}"
    );
    let error = reply["error"].as_str().unwrap();
    assert!(
        error.contains("it is not known how the command ended at the place `there`"),
        "{error}"
    );
    let marks = fs::read_to_string(home.home().join("marks")).unwrap();
    assert_eq!(marks.lines().count(), 1, "it was begun again: {marks}");
    for left in ["begun", "carriers", "count"] {
        fs::remove_file(home.tmp().join(left)).unwrap();
    }
}

/// A carrier whose outpost is heard until it has greeted, if there is a file.
const DEAF: &str = "exec 4<&0; [ -e \"$TMPDIR/deaf\" ] || exec \"$@\"; \
    exec stdbuf -o0 head -c 200 < <(\"$@\" <&4)";

#[test]
fn what_is_sent_to_a_job_is_sent_once_and_it_is_said_if_nobody_knows_whether_it_arrived() {
    let carrier = [&["bash", "-c", DEAF, "sh"], &carrier()[..]].concat();
    let home =
        home_with(&carrier, "connect_seconds = 2\n").keeping_in_state(&["outpost", "places"]);
    let script = "while read -r line; do echo got $line; done; sleep 60";
    let begun = on(&home, &["--background", "--stdin-open", script]).run();
    assert_eq!(begun.code(), Some(0), "{}", begun.err());
    let deaf = home.tmp().join("deaf");
    let jobs = |arguments: &[&str]| crate::shown(&home, &[&["jobs"], arguments].concat());
    // How much a greeting is depends on the machine: long enough is what lets it through.
    let heard_for = |most: usize| {
        let text = fs::read_to_string(home.config().join("config.toml")).unwrap();
        let cut = text.replace("head -c 200", &format!("head -c {most}"));
        fs::write(home.config().join("config.toml"), &cut).unwrap();
        let sent = jobs(&["send", "there:bg_1", "hello", "--enter"]);
        fs::write(home.config().join("config.toml"), text).unwrap();
        sent
    };
    fs::write(&deaf, "").unwrap();
    let sent = (200..1000).step_by(50).find_map(|most| {
        let sent = heard_for(most);
        assert_eq!(sent.code(), Some(125), "{most}: {}", sent.out());
        let is_lost = sent.err().contains("the place `there` was lost");
        is_lost.then_some(sent)
    });
    let sent = sent.expect("it greets in a thousand bytes");
    let said = "it is not known whether it arrived";
    assert!(sent.err().contains(said), "{}", sent.err());
    fs::remove_file(&deaf).unwrap();
    let waited = jobs(&["wait", "there:bg_1", "--regex", "got", "--timeout", "10"]);
    assert_eq!(waited.code(), Some(0), "{}{}", waited.out(), waited.err());
    let output = jobs(&["output", "there:bg_1"]).out();
    assert_eq!(output, "got hello\n", "once");
    assert_eq!(jobs(&["kill", "there:bg_1"]).code(), Some(0));
}

/// Bytes of everything below a directory.
fn stored(home: &Home) -> u64 {
    let runs = fs::read_dir(home.state().join("outpost/runs"));
    let files = runs.into_iter().flatten().flatten().flat_map(|run| {
        let files = fs::read_dir(run.path()).into_iter().flatten();
        files.flatten().collect::<Vec<_>>()
    });
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}

#[test]
fn what_is_stored_there_is_removed_by_the_limits_of_here() {
    let home =
        home_with(&carrier(), "").keeping_in_state(&["outpost", "places", "runs", "artifacts"]);
    let file = home.config().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("spool.total_bytes = \"6MiB\"\n{text}")).unwrap();
    let mut ids = Vec::new();
    for number in 0..6 {
        let script = format!("seq 1 400000; echo {number}");
        let reply = reply_of(&on(&home, &["--json", &script]).run());
        ids.push(reply["artifact"].as_str().unwrap().to_owned());
    }
    // One of 2.5 MiB that somebody may still read is not removed.
    wait_until("the end of the rest", || stored(&home) < 9 << 20);
    let read = |id: &str| crate::shown(&home, &["artifact", "read", id, "--tail", "1"]);
    assert_eq!(read(&ids[5]).out(), "5\n");
    let gone = read(&ids[0]);
    assert_eq!(gone.code(), Some(125), "{}", gone.out());
}

#[test]
fn a_model_names_directories_of_the_place_where_all_calls_run_there() {
    let home = home_with(&carrier(), "");
    let far = home.root().join("far");
    fs::create_dir_all(far.join("below")).unwrap();
    fs::create_dir(home.workspace().join("ours")).unwrap();
    fs::create_dir(far.join("ours")).unwrap();
    let file = home.config().join("config.toml");
    let text = fs::read_to_string(&file).unwrap();
    let map = format!("map = {{ {:?} = {far:?} }}\n", home.workspace());
    fs::write(&file, format!("{text}{map}")).unwrap();
    let mut client = crate::rpc_under_test::Client::start(&home, &["--on", "there"]);
    let mut ask = |cwd: &std::path::Path| {
        let arguments = json!({ "command": "pwd", "cwd": cwd });
        let told = client.ask(&json!({ "id": "1", "type": "call", "arguments": arguments }));
        told["data"]["text"].as_str().unwrap_or_default().to_owned()
    };
    let shown = |path: &str| format!("{}\n", far.join(path).display());
    assert_eq!(ask(&far.join("below")), shown("below"), "one of there");
    assert_eq!(ask(&home.workspace().join("ours")), shown("ours"), "ours");
    let refused = ask(std::path::Path::new("/usr"));
    assert!(
        refused.contains("/usr is mapped to no directory of the place `there`"),
        "{refused}"
    );
    client.close();
}
