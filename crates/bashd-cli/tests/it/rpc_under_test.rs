//! A client of `bashd rpc` for tests: one line at a time, each wait bounded. No tests here.

use crate::bashd;
use bashd_testkit::{Binary, Home};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A running server and the lines that it wrote.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Lines that came while another was waited for.
    early: Vec<Value>,
}

/// Lines of a stream, parsed; each must be JSON.
pub(crate) fn messages(stream: impl Read + Send + 'static) -> Receiver<Value> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    lines
}

/// Lines of a stream, as they come.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Client {
    /// Starts `bashd rpc` with these arguments.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut client = Self::start_deaf(home, arguments);
        client.listen();
        client
    }

    /// The same, of whose output nothing is read.
    pub(crate) fn start_deaf(home: &Home, arguments: &[&str]) -> Self {
        let arguments = [&["rpc"], arguments].concat();
        Self::of(bashd(home, &arguments).stdin("").spawn())
    }

    /// The same as `start`, by another program, which becomes it.
    pub(crate) fn start_under(home: &Home, wrapper: &[&str], arguments: &[&str]) -> Self {
        let [program, first @ ..] = wrapper else {
            panic!("no wrapper")
        };
        let own = [env!("CARGO_BIN_EXE_bashd"), "rpc"];
        let binary = Binary::new(program, home).args(first).args(own);
        let mut client = Self::of(binary.args(arguments).stdin("").spawn());
        client.listen();
        client
    }

    /// A server that was started, on pipes.
    pub(crate) fn of(mut child: Child) -> Self {
        let stdin = child.stdin.take();
        let (_, lines) = channel();
        Self {
            child,
            stdin,
            lines,
            early: Vec::new(),
        }
    }

    /// Begins to read.
    pub(crate) fn listen(&mut self) {
        self.lines = messages(self.child.stdout.take().unwrap());
    }

    /// Says something.
    pub(crate) fn say(&mut self, message: &Value) {
        self.say_raw(format!("{message}\n").as_bytes());
    }

    pub(crate) fn say_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// The next message that fits; others are kept.
    pub(crate) fn next_where(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&fits) {
            return self.early.remove(at);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.lines.recv_timeout(left).unwrap_or_else(|error| {
                panic!("{error} waiting for a message; others: {:?}", self.early)
            });
            if fits(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Every message that came, once the server is gone.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut rest = std::mem::take(&mut self.early);
        rest.extend(self.lines.iter());
        rest
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        self.next_where(|_| true)
    }

    /// The response with this id.
    pub(crate) fn response(&mut self, id: &str) -> Value {
        self.next_where(|message| message["type"] == "response" && message["id"] == id)
    }

    /// The response with this id, if it came while another was waited for.
    pub(crate) fn kept(&mut self, id: &str) -> Option<Value> {
        let is_it = |message: &Value| message["type"] == "response" && message["id"] == id;
        let at = self.early.iter().position(is_it)?;
        Some(self.early.remove(at))
    }

    /// Says it and waits for the response.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        let id = message["id"].clone();
        self.next_where(|answer| answer["type"] == "response" && answer["id"] == id)
    }

    /// Whether a response with this id comes, and not the end of the server.
    pub(crate) fn is_there(&mut self, id: &str) -> bool {
        let answer = self.lines.recv_timeout(PATIENCE);
        answer.is_ok_and(|answer| answer["id"] == id)
    }

    /// What it wrote to stderr, once it has ended.
    pub(crate) fn stderr(&mut self) -> String {
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        stderr
    }

    /// Closes its stdin, and waits for its end and the rest of its output.
    pub(crate) fn close(mut self) -> (ExitStatus, Vec<Value>) {
        drop(self.stdin.take());
        let status = self.ended();
        let mut rest = std::mem::take(&mut self.early);
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => rest.push(message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("stdout stays open"),
            }
        }
        let stderr = self.stderr();
        // A profile without rules says so once.
        let said = stderr
            .lines()
            .filter(|line| !line.contains(" has no rules of its own"));
        assert_eq!(said.collect::<Vec<_>>(), Vec::<&str>::new());
        (status, rest)
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "bashd rpc does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The most memory that it has had, in bytes.
    pub(crate) fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
        kibibytes.unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
