//! Calls and jobs on several nodes of an allocation of Slurm: where they go, how they are managed
//! together, who shares an allocation. Part of `./test --with slurm`.

use super::slurm::{Cluster, assert_over, both, whole};
use super::wait_until;
use bashd::jobs::FarJobs;
use bashd::place::{PlaceKind, PlaceSettings, SlurmSharing};
use bashd::{Call, Config, Engine, Reply, Request};
use bashd_testkit::processes::{self, Process};
use bashd_testkit::{Proctrack, SlurmRig};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

impl Cluster {
    /// A call of somebody's, as JSON.
    fn call(owner: &str, input: &Value) -> Call {
        let defaults = Request::new("").profile("default").owner(owner);
        Call::json(input.to_string(), defaults)
    }

    fn job_tool(&self, engine: &Engine, input: &Value) -> Reply {
        self.wait(engine.job(Self::call("rpc:test", input)))
    }

    /// Begins a job in the background; its short name.
    fn in_background(&self, engine: &Engine, command: &str) -> String {
        let asked = json!({ "command": command, "background": true, "on": "far" });
        let reply = self.wait(engine.run(Self::call("rpc:test", &asked)));
        let known = FarJobs::of(&Config::new(self.home.state())).list();
        let id = reply.job.unwrap_or_else(|| panic!("{}", reply.text));
        let mut named = known.into_iter().filter(|job| job.id == id);
        named
            .next()
            .unwrap_or_else(|| panic!("{id} is not known"))
            .alias
    }

    /// The jobs of Slurm that are ours and run.
    fn allocations(&self) -> BTreeSet<String> {
        let asked = [
            "squeue",
            "--noheader",
            "--name=bashd",
            "--states=R",
            "--format=%A",
        ];
        let told = self.rig.client_says(&asked);
        told.lines().map(str::to_owned).collect()
    }

    fn end_all(&self) {
        self.rig.client_says(&["scancel", "--name=bashd"]);
        self.nothing_is_left();
    }
}

/// `far/4711.n2` of `far/4711.n2:bg_1`.
fn site(job: &str) -> &str {
    job.split_once(':').unwrap().0
}

#[test]
fn jobs_of_several_nodes_are_listed_awaited_ended_and_told_of_together() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let engine = cluster.engine(|settings| settings.nodes = Some(3));
    let gate = cluster.rig.shared().join("gate");
    let waits = format!(
        "until [ -e {} ]; do sleep 0.05; done; exit 3",
        gate.display()
    );
    // By lot: that nine of them are on one node is one chance in six thousand.
    let waiting: Vec<String> = (0..9)
        .map(|_| cluster.in_background(&engine, &waits))
        .collect();
    let sites: BTreeSet<&str> = waiting.iter().map(|job| site(job)).collect();
    assert!(sites.len() > 1, "{waiting:?}");
    let other = waiting.iter().find(|job| site(job) != site(&waiting[0]));
    let (one, other) = (&waiting[0], other.unwrap());
    // Any of them: the first answer is enough, and the others go on.
    let other_gate = cluster.rig.shared().join("other");
    let shorter = waits
        .replace("/gate ", "/other ")
        .replace("exit 3", "exit 4");
    let short = cluster.in_background(&engine, &shorter);
    std::fs::write(&other_gate, "").unwrap();
    let far = if site(&short) == site(one) {
        other
    } else {
        one
    };
    let any = json!({ "action": "wait", "jobs": [far, short], "any": true, "timeout": 20 });
    let reply = cluster.job_tool(&engine, &any);
    assert!(
        reply.text.contains(&format!("{short}: exited with code 4")),
        "{}",
        reply.text
    );
    // All of them, though they are on several nodes.
    let ended = json!({ "action": "kill", "jobs": [one, other] });
    let reply = cluster.job_tool(&engine, &ended);
    assert!(!reply.is_error, "{}", reply.text);
    assert_eq!(
        reply.result["jobs"].as_array().unwrap().len(),
        2,
        "{}",
        reply.text
    );
    std::fs::write(&gate, "").unwrap();
    let rest: Vec<&String> = waiting
        .iter()
        .filter(|job| *job != one && *job != other)
        .collect();
    let (told_here, untold) = rest.split_at(4);
    let all = json!({ "action": "wait", "jobs": told_here, "timeout": 20 });
    let reply = cluster.job_tool(&engine, &all);
    for job in told_here {
        assert!(
            reply.text.contains(&format!("{job}: exited with code 3")),
            "{}",
            reply.text
        );
    }
    // Who did not ask is told of each once, whichever node it was on.
    let mut seen = BTreeSet::new();
    wait_until("all ends", || {
        let delivery = cluster.wait(engine.ends_there("default", "rpc:test"));
        if let Some(delivery) = delivery {
            for job in delivery.ended() {
                assert!(seen.insert(job.alias.clone()), "{} twice", job.alias);
            }
            let _inside = cluster.runtime.handle.enter();
            delivery.done();
        }
        std::thread::sleep(Duration::from_millis(20));
        seen.len() >= untold.len()
    });
    let untold: BTreeSet<String> = untold.iter().map(|job| (*job).clone()).collect();
    assert_eq!(seen, untold, "those that nobody asked about");
    cluster.end_all();
}

#[test]
fn an_engine_whose_calls_all_run_on_an_allocation_lists_the_jobs_of_all_nodes() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let mut config = cluster.config(|settings| settings.nodes = Some(3));
    config.default_place = Some("far".to_owned());
    let engine = cluster.engine_of(config);
    let begun: BTreeSet<String> = (0..6)
        .map(|_| cluster.in_background(&engine, "sleep 600"))
        .collect();
    let reply = cluster.job_tool(&engine, &json!({ "action": "list" }));
    let listed = reply.result["jobs"].as_array().unwrap();
    let listed = listed
        .iter()
        .map(|job| job["alias"].as_str().unwrap().to_owned());
    assert_eq!(
        listed.collect::<BTreeSet<String>>(),
        begun,
        "{}",
        reply.text
    );
    cluster.end_all();
    // The end of the allocation is the end of its jobs, and is told.
    let mut told = HashSet::new();
    while told.len() < begun.len() {
        let ends = engine.next_ends_there("default", "rpc:test", &told);
        let ends = cluster.wait(async { tokio::time::timeout(super::PATIENCE, ends).await });
        for job in ends.unwrap_or_else(|_| panic!("told of {told:?} of {begun:?}")) {
            assert_eq!((job.exit_code, job.is_alive), (None, false), "{job:?}");
            told.insert(job.id);
        }
        if let Some(delivery) = cluster.wait(engine.ends_there("default", "rpc:test")) {
            let _inside = cluster.runtime.handle.enter();
            delivery.done();
        }
    }
}

#[test]
fn a_session_stays_on_its_node_and_calls_without_one_are_spread() {
    let Some(cluster) = whole(Proctrack::Cgroup) else {
        return;
    };
    let engine = cluster.engine(|settings| settings.nodes = Some(3));
    let run = |input: &Value| cluster.wait(engine.run(Cluster::call("rpc:test", input)));
    let mut nodes = BTreeSet::new();
    for session in ["one", "two", "three", "four", "five", "six"] {
        let set = json!({ "command": format!("X={session}"), "session": session, "on": "far" });
        assert_eq!(run(&set).exit_code, Some(0));
        let told = json!({
            "command": "echo $X $SLURMD_NODENAME", "session": session, "on": "far"
        });
        let first = run(&told).output;
        assert!(first.starts_with(&format!("{session} ")), "{first}");
        assert_eq!(run(&told).output, first, "it stays where it is");
        nodes.insert(first.split_once(' ').unwrap().1.to_owned());
    }
    assert!(nodes.len() > 1, "sessions are spread: {nodes:?}");
    // At once, each of three goes where none of the others is.
    let told: Vec<_> = (0..3)
        .map(|_| cluster.begin(&engine, "sleep 1; echo $SLURMD_NODENAME"))
        .collect();
    let told: BTreeSet<String> = told
        .into_iter()
        .map(|rest| cluster.end(rest).output)
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    cluster.end_all();
}

#[test]
fn an_allocation_is_shared_by_all_by_an_owner_or_by_nobody() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let asked = json!({ "command": "echo $SLURM_JOB_ID", "on": "far" });
    let wanted = [
        (SlurmSharing::Shared, 1),
        (SlurmSharing::Session, 2),
        (SlurmSharing::Job, 4),
    ];
    for (sharing, count) in wanted {
        let engine = cluster.engine(|settings| {
            settings.sharing = sharing;
            settings.cpus = Some(1);
            settings.memory = Some(256 << 20);
        });
        let mut jobs = BTreeSet::new();
        for owner in ["rpc:one", "rpc:two", "rpc:one", "rpc:two"] {
            let reply = cluster.wait(engine.run(Cluster::call(owner, &asked)));
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
            jobs.insert(reply.output);
        }
        assert_eq!(jobs.len(), count, "{sharing:?}: {jobs:?}");
        // A session keeps the one that it has.
        let session = |command: &str| {
            let asked = json!({ "command": command, "session": "s", "on": "far" });
            cluster
                .wait(engine.run(Cluster::call("rpc:one", &asked)))
                .output
        };
        let first = session("X=kept; echo $SLURM_JOB_ID");
        assert_eq!(
            session("echo $SLURM_JOB_ID $X"),
            format!("{} kept\n", first.trim())
        );
        if sharing == SlurmSharing::Job {
            // What was for one call alone is not kept; the session has the one that is left.
            wait_until("their end", || cluster.allocations().len() == 1);
        }
        drop(engine);
        cluster.end_all();
    }
}

#[test]
fn an_allocation_that_nobody_uses_is_given_back_though_somebody_is_connected() {
    let Some(cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let mut config = cluster.config(|settings| settings.nodes = Some(2));
    config.places[0].idle = Some(Duration::from_secs(1));
    let engine = cluster.engine_of(config);
    let first = cluster.run(&engine, "echo $SLURM_JOB_ID").output;
    // As long as something runs it stays: a job, and a session.
    let asked = json!({ "command": "X=kept", "session": "s", "on": "far" });
    let reply = cluster.wait(engine.run(Cluster::call("rpc:test", &asked)));
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(cluster.allocations().len(), 1, "it has a session");
    let asked = json!({ "command": "exit", "session": "s", "on": "far" });
    cluster.wait(engine.run(Cluster::call("rpc:test", &asked)));
    wait_until("its end", || cluster.allocations().is_empty());
    // Who is still connected asks for another one.
    let second = cluster.run(&engine, "echo $SLURM_JOB_ID");
    assert_eq!(second.exit_code, Some(0), "{second:?}");
    assert_ne!(second.output, first);
    wait_until("the end of that", || cluster.allocations().is_empty());
    cluster.nothing_is_left();
}

#[test]
fn an_allocation_is_reached_through_a_login() {
    let Some(mut cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    let ssh = cluster.rig.login();
    let mut config = cluster.config(|settings| settings.nodes = Some(2));
    config.places[0].via = Some("login".to_owned());
    let login = PlaceKind::Ssh {
        host: "login".to_owned(),
        bin: Some(env!("CARGO_BIN_EXE_bashd").to_owned()),
    };
    config.places.push(PlaceSettings::new("login", login));
    // None of Slurm's programs would find it here.
    let env = SlurmRig::env_with(cluster.home.env(), &ssh);
    let engine = cluster.engine_in(config, env);
    let reply = cluster.run(&engine, "echo $SLURM_JOB_ID 'a  b' \"$HOME\"; exit 3");
    let job = cluster.allocations().pop_first().unwrap();
    assert_eq!(reply.exit_code, Some(3), "{reply:?}");
    assert!(
        reply.output.starts_with(&format!("{job} a  b ")),
        "{reply:?}"
    );
    // Both of its nodes, over a way each.
    let told: Vec<_> = (0..2)
        .map(|_| cluster.begin(&engine, "sleep 1; echo $SLURMD_NODENAME"))
        .collect();
    let ways = || {
        let mut below = processes::below_this_one();
        below.retain(|one| one.command.contains("/ssh -F ") && one.state != 'Z');
        below
    };
    assert_eq!(ways().len(), 2, "{:?}", ways());
    ways().iter().for_each(Process::kill);
    let told = told.into_iter().map(|rest| cluster.end(rest).output);
    assert_eq!(told.collect::<BTreeSet<String>>().len(), 2);
    let rest = cluster.begin(&engine, "sleep 1; exit 6");
    // The login itself is away, too.
    cluster.rig.kill("sshd");
    ways().iter().for_each(Process::kill);
    cluster.rig.start_again("sshd");
    assert_eq!(cluster.end(rest).exit_code, Some(6));
    // A job that was begun there is found and ended there.
    let begun = cluster.in_background(&engine, "sleep 600");
    assert_eq!(
        site(&begun).split_once('.').unwrap().0,
        format!("far/{job}")
    );
    let reply = cluster.job_tool(&engine, &json!({ "action": "kill", "job": begun }));
    assert!(!reply.is_error, "{}", reply.text);
    cluster.end_all();
}

/// What Slurm says of a job.
fn asked(cluster: &Cluster, job: &str, what: &str) -> String {
    let job = format!("--job={job}");
    cluster
        .rig
        .client_says(&["squeue", "--noheader", what, &job])
}

#[test]
fn an_allocation_without_outposts_is_given_back_and_another_is_asked_for() {
    for track in both() {
        let Some(mut cluster) = whole(track) else {
            return;
        };
        let engine = cluster.engine(|settings| settings.nodes = Some(3));
        let lives = cluster.rig.shared().join("lives");
        let command = format!("echo $SLURM_JOB_ID >>{}; sleep 600", lives.display());
        let rests: Vec<_> = (0..3).map(|_| cluster.begin(&engine, &command)).collect();
        let job = cluster.job();
        // Slurm gives the node of the batch script up, keeps the rest, and takes it back: nobody
        // ends the allocation any more when all outposts of it have ended.
        let first = asked(&cluster, &job, "--format=%B");
        cluster.rig.kill(&format!("slurmd {first}"));
        wait_until("that it is given up", || {
            !asked(&cluster, &job, "--Format=nodelist:100").contains(&first)
        });
        cluster.rig.start_again(&format!("slurmd {first}"));
        let is_ours = |one: &Process| one.command.contains("outpost");
        let ours = cluster.rig.on_nodes();
        ours.iter()
            .filter(|one| is_ours(one))
            .for_each(Process::kill);
        assert!(cluster.allocations().contains(&job), "Slurm keeps it");
        for rest in rests {
            assert_over(&cluster.end(rest));
        }
        let reply = cluster.run(&engine, "echo $SLURM_JOB_ID; exit 4");
        assert_eq!(reply.exit_code, Some(4), "{reply:?}");
        assert_ne!(reply.output.trim(), job, "{reply:?}");
        wait_until("the end of that", || !cluster.allocations().contains(&job));
        let begun = std::fs::read_to_string(&lives).unwrap();
        assert_eq!(begun, format!("{job}\n").repeat(3), "nothing begins twice");
        cluster.end_all();
    }
}
