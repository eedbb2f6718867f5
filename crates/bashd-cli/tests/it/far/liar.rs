//! A stand between an engine and a real outpost that tells the engine something else. No tests
//! here.

use bashd::place::{Assembler, frames};
use bashd_testkit::Home;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What is said instead of a message of the outpost; the number counts its messages.
pub(super) type Lie = fn(usize, &[u8]) -> Vec<Vec<u8>>;

/// Bytes of unfinished messages that are held here.
const MOST: usize = 64 << 20;

/// Somebody who lies to every carrier that comes.
pub(super) struct Liar {
    port: u16,
    held: Arc<Mutex<Vec<(TcpStream, Child)>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Liar {
    pub(super) fn telling(home: &Home, lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let held: Arc<Mutex<Vec<(TcpStream, Child)>>> = Arc::default();
        let (held_there, env) = (Arc::clone(&held), home.env());
        let is_over: Arc<AtomicBool> = Arc::default();
        let ended = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let mut outpost = Command::new(env!("CARGO_BIN_EXE_bashd"))
                    .args(["outpost", "--idle", "0.3"])
                    .env_clear()
                    .envs(env.clone())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap();
                let mut to_it = outpost.stdin.take().unwrap();
                let from_it = outpost.stdout.take().unwrap();
                let (mut from_near, to_near) =
                    (near.try_clone().unwrap(), near.try_clone().unwrap());
                held_there.lock().unwrap().push((near, outpost));
                // Not by `io::copy`, whose splice keeps the outpost from reading what is there.
                std::thread::spawn(move || copy(&mut from_near, &mut to_it));
                std::thread::spawn(move || pass_on(from_it, to_near, lie));
            }
        });
        Self {
            port,
            held,
            is_over,
            thread: Some(thread),
        }
    }

    /// The carrier that comes here.
    pub(super) fn carrier(&self) -> Vec<String> {
        let port = self.port;
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3 & exec cat >&3");
        ["bash", "-c", &script].map(str::to_owned).to_vec()
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.thread.take().map(JoinHandle::join);
        for (near, mut outpost) in self.held.lock().unwrap().drain(..) {
            let _ = near.shutdown(Shutdown::Both);
            let _ = outpost.kill();
            let _ = outpost.wait();
        }
    }
}

fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(buffer.get(..count).unwrap()).is_err() {
            return;
        }
    }
}

fn pass_on(mut from: ChildStdout, mut to: TcpStream, lie: Lie) {
    let mut assembler = Assembler::new(MOST);
    let (mut buffer, mut number) = (vec![0; 64 * 1024], 0);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        for (channel, message) in assembler.push(buffer.get(..count).unwrap()).unwrap() {
            for told in lie(number, &message) {
                for frame in frames(channel, &told) {
                    if to.write_all(&frame).is_err() {
                        return;
                    }
                }
            }
            number += 1;
        }
    }
}

/// A message with some of its bytes replaced.
pub(super) fn replaced(message: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut told = message.to_vec();
    let at = told.windows(from.len()).position(|window| window == from);
    if let Some(at) = at {
        told.splice(at..at + from.len(), to.iter().copied());
    }
    told
}
