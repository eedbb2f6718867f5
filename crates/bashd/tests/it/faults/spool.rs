//! Disks that are full, read-only or gone: the command never notices, and the reply says what is
//! missing.

use super::host::{Host, Job};
use super::scene::{Answer, Held, PATIENCE, SLACK, Scene, is_root, request, runs_in};
use bashd::plan::Quota;
use bashd_testkit::{Home, as_each_user, loudly};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Bytes that stay in memory where the disk takes none.
const IN_MEMORY: u64 = 64 << 10;

/// Numbers each on a line, so that a gap or a repetition shows; ends with a status of its own.
const COUNT: &str = "seq 100000; exit 3";

/// Bytes that [`COUNT`] writes.
const COUNTED: u64 = 9 * 2 + 90 * 3 + 900 * 4 + 9_000 * 5 + 90_000 * 6 + 7;

/// Checks the reply to [`COUNT`] from an engine that has no disk at all.
fn is_told(scene: &Scene, reason: &str) {
    let Answer { reply, took } = scene.run(request(COUNT));
    assert!(reply.error.is_none(), "{reply:?}");
    assert_eq!(reply.exit_code, Some(3), "{reply:?}");
    assert_eq!((reply.output_bytes, reply.output_lines), (COUNTED, 100_000));
    let lost = COUNTED - IN_MEMORY;
    assert_eq!(reply.dropped_bytes, lost);
    let told = format!("{lost} bytes of output were lost");
    assert!(reply.text.contains(&told), "{}", reply.text);
    assert!(reply.text.contains(reason), "{}", reply.text);
    assert!(
        reply.output.ends_with("\n99999\n100000\n"),
        "{}",
        reply.output
    );
    assert!(took < SLACK * 2, "{took:?}");
    // What fits into memory is not touched by any of it.
    let Answer { reply, .. } = scene.run(request("seq 1000"));
    assert_eq!((reply.dropped_bytes, reply.output_lines), (0, 1000));
    assert!(!reply.text.contains("lost"), "{}", reply.text);
    scene.still_works();
}

/// Checks that the failing ledger was told once.
fn ledger_is_told_once(scene: &Scene) {
    let warnings = scene.engine.take_warnings();
    let [warning] = warnings.as_slice() else {
        panic!("not one warning: {warnings:?}")
    };
    assert!(warning.contains("ledger"), "{warning}");
    scene.still_works();
    assert_eq!(scene.engine.take_warnings(), Vec::<String>::new());
}

#[test]
fn a_state_directory_that_can_not_be_is_told() {
    as_each_user(|| {
        let home = Home::new();
        let file = home.root().join("file");
        fs::write(&file, "").expect("a file");
        let scene = Scene::with(home, |config| config.state_dir = file.join("state"));
        is_told(&scene, "Not a directory");
        ledger_is_told_once(&scene);
    });
}

#[test]
fn a_read_only_state_directory_is_told() {
    as_each_user(|| {
        if is_root() {
            // Mode bits do not hold root back; `a_read_only_disk_is_told` does.
            return;
        }
        let home = Home::new();
        let state = home.state();
        fs::create_dir_all(&state).expect("a directory");
        let mode = |mode| fs::set_permissions(&state, fs::Permissions::from_mode(mode));
        mode(0o500).expect("a mode");
        let scene = Scene::with(home, |_| {});
        is_told(&scene, "could not be stored");
        ledger_is_told_once(&scene);
        mode(0o700).expect("a mode");
    });
}

#[test]
fn a_survivor_without_a_disk_lives_as_any_other() {
    as_each_user(|| {
        let home = Home::new();
        let file = home.root().join("file");
        fs::write(&file, "").expect("a file");
        let scene = Scene::with(home, |config| config.state_dir = file.join("state"));
        let command = "{ until [ -e go ]; do sleep 0.02; done; echo late && : > proof; } & echo $!";
        let Answer { reply, .. } = scene.run(request(command));
        let survivor = Held::written(&reply.output);
        scene.go();
        assert!(survivor.ends_within(PATIENCE), "it still waits");
        assert!(scene.file("proof").exists(), "it got no reader");
        scene.everything_ends();
    });
}

#[test]
fn a_state_directory_removed_meanwhile_is_made_again() {
    as_each_user(|| {
        let home = Home::new();
        let state = home.state();
        let small = Quota {
            head: 4096,
            ring: 4096,
        };
        let scene = Scene::with(home, |config| config.quota = small);
        let command = format!("rm -r '{}'; {COUNT}", state.display());
        let Answer { reply, .. } = scene.run(request(command));
        // The head was open already; the ring is made anew, directory and all.
        assert_eq!(reply.exit_code, Some(3), "{reply:?}");
        assert_eq!(reply.output_bytes, COUNTED);
        assert_eq!(reply.dropped_bytes, COUNTED - 8192, "{reply:?}");
        for _ in 0..2 {
            let Answer { reply, .. } = scene.run(request(COUNT));
            assert_eq!(reply.dropped_bytes, COUNTED - 8192, "{reply:?}");
            assert!(
                !reply.text.contains("could not be stored"),
                "{}",
                reply.text
            );
        }
        let mode = fs::metadata(state.join("runs"))
            .expect("the directory of runs")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
    });
}

#[test]
fn what_the_quota_drops_is_counted_to_the_byte() {
    as_each_user(|| {
        let small = Quota {
            head: 10_000,
            ring: 50_000,
        };
        let scene = Scene::with(Home::new(), |config| config.quota = small);
        let Answer { reply, .. } = scene.run(request(COUNT));
        assert_eq!((reply.output_bytes, reply.output_lines), (COUNTED, 100_000));
        assert_eq!(reply.dropped_bytes, COUNTED - 60_000);
        assert!(reply.output.starts_with("1\n2\n3\n"), "{}", reply.output);
        assert!(
            reply.output.ends_with("\n99999\n100000\n"),
            "{}",
            reply.output
        );
        assert!(
            !reply.text.contains("lost"),
            "as configured, so no complaint"
        );
    });
}

/// A host in a mount namespace of its own, whose state directory is a small file system.
///
/// Says loudly and returns nothing where mounting is refused.
fn host_with_disk(home: &Home, options: &str, command: &str) -> Option<Host> {
    host_on_disk(home, options, Job::new(home, command, PATIENCE))
}

/// The same for any job.
fn host_on_disk(home: &Home, options: &str, job: Job) -> Option<Host> {
    let state = home.root().join("disk");
    fs::create_dir(&state).expect("a directory");
    let namespace = || {
        let mut unshare = Command::new("unshare");
        // A user without rights may mount in a user namespace, where that is allowed.
        unshare.args(if is_root() { &["-m"][..] } else { &["-rm"] });
        unshare.args(["--propagation", "private", "bash", "-c"]);
        unshare
    };
    let mount = format!("mount -t tmpfs -o {options} tmpfs '{}'", state.display());
    let probe = namespace().arg(&mount).output().expect("unshare is there");
    if !probe.status.success() {
        let who = if is_root() {
            "root"
        } else {
            "a user without rights"
        };
        let why = String::from_utf8_lossy(&probe.stderr).trim().to_owned();
        loudly(&format!(
            "{who} may not mount here: a disk with {options} is NOT tested ({why})"
        ));
        return None;
    }
    let job = job.state(state);
    let mut by = namespace();
    // This very program, by a descriptor: its path may be closed to this user.
    let program = fs::File::open("/proc/self/exe").expect("this program");
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty()).expect("a flag");
    let exec = format!("exec /proc/self/fd/{} \"$@\"", program.as_raw_fd());
    by.arg(format!("{mount} && {exec}")).arg("host");
    Some(Host::start_by(&mut by, &job))
}

fn number(reply: &Value, name: &str) -> u64 {
    let number = reply[name].as_u64();
    number.unwrap_or_else(|| panic!("no {name} in {reply}"))
}

#[test]
fn a_full_disk_is_told_and_the_command_goes_on() {
    as_each_user(|| {
        let home = Home::new();
        let command = "seq 500000; exit 3";
        let Some(mut host) = host_with_disk(&home, "size=1m", command) else {
            return;
        };
        let reply = host.reply();
        assert_eq!(reply["error"], Value::Null, "{reply}");
        assert_eq!(reply["exit_code"], 3, "{reply}");
        let total = number(&reply, "output_bytes");
        assert_eq!(number(&reply, "output_lines"), 500_000);
        assert_eq!(total, COUNTED + 400_000 * 7);
        let dropped = number(&reply, "dropped_bytes");
        // A MiB on disk, less what the file system needs for itself, and the memory tail.
        let kept = total - dropped;
        assert!(
            kept > 512 << 10 && kept <= (1 << 20) + IN_MEMORY,
            "{kept} kept"
        );
        let text = reply["text"].as_str().expect("a text");
        let told = format!(
            "{dropped} bytes of output were lost because they could not be stored: No space left"
        );
        assert!(text.contains(&told), "{text}");
        assert!(text.starts_with("1\n2\n"), "the head is there");
        let output = reply["output"].as_str().expect("an output");
        assert!(output.ends_with("\n499999\n500000\n"), "the tail is there");
        host.leaves_nothing();
        host.ends_well();
    });
}

#[test]
fn a_disk_that_fills_up_while_an_artifact_is_saved_costs_only_the_artifact() {
    const COMMAND: &str = "seq 20000; exit 3";
    const BYTES: u64 = 9 * 2 + 90 * 3 + 900 * 4 + 9_000 * 5 + 10_001 * 6;
    as_each_user(|| {
        let mut kinds = Vec::new();
        // The output has 27 pages. Then the artifact's number, its record and the ledger want
        // theirs.
        for pages in [27, 28, 29, 64] {
            let home = Home::new();
            let job = Job::new(&home, COMMAND, PATIENCE).profile("pi");
            let options = format!("size={}k", 4 * pages);
            let Some(mut host) = host_on_disk(&home, &options, job) else {
                return;
            };
            let reply = host.reply();
            assert_eq!(reply["error"], Value::Null, "{reply}");
            assert_eq!(reply["exit_code"], 3, "{reply}");
            assert_eq!(number(&reply, "output_bytes"), BYTES);
            let output = reply["output"].as_str().expect("an output");
            assert!(output.ends_with("\n19999\n20000\n"), "{reply}");
            let text = reply["text"].as_str().expect("a text");
            assert!(text.contains("[Showing lines "), "{text}");
            let is_stored = reply["artifact"].is_string();
            assert_eq!(text.contains("artifact://"), is_stored, "{text}");
            kinds.push((is_stored, number(&reply, "dropped_bytes")));
            host.leaves_nothing();
            host.ends_well();
        }
        assert!(
            kinds.contains(&(false, 0)),
            "never full in between: {kinds:?}"
        );
        assert_eq!(kinds.last(), Some(&(true, 0)), "{kinds:?}");
    });
}

#[test]
fn a_read_only_disk_is_told() {
    as_each_user(|| {
        let home = Home::new();
        let Some(mut host) = host_with_disk(&home, "ro", COUNT) else {
            return;
        };
        let reply = host.reply();
        assert_eq!(reply["exit_code"], 3, "{reply}");
        assert_eq!(number(&reply, "dropped_bytes"), COUNTED - IN_MEMORY);
        let text = reply["text"].as_str().expect("a text");
        assert!(text.contains("bytes of output were lost"), "{text}");
        host.leaves_nothing();
        host.ends_well();
    });
}

#[test]
fn a_log_that_grows_beyond_its_quota_ends_with_its_tail() {
    as_each_user(|| {
        let home = Home::new().keeping_in_state(&["runs"]);
        let small = Quota {
            head: 1000,
            ring: 1000,
        };
        let scene = Scene::with(home, |config| config.quota = small);
        let command = "{ until [ -e go ]; do sleep 0.02; done; seq 100000; } & echo $!";
        let Answer { reply, .. } = scene.run(request(command));
        let survivor = Held::written(&reply.output);
        scene.go();
        assert!(survivor.ends_within(PATIENCE), "it still writes");
        scene.everything_ends();
        let runs = runs_in(&scene.home.state());
        let run = runs.first().expect("a run");
        let log = || fs::read_to_string(run.join("output")).unwrap_or_default();
        super::scene::wait_until("the log has its tail", || log().ends_with("\n100000\n"));
        let text = log();
        assert!(text.starts_with(&reply.output), "{text}");
        assert!(
            text.contains("bytes of output were dropped here]\n"),
            "{text}"
        );
        assert!(text.len() < 2200, "{}", text.len());
    });
}

#[test]
fn a_killed_keeper_leaves_no_file() {
    as_each_user(|| {
        let small = Quota {
            head: 1000,
            ring: 1000,
        };
        let scene = Scene::with(Home::new(), |config| config.quota = small);
        let command = "seq 100000; echo keeper; echo $PPID > keeper; sleep 300";
        let kill = |_: &str| Held::written(&scene.line_of("keeper")).signal(Signal::KILL);
        let is_enough = |text: &str| text.contains("keeper");
        let Answer { reply, .. } = scene.run_and(request(command), is_enough, kill);
        assert!(reply.error.is_some(), "{reply:?}");
        assert_eq!(reply.output_bytes, COUNTED + 7, "{reply:?}");
        assert!(
            reply.output.starts_with("1\n2\n"),
            "what was captured is kept"
        );
        assert!(
            reply.output.ends_with("keeper\n"),
            "what was captured is kept"
        );
        scene.everything_ends();
        assert_eq!(runs_in(&scene.home.state()).len(), 0);
    });
}
