//! Logins that fail, print, hang, or are crowded.

use super::{Far, error_of, whole};
use bashd::Request;
use bashd_testkit::loudly;
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command whose answer shows that nothing of the login came between.
fn assert_works(far: &Far, what: &str) {
    let engine = far.engine(|_| {});
    let reply = far.run(&engine, Request::new("echo out; echo err >&2; exit 7"));
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(7), "out\nerr\n"),
        "{what}: {reply:?}"
    );
}

/// That nothing ran, and these words say why, soon.
fn assert_told(far: &Far, what: &str, words: &str) {
    let engine = far.engine(|place| place.connect = Duration::from_secs(5));
    let begun = Instant::now();
    let reply = far.run(&engine, Request::new("touch ran"));
    let error = error_of(&reply);
    assert!(error.contains(words), "{what}: {error}");
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{what}: {:?}",
        begun.elapsed()
    );
    assert!(!far.machine.file("/home/u/ran").exists(), "{what}: it ran");
}

#[test]
fn fault_17_every_login_shell_takes_the_line() {
    let Some(far) = whole() else { return };
    for shell in [
        "/bin/sh",
        "/bin/bash",
        "/bin/tcsh",
        "/usr/bin/fish",
        "/bin/zsh",
    ] {
        if !far.machine.file(shell).exists() {
            loudly(&format!(
                "{shell} is missing: a place with this login shell is NOT tested"
            ));
            continue;
        }
        far.machine.login_shell(shell);
        assert_works(&far, shell);
    }
}

#[test]
fn fault_17_what_rc_files_and_the_machine_print_is_passed_over_or_told() {
    let Some(far) = whole() else { return };
    let (bashrc, motd) = (
        far.machine.file("/home/u/.bashrc"),
        far.machine.file("/etc/motd"),
    );
    fs::write(&motd, "Welcome to far\n".repeat(70_000)).unwrap();
    let banner = far.machine.file("/etc/banner");
    fs::write(banner, "Nobody but u\n".repeat(1000)).unwrap();
    far.machine.sshd_setting("Banner /etc/banner");
    fs::write(
        &bashrc,
        "echo noise; echo noise >&2; printf 'bashd \\0 %s' $RANDOM\n",
    )
    .unwrap();
    assert_works(&far, "a noisy rc file");
    fs::write(&bashrc, "head -c 1000000 /dev/zero\n").unwrap();
    assert_works(&far, "a megabyte of noise");
    fs::write(&bashrc, "echo 'this account is for mail only'; exit 1\n").unwrap();
    assert_told(
        &far,
        "an rc file that leaves",
        "this account is for mail only",
    );
    fs::write(&bashrc, "exec tmux\n").unwrap();
    let engine = far.engine(|place| place.connect = Duration::from_secs(5));
    let reply = far.run(&engine, Request::new("touch ran"));
    // tmux says that it has no terminal.
    assert!(error_of(&reply).contains("terminal"), "{reply:?}");
    fs::write(&bashrc, "exec sleep 60\n").unwrap();
    assert_told(&far, "an rc file that hangs", "did not answer within 5 s");
    fs::write(&bashrc, "cat /dev/zero\n").unwrap();
    assert_told(&far, "endless noise", "no outpost began");
}

#[test]
fn fault_21_what_ssh_refuses_is_told_in_its_own_words() {
    let Some(far) = whole() else { return };
    let client = far.machine.client();
    let known = fs::read_to_string(client.join("known")).unwrap();
    fs::write(client.join("known"), "").unwrap();
    assert_told(&far, "an unknown host", "Host key verification failed");
    let other = fs::read_to_string(client.parent().unwrap().join("user.pub")).unwrap();
    fs::write(client.join("known"), format!("far {other}")).unwrap();
    assert_told(&far, "another host key", "Host key verification failed");
    assert!(
        !fs::read_to_string(client.join("known"))
            .unwrap()
            .contains(&known),
        "a key was accepted"
    );
    fs::write(client.join("known"), known).unwrap();
    assert_works(&far, "the right key");
    let authorized = far.machine.file("/etc/ssh/authorized");
    let keys = fs::read_to_string(&authorized).unwrap();
    fs::write(&authorized, "").unwrap();
    assert_told(
        &far,
        "a key that is refused, and a password that is wanted",
        "Permission denied",
    );
    fs::write(&authorized, keys).unwrap();
    far.machine.ssh_setting("HostName no-such-host.invalid");
    assert_told(&far, "a host that nobody knows", "no-such-host.invalid");
}

#[test]
fn fault_21_a_host_that_is_not_there_is_told_within_the_time_for_connecting() {
    let Some(far) = whole() else { return };
    far.machine.cut();
    let engine = far.engine(|place| place.connect = Duration::from_secs(2));
    let begun = Instant::now();
    let reply = far.run(&engine, Request::new("touch ran"));
    let error = error_of(&reply);
    assert!(error.contains("the place `far`"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
}

/// A process that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_agent_no_port_and_no_variable_goes_along_but_what_is_passed_by_name() {
    let Some(far) = whole() else { return };
    let socket = far.home.root().join("agent");
    let mut agent = Command::new("ssh-agent");
    agent.arg("-D").arg("-a").arg(&socket).stdout(Stdio::null());
    let _agent = Ended(agent.spawn().unwrap());
    super::wait_until("an agent", || socket.exists());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    far.machine.ssh_setting(&format!(
        "IdentityAgent {}\nForwardAgent yes\nLocalForward {port} 127.0.0.1:1",
        socket.display()
    ));
    let login = far.machine.login();
    let plain = Command::new(&login[0])
        .args(&login[1..])
        .arg("echo $SSH_AUTH_SOCK")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(
        told.starts_with('/'),
        "the user's own ssh forwards it: {plain:?}"
    );
    far.machine
        .ssh_setting("ExitOnForwardFailure yes\nSendEnv SENT");
    far.machine.sshd_setting("AcceptEnv SENT");
    far.configure("pass = ['PASSED']\n");
    let script = "echo ${SSH_AUTH_SOCK-none} $PASSED-$KEPT-$GIVEN-$SENT";
    let shown = far
        .bashd(&["--env", "GIVEN=call", script])
        .env("PASSED", "yes")
        .env("KEPT", "no")
        .env("SENT", "ssh")
        .run();
    assert_eq!(shown.out(), "none yes--call-ssh\n", "{}", shown.err());
}

#[test]
fn fault_24_a_hundred_runs_share_the_one_session_that_an_sshd_allows() {
    let Some(far) = whole() else { return };
    far.machine.sshd_setting("MaxSessions 1\nMaxStartups 1");
    let engine = far.engine(|_| {});
    let calls = (0..100).map(|number| {
        engine.run(Request::new(format!("echo {number}; sleep 1; exit {}", number % 7)).on("far"))
    });
    let begun = Instant::now();
    let replies = far.wait(futures::future::join_all(calls));
    for (number, reply) in replies.iter().enumerate() {
        let expected = (Some(number as i32 % 7), format!("{number}\n"));
        assert_eq!(
            (reply.exit_code, reply.output.clone()),
            expected,
            "{reply:?}"
        );
    }
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(far.machine.carriers().len(), 1);
}
