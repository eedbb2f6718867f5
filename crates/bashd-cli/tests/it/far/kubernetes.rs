//! Pods as places, in a Kubernetes of one node (`bashd_testkit::Cluster`): what goes wrong with
//! them (12 of `docs/places-faults.md`), in Kubernetes' own words, and what is never made up.
//!
//! All of it with `./test --with kubernetes`; without that it says loudly that it did not run.

use super::pages::{block, commands, line};
use super::{Driven, error_of, wait_until};
use bashd::place::{PlaceKind, PlaceSettings, PodSettings};
use bashd::{Call, Config, Engine, Event, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::processes::{self, Process};
use bashd_testkit::{Cluster, Home};
use serde_json::json;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A cluster, and a home here from which its pods are places.
struct Pods {
    runtime: Driven,
    cluster: Cluster,
    program: PathBuf,
    _folder: TempDir,
    home: Home,
}

fn any() -> Option<Pods> {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/cluster");
    let mut cluster = Cluster::start(&script)?;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bashd");
    let bashd = env!("CARGO_BIN_EXE_bashd");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(bashd)
        .status();
    assert!(strip.unwrap().success());
    cluster.image("usual", &program);
    Some(Pods {
        runtime: Driven::new(),
        cluster,
        program,
        _folder: folder,
        home,
    })
}

/// What this cluster needs of every pod: there is no network for them, and nothing to fetch from.
fn needed() -> serde_json::Value {
    json!({ "hostNetwork": true, "containers": [{ "imagePullPolicy": "Never" }] })
}

impl Pods {
    fn engine(&self, settings: PodSettings) -> Engine {
        let mut place = PlaceSettings::new("far", PlaceKind::Kubernetes(settings));
        place.program = Some(self.program.clone());
        place.patience = Duration::from_secs(30);
        place.connect = Duration::from_secs(10);
        let mut config = Config::new(self.home.state());
        config.places = vec![place];
        let mut env = self.home.env();
        env.push(("KUBECONFIG".into(), self.cluster.config().into()));
        let surroundings = Surroundings {
            cwd: self.home.workspace(),
            env,
        };
        let made = async { Engine::new(config, surroundings, KeeperSource::Hook) };
        self.wait(made).unwrap()
    }

    fn own(&self, set: impl FnOnce(&mut PodSettings)) -> Engine {
        let mut settings = PodSettings::default();
        settings.image = Some("localhost/usual:1".to_owned());
        settings.spec = Some(needed());
        set(&mut settings);
        self.engine(settings)
    }

    fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.handle.block_on(what)
    }

    fn run(&self, engine: &Engine, command: &str) -> Reply {
        self.wait(engine.run(Request::new(command).on("far")))
    }

    /// Runs a command, and something once it has said that it began.
    fn run_and(&self, engine: &Engine, command: &str, meanwhile: impl FnOnce()) -> Reply {
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
        let rest = self.runtime.spawn(async move {
            loop {
                match running.next().await {
                    Some(Event::Finished(reply)) => return *reply,
                    Some(_) => {}
                    None => panic!("no reply"),
                }
            }
        });
        meanwhile();
        self.wait(rest).unwrap()
    }

    fn called(&self) -> String {
        let label = "--selector=app.kubernetes.io/managed-by=bashd";
        self.cluster
            .kubectl(&["get", "pods", label, "--output=name"])
    }

    fn carriers() -> Vec<Process> {
        let mut below = processes::below_this_one();
        let is_carrier = |one: &Process| one.command.contains("exec --stdin") && one.state != 'Z';
        below.retain(is_carrier);
        below
    }
}

fn assert_lost(reply: &Reply, word: &str) {
    let error = error_of(reply);
    let known = "it is not known how the command ended at the place `far`";
    assert!(
        error.contains(known) && error.contains(word),
        "{word}: {error}"
    );
}

#[test]
fn a_pod_of_our_own_runs_commands_as_asked_for_and_an_agent_does_not_notice_a_dead_carrier() {
    let Some(pods) = any() else { return };
    pods.cluster.kubectl(&["create", "serviceaccount", "robot"]);
    pods.cluster
        .kubectl(&["label", "node", "--all", "disk=fast"]);
    let engine = pods.own(|settings| {
        settings.memory = Some(256 << 20);
        settings.cpus = Some("0.5".to_owned());
        settings.service_account = Some("robot".to_owned());
        settings.node_selector = [("disk".to_owned(), "fast".to_owned())].into();
    });
    let reply = pods.run(&engine, "echo oops >&2; kill -0 1; exit 3");
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(3), "oops\n"),
        "{reply:?}"
    );
    let first = "tr '\\0' ' ' </proc/1/cmdline 2>/dev/null || cat /proc/1/cmdline";
    assert!(
        pods.run(&engine, first).output.contains("--hold"),
        "the outpost is its first process"
    );
    let pod: serde_json::Value =
        serde_json::from_str(
            &pods
                .cluster
                .kubectl(&["get", &pods.called(), "--output=json"]),
        )
        .unwrap();
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["memory"], "268435456");
    assert_eq!(container["resources"]["limits"]["cpu"], "500m");
    assert_eq!(pod["spec"]["serviceAccountName"], "robot");
    // Orphans are reaped.
    let script =
        "(sleep 0.1 & sleep 0.1 &); sleep 0.5; grep -l '^State:.Z' /proc/[0-9]*/status; true";
    assert_eq!(pods.run(&engine, script).output, "");
    // An agent's session, with its carrier killed in a call and between two.
    let command = |text: &str| {
        let given = Request::new("").profile("anthropic-bash").on("far");
        pods.wait(engine.run(Call::json(json!({ "command": text }).to_string(), given)))
    };
    assert!(
        !command("mkdir -p /tmp/task && cd /tmp/task && X=kept && f() { echo f:$X; }").is_error
    );
    let reply = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let begun = pods.called();
            wait_until("the command", || {
                let ls = ["exec", &begun, "--", "ls", "/tmp/task"];
                pods.cluster.kubectl(&ls).contains("begun")
            });
            Pods::carriers().iter().for_each(Process::kill);
        });
        let reply = command("touch begun; echo $$ >>pids; sleep 3; seq 1 2000 | tail -n 1; f");
        killer.join().unwrap();
        reply
    });
    assert_eq!(reply.output, "2000\nf:kept\n", "{reply:?}");
    Pods::carriers().iter().for_each(Process::kill);
    assert_eq!(
        command("pwd; f; echo $$ >>pids; sort -u pids | wc -l").output,
        "/tmp/task\nf:kept\n1\n"
    );
    // What can't be scheduled is told while it is waited for, and as the reason.
    let nowhere = pods.own(|settings| {
        settings.node_selector = [("disk".to_owned(), "none".to_owned())].into();
        settings.start = Some(Duration::from_secs(3));
    });
    let reply = pods.run(&nowhere, "true");
    let error = error_of(&reply);
    assert!(
        error.contains("Unschedulable") && error.contains("didn't match"),
        "{error}"
    );
}

#[test]
fn fault_12_a_pod_that_is_deleted_evicted_or_out_of_memory_is_told_in_kubernetes_words() {
    let Some(pods) = any() else { return };
    // Deleted: the command gets its grace, and nobody makes a status up.
    let engine = pods.own(|_| {});
    let reply = pods.run_and(&engine, "sleep 600", || {
        pods.cluster
            .kubectl(&["delete", "--wait=false", &pods.called()]);
    });
    assert_lost(&reply, "Kubernetes says");
    // The next call has another one.
    assert_eq!(pods.run(&engine, "exit 4").exit_code, Some(4));
    let reply = pods.run_and(&engine, "sleep 600", || {
        pods.cluster
            .kubectl(&["delete", "--grace-period=0", "--force", &pods.called()]);
    });
    assert_lost(&reply, "not found");
    // Evicted, by the interface that drains nodes.
    assert_eq!(pods.run(&engine, "exit 5").exit_code, Some(5));
    let reply = pods.run_and(&engine, "sleep 600", || {
        let called = pods.called().replace("pod/", "");
        let eviction = json!({ "apiVersion": "policy/v1beta1", "kind": "Eviction",
            "metadata": { "name": called, "namespace": "default" } });
        let path = format!("/api/v1/namespaces/default/pods/{called}/eviction");
        pods.cluster.kubectl_with(
            &["create", "--raw", &path, "--filename=-"],
            &eviction.to_string(),
        );
    });
    assert_lost(&reply, "Kubernetes says");
    // Out of memory: the command, which its keeper saw; then its first process, which Kubernetes
    // tells.
    let engine = pods.own(|settings| settings.memory = Some(64 << 20));
    assert_eq!(pods.run(&engine, "exit 6").exit_code, Some(6));
    let much = "x=$(yes | head -c 300000000); echo not reached";
    let reply = pods.run(
        &engine,
        &format!("echo 1000 >/proc/self/oom_score_adj; {much}"),
    );
    assert_eq!(
        (reply.exit_code, reply.signal, &*reply.output),
        (None, Some(9), ""),
        "{reply:?}"
    );
    let reply = pods.run(
        &engine,
        &format!("echo 1000 >/proc/1/oom_score_adj; {much}"),
    );
    assert_lost(&reply, "OOMKilled");
    assert_eq!(pods.run(&engine, "exit 6").exit_code, Some(6));
    // Killed as a whole: in Kubernetes' words.
    let reply = pods.run_and(&engine, "sleep 600", || {
        let processes = processes::all();
        let mut first = processes
            .iter()
            .filter(|one| one.command.contains("outpost --hold"));
        first.next().expect("its first process").kill();
    });
    assert_lost(&reply, "container terminated");
}

#[test]
fn fault_12_apiserver_kubelet_and_containerd_may_die_and_no_status_is_made_up() {
    let Some(mut pods) = any() else { return };
    let engine = pods.own(|_| {});
    assert_eq!(pods.run(&engine, "exit 2").exit_code, Some(2));
    for part in ["apiserver", "kubelet", "containerd"] {
        let (script, call) = ("echo begun; sleep 6; seq 1 3000; exit 7", engine.clone());
        let limit = Duration::from_secs(20);
        let request = Request::new(script).on("far").timeout(limit);
        let call = pods.runtime.spawn(async move { call.run(request).await });
        let late = std::time::Instant::now();
        wait_until("a while", || late.elapsed() > Duration::from_secs(1));
        pods.cluster.kill(part);
        let late = std::time::Instant::now();
        wait_until("a while", || late.elapsed() > Duration::from_secs(1));
        pods.cluster.start_again(part);
        let reply = pods.wait(call).unwrap();
        assert_eq!(
            (reply.exit_code, reply.output_lines),
            (Some(7), 3001),
            "{part}: {reply:?}"
        );
    }
    // Never back: not known, in time, with what was heard.
    let mut request = Request::new("sleep 600").on("far");
    request.timeout = Some(Duration::from_secs(3));
    let call = engine.clone();
    let call = pods.runtime.spawn(async move { call.run(request).await });
    let late = std::time::Instant::now();
    wait_until("a while", || late.elapsed() > Duration::from_secs(1));
    pods.cluster.kill("apiserver");
    Pods::carriers().iter().for_each(Process::kill);
    let reply = pods.wait(call).unwrap();
    assert_lost(&reply, "it may still run");
    pods.cluster.start_again("apiserver");
}

#[test]
fn fault_12_a_node_that_is_lost_is_told_and_a_pod_of_somebody_else_is_entered() {
    let Some(pods) = any() else { return };
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "theirs" },
        "spec": { "hostNetwork": true, "containers": [{ "name": "c", "imagePullPolicy": "Never",
            "image": "localhost/usual:1", "command": ["/bin/sleep", "1000"] }] } });
    pods.cluster
        .kubectl_with(&["create", "--filename=-"], &pod.to_string());
    pods.cluster.kubectl(&[
        "wait",
        "--for=condition=Ready",
        "--timeout=60s",
        "pod/theirs",
    ]);
    let mut settings = PodSettings::default();
    settings.pod = Some("theirs".to_owned());
    settings.container = Some("c".to_owned());
    let engine = pods.engine(settings);
    assert_eq!(pods.run(&engine, "exit 3").exit_code, Some(3));
    let mut missing = PodSettings::default();
    missing.pod = Some("nobodys".to_owned());
    let reply = pods.run(&pods.engine(missing), "true");
    assert!(
        error_of(&reply).contains("pod `nobodys` not found"),
        "{reply:?}"
    );
    // Its node says nothing any more.
    let mut request = Request::new("sleep 600").on("far");
    request.timeout = Some(Duration::from_secs(5));
    let call = engine.clone();
    let call = pods.runtime.spawn(async move { call.run(request).await });
    let late = std::time::Instant::now();
    wait_until("a while", || late.elapsed() > Duration::from_secs(1));
    pods.cluster.kill("kubelet");
    Pods::carriers().iter().for_each(Process::kill);
    let reply = pods.wait(call).unwrap();
    assert_lost(&reply, "Kubelet stopped posting node status");
}

#[test]
fn what_the_page_about_kubernetes_shows_works_in_pods() {
    let Some(mut pods) = any() else { return };
    pods.cluster.image_called(
        "page",
        "docker.io/library/debian:12",
        &["make"],
        &pods.program,
    );
    let kubectl = |words: &[&str]| pods.cluster.kubectl(words);
    kubectl(&["config", "set-context", "dev", "--cluster=c", "--user=u"]);
    kubectl(&["create", "namespace", "me"]);
    kubectl(&["--namespace=me", "create", "serviceaccount", "agent"]);
    kubectl(&["label", "node", "--all", "disk=fast"]);
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web-0" },
        "spec": { "hostNetwork": true, "containers": [{ "name": "app", "imagePullPolicy": "Never",
            "image": "localhost/usual:1", "command": ["/bin/sleep", "1000"] }] } });
    let manifest = pod.to_string();
    pods.cluster
        .kubectl_with(&["--namespace=me", "create", "--filename=-"], &manifest);
    let ready = [
        "wait",
        "--for=condition=Ready",
        "--timeout=60s",
        "pod/web-0",
    ];
    kubectl(&[&["--namespace=me"], &ready[..]].concat());
    let page = "docs/kubernetes.md";
    let text = block(page, "toml", "[places.web]");
    // The program is this test's, there is no network for pods, and this node is small.
    let program = pods.program.display();
    let text = text.replace("kind = ", &format!("program = '{program}'\nkind = "));
    let text = text.replace(
        "[places.pod.spec]\n",
        "[places.pod.spec]\nhostNetwork = true\n",
    );
    let text = text.replace("memory = \"4GiB\"\ncpus = 2", "memory = \"1GiB\"\ncpus = 1");
    std::fs::write(pods.home.config().join("config.toml"), text).unwrap();
    let mut env = pods.home.env();
    env.push(("KUBECONFIG".into(), pods.cluster.config().into()));
    // What has no namespace of its own is looked for in that of the context.
    kubectl(&["config", "set-context", "--current", "--namespace=me"]);
    let mut ran = 0;
    for asked in commands(&block(page, "sh", "bashd run --on pod 'make test'")) {
        let asked = asked.replace(
            "make test",
            "cd /tmp; printf 'test:\\n\\t@echo tested\\n' >Makefile; make test",
        );
        let (code, text) = line(&pods.home, &env, &asked);
        assert_eq!(code, Some(0), "{asked}: {text}");
        let said = match asked.split(' ').nth(1) {
            Some("run") => "tested\n",
            Some("places") => "subreaper and pidfd",
            Some("get") => "bashd-pod-",
            _ => panic!("nobody looks at `{asked}`"),
        };
        assert!(text.contains(said), "{asked}: {text}");
        ran += 1;
    }
    assert_eq!(ran, 3, "the page has other commands");
    let (code, text) = line(&pods.home, &env, "bashd run --on web 'echo in it; exit 4'");
    assert_eq!(
        (code, text.lines().next()),
        (Some(4), Some("in it")),
        "{text}"
    );
}
