//! The HTTP transport: who gets in, and that a call works.

use super::client::LIMIT;
use bashd_testkit::Home;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

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
        self.ask_alone("bash", &call)["result"].take()
    }

    /// Sends a request without a handshake to a server without a token; the answer. The name is
    /// what the request is about: a tool, an address, a task.
    pub(super) fn ask_alone(&self, name: &str, request: &Value) -> Value {
        let method = request["method"].as_str().unwrap();
        let [(version, date), ..] = MODERN else {
            panic!("no version")
        };
        let headers = [
            (*version, *date),
            ("Mcp-Method", method),
            ("Mcp-Name", name),
        ];
        let (status, answer) = self.post(&headers, request);
        let mut found = messages(&answer);
        let at = found
            .iter()
            .position(|message| message["id"] == request["id"]);
        assert!(status == 200 || status == 400, "{answer}");
        found.swap_remove(at.unwrap_or_else(|| panic!("{answer}")))
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
        let mut found = messages(&answer).into_iter();
        let found = found.find(|message| message["id"] == request["id"]);
        (found.unwrap_or_else(|| panic!("{answer}")), given)
    }

    /// A connection that says nothing.
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// Begins a session by a handshake, on a server without a token; its id.
    pub(crate) fn begin_session(&self) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        self.ask_in_session(None, &hello).1.unwrap()
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// One request; the status, and the body.
    pub(super) fn post(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
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

/// It is asked to end: killed, it could leave half of what it writes just then.
impl Drop for Server {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < LIMIT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
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

/// The messages of an answer, whether it is one or a stream of events.
fn messages(answer: &str) -> Vec<Value> {
    let body = without_chunks(answer);
    let events = body
        .lines()
        .map(|line| line.strip_prefix("data:").unwrap_or(line));
    let messages = events.filter_map(|event| serde_json::from_str(event).ok());
    messages.collect()
}

/// A call that needs no handshake.
pub(super) fn call(command: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": command},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
}

pub(super) const MODERN: &[(&str, &str)] = &[
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
    for (authorization, told) in [
        ("Bearer wrong", "bearer error=\"invalid_token\""),
        ("Basic dXNlcg==", "bearer\r\n"),
        ("Bearer", "bearer\r\n"),
        ("", "bearer\r\n"),
    ] {
        let with = [MODERN, &[("Authorization", authorization)]].concat();
        let (status, answer) = server.post(&with, &call(&command));
        assert_eq!(status, 401, "{answer}");
        let told = format!("www-authenticate: {told}");
        assert!(answer.to_lowercase().contains(&told), "{answer}");
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

/// Connections that say nothing: more than the server has places.
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

/// A request with headers, on a connection of its own.
fn send_with(server: &Server, line: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (address, length) = (server.address, body.len());
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {headers}Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    BufReader::new(stream)
}

fn whole(mut answer: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    text
}

/// A session of a client with a handshake: the headers of its requests.
fn handshake(server: &Server) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let answer = whole(send_with(server, "POST /mcp", "", &body.to_string()));
    let mut lines = answer.lines();
    let session = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = session.unwrap_or_else(|| panic!("{answer}"));
    let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    whole(send_with(server, "POST /mcp", &headers, &told));
    headers
}

fn legacy_call(command: &str) -> String {
    legacy_call_of(&json!({"command": command}))
}

fn legacy_call_of(arguments: &Value) -> String {
    let params = json!({"name": "bash", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()
}

fn is_sleeping(home: &Home) -> bool {
    is_running(home, "sleep 300")
}

fn is_running(home: &Home, command: &str) -> bool {
    let mark = bashd_testkit::keeper_hook::MARK;
    let all = bashd_testkit::processes::with_variable(mark, home.mark());
    all.iter().any(|process| process.command.contains(command))
}

#[test]
fn pages_of_allowed_origins_may_ask_before_they_call() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let asks = |origin: &str| {
        let headers = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
        whole(send_with(&server, "OPTIONS /mcp", &headers, ""))
    };
    let allowed = asks("http://localhost:3000");
    assert!(allowed.starts_with("HTTP/1.1 204 "), "{allowed}");
    for told in [
        "access-control-allow-origin: http://localhost:3000\r\n",
        "access-control-allow-methods: GET, POST, DELETE, OPTIONS\r\n",
        "authorization, content-type",
    ] {
        assert!(allowed.contains(told), "{allowed}");
    }
    // And may read what it is answered: the result, and that its token is missing.
    let token = format!(
        "Authorization: Bearer {}\r\n",
        server.token.as_ref().unwrap()
    );
    for (token, status) in [(token.as_str(), "200"), ("", "401")] {
        let headers = format!("{token}Origin: http://localhost:3000\r\n");
        let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "page", "version": "1"},
        }});
        let answer = whole(send_with(
            &server,
            "POST /mcp",
            &headers,
            &begin.to_string(),
        ));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        let answer = answer.to_lowercase();
        for told in [
            "access-control-allow-origin: http://localhost:3000\r\n",
            "access-control-expose-headers: mcp-session-id",
        ] {
            assert!(answer.contains(told), "{answer}");
        }
    }
    for origin in [
        "http://evil.example",
        "http://localhost.evil.example:80",
        "null",
    ] {
        let refused = asks(origin);
        assert!(!refused.contains("access-control"), "{refused}");
        assert!(!refused.starts_with("HTTP/1.1 2"), "{refused}");
    }
}

#[test]
fn a_reply_whose_connection_broke_is_delivered_on_resumption() {
    let home = Home::new();
    let server = Server::start(&home, &["--token", "none"]);
    let headers = handshake(&server);
    let (go, done) = (home.workspace().join("go"), home.workspace().join("done"));
    let command = format!(
        "until [ -e {} ]; do sleep 0.05; done; echo kept; touch {}",
        go.display(),
        done.display()
    );
    let mut answer = send_with(&server, "POST /mcp", &headers, &legacy_call(&command));
    let mut line = String::new();
    let id = loop {
        line.clear();
        answer.read_line(&mut line).unwrap();
        if let Some(id) = line
            .strip_prefix("id: ")
            .or_else(|| line.strip_prefix("id:"))
        {
            break id.trim().to_owned();
        }
    };
    drop(answer);
    std::fs::write(&go, "").unwrap();
    super::client::until("the command has ended", || done.exists());
    // The reply comes a little after the command's end.
    let resumed = format!("{headers}Last-Event-ID: {id}\r\n");
    let mut answer = send_with(&server, "GET /mcp", &resumed, "");
    loop {
        line.clear();
        let count = answer.read_line(&mut line).unwrap();
        assert!(count > 0, "no reply");
        if line.contains("kept") {
            break;
        }
    }
    // And again, when all is over.
    let mut answer = send_with(&server, "GET /mcp", &resumed, "");
    let mut line = String::new();
    while !line.contains("kept") {
        line.clear();
        assert!(answer.read_line(&mut line).unwrap() > 0, "no reply");
    }
}

#[test]
fn a_session_that_is_deleted_ends_what_it_runs() {
    let home = Home::new();
    let server = Server::start(&home, &["--token", "none"]);
    let headers = handshake(&server);
    let answer = send_with(&server, "POST /mcp", &headers, &legacy_call("sleep 300"));
    super::client::until("the command runs", || is_sleeping(&home));
    let deleted = whole(send_with(&server, "DELETE /mcp", &headers, ""));
    assert!(deleted.starts_with("HTTP/1.1 204 "), "{deleted}");
    super::client::until("the command is ended", || !is_sleeping(&home));
    drop(answer);
}

#[test]
fn jobs_outlive_the_session_that_is_deleted() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let server = Server::start(&home, &["--token", "none"]);
    let headers = handshake(&server);
    let job = json!({"command": "echo begun; sleep 400", "background": true});
    let started = send_with(&server, "POST /mcp", &headers, &legacy_call_of(&job));
    assert!(whole(started).contains("started as job bg_1"));
    let waiting = send_with(&server, "POST /mcp", &headers, &legacy_call("sleep 300"));
    super::client::until("both run", || {
        is_sleeping(&home) && is_running(&home, "sleep 400")
    });
    let deleted = whole(send_with(&server, "DELETE /mcp", &headers, ""));
    assert!(deleted.starts_with("HTTP/1.1 204 "), "{deleted}");
    super::client::until("the command is ended", || !is_sleeping(&home));
    drop(waiting);
    // Whatever would end the job has had its chance by now: the same client's command is gone.
    assert!(is_running(&home, "sleep 400"));
    let gone = whole(send_with(
        &server,
        "POST /mcp",
        &headers,
        &legacy_call("true"),
    ));
    assert!(gone.starts_with("HTTP/1.1 404 "), "{gone}");
    // The next client finds it as an earlier one, takes it over, and ends it.
    let headers = handshake(&server);
    let list = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {
        "name": "job", "arguments": {"action": "list"}}});
    let listed = whole(send_with(&server, "POST /mcp", &headers, &list.to_string()));
    assert!(listed.contains("sleep 400"), "{listed}");
    let killed = crate::shown(&home, &["jobs", "kill", "bg_1"]);
    assert_eq!(killed.code(), Some(0), "{}", killed.block());
    super::client::until("the job is ended", || !is_running(&home, "sleep 400"));
}

#[test]
fn an_artifact_of_any_size_is_read_in_parts() {
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let server = Server::start(&home, &["--token", "none"]);
    let headers = handshake(&server);
    // Two bytes a character, so that a part would end within one; and control characters, which
    // grow.
    let command = r"for i in $(seq 60000); do printf 'x\001\002ééééé %s\n' $i; done";
    let answer = whole(send_with(
        &server,
        "POST /mcp",
        &headers,
        &legacy_call(command),
    ));
    let address = answer.split("artifact://").nth(1).unwrap();
    let number: String = address.chars().take_while(char::is_ascii_digit).collect();
    let mut uri = format!("artifact://{number}");
    let mut text = String::new();
    loop {
        let read =
            json!({"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": uri}});
        let answer = whole(send_with(&server, "POST /mcp", &headers, &read.to_string()));
        assert!(answer.len() < 1024 * 1024, "{} bytes", answer.len());
        let body = without_chunks(&answer);
        let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let found = messages.find(|message| message["id"] == 8);
        let found = found.unwrap_or_else(|| panic!("{body}"));
        let part = found["result"]["contents"][0]["text"].as_str().unwrap();
        match part.rsplit_once("\n[") {
            Some((part, next)) if next.contains("next: ") => {
                text.push_str(part);
                uri = next
                    .split("next: ")
                    .nth(1)
                    .unwrap()
                    .trim_end_matches(']')
                    .to_owned();
            }
            _ => {
                text.push_str(part);
                break;
            }
        }
    }
    let lines = (1..=60000).map(|number| format!("x\u{1}\u{2}ééééé {number}\n"));
    let expected: String = lines.collect();
    assert!(
        text == expected,
        "{} bytes instead of {}",
        text.len(),
        expected.len()
    );
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
