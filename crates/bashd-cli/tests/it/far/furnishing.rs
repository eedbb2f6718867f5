//! Disks, shells, programs and clocks that are not what they should be.

use super::{Far, error_of, whole};
use crate::jobs_clock::Clock;
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Call, Reply, Request};
use bashd_testkit::loudly;
use bashd_testkit::processes::Process;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A command that writes much, and is right or wrong.
const MUCH: &str = "seq 1 300000; echo last; exit 7";

/// A place whose bashd is another program there.
fn with_bin(bin: &str) -> impl FnOnce(&mut PlaceSettings) {
    let bin = bin.to_owned();
    move |place| {
        place.kind = PlaceKind::Ssh {
            host: "far".to_owned(),
            bin: Some(bin),
        };
        place.connect = Duration::from_secs(5);
    }
}

fn put_program(far: &Far, path: &str, bytes: &[u8]) {
    let file = far.machine.file(path);
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Right, and whole: what is not shown is counted.
fn assert_counted(reply: &Reply) {
    assert_eq!(reply.exit_code, Some(7), "{reply:?}");
    assert_eq!(
        (reply.output_bytes, reply.output_lines),
        (1_988_900, 300_001),
        "{reply:?}"
    );
    assert!(reply.output.ends_with("last\n"), "{reply:?}");
}

#[test]
fn fault_14_a_full_disk_changes_no_status_and_no_count() {
    let Some(far) = whole() else { return };
    far.machine.sh(
        "mount -t tmpfs -o size=128k,mode=777 full /home/u && chown 4711 /home/u; \
         head -c 1m /dev/zero >/home/u/fill 2>/dev/null || true",
    );
    let engine = far.engine(|_| {});
    let reply = far.run(&engine, Request::new(MUCH));
    assert_counted(&reply);
    let reply = far.run(
        &engine,
        Request::new("echo x >more 2>/dev/null; cat more; exit 3"),
    );
    assert_eq!(reply.exit_code, Some(3), "{reply:?}");
    // More than memory holds of it is lost, and counted.
    let reply = far.run(&engine, Request::new("seq 1 3000000; exit 7"));
    assert_eq!(
        (reply.exit_code, reply.output_bytes, reply.output_lines),
        (Some(7), 22_888_896, 3_000_000),
        "{reply:?}"
    );
    assert!(reply.output.ends_with("3000000\n"), "{reply:?}");
    // What can't be kept is refused, with the reason.
    let job = far.run(&engine, Request::new("touch ran; sleep 60").background());
    let error = error_of(&job);
    assert!(error.contains("No space left"), "{error}");
    assert!(job.job.is_none() && far.machine.running("sleep 60").is_empty());
}

#[test]
fn fault_14_a_home_that_is_read_only_or_not_there_is_no_hindrance_or_is_named() {
    let Some(far) = whole() else { return };
    for make in [
        "mount -t tmpfs -o mode=777 ro /home/u && mount -o remount,ro /home/u",
        "umount /home/u; rmdir /home/u",
    ] {
        far.machine.sh(make);
        let engine = far.engine(|place| place.cwd = Some("/tmp".into()));
        let reply = far.run(&engine, Request::new("pwd; exit 7"));
        if let Some(code) = reply.exit_code {
            assert_eq!((code, &*reply.output), (7, "/tmp\n"), "{make}");
        } else {
            let error = error_of(&reply);
            assert!(error.contains("/home/u"), "{make}: {error}");
        }
    }
}

#[test]
fn fault_15_directories_that_allow_no_execution_are_no_hindrance() {
    let Some(far) = whole() else { return };
    far.machine.sh(
        "mount -t tmpfs -o noexec,mode=777 x /home/u; chown 4711 /home/u; \
         mount -t tmpfs -o noexec,mode=1777 x /tmp; mount -t tmpfs -o noexec,mode=1777 x /var/tmp; \
         mount -o remount,noexec /dev/shm",
    );
    let engine = far.engine(|_| {});
    let reply = far.run(&engine, Request::new(MUCH));
    assert_counted(&reply);
    let reply = far.run(
        &engine,
        Request::new("cd /tmp; f=$(mktemp); echo '#!/bin/sh' >$f; chmod +x $f; $f"),
    );
    assert_eq!(reply.exit_code, Some(126), "it is noexec: {reply:?}");
}

#[test]
fn fault_16_a_machine_without_bash_is_told_by_name_and_sh_is_enough() {
    let Some(far) = whole() else { return };
    far.machine.login_shell("/bin/sh");
    far.machine.sh("mount -t tmpfs x /mnt 2>/dev/null || mkdir -p /mnt && touch /mnt/none && mount --bind /mnt/none /usr/bin/bash");
    let engine = far.engine(|_| {});
    let reply = far.run(&engine, Request::new("exit 7"));
    let error = error_of(&reply);
    assert!(error.contains("bash"), "{error}");
    far.configure("");
    let shown = far
        .bashd(&["--set", "shell=/bin/sh", "echo $0; exit 7"])
        .run();
    assert_eq!(shown.code(), Some(7), "{}{}", shown.out(), shown.err());
}

#[test]
fn fault_18_a_bashd_that_can_t_be_loaded_there_is_told_in_the_loader_s_words() {
    let Some(far) = whole() else { return };
    // An interpreter that this machine does not have, as that of another C library.
    put_program(&far, "/opt/old", b"#!/lib/ld-old.so.1\n");
    let engine = far.engine(with_bin("/opt/old"));
    let reply = far.run(&engine, Request::new("touch ran"));
    let error = error_of(&reply);
    assert!(
        error.contains("/opt/old") && error.contains("not found"),
        "{error}"
    );
}

#[test]
fn fault_19_a_program_for_another_processor_is_told() {
    let Some(far) = whole() else { return };
    // The head of a program for aarch64.
    let mut head = fs::read(env!("CARGO_BIN_EXE_bashd")).unwrap();
    head.truncate(4096);
    head[18] = 183;
    put_program(&far, "/opt/arm", &head);
    let engine = far.engine(with_bin("/opt/arm"));
    let reply = far.run(&engine, Request::new("touch ran"));
    let error = error_of(&reply);
    assert!(error.contains("no outpost answers"), "{error}");
}

/// What preloads another clock into a program.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

#[test]
fn fault_20_a_clock_that_is_wrong_by_days_moves_no_deadline() {
    if !Path::new(FAKETIME).exists() {
        loudly("libfaketime is missing: places whose clock is wrong are NOT tested here");
        return;
    }
    let Some(far) = whole() else { return };
    for (name, shift) in [("/opt/late", "-10d"), ("/opt/early", "+10d")] {
        let script = format!(
            "#!/bin/sh\nexport LD_PRELOAD={FAKETIME} FAKETIME={shift} DONT_FAKE_MONOTONIC=1\nexec /opt/bashd \"$@\"\n"
        );
        put_program(&far, name, script.as_bytes());
        let engine = far.engine(with_bin(name));
        let reply = far.run(&engine, Request::new("date +%s; exit 7"));
        assert_eq!(reply.exit_code, Some(7), "{reply:?}");
        let there: u64 = reply.output.trim().parse().unwrap();
        let here = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let apart = there.abs_diff(here.unwrap().as_secs());
        assert!(
            apart.abs_diff(864_000) < 60,
            "its clock is not wrong: {apart}"
        );
        let begun = Instant::now();
        let request = Request::new("echo begun; sleep 60").timeout(Duration::from_secs(1));
        let reply = far.run(&engine, request);
        assert!(reply.timed_out && reply.output == "begun\n", "{reply:?}");
        let took = begun.elapsed();
        assert!(
            took >= Duration::from_secs(1) && took < Duration::from_secs(4),
            "{took:?}"
        );
        assert!((900..4000).contains(&reply.wall_ms), "{reply:?}");
        drop(engine);
        far.machine
            .running("outpost --serve")
            .iter()
            .for_each(Process::kill);
    }
}

#[test]
fn fault_20_a_clock_that_jumps_moves_no_deadline_and_makes_no_time_up() {
    let Some(far) = whole() else { return };
    let Some(clock) = Clock::make(&far.home) else {
        return loudly("no C compiler: places whose clock jumps are NOT tested here");
    };
    fs::copy(&clock.library, far.machine.file("/opt/clock.so")).unwrap();
    let script = b"#!/bin/sh\nexport LD_PRELOAD=/opt/clock.so CLOCK_SHIFT=/opt/shift\nexec /opt/bashd \"$@\"\n";
    put_program(&far, "/opt/jumping", script);
    let shift = |seconds: &str| fs::write(far.machine.file("/opt/shift"), seconds).unwrap();
    let engine = far.engine(with_bin("/opt/jumping"));
    shift("0");
    let job = far.run(&engine, Request::new("sleep 600").background());
    assert!(job.job.is_some(), "{job:?}");
    for seconds in ["-864000", "864000"] {
        shift("0");
        let begun = Instant::now();
        let request = Request::new("touch begun; echo begun; sleep 60");
        let request = request.timeout(Duration::from_secs(2));
        let reply = far.run_and(&engine, request, || shift(seconds));
        let took = begun.elapsed();
        assert!(reply.timed_out && reply.output == "begun\n", "{reply:?}");
        assert!(
            took >= Duration::from_secs(2) && took < Duration::from_secs(5),
            "{took:?}"
        );
        assert!((1900..5000).contains(&reply.wall_ms), "{reply:?}");
        let reply = far.run(&engine, Request::new("date +%s"));
        let there: u64 = reply.output.trim().parse().unwrap();
        let here = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let apart = there.abs_diff(here.unwrap().as_secs());
        assert!(
            apart.abs_diff(864_000) < 60,
            "its clock did not jump: {apart}"
        );
    }
    // The job began ten days from now, by the clock of there: nobody can say how old it is.
    shift("-864000");
    let ask = |asked: serde_json::Value| {
        let defaults = Request::new("").profile("default");
        let reply = far.wait(engine.job(Call::json(asked.to_string(), defaults)));
        assert!(!reply.is_error, "{reply:?}");
        reply
    };
    let told = ask(json!({"action": "wait", "job": "far:bg_1", "timeout": 0.1}));
    assert_eq!(
        told.result["jobs"][0]["job"]["age_ms"], 0,
        "{:?}",
        told.result
    );
    ask(json!({"action": "kill", "job": "far:bg_1"}));
}
