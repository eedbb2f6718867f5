//! A host on which bashd is not installed: the program is sent once, by its content, checked each
//! time, and sent again if somebody changed it; another kind of machine is said.

use super::{FAKE_SSH, on, put_program};
use bashd_testkit::{Home, Transcript};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home with a stand-in for ssh and the program to send, as small as it gets.
fn home() -> (Home, PathBuf) {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let bin = home.home().join("bin");
    fs::create_dir(&bin).unwrap();
    put_program(&bin.join("ssh"), FAKE_SSH);
    let program = home.home().join("to-send");
    let own = env!("CARGO_BIN_EXE_bashd");
    let mut stripped = Command::new("strip");
    stripped.args(["-s", own, "-o"]).arg(&program);
    if !stripped.status().is_ok_and(|status| status.success()) {
        fs::copy(own, &program).unwrap();
    }
    (home, program)
}

fn configure(home: &Home, more: &str) {
    let text = format!("[places.there]\nkind = 'ssh'\nhost = 'big'\nidle_seconds = 0.3\n{more}");
    fs::write(home.config().join("config.toml"), text).unwrap();
}

fn ask(home: &Home, command: &str) -> Transcript {
    let path = format!("{}/bin:/usr/bin:/bin", home.home().display());
    let shown = on(home, &[command]).env("PATH", &path).run();
    let _ = fs::remove_file(home.tmp().join("asked"));
    shown
}

/// The only file of a directory.
fn only(directory: &Path) -> PathBuf {
    let found: Vec<_> = fs::read_dir(directory).unwrap().flatten().collect();
    let [only] = &found[..] else {
        panic!("{found:?}");
    };
    only.path()
}

#[test]
fn a_program_is_sent_once_checked_each_time_and_sent_anew_if_it_was_changed() {
    let (home, program) = home();
    // The first directory is no directory of ours: the next one is taken.
    let link = home.home().join("link");
    std::os::unix::fs::symlink("/usr", &link).unwrap();
    let more = format!(
        "program = {:?}\nupload_to = {:?}\n",
        program.to_str().unwrap(),
        link.to_str().unwrap()
    );
    configure(&home, &more);
    let hello = |which: &str| {
        let shown = ask(&home, "echo hello; exit 3");
        let told = (&*shown.out(), shown.code());
        assert_eq!(
            told,
            ("hello\n[exit code 3]", Some(3)),
            "{which}: {}",
            shown.err()
        );
    };
    hello("sent");
    let there = only(&home.home().join(".cache/bashd/bin"));
    let same = || fs::read(&there).unwrap() == fs::read(&program).unwrap();
    assert!(same());
    let inode = || fs::metadata(&there).unwrap().ino();
    let first = inode();
    hello("found");
    assert_eq!(inode(), first, "it was not sent again");
    // Another file of that name: an outpost may still run the first one.
    let change = |content: &[u8]| {
        let aside = home.home().join("aside");
        fs::copy(&there, &aside).unwrap();
        fs::write(&aside, content).unwrap();
        fs::rename(&aside, &there).unwrap();
    };
    change(&[&fs::read(&program).unwrap()[..], b"x"].concat());
    hello("changed");
    assert!(same(), "it was sent anew");
    change(b"");
    hello("truncated");
    assert!(same(), "it was sent anew");
    let named = home.home().join("named");
    let more = format!("program = {program:?}\nupload_to = {named:?}\n");
    configure(&home, &more);
    fs::remove_dir_all(home.home().join(".cache")).unwrap();
    hello("where it was said to be kept");
    assert_eq!(only(&named).file_name(), there.file_name());
}

#[test]
fn another_kind_of_machine_is_said_with_what_to_do() {
    let (home, _) = home();
    configure(&home, "");
    let uname = home.home().join("bin/uname");
    for (system, machine, said) in [
        (
            "Linux",
            "aarch64",
            "the machine is aarch64, and there is no program for it here",
        ),
        (
            "Darwin",
            "arm64",
            "the machine runs Darwin, and bashd needs Linux",
        ),
    ] {
        let script = format!("#!/bin/sh\n[ \"$1\" = -s ] && echo {system} || echo {machine}\n");
        put_program(&uname, &script);
        let shown = ask(&home, "touch ran");
        let text = shown.out() + &shown.err();
        assert_eq!(shown.code(), Some(125), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_program_that_does_not_run_there_is_said_with_every_directory() {
    let (home, _) = home();
    let broken = home.home().join("broken");
    fs::write(&broken, "no program at all").unwrap();
    configure(
        &home,
        &format!("program = {:?}\n", broken.to_str().unwrap()),
    );
    let shown = ask(&home, "touch ran");
    let text = shown.out() + &shown.err();
    assert_eq!(shown.code(), Some(125), "{text}");
    let said = "no directory there can hold a program of ours";
    assert!(
        text.contains(said) && text.contains(".cache/bashd/bin"),
        "{text}"
    );
    for left in ["/var/tmp", "/tmp", "/dev/shm"] {
        let user = rustix::process::getuid().as_raw();
        // Ours, and empty: others may use it at the same time.
        let _ = fs::remove_dir(format!("{left}/bashd-{user}"));
    }
}
