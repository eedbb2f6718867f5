//! Allocations of Slurm as places, on three nodes (`bashd_testkit::SlurmRig`): what goes wrong with
//! them (8 to 11 of `docs/places-faults.md`), in Slurm's own words, under both ways by which it
//! finds processes, and what is never made up.
//!
//! All of it with `./test --with slurm`; without that one case runs.

use super::{Driven, error_of, wait_until};
use bashd::place::{PlaceKind, PlaceSettings, SlurmSettings, SlurmSharing};
use bashd::{Call, Config, Engine, Event, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::processes::{self, Process};
use bashd_testkit::{Home, Proctrack, SlurmRig, loudly, repeat};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::future::Future;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A cluster, and a home here from which its allocations are places.
pub(super) struct Cluster {
    pub(super) runtime: Driven,
    pub(super) rig: SlurmRig,
    pub(super) home: Home,
}

/// How the rest of a call ends.
pub(super) type Rest = tokio::task::JoinHandle<Reply>;

pub(super) fn whole(track: Proctrack) -> Option<Cluster> {
    if !repeat::is_soak() && std::env::var_os("BASHD_TEST_SLURM").is_none() {
        loudly("Slurm: only the smoke case (./test --with slurm has the whole)");
        return None;
    }
    any(track)
}

pub(super) fn any(track: Proctrack) -> Option<Cluster> {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    Some(Cluster {
        rig: SlurmRig::start(track)?,
        runtime: Driven::new(),
        home,
    })
}

impl Cluster {
    pub(super) fn engine(&self, set: impl FnOnce(&mut SlurmSettings)) -> Engine {
        self.engine_of(self.config(set))
    }

    pub(super) fn config(&self, set: impl FnOnce(&mut SlurmSettings)) -> Config {
        let mut settings = SlurmSettings::default();
        settings.bin = Some(env!("CARGO_BIN_EXE_bashd").to_owned());
        settings.state_dir = Some(self.rig.shared());
        settings.sharing = SlurmSharing::Shared;
        settings.cpus = Some(8);
        set(&mut settings);
        let mut place = PlaceSettings::new("far", PlaceKind::Slurm(settings));
        place.patience = Duration::from_secs(30);
        place.connect = Duration::from_secs(10);
        let mut config = Config::new(self.home.state());
        config.places = vec![place];
        config
    }

    pub(super) fn engine_of(&self, config: Config) -> Engine {
        self.engine_in(config, self.rig.env(self.home.env()))
    }

    pub(super) fn engine_in(&self, config: Config, env: Vec<(OsString, OsString)>) -> Engine {
        let surroundings = Surroundings {
            cwd: self.home.workspace(),
            env,
        };
        let made = async { Engine::new(config, surroundings, KeeperSource::Hook) };
        self.wait(made).unwrap()
    }

    pub(super) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.handle.block_on(what)
    }

    pub(super) fn run(&self, engine: &Engine, command: &str) -> Reply {
        self.wait(engine.run(Request::new(command).on("far")))
    }

    /// Begins a command, and comes back once it has said so.
    pub(super) fn begin(&self, engine: &Engine, command: &str) -> Rest {
        let mut running = {
            let _inside = self.runtime.handle.enter();
            engine.stream(Request::new(format!("echo begun; {command}")).on("far"))
        };
        self.wait(async {
            while let Some(event) = running.next().await {
                assert!(!matches!(event, Event::Finished(_)), "{event:?}");
                if matches!(event, Event::Output { .. }) {
                    break;
                }
            }
        });
        self.runtime.spawn(async move {
            loop {
                match running.next().await {
                    Some(Event::Finished(reply)) => return *reply,
                    Some(_) => {}
                    None => panic!("no reply"),
                }
            }
        })
    }

    pub(super) fn end(&self, rest: Rest) -> Reply {
        self.wait(rest).unwrap()
    }

    /// The job of ours that runs now.
    pub(super) fn job(&self) -> String {
        let asked = [
            "squeue",
            "--noheader",
            "--name=bashd",
            "--states=R",
            "--format=%A",
        ];
        let told = self.rig.client_says(&asked);
        told.lines().next_back().unwrap().to_owned()
    }

    pub(super) fn carriers() -> Vec<Process> {
        let mut below = processes::below_this_one();
        below.retain(|one| one.command.contains("--unbuffered") && one.state != 'Z');
        below
    }

    /// That nothing is left of any allocation.
    pub(super) fn nothing_is_left(&self) {
        let begun = Instant::now();
        loop {
            let left = self.rig.on_nodes();
            if left.is_empty() {
                return;
            }
            let seconds = begun.elapsed().as_secs();
            assert!(seconds < 20, "left: {left:#?}\n{}", self.rig.logs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.rig.shared().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The configuration of the binary.
    pub(super) fn configure(&self, more: &str) {
        let (bin, state) = (env!("CARGO_BIN_EXE_bashd"), self.rig.shared());
        let text = format!(
            "[places.far]\nkind = 'slurm'\nbin = '{bin}'\nstate_dir = '{}'\ncpus = 8\n\
             allocation = 'shared'\n{more}",
            state.display()
        );
        std::fs::write(self.home.config().join("config.toml"), text).unwrap();
    }

    pub(super) fn bashd(&self, words: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bashd"));
        command
            .args(words)
            .env_clear()
            .envs(self.rig.env(self.home.env()));
        command.current_dir(self.home.workspace());
        command
    }

    /// `bashd map`, whose items are these numbers, in three nodes.
    pub(super) fn map(&self, words: &[&str], items: u32) -> std::process::Child {
        let all = [&["map", "--json", "--on", "far"], words].concat();
        let mut map = self.bashd(&all);
        let mut map = map
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let items: Vec<String> = (1..=items).map(|item| format!("{item}\n")).collect();
        let items = items.concat();
        map.stdin
            .take()
            .unwrap()
            .write_all(items.as_bytes())
            .unwrap();
        map
    }
}

/// Results of a map, without its counts.
pub(super) fn results(map: std::process::Child) -> Vec<Value> {
    let told = map.wait_with_output().unwrap();
    let lines = String::from_utf8(told.stdout).unwrap();
    let all = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let all: Vec<Value> = all.collect();
    all.into_iter()
        .filter(|line| line["number"].is_u64())
        .collect()
}

pub(super) fn assert_lost(reply: &Reply, word: &str) {
    let error = error_of(reply);
    let known = "it is not known how the command ended at the place `far`";
    assert!(
        error.contains(known) && error.contains(word),
        "{word}: {error}"
    );
}

/// That an end is either what a keeper saw when Slurm ended it, or not known; in Slurm's word.
pub(super) fn assert_over(reply: &Reply) {
    assert_eq!(
        (reply.exit_code, reply.timed_out),
        (None, false),
        "{reply:?}"
    );
    let text = format!("{} {:?}", reply.text, reply.error);
    assert!(text.contains("Slurm says of job"), "{text}");
    assert!(
        reply.error.is_some() || reply.ended_by.as_deref() == Some("place"),
        "{reply:?}"
    );
}

pub(super) fn both() -> [Proctrack; 2] {
    [Proctrack::Linuxproc, Proctrack::Cgroup]
}

#[test]
fn an_allocation_runs_commands_on_its_nodes_and_leaves_nothing() {
    let Some(cluster) = any(Proctrack::Linuxproc) else {
        return;
    };
    let engine = cluster.engine(|settings| settings.nodes = Some(3));
    let reply = cluster.run(&engine, "echo oops >&2; echo $SLURM_JOB_ID; exit 3");
    let output = format!("oops\n{}\n", cluster.job());
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(3), &*output),
        "{reply:?}"
    );
    let job = cluster.job();
    drop(engine);
    cluster.rig.client_says(&["scancel", &job]);
    cluster.nothing_is_left();
}

#[test]
fn fault_08_a_node_that_fails_is_lost_in_slurms_word_and_has_no_second_life() {
    for track in both() {
        let Some(mut cluster) = whole(track) else {
            return;
        };
        let shared = cluster.rig.shared();
        let engine = cluster.engine(|_| {});
        let count = format!("echo life >>{}/lives; sleep 600", shared.display());
        let rest = cluster.begin(&engine, &count);
        let node = cluster
            .rig
            .client_says(&["squeue", "--noheader", "--format=%N"]);
        cluster.rig.kill(&format!("node {node}"));
        assert_lost(&cluster.end(rest), "NODE_FAIL");
        // The next call has another allocation.
        assert_eq!(cluster.run(&engine, "exit 4").exit_code, Some(4));
        cluster.rig.start_again(&format!("node {node}"));
        assert_eq!(cluster.lines("lives"), ["life"]);
        // Only Slurm's daemon of a node: what it started goes on, until Slurm gives the node up.
        let rest = cluster.begin(&engine, "sleep 600");
        let job = cluster.job();
        let node = [
            "squeue",
            "--noheader",
            &format!("--job={job}"),
            "--format=%N",
        ];
        let node = cluster.rig.client_says(&node);
        cluster.rig.kill(&format!("slurmd {node}"));
        let reply = cluster.end(rest);
        assert_eq!(reply.exit_code, None, "{reply:?}");
        assert_lost(&reply, "NODE_FAIL");
        cluster.rig.start_again(&format!("slurmd {node}"));
        drop(engine);
        cluster.nothing_is_left();
    }
}

#[test]
fn fault_09_a_controller_or_munge_that_is_away_changes_nothing_and_is_no_verdict() {
    for track in both() {
        let Some(mut cluster) = whole(track) else {
            return;
        };
        let engine = cluster.engine(|_| {});
        let rest = cluster.begin(&engine, "sleep 3; exit 5");
        cluster.rig.kill("slurmctld");
        cluster.rig.kill("munged");
        // A warm call needs neither.
        assert_eq!(cluster.run(&engine, "exit 6").exit_code, Some(6));
        assert_eq!(cluster.end(rest).exit_code, Some(5));
        // Without a carrier, nothing is known until they are back.
        let rest = cluster.begin(&engine, "sleep 1; exit 7");
        Cluster::carriers().iter().for_each(Process::kill);
        let other = cluster.engine(|settings| settings.cpus = Some(2));
        let reply = cluster.run(&other, "true");
        let error = error_of(&reply);
        assert!(
            error.contains("squeue") || error.contains("Slurm"),
            "{error}"
        );
        cluster.rig.start_again("munged");
        cluster.rig.start_again("slurmctld");
        assert_eq!(cluster.end(rest).exit_code, Some(7));
        cluster.rig.client_says(&["scancel", "--name=bashd"]);
        cluster.nothing_is_left();
    }
}

#[test]
fn fault_10_who_ends_an_allocation_is_told_in_slurms_word() {
    for track in both() {
        let Some(cluster) = whole(track) else { return };
        let engine = cluster.engine(|_| {});
        // Asked to end, a command may say so; its status is what its keeper saw.
        let tidies = "trap 'sleep 0.5; echo bye; exit 9' TERM; sleep 600 & wait";
        let rest = cluster.begin(&engine, tidies);
        cluster.rig.client_says(&["scancel", &cluster.job()]);
        let reply = cluster.end(rest);
        assert_eq!(reply.ended_by.as_deref(), Some("place"), "{reply:?}");
        assert!(reply.text.contains("Slurm says of job"), "{}", reply.text);
        assert!(reply.output.contains("bye"), "{reply:?}");
        cluster.nothing_is_left();
        // By KILL, nobody can say anything.
        let rest = cluster.begin(&engine, "sleep 600");
        cluster
            .rig
            .client_says(&["scancel", "--full", "--signal=KILL", &cluster.job()]);
        assert_over(&cluster.end(rest));
        cluster.nothing_is_left();
        // By who has a right to its node.
        let engine = cluster.engine(|settings| settings.nodes = Some(3));
        let rest = cluster.begin(&engine, "sleep 600");
        let urgent = [
            "sbatch",
            "--partition=urgent",
            "--exclusive",
            "--nodes=3",
            "--output=/dev/null",
            "--wrap=sleep 2",
        ];
        cluster.rig.client_says(&urgent);
        let reply = cluster.end(rest);
        assert_eq!(
            (reply.exit_code, reply.timed_out),
            (None, false),
            "{reply:?}"
        );
        let text = format!("{} {:?}", reply.text, reply.error);
        assert!(
            text.contains("PREEMPTED") || text.contains("Slurm says of job"),
            "{text}"
        );
        // An admin who gives it back to the queue: no order is carried out twice.
        let engine = cluster.engine(|settings| settings.cpus = Some(4));
        let file = cluster.rig.shared().join("requeued");
        let rest = cluster.begin(
            &engine,
            &format!("echo life >>{}; sleep 600", file.display()),
        );
        let job = cluster.job();
        cluster
            .rig
            .client_says(&["scontrol", "update", &format!("JobId={job}"), "Requeue=1"]);
        cluster.rig.client_says(&["scontrol", "requeue", &job]);
        let reply = cluster.end(rest);
        assert_eq!(
            (reply.exit_code, reply.timed_out),
            (None, false),
            "{reply:?}"
        );
        let again = [
            "squeue",
            "--noheader",
            "--states=all",
            "--format=%T",
            &format!("--job={job}"),
        ];
        let mut at_once = std::process::Command::new(cluster.rig.client().join("scontrol"));
        at_once.args(["update", &format!("JobId={job}"), "StartTime=now"]);
        wait_until("its second life", || {
            let state = cluster.rig.client_says(&again);
            if state == "PENDING" {
                // Slurm would let it wait for two minutes. It may have begun meanwhile.
                at_once.output().unwrap();
            }
            matches!(&*state, "FAILED" | "CANCELLED" | "PREEMPTED")
        });
        assert_eq!(cluster.lines("requeued"), ["life"]);
        cluster.nothing_is_left();
    }
}

#[test]
fn fault_10_an_allocation_whose_time_is_over_is_told_in_time() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let engine = cluster.engine(|settings| settings.time = Some("1:00".to_owned()));
    // Its end is told a minute ahead, which here is at once.
    let reply = cluster.run(&engine, "sleep 600");
    assert_eq!(
        (reply.exit_code, reply.timed_out),
        (None, false),
        "{reply:?}"
    );
    let text = format!("{} {:?}", reply.text, reply.error);
    assert!(text.contains("Slurm"), "{text}");
    cluster.nothing_is_left();
}

#[test]
fn fault_11_nothing_outlives_its_allocation_however_slurm_finds_processes() {
    for track in both() {
        let Some(cluster) = whole(track) else { return };
        for signal in ["TERM", "KILL"] {
            let engine = cluster.engine(|_| {});
            // A job of ours, a session, and what leaves its parents behind.
            let job = Request::new("(setsid sleep 600 &) ; sleep 600")
                .on("far")
                .background();
            let reply = cluster.wait(engine.run(job));
            assert!(reply.job.is_some(), "{reply:?}");
            let given = Request::new("").profile("anthropic-bash").on("far");
            let input = json!({ "command": "(setsid sleep 700 >/dev/null 2>&1 &)" }).to_string();
            cluster.wait(engine.run(Call::json(input, given)));
            assert!(cluster.rig.on_nodes().len() > 4);
            let job = cluster.job();
            match signal {
                "TERM" => cluster.rig.client_says(&["scancel", &job]),
                _ => cluster
                    .rig
                    .client_says(&["scancel", "--full", "--signal=KILL", &job]),
            };
            cluster.nothing_is_left();
        }
    }
}

#[test]
fn an_allocation_waits_in_the_queue_and_is_given_back() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let blocker = [
        "sbatch",
        "--parsable",
        "--exclusive",
        "--nodes=3",
        "--output=/dev/null",
        "--wrap=sleep 600",
    ];
    let blocker = cluster.rig.client_says(&blocker);
    let running = [
        "squeue",
        "--noheader",
        "--format=%T",
        &format!("--job={blocker}"),
    ];
    wait_until("who blocks", || {
        cluster.rig.client_says(&running) == "RUNNING"
    });
    let engine = cluster.engine(|settings| settings.queue = Some(Duration::from_secs(3)));
    let mut running = {
        let _inside = cluster.runtime.handle.enter();
        engine.stream(Request::new("true").on("far"))
    };
    let (mut told, mut reply) = (Vec::new(), None);
    cluster.wait(async {
        while let Some(event) = running.next().await {
            match event {
                Event::Preparing { text } => told.push(text),
                Event::Finished(ended) => reply = Some(ended),
                _ => {}
            }
        }
    });
    let told = told.join("\n");
    assert!(
        told.contains("waiting in the queue of main: Resources"),
        "{told}"
    );
    let reply = reply.unwrap();
    let error = error_of(&reply);
    assert!(
        error.contains("it did not start within 3 s, and was given back"),
        "{error}"
    );
    wait_until("that it is given back", || {
        let asked = ["squeue", "--noheader", "--name=bashd", "--format=%A"];
        cluster.rig.client_says(&asked).is_empty()
    });
    cluster.rig.client_says(&["scancel", &blocker]);
}
