//! What works on allocations of Slurm for long: maps over their nodes, while nodes, controllers and
//! bashd itself die, and an agent with a session, a job and a map. Part of `./test --with slurm`.

use super::slurm::{Cluster, both, results, whole};
use super::wait_until;
use bashd::jobs::FarJobs;
use bashd::{Call, Config, Request};
use bashd_testkit::Proctrack;
use bashd_testkit::processes::Process;
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Within which time Slurm is itself again after its controller has come back.
const SETTLES: Duration = Duration::from_mins(2);

#[test]
fn a_map_over_three_nodes_loses_what_ran_on_one_that_fails_and_nothing_else() {
    for track in both() {
        let Some(mut cluster) = whole(track) else {
            return;
        };
        cluster.configure("nodes = 3\n");
        let log = cluster.rig.shared().join("items");
        let command = format!(
            "echo {{}} >>{}; sleep 0.3; n={{}}; echo $((n * 2))",
            log.display()
        );
        let map = cluster.map(&[&command], 200);
        wait_until("half of it", || cluster.lines("items").len() > 60);
        let node = cluster.rig.nodes[1].clone();
        cluster.rig.kill(&format!("node {node}"));
        let results = results(map);
        assert_eq!(results.len(), 200);
        let mut lost = 0;
        for result in &results {
            if result["state"] == "lost" {
                lost += 1;
                let error = result["error"].as_str().unwrap();
                assert!(error.contains("Slurm says of job"), "{error}");
                continue;
            }
            let doubled = result["number"].as_u64().unwrap() * 2;
            assert_eq!(result["output"], format!("{doubled}\n"), "{result}");
        }
        assert!((1..=24).contains(&lost), "{lost} lost");
        let mut begun = cluster.lines("items");
        begun.sort();
        let count = begun.len();
        begun.dedup();
        assert_eq!(begun.len(), count, "an item began twice");
        cluster.rig.client_says(&["scancel", &cluster.job()]);
        cluster.nothing_is_left();
    }
}

#[test]
fn a_map_survives_its_own_death_its_controllers_and_the_end_of_its_allocation() {
    let Some(mut cluster) = whole(Proctrack::Linuxproc) else {
        return;
    };
    cluster.configure("nodes = 3\npatience_seconds = 120\n");
    let log = cluster.rig.shared().join("items");
    let command = format!("echo {{}} >>{}; sleep 0.3; echo {{}}", log.display());
    let mut map = cluster.map(&["--name", "all", &command], 200);
    wait_until("a part of it", || cluster.lines("items").len() > 40);
    cluster.rig.kill("munged");
    cluster.rig.kill("slurmctld");
    map.kill().unwrap();
    map.wait().unwrap();
    cluster.rig.start_again("munged");
    cluster.rig.start_again("slurmctld");
    let words = ["map", "--json", "--resume", "all"];
    let map = cluster
        .bashd(&words)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    // A controller that comes back has no room for steps until its nodes have told it how they are.
    let begun = Instant::now();
    while cluster.lines("items").len() <= 120 {
        assert!(begun.elapsed() < SETTLES, "{}", cluster.rig.logs());
        std::thread::sleep(Duration::from_millis(20));
    }
    let job = cluster.job();
    cluster.rig.client_says(&["scancel", &job]);
    let results = results(map);
    assert_eq!(results.len(), 200, "{results:?}");
    let mut begun = cluster.lines("items");
    begun.sort();
    let count = begun.len();
    begun.dedup();
    assert_eq!(begun.len(), count, "an item began twice");
    for result in &results {
        match result["state"].as_str() {
            Some("done") => assert_eq!(
                result["output"],
                format!("{}\n", result["item"].as_str().unwrap())
            ),
            Some("lost") => {}
            _ => panic!("{result}"),
        }
    }
    let last = cluster.job();
    assert_ne!(last, job, "it went on in another allocation");
    let forgotten = cluster.bashd(&["map", "--forget", "all"]).status();
    assert!(forgotten.unwrap().success());
    cluster.rig.client_says(&["scancel", &last]);
    cluster.nothing_is_left();
}

#[test]
fn an_agent_works_on_an_allocation_with_a_session_a_job_and_a_map() {
    let Some(cluster) = whole(Proctrack::Cgroup) else {
        return;
    };
    let engine = cluster.engine(|settings| {
        settings.nodes = Some(3);
        settings.gpus = Some(1);
        settings.memory = Some(1 << 30);
    });
    let command = |text: &str| {
        let given = Request::new("").profile("anthropic-bash").on("far");
        cluster.wait(engine.run(Call::json(json!({ "command": text }).to_string(), given)))
    };
    let task = cluster.rig.shared().join("task");
    let begun = command(&format!("mkdir -p {0} && cd {0} && X=kept", task.display()));
    assert!(!begun.is_error, "{begun:?}");
    Cluster::carriers().iter().for_each(Process::kill);
    let reply = command("pwd; echo $X; echo ${CUDA_VISIBLE_DEVICES:-none}");
    assert_eq!(
        reply.output,
        format!("{}\nkept\n0\n", task.display()),
        "{reply:?}"
    );
    let job = Request::new("echo out; sleep 1; exit 8")
        .on("far")
        .background();
    let reply = cluster.wait(engine.run(job));
    let known = FarJobs::of(&Config::new(cluster.home.state())).list();
    let job = known
        .last()
        .unwrap_or_else(|| panic!("no job: {reply:?}"))
        .alias
        .clone();
    // Its name has Slurm's number and the node.
    let number = cluster.job();
    assert!(job.starts_with(&format!("far/{number}.n")), "{job}");
    let asked = |asked: Value| {
        let defaults = Request::new("").profile("default");
        cluster.wait(engine.job(Call::json(asked.to_string(), defaults)))
    };
    let reply = asked(json!({ "action": "wait", "job": job, "timeout": 20 }));
    assert_eq!(reply.result["jobs"][0]["job"]["exit_code"], 8, "{reply:?}");
    // The same allocation: there is room for no other.
    cluster.configure("nodes = 3\ngpus = 1\nmemory = '1GiB'\n");
    let map = cluster.map(&["echo {} $SLURMD_NODENAME"], 200);
    let results = results(map);
    assert_eq!(results.len(), 200);
    let mut nodes: Vec<&str> = Vec::new();
    for result in &results {
        assert_eq!(result["state"], "done", "{result}");
        let output = result["output"].as_str().unwrap().trim();
        nodes.push(output.split_once(' ').unwrap().1);
    }
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 3, "by load: {nodes:?}");
    // What a job wrote is read after the end of its allocation.
    cluster.rig.client_says(&["scancel", &number]);
    wait_until("the end", || {
        let state = [
            "squeue",
            "--noheader",
            "--format=%T",
            &format!("--job={number}"),
            "--states=all",
        ];
        cluster.rig.client_says(&state) == "CANCELLED"
    });
    let reply = asked(json!({ "action": "output", "job": job }));
    assert!(reply.text.contains("out"), "{reply:?}");
    for job in cluster
        .rig
        .client_says(&["squeue", "--noheader", "--format=%A"])
        .lines()
    {
        cluster.rig.client_says(&["scancel", job]);
    }
    cluster.nothing_is_left();
}
