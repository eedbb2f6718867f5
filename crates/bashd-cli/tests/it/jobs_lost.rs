//! Jobs whose keeper was killed: whoever looks next ends what is left, and says so.

use crate::jobs::{PATIENCE, home};
use crate::{bashd, shown};
use bashd_testkit::keeper_hook::MARK;
use bashd_testkit::{Binary, Home, processes};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const REASON: &str = "its keeper was killed, or its container stopped";

/// A tree of which each process has left another way: in the group, in a session of its own, as an
/// orphan. Deaf to TERM and to the end of its shell.
const TREE: &str = "trap '' TERM HUP; sleep 300 & setsid sleep 300 & setsid -f sleep 300; \
                    (sleep 300 & sleep 300 &) ; echo up; wait";

/// How many processes that tree has, with its shell.
const TREE_SIZE: usize = 6;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a job; its directory.
fn start(home: &Home, profile: &str, command: &str) -> PathBuf {
    let arguments = [
        "run",
        "--profile",
        profile,
        "--background",
        "--json",
        command,
    ];
    let started = bashd(home, &arguments).limit(PATIENCE).run();
    let reply: Value = serde_json::from_str(&started.out()).unwrap();
    let id = reply["job"].as_str().unwrap_or_else(|| panic!("{reply}"));
    home.state().join("runs").join(id)
}

fn json(path: impl AsRef<Path>) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What lives of the job's command.
fn living(home: &Home) -> usize {
    let all = processes::with_variable(MARK, home.mark());
    all.iter()
        .filter(|one| one.command.contains("sleep 300"))
        .count()
}

/// Waits until the keeper has written all of the tree down, and kills it.
fn kill_keeper(job: &Path) {
    until("the tree is written down", || {
        let roster = std::fs::read_to_string(job.join("roster.json")).unwrap_or_default();
        let roster: Value = serde_json::from_str(&roster).unwrap_or_default();
        roster["members"].as_array().map_or(0, Vec::len) >= TREE_SIZE
    });
    let keeper = json(job.join("spec.json"))["keeper"].as_i64().unwrap();
    let keeper = Pid::from_raw(keeper as i32).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    until("the keeper is gone", || {
        rustix::process::test_kill_process(keeper).is_err()
            || !Path::new(&format!("/proc/{}/fd/0", keeper.as_raw_nonzero())).exists()
    });
}

#[test]
fn a_job_without_its_keeper_is_ended_by_who_looks_next_and_called_lost() {
    for looks in [
        &["jobs", "kill"][..],
        &["jobs", "show"],
        &["jobs", "output"],
    ] {
        let home = home();
        let job = start(&home, "phoenix", TREE);
        let id = job.file_name().and_then(|name| name.to_str()).unwrap();
        kill_keeper(&job);
        assert!(living(&home) >= 5, "only {} live", living(&home));
        let said = shown(&home, &[looks, &[id]].concat());
        assert_eq!(said.code(), Some(0), "{looks:?}: {}", said.err());
        // Not before it says so: who asked may rely on it.
        assert_eq!(living(&home), 0, "{looks:?}");
        let told = shown(&home, &["jobs", "kill", id]).err();
        assert!(told.contains(&format!("is lost: {REASON}")), "{told}");
        let shown = shown(&home, &["jobs", "show", id, "--json"]).out();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["state"], "lost", "{shown}");
        assert_eq!(shown["lost_because"], REASON, "{shown}");
        assert_eq!(
            (&shown["exit_code"], &shown["signal"]),
            (&Value::Null, &Value::Null)
        );
        let file = std::fs::read_to_string(job.join("output")).unwrap();
        assert_eq!(
            file,
            format!("up\n\n\n[background process error: {REASON}]\n")
        );
        assert_eq!(shown["output_bytes"], 3, "{shown}");
    }
}

#[test]
fn a_servers_fork_server_settles_a_killed_keepers_job_by_itself() {
    let home = home();
    let mut server = crate::rpc_under_test::Client::start(&home, &["--profile", "phoenix"]);
    let arguments = serde_json::json!({"command": TREE, "mode": "background"});
    let call = serde_json::json!({"id": "1", "type": "call", "arguments": arguments});
    let reply = server.ask(&call);
    let id = reply["data"]["job"].as_str();
    let id = id.unwrap_or_else(|| panic!("{reply}"));
    let job = home.state().join("runs").join(id);
    kill_keeper(&job);
    until("it is settled", || job.join("status.json").exists());
    let status = json(job.join("status.json"));
    assert_eq!(status["lost"], "no_keeper", "{status}");
    until("nothing lives", || living(&home) == 0);
    assert!(!job.join("roster.json").exists());
}

#[test]
fn survivors_without_their_keeper_end_and_the_status_stays() {
    let home = home();
    let command = format!("{} exit 4", TREE.trim_end_matches("wait"));
    let job = start(&home, "phoenix", &command);
    until("its shell has ended", || job.join("status.json").exists());
    let id = job.file_name().and_then(|name| name.to_str()).unwrap();
    let shell = json(job.join("spec.json"))["pid"].clone();
    until("the shell is not written down any more", || {
        let roster = json(job.join("roster.json"));
        let members = roster["members"].as_array().unwrap().clone();
        members.len() == TREE_SIZE - 1 && members.iter().all(|member| member[0] != shell)
    });
    let keeper = json(job.join("spec.json"))["keeper"].as_i64().unwrap();
    kill_process(Pid::from_raw(keeper as i32).unwrap(), Signal::KILL).unwrap();
    until("it is not alive", || {
        let shown = shown(&home, &["jobs", "show", id, "--json"]).out();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        shown["state"] == "exited" && shown["exit_code"] == 4 && living(&home) == 0
    });
}

#[test]
fn a_process_that_only_has_the_number_is_left_alone() {
    let home = home();
    let job = start(&home, "phoenix", TREE);
    kill_keeper(&job);
    let roster = job.join("roster.json");
    let mut other = json(&roster);
    for member in other["members"].as_array_mut().unwrap() {
        let started = member[1].as_u64().unwrap();
        member[1] = (started - 1000).into();
    }
    other["seen_ticks"] = 0.into();
    let mine = std::fs::read(&roster).unwrap();
    std::fs::write(&roster, other.to_string()).unwrap();
    let lives = living(&home);
    let id = job.file_name().and_then(|name| name.to_str()).unwrap();
    shown(&home, &["jobs", "show", id]);
    assert_eq!(living(&home), lives);
    // By the right one they end.
    std::fs::write(&roster, mine).unwrap();
    std::fs::remove_file(job.join("status.json")).unwrap();
    shown(&home, &["jobs", "show", id]);
    assert_eq!(living(&home), 0);
}

#[test]
fn another_version_that_knows_no_roster_can_read_what_was_settled() {
    let home = home();
    let job = start(&home, "phoenix", TREE);
    kill_keeper(&job);
    let id = job.file_name().and_then(|name| name.to_str()).unwrap();
    Binary::new(env!("CARGO_BIN_EXE_bashd"), &home)
        .args(["jobs", "--all"])
        .limit(PATIENCE)
        .run();
    let status = json(job.join("status.json"));
    // The fields of a status before there was a reason in it.
    for field in [
        "version",
        "exit",
        "ended_by",
        "ended_ms",
        "ran_for_us",
        "streams",
    ] {
        assert!(status.get(field).is_some(), "{field} is not in {status}");
    }
    assert_eq!(shown(&home, &["jobs", "rm", id]).code(), Some(0));
    assert!(!job.exists());
}

#[test]
fn jobs_are_found_again_after_the_state_directory_was_removed() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let start = |command: &str| {
        let started = bashd(&home, &["run", "--background", "--json", "--", command]).run();
        let reply: Value = serde_json::from_str(&started.out()).unwrap();
        reply["job"].as_str().unwrap().to_owned()
    };
    let waiting = start("echo before; while sleep 0.05; do [ -e go ] && break; done; echo after");
    let endless = start("seq 1000; sleep 300");
    let shown = |id: &str| bashd(&home, &["jobs", "output", id]).run().out();
    until("both write", || {
        shown(&endless).ends_with("1000\n") && shown(&waiting) == "before\n"
    });
    fs::remove_dir_all(home.state()).unwrap();
    let listed = bashd(&home, &["jobs", "--json"]).run();
    assert!(
        listed
            .err()
            .contains("was removed while jobs ran: 2 jobs were found again"),
        "{}",
        listed.err()
    );
    let ids: Vec<_> = listed
        .out()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids, [&*waiting, &*endless]);
    let again = bashd(&home, &["jobs"]).run();
    assert_eq!(again.err(), "", "it is said once");
    assert_eq!(shown(&waiting), "before\n");
    // Its whole output is there at its end, and so is how it ended.
    fs::write(home.workspace().join("go"), "").unwrap();
    let waited = bashd(&home, &["jobs", "wait", &waiting]).run();
    assert_eq!(waited.code(), Some(0), "{}", waited.err());
    assert_eq!(shown(&waiting), "before\nafter\n");
    let killed = bashd(&home, &["jobs", "kill", &endless]).run();
    assert_eq!(killed.code(), Some(0), "{}", killed.err());
    assert!(shown(&endless).ends_with("1000\n"));
}

#[test]
fn a_job_that_ends_after_the_state_directory_was_removed_leaves_its_status() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let command = "echo before; while sleep 0.05; do [ -e go ] && break; done; exit 7";
    let started = bashd(&home, &["run", "--background", "--json", "--", command]).run();
    let reply: Value = serde_json::from_str(&started.out()).unwrap();
    let id = reply["job"].as_str().unwrap();
    fs::remove_dir_all(home.state()).unwrap();
    fs::write(home.workspace().join("go"), "").unwrap();
    let status = home.state().join("runs").join(id).join("status.json");
    until("it has a status", || status.exists());
    let shown = bashd(&home, &["jobs", "show", id, "--json"]).run();
    let job: Value = serde_json::from_str(&shown.out()).unwrap();
    assert_eq!(job["exit_code"], 7, "{job}");
}
