//! What a process that stands still can hold up: whoever asks for it, and nobody else.

use crate::mcp;
use crate::rpc_socket::{Peer, serving};
use crate::rpc_under_test::PATIENCE;
use crate::stalls::fork_server;
use bashd_testkit::Home;
use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn home() -> Home {
    Home::new().keeping_in_state(&["runs"])
}

fn directory(home: &Home, job: &Value) -> PathBuf {
    let id = job.as_str().unwrap_or_else(|| panic!("no job: {job}"));
    home.state().join("runs").join(id)
}

fn keeper(job: &Path) -> Pid {
    let text = fs::read_to_string(job.join("spec.json")).unwrap();
    let spec: Value = serde_json::from_str(&text).unwrap();
    Pid::from_raw(spec["keeper"].as_i64().unwrap() as i32).unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until this process waits for a lock that somebody else has.
fn until_waiting() {
    let own = std::process::id().to_string();
    until("the lock is waited for", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let is_own = |line: &str| line.split_whitespace().any(|word| word == own);
        locks
            .lines()
            .any(|line| line.contains(" -> FLOCK") && is_own(line))
    });
}

/// The job's directory is gone and its keeper, who could make it again, does not answer.
#[test]
fn a_stopped_keeper_delays_nobody_who_looks_for_jobs() {
    let home = home();
    let mut client = mcp::Client::connect(&home, &[]);
    let started = client.bash(&json!({"command": "sleep 300", "background": true}));
    let job = directory(&home, &started["_meta"]["bashd/reply"]["job"]);
    let keeper = keeper(&job);
    // Whoever is subscribed is told of changes: the server looks again and again.
    let uri = format!("job://{}", job.file_name().unwrap().to_str().unwrap());
    client.ask("resources/subscribe", &json!({"uri": uri}));
    kill_process(keeper, Signal::STOP).unwrap();
    fs::remove_dir_all(home.state().join("runs")).unwrap();
    // Somebody looks for jobs, and whoever tells of their ends does so by himself.
    client.request("resources/list", &json!({}));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        let one = Instant::now();
        let number = client.request("ping", &json!({}));
        client.wait_for(|message| message["id"] == number);
        assert!(
            one.elapsed() < Duration::from_millis(1500),
            "{:?}",
            one.elapsed()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(keeper, Signal::CONT).unwrap();
    until("its directory is there again", || {
        client.ask("resources/list", &json!({}));
        job.join("control").exists()
    });
    let killed = json!({"name": "job", "arguments": {"action": "kill", "job": "bg_1"}});
    let answer = client.ask("tools/call", &killed);
    assert!(answer.to_string().contains("ended on request"), "{answer}");
    client.finish();
}

/// The keeper was killed, and somebody else settles the job and stands still.
#[test]
fn a_lost_job_that_can_not_be_settled_delays_only_who_waits_for_it() {
    let home = home();
    let (mut server, path) = serving(&home);
    let mut waiting = Peer::connect(&path);
    let call = json!({"command": "sleep 300", "background": true});
    let started = waiting.ask(&json!({"id": 1, "type": "call", "arguments": call}));
    let job = directory(&home, &started["data"]["job"]);
    let asked = json!({"action": "wait", "job": "bg_1", "timeout": 60});
    waiting.say(&json!({"id": 2, "type": "job", "arguments": asked}));
    // Readers hold it like this for a moment. Whoever waits for it first has it first.
    let lock = File::open(job.join("lock")).unwrap();
    let holding = std::thread::spawn(move || {
        rustix::fs::flock(&lock, FlockOperation::LockShared).unwrap();
        lock
    });
    until_waiting();
    kill_process(keeper(&job), Signal::KILL).unwrap();
    let lock = holding.join().unwrap();
    let mut other = Peer::connect(&path);
    // The fork server settles it as well. If that kept it, another would take its place.
    let forks = fork_server(&home);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        let call = json!({"command": "echo fine", "session": format!("{:?}", begun.elapsed())});
        let answer = other.ask(&json!({"id": 1, "type": "call", "arguments": call}));
        assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
        assert!(
            one.elapsed() < Duration::from_secs(6),
            "{:?}",
            one.elapsed()
        );
    }
    assert_eq!(fork_server(&home), forks, "the fork server was replaced");
    drop(lock);
    let answer = waiting.answer();
    let state = &answer["data"]["result"]["jobs"][0]["job"]["state"];
    assert_eq!(*state, "lost", "{answer}");
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert_eq!(server.ended().code(), Some(143));
}

/// Somebody removed a file of a job that runs: it is neither lost nor out of reach.
#[test]
fn a_job_whose_files_are_removed_goes_on_and_can_be_ended() {
    let home = home();
    for victim in ["lock", "control", "spec.json", "output", "claim.json"] {
        let command = "echo begun; sleep 300";
        let started = crate::shown(&home, &["run", "--background", "--json", command]);
        let reply: Value = serde_json::from_str(&started.out()).unwrap();
        let job = directory(&home, &reply["job"]);
        fs::remove_file(job.join(victim)).unwrap();
        let id = reply["job"].as_str().unwrap();
        let output = crate::shown(&home, &["jobs", "output", id]).out();
        assert!(output.contains("begun"), "without {victim}: {output}");
        let shown = crate::shown(&home, &["jobs", "show", id, "--json"]).out();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["state"], "running", "without {victim}: {shown}");
        let killed = crate::shown(&home, &["jobs", "kill", id]);
        assert_eq!(killed.code(), Some(0), "without {victim}: {}", killed.err());
    }
}

/// Somebody holds the lock of a run whose call still waits, and kills its keeper: the call is told,
/// and nobody else waits.
#[test]
fn a_lost_run_whose_lock_is_held_delays_nobody() {
    let home = home();
    let (mut server, path) = serving(&home);
    let mut waiting = Peer::connect(&path);
    let call = json!({"command": "echo begun; sleep 300", "timeout": 600});
    waiting.say(&json!({"id": 1, "type": "call", "arguments": call}));
    let live = home.state().join("live");
    let announced = || fs::read_dir(&live).ok()?.flatten().next();
    until("it is announced", || {
        announced().is_some_and(|run| run.path().join("spec.json").exists())
    });
    let run = announced().unwrap().path();
    let lock = File::open(run.join("lock")).unwrap();
    let keeper = keeper(&run);
    let holding = std::thread::spawn(move || {
        rustix::fs::flock(&lock, FlockOperation::LockShared).unwrap();
        lock
    });
    until_waiting();
    let mut other = Peer::connect(&path);
    other.ask(&json!({"id": 1, "type": "bash", "command": "echo fine"}));
    kill_process(keeper, Signal::KILL).unwrap();
    let lock = holding.join().unwrap();
    let mut answers = 0;
    let begun = Instant::now();
    // What is shut out of a lock for this long would have stood still for as long.
    while begun.elapsed() < Duration::from_millis(1500) {
        let one = Instant::now();
        other.ask(&json!({"id": 1, "type": "schema"}));
        answers += 1;
        let took = one.elapsed();
        assert!(took < Duration::from_millis(1200), "{took:?}, {answers}");
    }
    drop(lock);
    let answer = waiting.answer();
    let error = answer["data"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("keeper"), "{answer}");
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert_eq!(server.ended().code(), Some(143));
}
