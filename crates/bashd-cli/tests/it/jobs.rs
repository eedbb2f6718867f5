//! `bashd run --background` and `bashd jobs`: every subcommand, and that jobs survive SIGKILL of
//! bashd.

use crate::rpc_under_test::Client;
use crate::{bashd, shown};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Binary, Home, loudly};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A limit that is never reached unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn home() -> Home {
    Home::new().keeping_in_state(&["runs"])
}

/// Runs and reads its JSON, one object a line.
fn objects(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let transcript = bashd(home, arguments).limit(PATIENCE).run();
    assert_eq!(
        transcript.code(),
        Some(0),
        "{arguments:?}: {}",
        transcript.err()
    );
    let out = transcript.out();
    let lines = out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn object(home: &Home, arguments: &[&str]) -> Value {
    let mut objects = objects(home, arguments);
    assert_eq!(objects.len(), 1, "{arguments:?}: {objects:?}");
    objects.remove(0)
}

/// Starts a job; its id.
fn start(home: &Home, arguments: &[&str]) -> String {
    let reply = object(
        home,
        &[&["run", "--background", "--json"], arguments].concat(),
    );
    let id = reply["job"].as_str();
    id.unwrap_or_else(|| panic!("no job in {reply}")).to_owned()
}

#[test]
fn a_job_from_start_to_removal() {
    let home = home();
    let id = start(
        &home,
        &[
            "--stdin-open",
            "echo one; read word; echo \"got $word\"; sleep 300",
        ],
    );
    let waited = object(&home, &["jobs", "wait", &id, "--regex", "^one$", "--json"]);
    assert_eq!(
        (&waited["met"], &waited["by"]),
        (&json!("yes"), &json!("one"))
    );
    let listed = object(&home, &["jobs", "--json"]);
    assert_eq!(
        (&listed["id"], &listed["alias"]),
        (&json!(id), &json!("bg_1"))
    );
    let table = shown(&home, &["jobs"]).out();
    assert!(
        table.contains("STATE") && table.contains(&id) && table.contains("| one"),
        "{table}"
    );
    let page = shown(&home, &["jobs", "show", "bg_1"]).out();
    assert!(
        page.contains("process group") && page.contains("last line     one"),
        "{page}"
    );
    assert_eq!(shown(&home, &["jobs", "output", &id]).out(), "one\n");
    assert_eq!(
        shown(&home, &["jobs", "send", &id, "word", "--enter"]).code(),
        Some(0)
    );
    object(
        &home,
        &["jobs", "wait", &id, "--regex", "got word", "--json"],
    );
    assert_eq!(
        shown(&home, &["jobs", "output", &id, "--offset", "4"]).out(),
        "got word\n"
    );
    assert_eq!(
        shown(&home, &["jobs", "output", &id, "--tail", "1"]).out(),
        "got word\n"
    );
    assert_eq!(
        shown(&home, &["jobs", "output", &id, "--grep", "o.e"]).out(),
        "one\n"
    );
    let late = shown(&home, &["jobs", "wait", &id, "--timeout", "0.1"]);
    assert_eq!(late.code(), Some(124), "{}", late.err());
    assert_eq!(
        shown(&home, &["jobs", "rename", &id, "server"]).code(),
        Some(0)
    );
    let running = shown(&home, &["jobs", "rm", &id]);
    assert_eq!(running.code(), Some(125));
    assert!(
        running.err().contains("is still running"),
        "{}",
        running.err()
    );
    let killed = object(&home, &["jobs", "kill", "server", "--json"]);
    assert_eq!(
        (&killed["state"], &killed["signal"]),
        (&json!("killed"), &json!(15))
    );
    assert_eq!(killed["output_bytes"], 13);
    assert_eq!(killed["dropped_bytes"], 0);
    assert!(
        objects(&home, &["jobs", "--json"]).is_empty(),
        "its end was told"
    );
    assert_eq!(objects(&home, &["jobs", "--all", "--json"]).len(), 1);
    assert_eq!(shown(&home, &["jobs", "rm", &id]).code(), Some(0));
    let gone = shown(&home, &["jobs", "show", &id]);
    assert_eq!(gone.code(), Some(125));
    assert!(gone.err().contains("there is no job"), "{}", gone.err());
}

#[test]
fn following_ends_with_the_job_and_leaves_it_running_on_ctrl_c() {
    let home = home();
    let id = start(&home, &["for i in 1 2 3 4 5; do echo $i; sleep 0.2; done"]);
    let followed = bashd(&home, &["jobs", "follow", &id]).limit(PATIENCE).run();
    assert_eq!(
        (followed.out().as_str(), followed.code()),
        ("1\n2\n3\n4\n5\n", Some(0))
    );
    let id = start(&home, &["echo first; sleep 300"]);
    let mut child = bashd(&home, &["jobs", "follow", &id]).spawn();
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    let shown = object(&home, &["jobs", "show", &id, "--json"]);
    assert_eq!(shown["state"], "running");
    object(&home, &["jobs", "kill", &id, "--json"]);
}

#[test]
fn at_the_timeout_a_command_is_ended_or_goes_on() {
    let home = home();
    let ended = shown(&home, &["run", "--timeout", "1", "sleep 300"]);
    assert_eq!(ended.code(), Some(124));
    let arguments = [
        "run",
        "--timeout",
        "1",
        "--on-timeout",
        "background",
        "--json",
    ];
    let reply = object(&home, &[&arguments[..], &["echo here; sleep 300"]].concat());
    let id = reply["job"].as_str().unwrap();
    assert_eq!(
        (&reply["output"], &reply["timed_out"]),
        (&json!("here\n"), &json!(false))
    );
    object(&home, &["jobs", "kill", id, "--json"]);
    let log = shown(&home, &["log", "--limit", "1"]).out();
    assert!(log.contains("  job "), "{log}");
}

/// Status of a script that was not allowed to mount.
const REFUSED: i32 = 77;

/// Runs a script in a mount namespace of its own: nobody else sees its disks. Nothing, and that
/// loudly, where nobody may mount; whatever else goes wrong is for the caller to see.
fn in_mounts_of_its_own(home: &Home, script: &str, untested: &str) -> Option<Output> {
    let run = |script: &str| {
        Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script])
            .env_clear()
            .envs(home.env())
            .current_dir(home.workspace())
            .output()
            .unwrap()
    };
    let probe = run(&format!(
        "mount -t tmpfs tmpfs '{}'",
        home.state().display()
    ));
    let output = probe.status.success().then(|| run(script));
    let done = output.filter(|output| output.status.code() != Some(REFUSED));
    if done.is_none() {
        let why = String::from_utf8_lossy(&probe.stderr);
        loudly(&format!(
            "nothing can be mounted here: {untested} is NOT tested ({why})"
        ));
    }
    done
}

#[test]
fn a_status_is_written_on_a_full_disk() {
    let home = home();
    std::fs::create_dir_all(home.state()).unwrap();
    let binary = env!("CARGO_BIN_EXE_bashd");
    let script = format!(
        "mount -t tmpfs -o size=256k tmpfs '{state}' || exit {REFUSED}
         id=$('{binary}' run --background --json 'sleep 0.5; head -c 1000000 /dev/zero; exit 3' |
             grep -o '\"job\":\"[^\"]*' | cut -d'\"' -f4 | head -n 1)
         '{binary}' jobs wait $id --json --timeout 60 || exit
         tr -cd '\\000' < '{state}'/runs/$id/output | wc -c
         ls -A '{state}'/runs/$id | grep '^[.]'; true",
        state = home.state().display()
    );
    let Some(output) = in_mounts_of_its_own(&home, &script, "a full disk") else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [job, kept] = lines.as_slice() else {
        panic!("a job, what its file has, and no files beside: {text}");
    };
    let job: Value = serde_json::from_str(job).unwrap();
    assert_eq!(
        (&job["state"], &job["exit_code"]),
        (&json!("exited"), &json!(3)),
        "{job}"
    );
    assert_eq!(job["output_bytes"], 1_000_000, "{job}");
    let kept: u64 = kept.parse().unwrap();
    let dropped = job["dropped_bytes"].as_u64().unwrap();
    // The last page may have taken a little more of the tail, which nobody could place any more.
    assert!(
        (1_000_000..1_004_096).contains(&(kept + dropped)),
        "{kept} {job}"
    );
    assert!(kept < 500_000, "{kept}");
}

#[test]
fn a_disk_that_becomes_read_only_loses_the_status_and_hangs_nobody() {
    let home = home();
    std::fs::create_dir_all(home.state()).unwrap();
    let binary = env!("CARGO_BIN_EXE_bashd");
    let script = format!(
        "mount -t tmpfs tmpfs '{state}' || exit {REFUSED}
         id=$('{binary}' run --background --json 'until [ -e {gate} ]; do sleep 0.1; done; echo late' |
             grep -o '\"job\":\"[^\"]*' | cut -d'\"' -f4 | head -n 1)
         mount --bind '{state}' '{state}' && mount -o remount,bind,ro '{state}' || {{ touch {gate}; exit {REFUSED}; }}
         '{binary}' run --background --json 'sleep 300' >&2; echo \"status $?\"
         touch {gate}
         '{binary}' jobs wait $id --json --timeout 60",
        state = home.state().display(),
        gate = home.workspace().join("gate").display(),
    );
    let untested = "a disk that becomes read-only";
    let Some(output) = in_mounts_of_its_own(&home, &script, untested) else {
        return;
    };
    let why = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    // A new job is refused, and says why.
    assert_eq!(lines.next(), Some("status 125"), "{text} {why}");
    assert!(why.contains("Read-only file system"), "{why}");
    let job: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(job["state"], "lost", "{job}");
    assert!(job["exit_code"].is_null(), "{job}");
}

#[test]
fn limits_are_given_on_the_command_line_and_told() {
    let home = home();
    let arguments = [
        "run",
        "--json",
        "--set",
        "limits.cgroup=off",
        "--max-cpu",
        "9",
    ];
    let limits = ["--max-memory", "256MiB", "--max-processes", "500"];
    let reply = object(
        &home,
        &[&arguments[..], &limits[..], &["ulimit -t; ulimit -d"]].concat(),
    );
    assert_eq!(reply["output"], "9\n262144\n", "{reply}");
    assert_eq!(reply["limits"]["kind"], "rlimits", "{reply}");
    assert_eq!(reply["limits"]["memory_bytes"], 256 << 20, "{reply}");
    let report = object(&home, &["run", "--json", "true"]);
    assert!(report["limits"].is_null(), "{report}");
    let bad = shown(&home, &["run", "--max-memory", "much", "true"]);
    assert_eq!(bad.code(), Some(125), "{}", bad.err());
    let doctor = shown(&home, &["doctor"]).out();
    assert!(doctor.contains("limits"), "{doctor}");
}

/// The ends of jobs that these clients were told of.
fn told_ends(messages: &[Value]) -> Vec<String> {
    let ended = messages
        .iter()
        .filter(|message| message["type"] == "job_ended");
    let ids = ended.map(|message| message["job"]["id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn an_end_is_told_to_one_of_two_processes_of_its_owner() {
    const JOBS: usize = 8;
    let home = home();
    let mut clients = [Client::start(&home, &[]), Client::start(&home, &[])];
    for client in &mut clients {
        let hello = json!({"id": "h", "type": "hello", "capabilities": {"jobs": true}});
        assert_eq!(client.ask(&hello)["success"], true);
    }
    let gate = home.workspace().join("gate");
    let command = format!("until [ -e {} ]; do sleep 0.05; done", gate.display());
    let mut ids = BTreeSet::new();
    for number in 0..JOBS {
        let arguments = json!({"command": command, "background": true});
        let request = json!({"id": number.to_string(), "type": "call", "arguments": arguments});
        let answer = clients[number % 2].ask(&request);
        ids.insert(answer["data"]["job"].as_str().unwrap().to_owned());
    }
    std::fs::write(gate, "").unwrap();
    let is_told = |id: &String| home.state().join("runs").join(id).join("told").exists();
    let begun = Instant::now();
    while !ids.iter().all(is_told) {
        assert!(begun.elapsed() < PATIENCE, "not all were told");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut told = Vec::new();
    for client in clients {
        told.extend(told_ends(&client.close().1));
    }
    assert_eq!(told.len(), JOBS, "each once: {told:?}");
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), ids);
}

#[test]
fn a_client_hears_how_far_its_jobs_are_and_what_to_tell_its_model() {
    let home = home();
    let arguments = ["--profile", "pi", "--set", "async.enabled=true"];
    let mut client = Client::start(&home, &arguments);
    let capabilities = json!({"jobs": true, "progress": true});
    client.ask(&json!({"id": "h", "type": "hello", "capabilities": capabilities}));
    let gate = home.workspace().join("gate");
    let command = format!(
        "echo begun; until [ -e {} ]; do sleep 0.05; done",
        gate.display()
    );
    let arguments = json!({"command": command, "async": true});
    client.ask(&json!({"id": "1", "type": "call", "arguments": arguments}));
    let progress = client.next_where(|message| message["type"] == "job_progress");
    assert_eq!(progress["text"], "begun\n", "{progress}");
    let details = json!({"state": "running", "jobId": "bg_1", "type": "bash"});
    assert_eq!(progress["details"]["async"], details, "{progress}");
    std::fs::write(gate, "").unwrap();
    let ended = client.next_where(|message| message["type"] == "jobs_ended");
    let text = ended["text"].as_str().unwrap();
    let opening = "<system-notice>\nBackground job bg_1 has completed. Resume your work using the result below.\n\nbegun";
    assert!(text.starts_with(opening), "{text}");
    assert_eq!(client.close().0.code(), Some(0));
}

/// Starts jobs through a server, kills it with SIGKILL after a moment, and finds every job that it
/// told of, whole and with its status, when they have ended.
fn survive(home: &Home, round: u64) -> usize {
    const JOBS: u64 = 20;
    let mut server = Client::start(home, &[]);
    for number in 0..JOBS {
        let command = format!(
            "sleep 0.3; for i in $(seq 300); do echo {number}-$i; done; sleep 0.$((RANDOM % 5)); exit {number}"
        );
        let arguments = json!({"command": command, "background": true});
        let request = json!({"id": number.to_string(), "type": "call", "arguments": arguments});
        server.say(&request);
    }
    // Another moment each round, from "hardly begun" to "nearly all have ended".
    std::thread::sleep(Duration::from_millis(round * 137 % 1500));
    kill_process(Pid::from_child(&server.child), Signal::KILL).unwrap();
    server.child.wait().unwrap();
    let told: Vec<String> = server
        .rest()
        .iter()
        .filter_map(|message| message["data"]["job"].as_str().map(str::to_owned))
        .collect();
    let expected = |number: u64| {
        let lines: Vec<String> = (1..=300)
            .map(|line| {
                format!(
                    "{number}-{line}
"
                )
            })
            .collect();
        lines.concat()
    };
    let begun = Instant::now();
    loop {
        let jobs = objects(home, &["jobs", "--all", "--json"]);
        if jobs.iter().any(|job| job["state"] == "running") {
            assert!(begun.elapsed() < PATIENCE, "{jobs:?}");
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let mut seen = BTreeSet::new();
        for job in &jobs {
            assert_eq!(job["state"], "exited", "{job}");
            let number = job["exit_code"].as_u64().unwrap();
            assert!(seen.insert(number), "twice: {job}");
            let file = std::fs::read_to_string(job["output_file"].as_str().unwrap()).unwrap();
            assert_eq!(file, expected(number), "{job}");
            assert_eq!(job["output_bytes"], file.len(), "{job}");
        }
        for id in &told {
            let is_there = jobs.iter().any(|job| job["id"] == *id);
            assert!(is_there, "{id} was told and is not in {jobs:?}");
        }
        let ids: Vec<_> = jobs.iter().map(|job| job["id"].as_str().unwrap()).collect();
        if !ids.is_empty() {
            assert_eq!(
                shown(home, &[&["jobs", "rm"][..], &ids].concat()).code(),
                Some(0)
            );
        }
        return told.len();
    }
}

#[test]
fn jobs_their_output_and_their_status_survive_sigkill_of_bashd() {
    let home = home();
    let rounds = if is_soak() { 200 } else { 3 };
    let mut told = 0;
    for round in 1..=rounds {
        told += survive(&home, round * 3);
    }
    assert!(told > 0, "no job was told of in {rounds} rounds");
}

#[test]
fn files_are_for_their_owner_alone_whatever_the_umask_is() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let script = "umask 0; \"$0\" run --background 'seq 1 300000; sleep 0.5'; \"$0\" jobs rename bg_1 named; \
                  \"$0\" run 'seq 1 300000; sleep 0.5 &'; \"$0\" run --profile voice true; \"$0\" jobs wait named";
    let transcript = Binary::new("/bin/sh", &home)
        .args(["-c", script, env!("CARGO_BIN_EXE_bashd")])
        .run();
    assert_eq!(transcript.code(), Some(0), "{}", transcript.block());
    let mut waiting = vec![home.state()];
    let mut files = 0;
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                waiting.push(entry.path());
            }
            // A socket is reached by its directory only.
            if kind.is_file() || kind.is_dir() {
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
                files += 1;
            }
        }
    }
    assert!(files > 10, "{files}");
}
