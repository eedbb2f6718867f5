//! A program that is sent to a far machine by ssh: directories that do not allow execution, that
//! are somebody else's, files that were changed or cut short (15, 18, 22); and that nothing piles
//! up.

use super::{Far, error_of, wait_until, whole};
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Call, Engine, Request};
use bashd_testkit::processes::Process;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The directories that are looked at, in that order, but for one that is configured.
const DIRECTORIES: [&str; 4] = [
    "/home/u/.cache/bashd/bin",
    "/var/tmp/bashd-4711",
    "/tmp/bashd-4711",
    "/dev/shm/bashd-4711",
];

/// What is sent: the static program if one was built, else this one without what only debuggers
/// read.
fn program(far: &Far) -> PathBuf {
    let to = far.home.home().join("to-send");
    let own = env!("CARGO_BIN_EXE_bashd");
    let from =
        std::env::var_os("BASHD_TEST_STATIC").map_or_else(|| PathBuf::from(own), PathBuf::from);
    let mut stripped = Command::new("strip");
    stripped.arg("-s").arg(&from).arg("-o").arg(&to);
    if !stripped.status().is_ok_and(|status| status.success()) {
        fs::copy(from, &to).unwrap();
    }
    to
}

fn engine(far: &Far, program: &std::path::Path, set: impl FnOnce(&mut PlaceSettings)) -> Engine {
    far.engine(|place| {
        place.kind = PlaceKind::Ssh {
            host: "far".to_owned(),
            bin: None,
        };
        place.program = Some(program.to_owned());
        set(place);
    })
}

/// Runs a command by a new carrier, and where the program is then that its outpost runs.
fn asked(far: &Far, program: &std::path::Path) -> Vec<String> {
    let engine = engine(far, program, |_| {});
    let reply = far.run(&engine, Request::new("echo hello; exit 7"));
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(7), "hello\n"),
        "{reply:?}"
    );
    let list = DIRECTORIES.join(" ");
    let found = far.machine.sh(&format!(
        "ls -d $(printf '%s/* ' {list}) 2>/dev/null || true"
    ));
    let found = found.lines().filter(|path| !path.ends_with("/state"));
    found.map(str::to_owned).collect()
}

#[test]
fn fault_22_a_program_that_was_changed_or_cut_short_there_is_sent_anew() {
    let Some(far) = whole() else { return };
    let program = program(&far);
    let found = asked(&far, &program);
    let [there] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(there.starts_with(DIRECTORIES[0]), "{there}");
    let file = far.machine.file(there);
    let inode = || fs::metadata(&file).unwrap().ino();
    let first = inode();
    assert_eq!(asked(&far, &program), found);
    assert_eq!(inode(), first, "it was sent once");
    // The outpost may run it: what is changed is another file of that name.
    let change = |what: &dyn Fn(&fs::File)| {
        let aside = file.with_extension("aside");
        fs::copy(&file, &aside).unwrap();
        let opened = fs::File::options().write(true).open(&aside).unwrap();
        what(&opened);
        fs::rename(&aside, &file).unwrap();
        std::os::unix::fs::chown(&file, Some(4711), Some(4711)).unwrap();
    };
    let whole = fs::read(&program).unwrap();
    let middle = whole.len() as u64 / 2;
    // One bit, where it does not keep the program from running.
    let flip = |opened: &fs::File| {
        let end = whole.len() as u64 - 1;
        opened
            .write_all_at(&[whole[end as usize] ^ 1], end)
            .unwrap();
    };
    change(&flip);
    assert_ne!(fs::read(&file).unwrap(), whole);
    assert_eq!(asked(&far, &program), found);
    assert_eq!(fs::read(&file).unwrap(), whole, "a flipped bit");
    change(&|opened| opened.set_len(middle).unwrap());
    assert_eq!(asked(&far, &program), found);
    assert_eq!(fs::read(&file).unwrap(), whole, "half of it");
}

#[test]
fn fault_22_a_directory_that_is_somebody_elses_is_passed_over_or_named() {
    let Some(far) = whole() else { return };
    let program = program(&far);
    // Somebody else was there first, with a program of the right name that says yes to everything.
    let hash = Command::new("sha256sum").arg(&program).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let hash = hash.split(' ').next().unwrap();
    let trap = "#!/bin/sh\\ntouch /tmp/trapped\\n[ \"$2\" = --check ] && echo \"$3\"\\n";
    for directory in &DIRECTORIES[1..3] {
        far.machine.sh(&format!(
            "mkdir -p {directory}; chmod 777 {directory}; printf '{trap}' >{directory}/{hash}; \
             chmod 755 {directory}/{hash}"
        ));
    }
    far.machine.sh("ln -s /tmp/bashd-4711 /dev/shm/bashd-4711; mkdir -p /home/u/.cache; chmod 555 /home/u/.cache");
    let refused = engine(&far, &program, |_| {});
    let reply = far.run(&refused, Request::new("touch ran"));
    let error = error_of(&reply);
    for (directory, why) in [
        (DIRECTORIES[0], "is no directory of ours"),
        (DIRECTORIES[1], "is no directory of ours"),
        (DIRECTORIES[2], "is no directory of ours"),
        (DIRECTORIES[3], "is a link"),
    ] {
        assert!(error.contains(&format!("{directory} {why}")), "{error}");
    }
    assert!(!far.machine.file("/home/u/ran").exists());
    far.machine
        .sh("chown 4711 /tmp/bashd-4711; chmod 700 /tmp/bashd-4711; rm /tmp/bashd-4711/*");
    let found = asked(&far, &program);
    let in_third = |path: &String| path.starts_with(DIRECTORIES[2]);
    assert!(found.iter().any(in_third), "{found:?}");
    assert!(!far.machine.file("/tmp/trapped").exists(), "it was run");
}

#[test]
fn fault_15_a_program_is_sent_to_the_next_directory_that_allows_execution() {
    let Some(far) = whole() else { return };
    let program = program(&far);
    far.machine.sh(
        "mount -t tmpfs -o noexec,mode=777 x /home/u; chown 4711 /home/u; \
         mount -t tmpfs -o noexec,mode=1777 x /var/tmp",
    );
    let found = asked(&far, &program);
    assert!(
        found.len() == 1 && found[0].starts_with(DIRECTORIES[2]),
        "{found:?}"
    );
    far.machine.sh(
        "rm -rf /tmp/bashd-4711; mount -t tmpfs -o noexec,mode=1777 x /tmp; \
         mount -o remount,noexec /dev/shm",
    );
    let refused = engine(&far, &program, |_| {});
    let error = {
        let reply = far.run(&refused, Request::new("touch ran"));
        error_of(&reply).to_owned()
    };
    for directory in DIRECTORIES {
        assert!(
            error.contains(&format!("{directory} does not allow execution")),
            "{error}"
        );
    }
}

#[test]
fn fault_18_what_is_sent_needs_nothing_of_the_machine() {
    let Some(far) = whole() else { return };
    let Some(program) = std::env::var_os("BASHD_TEST_STATIC").map(PathBuf::from) else {
        bashd_testkit::loudly(
            "BASHD_TEST_STATIC names no static bashd-outpost: far machines without libraries are NOT tested here",
        );
        return;
    };
    // Nothing of the C library can be loaded any more by what is not running yet, but by root.
    far.machine.login_shell("/opt/busybox/sh");
    let busybox = ["/usr/bin/busybox", "/bin/busybox"].map(PathBuf::from);
    let busybox = busybox.into_iter().find(|path| path.exists()).unwrap();
    let to = far.machine.file("/opt/busybox");
    fs::create_dir(&to).unwrap();
    for name in ["sh", "seq"] {
        fs::copy(&busybox, to.join(name)).unwrap();
        fs::set_permissions(to.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let engine = engine(&far, &program, |_| {});
    let script = "PATH=/opt/busybox; seq 1 3; exit 7";
    let reply = far.run(&engine, Request::new(script));
    assert_eq!(
        (reply.exit_code, reply.output_lines),
        (Some(7), 3),
        "{reply:?}"
    );
}

#[test]
fn a_program_that_is_on_its_way_for_longer_than_an_answer_may_take_arrives() {
    let Some(far) = whole() else { return };
    let program = program(&far);
    // It is pressed to less than half, which takes six seconds then.
    let rate = fs::metadata(&program).unwrap().len() * 8 / 1000 * 2 / 5 / 6;
    let Some(()) = far.machine.narrow(&format!("{rate}kbit")) else {
        return;
    };
    let engine = engine(&far, &program, |place| {
        place.connect = Duration::from_secs(2);
    });
    let begun = Instant::now();
    // None of it is the command's time.
    let request = Request::new("echo arrived; exit 7").timeout(Duration::from_secs(2));
    let reply = far.run(&engine, request);
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(7), "arrived\n"),
        "{reply:?}"
    );
    let took = begun.elapsed();
    assert!(
        took > Duration::from_secs(4),
        "the wire is not narrow: {took:?}"
    );
}

#[test]
fn fault_23_jobs_that_another_build_began_are_read_and_ended() {
    let Some(far) = whole() else { return };
    let first = program(&far);
    let begun = {
        let engine = engine(&far, &first, |_| {});
        far.run(&engine, Request::new("echo on; sleep 600").background())
    };
    assert!(begun.text.contains("far:bg_1"), "{begun:?}");
    let second = far.home.home().join("other-build");
    fs::copy(&first, &second).unwrap();
    let mut opened = fs::File::options().append(true).open(&second).unwrap();
    opened.write_all(b"x").unwrap();
    drop(opened);
    let engine = engine(&far, &second, |_| {});
    assert_eq!(far.run(&engine, Request::new("exit 7")).exit_code, Some(7));
    let outposts = far.machine.running("outpost --serve").len();
    assert_eq!(
        outposts, 2,
        "each build has one, as long as it has something to do"
    );
    let ask = |action: &str| {
        let asked = json!({"action": action, "job": "far:bg_1"}).to_string();
        let defaults = Request::new("").profile("default");
        let reply = far.wait(engine.job(Call::json(asked, defaults)));
        assert!(!reply.is_error, "{reply:?}");
        reply.text
    };
    assert!(ask("output").contains("on\n"));
    assert!(ask("kill").contains("signal 15"));
    assert!(far.machine.running("sleep 600").is_empty());
}

#[test]
fn a_hundred_connects_leave_one_outpost_and_that_leaves_when_it_is_idle() {
    let Some(far) = whole() else { return };
    let idle = |place: &mut PlaceSettings| place.idle = Some(Duration::from_secs(1));
    for round in 0..if bashd_testkit::repeat::is_soak() {
        100
    } else {
        25
    } {
        let engine = far.engine(idle);
        let reply = far.run(&engine, Request::new("exit 3"));
        assert_eq!(reply.exit_code, Some(3), "{round}: {reply:?}");
        let outposts = far.machine.running("outpost --serve").len();
        assert!(outposts <= 2, "{round}: {outposts} of them");
    }
    wait_until("the end of its carriers", || far.live_carriers().is_empty());
    wait_until("the end of the outpost", || {
        far.machine.running("outpost").is_empty()
    });
    let of_user = |process: &Process| process.command.contains("bashd");
    let left: Vec<_> = far
        .machine
        .processes()
        .into_iter()
        .filter(of_user)
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn fault_28_a_machine_that_ends_jobs_at_logout_says_so() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let told = || far.wait(engine.look_at("far")).unwrap().0;
    assert_eq!(told().survives_logout, Some(true), "no login manager");
    // As systemd has it, whose probe this is: it does not run here.
    far.machine.sh("mkdir -p /run/systemd/system /etc/systemd; \
         printf '[Login]\\nKillUserProcesses=yes\\n' >/etc/systemd/logind.conf");
    let facts = told();
    assert_eq!(facts.survives_logout, Some(false));
    let problem = "jobs end when the user logs out (KillUserProcesses)";
    assert!(
        facts.problems.iter().any(|told| told == problem),
        "{facts:?}"
    );
    far.configure("");
    for (words, said) in [
        (&["places"][..], "they end"),
        (&["places", "--json"], "\"survives_logout\":false"),
        (&["places", "check", "far"], "KillUserProcesses"),
    ] {
        let shown = far.any_bashd(words).run();
        let text = shown.out() + &shown.err();
        assert!(text.contains(said), "{text}");
    }
}
