//! A client of the protocol that says exactly what a test wants: lines in, lines out.

use bashd_testkit::Home;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take; far above what any takes.
pub(super) const LIMIT: Duration = Duration::from_mins(1);

/// A running `bashd mcp`, and both ends of its pipes.
pub(crate) struct Client {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: i64,
}

impl Client {
    /// Starts a server; nothing is said yet.
    pub(super) fn start(home: &Home, arguments: &[&str]) -> Self {
        let server = crate::bashd(home, &[&["mcp"], arguments].concat()).stdin("");
        Self::of(server.spawn())
    }

    /// A server that was started, on pipes.
    pub(crate) fn of(mut child: Child) -> Self {
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 1,
        }
    }

    /// Starts a server and shakes hands.
    pub(crate) fn connect(home: &Home, arguments: &[&str]) -> Self {
        Self::connect_with(home, arguments, &json!({}))
    }

    /// The same, with capabilities.
    pub(super) fn connect_with(home: &Home, arguments: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::start(home, arguments);
        let answer = client.initialize(capabilities);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// The handshake's first half.
    pub(crate) fn initialize(&mut self, capabilities: &Value) -> Value {
        let about = json!({"name": "test", "version": "1"});
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about,
        });
        self.ask("initialize", &params)
    }

    /// Writes a message.
    pub(crate) fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request without waiting; gives its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its answer, whatever else comes before.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.wait_for(|message| message["id"] == id)
    }

    /// Calls the tool `bash` and waits for its result.
    pub(crate) fn bash(&mut self, arguments: &Value) -> Value {
        let params = json!({"name": "bash", "arguments": arguments});
        let answer = self.ask("tools/call", &params);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(LIMIT);
        let line = line.unwrap_or_else(|error| panic!("no message: {error}"));
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no protocol: {line}"))
    }

    /// The first message like this.
    pub(crate) fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Closes the server's stdin.
    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's stdin, and waits for its end: what else it said, and its status.
    pub(crate) fn finish(mut self) -> (Vec<String>, ExitStatus) {
        self.close_stdin();
        let status = self.wait();
        (self.lines.iter().collect(), status)
    }

    /// Waits for the server's end.
    pub(super) fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < LIMIT, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is true.
pub(super) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
