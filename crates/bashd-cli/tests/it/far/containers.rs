//! Containers as places, by a real podman, without root but where only root can do it: what goes
//! wrong with them (13, 16, 19 of `docs/places-faults.md`), and what is never made up.
//!
//! The smoke case always runs; the whole with `./test --with containers` and in `./soak`.

use super::{Driven, SLACK, error_of, wait_until};
use bashd::place::{ContainerSettings, PlaceKind, PlaceSettings};
use bashd::{Call, Config, Engine, Event, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::processes::{self, Process};
use bashd_testkit::{Home, PodmanRig, PodmanUser, loudly, repeat};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The image that most containers are made of.
const USUAL: &str = "usual:1";

/// A podman, and a home here from which its containers are places.
pub(super) struct Boxes {
    runtime: Driven,
    pub(super) rig: PodmanRig,
    pub(super) program: PathBuf,
    pub(super) shared: PathBuf,
    home: Home,
}

/// Without what only some tests need.
fn any(user: PodmanUser) -> Option<Boxes> {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let rig = PodmanRig::start(user)?;
    let program = rig.program(Path::new(env!("CARGO_BIN_EXE_bashd")));
    rig.import_usual(USUAL, &program);
    let shared = rig.folder("shared");
    Some(Boxes {
        runtime: Driven::new(),
        rig,
        program,
        shared,
        home,
    })
}

fn is_whole() -> bool {
    repeat::is_soak() || std::env::var_os("BASHD_TEST_CONTAINERS").is_some()
}

/// If the whole of these tests is asked for.
pub(super) fn whole(user: PodmanUser) -> Option<Boxes> {
    if !is_whole() {
        loudly("containers: only the smoke case (./test --with containers has the whole)");
        return None;
    }
    any(user)
}

impl Boxes {
    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        self.rig.env(self.home.env())
    }

    pub(super) fn engine_at(
        &self,
        settings: ContainerSettings,
        set: impl FnOnce(&mut PlaceSettings),
    ) -> Engine {
        let mut place = PlaceSettings::new("far", PlaceKind::Container(settings));
        place.program = Some(self.program.clone());
        place.map = vec![(self.shared.clone(), "/shared".into())];
        place.cwd = Some("/shared".into());
        place.patience = Duration::from_secs(8);
        set(&mut place);
        let mut config = Config::new(self.home.state());
        config.places = vec![place];
        let surroundings = Surroundings {
            cwd: self.home.workspace(),
            env: self.env(),
        };
        let made = async { Engine::new(config, surroundings, KeeperSource::Hook) };
        self.wait(made).unwrap()
    }

    /// An engine with a container of our own.
    pub(super) fn own(&self, set: impl FnOnce(&mut ContainerSettings)) -> Engine {
        let mut settings = ContainerSettings::default();
        settings.image = Some(USUAL.to_owned());
        settings.network = Some("none".to_owned());
        set(&mut settings);
        self.engine_at(settings, |_| {})
    }

    /// An engine with a container that somebody else runs.
    pub(super) fn named(&self, image: &str, words: &[&str]) -> Engine {
        let volume = format!("--volume={}:/shared", self.shared.display());
        let mut all = vec![
            "run",
            "--detach",
            "--name=theirs",
            "--network=none",
            &volume,
        ];
        all.extend(words);
        all.extend([image, "/bin/sleep", "1000"]);
        self.rig.done(&all);
        self.engine_at(theirs(), |_| {})
    }

    pub(super) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.handle.block_on(what)
    }

    pub(super) fn run(&self, engine: &Engine, command: &str) -> Reply {
        self.wait(engine.run(Request::new(command).on("far")))
    }

    /// Runs a command there, and something here once it has made the file `begun`.
    fn run_and(&self, engine: &Engine, command: &str, meanwhile: impl FnOnce()) -> Reply {
        let (call, request) = (engine.clone(), Request::new(command).on("far"));
        let call = self.runtime.spawn(async move { call.run(request).await });
        let begun = self.shared.join("begun");
        wait_until("the command", || begun.exists() || call.is_finished());
        let has_begun = begun.exists();
        assert!(has_begun, "it never began: {:?}", self.wait(call));
        fs::remove_file(begun).unwrap();
        meanwhile();
        self.wait(call).unwrap()
    }

    fn until_begun(&self) {
        let begun = self.shared.join("begun");
        wait_until("the command", || begun.exists());
        fs::remove_file(begun).unwrap();
    }

    /// The name of the container of our own.
    fn called(&self) -> String {
        let filter = "--filter=label=bashd.place=far";
        self.rig
            .done(&["ps", "--all", "--format={{.Names}}", filter])
    }

    /// The carriers that run now.
    fn carriers() -> Vec<Process> {
        let mut below = processes::below_this_one();
        let is_carrier = |words: &str| {
            ["--detach-keys=", "--interactive"]
                .iter()
                .all(|word| words.contains(word))
        };
        below.retain(|process| is_carrier(&process.command) && process.state != 'Z');
        below
    }
}

pub(super) fn theirs() -> ContainerSettings {
    let mut settings = ContainerSettings::default();
    settings.name = Some("theirs".to_owned());
    settings
}

/// That nobody knows how a command ended, and why.
fn assert_lost(reply: &Reply, word: &str) {
    let error = error_of(reply);
    let known = "it is not known how the command ended at the place `far`";
    assert!(error.contains(known) && error.contains(word), "{error}");
}

#[test]
fn a_command_runs_in_a_rootless_container_of_which_nothing_is_left() {
    let Some(boxes) = any(PodmanUser::Rootless) else {
        return;
    };
    let engine = boxes.own(|settings| settings.pids = None);
    let reply = boxes.run(
        &engine,
        "id -u; pwd; echo written >file; ls /sys/class/net; echo oops >&2; exit 3",
    );
    assert_eq!(reply.exit_code, Some(3), "{reply:?}");
    assert_eq!(reply.output, "0\n/shared\nlo\noops\n", "{reply:?}");
    assert_eq!(
        fs::read_to_string(boxes.shared.join("file")).unwrap(),
        "written\n"
    );
    // A second engine finds it, and the third one, which knows nothing of it.
    let again = boxes.own(|settings| settings.pids = None);
    assert_eq!(boxes.run(&again, "cat file").output, "written\n");
    fs::remove_dir_all(boxes.home.state().join("places")).unwrap();
    let again = boxes.own(|settings| settings.pids = None);
    assert_eq!(boxes.run(&again, "cat file; exit 5").exit_code, Some(5));
    assert_eq!(boxes.called().lines().count(), 1, "one for all of them");
}

#[test]
fn bytes_that_would_be_keys_at_a_terminal_arrive_as_they_are() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let bytes: Vec<u8> = (0..=255).chain([16, 17]).cycle().take(100_000).collect();
    for engine in [boxes.own(|_| {}), boxes.named(USUAL, &[])] {
        let request = Request::new("cat >copy").on("far").stdin(bytes.clone());
        let reply = boxes.wait(engine.run(request));
        assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        assert_eq!(fs::read(boxes.shared.join("copy")).unwrap(), bytes);
    }
}

#[test]
fn fault_01_carriers_of_containers_killed_at_random_moments_change_nothing() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    for engine in [boxes.own(|_| {}), boxes.named(USUAL, &[])] {
        let _ = fs::remove_file(boxes.shared.join("ran"));
        assert_eq!(boxes.run(&engine, "true").exit_code, Some(0));
        let runs = 10;
        let calls: Vec<_> = (0..runs)
            .map(|number| {
                let script =
                    format!("echo {number} >>ran; sleep 1.{number}; seq 1 5000; exit {number}");
                let (engine, request) = (engine.clone(), Request::new(script).on("far"));
                boxes
                    .runtime
                    .spawn(async move { engine.run(request).await })
            })
            .collect();
        for _ in 0..repeat::repetitions(40) {
            let killed = Instant::now();
            Boxes::carriers().iter().for_each(Process::kill);
            // Another one, or the end of all calls.
            wait_until("another carrier", || {
                !Boxes::carriers().is_empty()
                    || calls.iter().all(tokio::task::JoinHandle::is_finished)
                    || killed.elapsed() > SLACK
            });
        }
        for (number, call) in calls.into_iter().enumerate() {
            let reply = boxes.wait(call).unwrap();
            assert_eq!(reply.exit_code, Some(number as i32), "{reply:?}");
            assert_eq!(reply.output_lines, 5000, "{reply:?}");
        }
        let ran = fs::read_to_string(boxes.shared.join("ran")).unwrap();
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        assert_eq!(
            ran,
            (0..runs).map(|n| n.to_string()).collect::<Vec<_>>(),
            "each once"
        );
    }
}

#[test]
fn fault_13_a_container_that_is_stopped_killed_or_removed_leaves_an_end_that_nobody_knows() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let script = "touch begun; sleep 600; echo never";
    let own = boxes.own(|_| {});
    let ways: [(&[&str], &str); 3] = [
        (&["stop", "--time=4"], "exited"),
        (&["kill"], "exited, with 137 as its own exit code"),
        (&["rm", "--force", "--time=0"], "no such container"),
    ];
    for (words, word) in ways {
        let begun = Instant::now();
        let reply = boxes.run_and(&own, script, || {
            boxes.rig.done(&[words, &[&*boxes.called()]].concat());
        });
        assert_lost(&reply, word);
        assert!(error_of(&reply).contains("podman says"), "{reply:?}");
        assert!(
            begun.elapsed() < SLACK * 3,
            "it is waited for what can't come"
        );
        // The next call has one again.
        assert_eq!(boxes.run(&own, "exit 4").exit_code, Some(4));
    }
    for (words, word) in ways {
        let theirs = boxes.named(USUAL, &[]);
        let reply = boxes.run_and(&theirs, script, || {
            let short: &[&str] = if words[0] == "stop" {
                &["stop", "--time=0"]
            } else {
                words
            };
            boxes.rig.done(&[short, &["theirs"]].concat());
        });
        assert_lost(&reply, word);
        // Somebody else's is nobody's to start.
        let error = boxes.run(&theirs, "true");
        assert!(error_of(&error).contains(word), "{error:?}");
        boxes.rig.podman(&["rm", "--force", "theirs"]);
    }
}

#[test]
fn fault_13_a_container_that_was_started_anew_begins_nothing_again() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    // All that it knew is gone with its temporary directories.
    let theirs = boxes.named(USUAL, &["--read-only"]);
    let reply = boxes.run_and(&theirs, "touch begun; echo x >>ran; sleep 600", || {
        boxes.rig.done(&["restart", "--time=0", "theirs"]);
    });
    assert_lost(&reply, "");
    let ran = fs::read_to_string(boxes.shared.join("ran")).unwrap();
    assert_eq!(ran, "x\n", "it was begun a second time");
    assert_eq!(boxes.run(&theirs, "exit 6").exit_code, Some(6));
}

#[test]
fn fault_13_a_paused_container_is_told_and_goes_on_where_it_was() {
    let Some(boxes) = whole(PodmanUser::Root) else {
        return;
    };
    let own = boxes.own(|_| {});
    let script = "touch begun; for i in 1 2 3; do sleep 0.5; echo $i; done; exit 7";
    let reply = boxes.run_and(&own, script, || {
        boxes.rig.done(&["pause", &boxes.called()]);
        // Its carrier is given up, and nobody can enter it.
        Boxes::carriers().iter().for_each(Process::kill);
        let late = Instant::now();
        wait_until("a while", || late.elapsed() > Duration::from_secs(2));
        boxes.rig.done(&["unpause", &boxes.called()]);
    });
    assert_eq!(reply.exit_code, Some(7), "{reply:?}");
    assert_eq!(reply.output, "1\n2\n3\n");
    // One that stays paused: in time, without a status, with podman's word for it.
    let mut request = Request::new("touch begun; sleep 600").on("far");
    request.timeout = Some(Duration::from_secs(2));
    let call = own.clone();
    let call = boxes.runtime.spawn(async move { call.run(request).await });
    boxes.until_begun();
    boxes.rig.done(&["pause", &boxes.called()]);
    Boxes::carriers().iter().for_each(Process::kill);
    let reply = boxes.wait(call).unwrap();
    boxes.rig.done(&["unpause", &boxes.called()]);
    assert_lost(&reply, "paused");
}

#[test]
fn a_container_ends_with_grace_stops_when_idle_and_starts_again_with_what_was_in_it() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let idle = || {
        let mut settings = ContainerSettings::default();
        settings.image = Some(USUAL.to_owned());
        // The usual network of who is not root needs a program of its own.
        settings.network = Some("none".to_owned());
        boxes.engine_at(settings, |place| place.idle = Some(Duration::from_secs(1)))
    };
    let engine = idle();
    let script = "trap 'echo ended >told; exit 9' TERM; touch begun; sleep 600 & wait";
    let reply = boxes.run_and(&engine, script, || {
        boxes.rig.done(&["stop", "--time=9", &boxes.called()]);
    });
    assert_lost(&reply, "exited");
    assert_eq!(
        fs::read_to_string(boxes.shared.join("told")).unwrap(),
        "ended\n"
    );
    // Orphans are reaped by the first process.
    let script = "echo kept >/kept; (sleep 0.1 & sleep 0.1 &); sleep 0.5; grep -l '^State:.Z' /proc/[0-9]*/status; true";
    assert_eq!(boxes.run(&engine, script).output, "");
    drop(engine);
    let status = "--format={{.State.Status}}";
    wait_until("its end", || {
        boxes.rig.done(&["inspect", status, &boxes.called()]) == "exited"
    });
    assert_eq!(boxes.run(&idle(), "cat /kept").output, "kept\n");
}

#[test]
fn what_is_waited_for_is_told_and_why_nothing_starts_in_podmans_words() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let engine = boxes.own(|_| {});
    let mut told = Vec::new();
    boxes.wait(async {
        let mut running = engine.stream(Request::new("echo here").on("far"));
        while let Some(event) = running.next().await {
            match event {
                Event::Preparing { text } => told.push(text),
                Event::Finished(reply) => assert_eq!(reply.exit_code, Some(0), "{reply:?}"),
                _ => {}
            }
        }
    });
    assert_eq!(
        told.first().map(String::as_str),
        Some("starting a container of usual:1")
    );
    let engine = boxes.own(|settings| {
        settings.image = Some("usual:none".to_owned());
        settings.options = vec!["--pull=never".to_owned()];
    });
    let reply = boxes.run(&engine, "true");
    let error = error_of(&reply);
    assert!(
        error.contains("usual:none") && error.contains("not known"),
        "{error}"
    );
    let engine = boxes.own(|settings| settings.network = Some("nosuchnetwork".to_owned()));
    let reply = boxes.run(&engine, "true");
    assert!(error_of(&reply).contains("nosuchnetwork"), "{reply:?}");
}

#[test]
fn resources_of_a_container_hold_and_who_lacks_memory_is_told() {
    let Some(boxes) = whole(PodmanUser::Root) else {
        return;
    };
    let engine = boxes.own(|settings| {
        settings.memory = Some(64 << 20);
        settings.pids = Some(60);
        settings.cpus = Some("0.5".to_owned());
    });
    assert_eq!(boxes.run(&engine, "exit 2").exit_code, Some(2));
    let format =
        "--format={{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.NanoCpus}}";
    let told = boxes.rig.done(&["inspect", format, &boxes.called()]);
    assert_eq!(told, "67108864 60 500000000");
    // A command that takes all of it is ended by the kernel, and its keeper saw that.
    let much = "x=$(yes | head -c 300000000); echo not reached";
    let reply = boxes.run(
        &engine,
        &format!("echo 1000 >/proc/self/oom_score_adj; {much}"),
    );
    assert_eq!(
        (reply.exit_code, reply.signal, &*reply.output),
        (None, Some(9), ""),
        "{reply:?}"
    );
    assert_eq!(
        boxes.run(&engine, "exit 2").exit_code,
        Some(2),
        "it works on"
    );
    // If the kernel ends the first process, and with it all of them, podman tells it.
    let reply = boxes.run(
        &engine,
        &format!("echo 1000 >/proc/1/oom_score_adj; {much}"),
    );
    assert_lost(&reply, "podman says of the container");
    assert_lost(&reply, "exited, with 137 as its own exit code");
    assert_eq!(
        boxes.run(&engine, "exit 3").exit_code,
        Some(3),
        "it works again"
    );
}

#[test]
fn an_agent_works_in_a_container_and_does_not_notice_that_its_carrier_dies() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let engine = boxes.own(|_| {});
    let command = |text: &str| {
        let given = Request::new("").profile("anthropic-bash").on("far");
        boxes.wait(engine.run(Call::json(json!({ "command": text }).to_string(), given)))
    };
    let reply = command("mkdir -p task && cd task && X=kept && f() { echo f:$X; }");
    assert!(!reply.is_error, "{reply:?}");
    let text = "cat >main.sh <<'END'\n#!/bin/sh\nfor i in 1 2 3; do echo line $i; done\nexit 5\nEND\nchmod +x main.sh";
    assert!(!command(text).is_error);
    assert_eq!(
        command("./main.sh; echo status $?").output,
        "line 1\nline 2\nline 3\nstatus 5\n"
    );
    let reply = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            boxes.until_begun();
            Boxes::carriers().iter().for_each(Process::kill);
        });
        let reply =
            command("touch /shared/begun; echo $$ >>pids; sleep 1; seq 1 2000 | tail -n 3; f");
        killer.join().unwrap();
        reply
    });
    assert_eq!(reply.output, "1998\n1999\n2000\nf:kept\n", "{reply:?}");
    Boxes::carriers().iter().for_each(Process::kill);
    assert_eq!(
        command("pwd; f; echo $$ >>pids").output,
        "/shared/task\nf:kept\n"
    );
    let shells = fs::read_to_string(boxes.shared.join("task/pids")).unwrap();
    let shells: Vec<&str> = shells.lines().collect();
    assert!(
        shells.len() == 2 && shells.first() == shells.last(),
        "{shells:?}"
    );
    // A job, which its keeper holds.
    let reply = boxes.wait(engine.run(Request::new("sleep 0.3; echo done").on("far").background()));
    assert!(reply.job.is_some(), "{reply:?}");
}
