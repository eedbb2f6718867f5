//! `bashd rpc --socket`: who may connect, what is in the way, how it ends.

use crate::rpc_under_test::{Client, PATIENCE, lines, messages};
use crate::{bashd, shown};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Home, loudly};
use rustix::process::{Pid, Signal, Uid, geteuid, kill_process};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn serving(home: &Home) -> (Client, PathBuf) {
    serving_with(home, &[])
}

fn serving_with(home: &Home, arguments: &[&str]) -> (Client, PathBuf) {
    let path = home.workspace().join("s.sock");
    let socket = ["--socket", path.to_str().unwrap()];
    let client = Client::start(home, &[&socket[..], arguments].concat());
    let begun = Instant::now();
    while UnixStream::connect(&path).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody listens");
        std::thread::sleep(Duration::from_millis(5));
    }
    (client, path)
}

fn ask(path: &Path, message: &Value) -> Value {
    let mut stream = UnixStream::connect(path).unwrap();
    writeln!(stream, "{message}").unwrap();
    messages(stream.try_clone().unwrap())
        .recv_timeout(PATIENCE)
        .unwrap()
}

#[test]
fn many_clients_are_served_each_with_calls_of_its_own() {
    let home = Home::new();
    let (mut server, path) = serving(&home);
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let mut other = UnixStream::connect(&path).unwrap();
    writeln!(
        other,
        "{}",
        json!({"id": "1", "type": "bash", "command": ": > up; sleep 300"})
    )
    .unwrap();
    while !home.workspace().join("up").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = ask(
        &path,
        &json!({"id": "1", "type": "bash", "command": "echo mine"}),
    );
    assert_eq!(answer["data"]["output"], "mine\n");
    let answer = ask(&path, &json!({"id": "2", "type": "cancel", "target": "1"}));
    assert_eq!(answer["success"], false, "another client's call");
    // One that leaves takes its calls along; the leak check would find them.
    drop(other);
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert_eq!(server.ended().code(), Some(143));
    assert!(!path.exists());
}

/// A client of the socket for several requests.
pub(crate) struct Peer {
    stream: UnixStream,
    answers: std::sync::mpsc::Receiver<Value>,
}

impl Peer {
    pub(crate) fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        let answers = messages(stream.try_clone().unwrap());
        Self { stream, answers }
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        self.answer()
    }

    pub(crate) fn say(&mut self, message: &Value) {
        writeln!(self.stream, "{message}").unwrap();
    }

    pub(crate) fn answer(&self) -> Value {
        self.answers.recv_timeout(PATIENCE).unwrap()
    }
}

/// Sends calls without reading an answer, until nothing more is taken or there are so many.
pub(crate) fn flood(path: &Path, count: usize, command: &str) -> UnixStream {
    let mut stream = UnixStream::connect(path).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    for id in 0..count {
        let line = format!(
            "{}\n",
            json!({"id": id, "type": "bash", "command": command})
        );
        if stream.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    stream
}

#[test]
fn a_client_that_reads_nothing_starves_nobody() {
    let home = Home::new();
    let (mut server, path) = serving(&home);
    let words = "echo >>ran; head -c 60000 /dev/zero | tr '\\0' x";
    let much = flood(&path, 350, words);
    let slow = flood(&path, 200, "sleep 300");
    let mut honest: Vec<Peer> = (0..4).map(|_| Peer::connect(&path)).collect();
    let begun = Instant::now();
    for number in 0..5 {
        for peer in &mut honest {
            let answer = peer.ask(&json!({"id": number, "type": "bash", "command": "echo fine"}));
            assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
        }
    }
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    // Who has much to read starts nothing more.
    let ran = || {
        let text = std::fs::read_to_string(home.workspace().join("ran"));
        text.unwrap_or_default().len()
    };
    let (mut count, mut since) = (ran(), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(20));
        if ran() != count {
            (count, since) = (ran(), Instant::now());
        }
    }
    assert!(count < 280, "{count} commands ran");
    drop((much, slow, honest));
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert_eq!(server.ended().code(), Some(143));
}

/// In soak the bound is the real one, and this takes longer than that.
#[test]
fn a_client_that_reads_nothing_for_long_is_dropped_and_that_is_said() {
    let home = Home::new();
    let seconds = if is_soak() { 30 } else { 2 };
    let patience = seconds.to_string();
    let short = ["--patience", &*patience];
    let (mut server, path) = serving_with(&home, if is_soak() { &[] } else { &short });
    let said = lines(server.child.stderr.take().unwrap());
    let mut loud = flood(&path, 600, "head -c 40000 /dev/zero | tr '\\0' x");
    let mut honest = Peer::connect(&path);
    let begun = Instant::now();
    let told = loop {
        let answer = honest.ask(&json!({"id": 1, "type": "bash", "command": "echo fine"}));
        assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
        match said.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => break line,
            Err(_) => assert!(begun.elapsed() < PATIENCE, "it is never dropped"),
        }
    };
    let words = format!("a client was dropped: it has read none of its replies for {seconds} s");
    assert!(told.ends_with(&words), "{told}");
    // Its last reply may have been taken while the flood was being sent.
    let least = Duration::from_secs(if is_soak() { 25 } else { 0 });
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    // What was on its way is there; then comes the end.
    loud.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    let _ = loud.read_to_end(&mut rest);
    assert!(rest.len() < 16 << 20, "{}", rest.len());
    let answer = honest.ask(&json!({"id": 2, "type": "bash", "command": "echo fine"}));
    assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    assert_eq!(server.ended().code(), Some(143));
}

#[test]
fn a_socket_that_nobody_serves_is_replaced_and_anything_else_is_not() {
    let home = Home::new();
    let path = home.workspace().join("s.sock");
    drop(UnixListener::bind(&path).unwrap());
    let (mut server, path) = serving(&home);
    let second = shown(&home, &["rpc", "--socket", path.to_str().unwrap()]);
    assert_eq!(second.code(), Some(125));
    assert!(
        second.err().contains("is already in use by another server"),
        "{}",
        second.err()
    );
    kill_process(Pid::from_child(&server.child), Signal::INT).unwrap();
    server.ended();
    std::fs::write(&path, "a file").unwrap();
    let third = bashd(&home, &["rpc", "--socket", path.to_str().unwrap()]).run();
    assert!(third.err().contains("is not a socket"), "{}", third.err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
}

#[test]
fn another_user_is_turned_away() {
    if !geteuid().is_root() {
        loudly("rpc's socket: only root can connect as another user");
        return;
    }
    let home = Home::new();
    let (mut server, path) = serving(&home);
    for directory in [home.root().to_owned(), home.workspace()] {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let error = as_nobody(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    // Even where somebody opens the socket to all.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let told = as_nobody(&path).unwrap();
    assert!(
        told.contains("this socket belongs to another user"),
        "{told}"
    );
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.ended();
}

/// What somebody without rights is told when he connects.
fn as_nobody(path: &Path) -> std::io::Result<String> {
    let path = path.to_owned();
    // The kernel has a user for each thread; only libraries make it one for all.
    let connecting = std::thread::spawn(move || {
        let nobody = Uid::from_raw(65534);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody)?;
        let mut told = String::new();
        UnixStream::connect(path)?.read_to_string(&mut told)?;
        Ok(told)
    });
    connecting.join().unwrap()
}
