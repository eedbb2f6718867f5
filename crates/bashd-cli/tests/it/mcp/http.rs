//! The HTTP transport: who gets in, and that a call works.

use super::client::LIMIT;
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

/// A server on a port of its own.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// The token that it made, unless it was told one.
    pub(super) token: Option<String>,
}

impl Server {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let arguments = [&["mcp", "--http", "0"], arguments].concat();
        let mut child = crate::bashd(home, &arguments).spawn();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut next = |before: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(before)
                .unwrap_or_else(|| panic!("{line}"))
                .to_owned()
        };
        let url = next("bashd: listening on http://");
        let address = url.strip_suffix("/mcp").unwrap().parse().unwrap();
        let is_generated = !arguments.contains(&"--token");
        let token = is_generated.then(|| next("bashd: bearer token: "));
        Self {
            child,
            address,
            token,
        }
    }

    /// Calls the tool `bash` of a server without a token; its result.
    pub(crate) fn bash(&self, arguments: &Value) -> Value {
        let mut call = call("");
        call["params"]["arguments"] = arguments.clone();
        let (status, answer) = self.post(MODERN, &call);
        assert_eq!(status, 200, "{answer}");
        let body = without_chunks(&answer);
        let events = body
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line));
        let mut messages = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let answer = messages.find(|message| message["result"].is_object());
        answer.unwrap_or_else(|| panic!("{body}"))["result"].take()
    }

    /// Sends a request of a handshake; the answer, and the session if it begins one.
    pub(crate) fn ask_in_session(
        &self,
        session: Option<&str>,
        request: &Value,
    ) -> (Value, Option<String>) {
        let all = [
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Session-Id", session.unwrap_or_default()),
        ];
        let used = if session.is_some() { &all[..] } else { &[] };
        let (status, answer) = self.post(used, request);
        assert_eq!(status, 200, "{answer}");
        let (head, _) = answer.split_once("\r\n\r\n").unwrap();
        let given = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| value.to_owned())
        });
        let body = without_chunks(&answer);
        let events = body
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line));
        let mut messages = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let found = messages.find(|message| message["id"] == request["id"]);
        (found.unwrap_or_else(|| panic!("{body}")), given)
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// One request; the status, and the body.
    fn post(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let body = body.to_string();
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&["Host: ", &self.address.to_string(), "\r\n"].concat());
        }
        for (name, value) in headers {
            request.push_str(&[name, ": ", value, "\r\n"].concat());
        }
        write!(stream, "{request}\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of an answer, put together from its chunks where it came in such.
fn without_chunks(answer: &str) -> String {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return rest.to_owned();
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let (chunk, after) = after.split_at(size);
        body.push_str(chunk);
        rest = after.strip_prefix("\r\n").unwrap_or(after);
    }
    body
}

/// A call that needs no handshake.
fn call(command: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
}

const MODERN: &[(&str, &str)] = &[
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "bash"),
];

#[test]
fn only_who_brings_the_token_gets_in() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let token = format!("Bearer {}", server.token.as_ref().unwrap());
    let with = [MODERN, &[("Authorization", token.as_str())]].concat();
    let (status, answer) = server.post(&with, &call("echo hi"));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains(r#""output":"hi\n""#), "{answer}");
    let sentinel = home.workspace().join("sentinel");
    let command = format!("touch {}", sentinel.display());
    for authorization in ["Bearer wrong", "Basic dXNlcg==", "Bearer", ""] {
        let with = [MODERN, &[("Authorization", authorization)]].concat();
        let (status, answer) = server.post(&with, &call(&command));
        assert_eq!(status, 401, "{answer}");
        assert!(answer.to_lowercase().contains("www-authenticate: bearer"));
    }
    assert_eq!(server.post(MODERN, &call(&command)).0, 401);
    assert!(!sentinel.exists());
}

#[test]
fn host_and_origin_are_checked_even_without_a_token() {
    let home = Home::new();
    let server = Server::start(&home, &["--token", "none"]);
    let sentinel = home.workspace().join("sentinel");
    let command = format!("touch {}", sentinel.display());
    for wrong in [
        ("Host", "evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
    ] {
        let with = [MODERN, &[wrong]].concat();
        assert_eq!(server.post(&with, &call(&command)).0, 403, "{wrong:?}");
    }
    assert!(!sentinel.exists());
    for right in [("Host", "localhost"), ("Origin", "http://localhost:3000")] {
        let with = [MODERN, &[right]].concat();
        assert_eq!(server.post(&with, &call("true")).0, 200, "{right:?}");
    }
}

#[test]
fn strangers_are_not_let_in_by_mistake() {
    let home = Home::new();
    for arguments in [
        &["mcp", "--http", "0.0.0.0:0"][..],
        &["mcp", "--http", "0.0.0.0:0", "--token", "none"],
        &["mcp", "--token", "none"],
    ] {
        let transcript = crate::shown(&home, arguments);
        assert_eq!(transcript.code(), Some(125), "{}", transcript.block());
    }
}

#[test]
fn a_client_that_hangs_up_ends_its_command() {
    let home = Home::new();
    let server = Server::start(&home, &["--token", "none"]);
    let started = home.workspace().join("started");
    let command = format!("touch {}; sleep 300", started.display());
    let body = call(&command).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: bash\r\n\r\n{body}",
        server.address,
        body.len()
    )
    .unwrap();
    super::client::until("the command runs", || started.exists());
    drop(stream);
    super::client::until("the command is ended", || {
        let mark = bashd_testkit::keeper_hook::MARK;
        let all = bashd_testkit::processes::with_variable(mark, home.mark());
        !all.iter()
            .any(|process| process.command.contains("sleep 300"))
    });
}
