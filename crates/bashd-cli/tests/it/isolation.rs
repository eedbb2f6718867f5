//! Eight clients at once, two each over a socket, HTTP, ACP and stdio: none sees another's
//! variable, directory, job or artifact.

use crate::rpc_under_test::{PATIENCE, messages};
use bashd_testkit::{Home, repetitions};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What every server is started with.
const OPTIONS: [&str; 4] = ["--profile", "pi", "--set", "async.enabled=true"];

/// Who has stored what.
type StoredByAll = Mutex<Vec<(usize, String)>>;

/// Rounds of a soak run.
const ROUNDS: usize = 200;

/// One client, whatever it speaks.
trait Peer: Send {
    /// The text of the reply to a command.
    fn run(&mut self, arguments: Value) -> String;

    /// The text of the job tool's answer; `None` if the protocol has no tools.
    fn job(&mut self, arguments: Value) -> Option<String>;
}

/// A server that ends with the test.
struct Served(Child);

impl Served {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let arguments = [arguments, &OPTIONS].concat();
        Self(crate::bashd(home, &arguments).stdin("").spawn())
    }

    fn lines(&mut self) -> Receiver<Value> {
        messages(self.0.stdout.take().unwrap())
    }

    fn input(&mut self) -> Box<dyn Write + Send> {
        Box::new(self.0.stdin.take().unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Lines in both directions.
struct Wire {
    input: Box<dyn Write + Send>,
    lines: Receiver<Value>,
    last: u64,
}

impl Wire {
    fn new(input: Box<dyn Write + Send>, lines: Receiver<Value>) -> Self {
        let last = 0;
        Self { input, lines, last }
    }

    /// Sends a request with an id of its own, and waits for the answer to it.
    fn ask(&mut self, mut request: Value) -> Value {
        self.last += 1;
        request["id"] = json!(self.last);
        writeln!(self.input, "{request}").unwrap();
        self.input.flush().unwrap();
        loop {
            let message = self.lines.recv_timeout(PATIENCE).unwrap();
            if message["id"] == self.last {
                return message;
            }
        }
    }
}

/// Of `bashd rpc`.
struct RpcPeer(Wire);

impl Peer for RpcPeer {
    fn run(&mut self, arguments: Value) -> String {
        let answer = self.0.ask(json!({"type": "call", "arguments": arguments}));
        text(&answer["data"]["text"], &answer)
    }

    fn job(&mut self, arguments: Value) -> Option<String> {
        let answer = self.0.ask(json!({"type": "job", "arguments": arguments}));
        Some(text(&answer["data"]["text"], &answer))
    }
}

/// Of `bashd mcp`, on stdin or over HTTP.
struct McpPeer<A>(A);

impl<A: FnMut(&str, Value) -> Value + Send> McpPeer<A> {
    fn tool(&mut self, name: &str, arguments: &Value) -> String {
        let answer = (self.0)("tools/call", json!({"name": name, "arguments": arguments}));
        text(&answer["result"]["content"][0]["text"], &answer)
    }
}

impl<A: FnMut(&str, Value) -> Value + Send> Peer for McpPeer<A> {
    fn run(&mut self, arguments: Value) -> String {
        self.tool("bash", &arguments)
    }

    fn job(&mut self, arguments: Value) -> Option<String> {
        Some(self.tool("job", &arguments))
    }
}

/// A session of `bashd acp`.
struct AcpPeer {
    session: String,
    input: Arc<Mutex<Box<dyn Write + Send>>>,
    lines: Receiver<Value>,
    number: u64,
    last: u64,
}

/// What the ids of a session's requests begin at.
const IDS: u64 = 1_000_000;

impl Peer for AcpPeer {
    fn run(&mut self, arguments: Value) -> String {
        self.last += 1;
        let id = self.number * IDS + self.last;
        let prompt = json!([{"type": "text", "text": arguments["command"]}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params});
        writeln!(self.input.lock().unwrap(), "{request}").unwrap();
        let mut said = String::new();
        loop {
            let message = self.lines.recv_timeout(PATIENCE).unwrap();
            if message["id"] == id {
                return said;
            }
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                said.push_str(update["content"]["text"].as_str().unwrap());
            }
        }
    }

    fn job(&mut self, _: Value) -> Option<String> {
        None
    }
}

fn text(value: &Value, answer: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The handshake of a client of the Model Context Protocol.
fn handshake(ask: &mut dyn FnMut(&str, Value) -> Value) {
    let about = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about});
    let answer = ask("initialize", params);
    assert!(answer["result"].is_object(), "{answer}");
}

/// Two clients of one socket.
fn on_a_socket(home: &Home) -> (Served, Vec<Box<dyn Peer>>) {
    let path = home.workspace().join("s.sock");
    let server = Served::start(home, &["rpc", "--socket", path.to_str().unwrap()]);
    let connect = |_| {
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(_) => assert!(begun.elapsed() < PATIENCE, "nobody listens"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let lines = messages(stream.try_clone().unwrap());
        Box::new(RpcPeer(Wire::new(Box::new(stream), lines))) as Box<dyn Peer>
    };
    (server, (0..2).map(connect).collect())
}

/// One client of `rpc`, one of `mcp`, each of a server of its own.
fn on_stdio(home: &Home) -> (Vec<Served>, Vec<Box<dyn Peer>>) {
    let mut rpc = Served::start(home, &["rpc"]);
    let mut mcp = Served::start(home, &["mcp"]);
    let (input, lines) = (rpc.input(), rpc.lines());
    let rpc_peer = RpcPeer(Wire::new(input, lines));
    let (input, lines) = (mcp.input(), mcp.lines());
    let mut wire = Wire::new(input, lines);
    let mut ask = move |method: &str, params: Value| {
        wire.ask(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    handshake(&mut ask);
    (
        vec![rpc, mcp],
        vec![Box::new(rpc_peer), Box::new(McpPeer(ask))],
    )
}

/// Two sessions of one server over HTTP.
fn over_http(home: &Home) -> (Arc<crate::mcp::HttpServer>, Vec<Box<dyn Peer>>) {
    let arguments = [&["--token", "none"], &OPTIONS[..]].concat();
    let server = Arc::new(crate::mcp::HttpServer::start(home, &arguments));
    let connect = |_| {
        let server = Arc::clone(&server);
        let mut session = None::<String>;
        let mut ask = move |method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let (answer, given) = server.ask_in_session(session.as_deref(), &request);
            session = given.or(session.take());
            answer
        };
        handshake(&mut ask);
        Box::new(McpPeer(ask)) as Box<dyn Peer>
    };
    (Arc::clone(&server), (0..2).map(connect).collect())
}

/// Two sessions of one agent, each in its directory.
fn over_acp(home: &Home, directories: &[String]) -> (Served, Vec<Box<dyn Peer>>) {
    let mut server = Served::start(home, &["acp"]);
    let (input, lines) = (server.input(), server.lines());
    let mut wire = Wire::new(input, lines);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    wire.ask(json!({"jsonrpc": "2.0", "method": "initialize", "params": params}));
    let sessions: Vec<String> = directories
        .iter()
        .map(|directory| {
            let params = json!({"cwd": directory, "mcpServers": []});
            let request = json!({"jsonrpc": "2.0", "method": "session/new", "params": params});
            let answer = wire.ask(request);
            text(&answer["result"]["sessionId"], &answer)
        })
        .collect();
    let Wire { input, lines, .. } = wire;
    let input = Arc::new(Mutex::new(input));
    let (senders, receivers): (Vec<_>, Vec<_>) = sessions.iter().map(|_| channel()).unzip();
    let names = sessions.clone();
    std::thread::spawn(move || {
        for received in lines {
            let id = received["id"].as_u64().map(|id| (id / IDS) as usize);
            let session = received["params"]["sessionId"].as_str();
            let at = names.iter().position(|name| Some(name.as_str()) == session);
            if let Some(number) = at.or(id) {
                let _ = senders[number].send(received);
            }
        }
    });
    let peers = sessions.into_iter().zip(receivers).zip(0..);
    let peers = peers.map(|((session, lines), number)| {
        Box::new(AcpPeer {
            session,
            input: Arc::clone(&input),
            lines,
            number,
            last: 0,
        }) as Box<dyn Peer>
    });
    (server, peers.collect())
}

/// One client's rounds: what it sees is its own. What it has stored is put up for the others to
/// try.
fn rounds(
    number: usize,
    directory: &str,
    mut peer: Box<dyn Peer>,
    all: &StoredByAll,
) -> Box<dyn Peer> {
    let canaries = Regex::new(r"canary-(\d+)-").unwrap();
    let addresses = Regex::new(r"artifact://\d+").unwrap();
    let is_own = |text: String| {
        let strange = canaries
            .captures_iter(&text)
            .find(|canary| canary[1] != number.to_string());
        assert!(strange.is_none(), "{number} sees another's: {text}");
        text
    };
    is_own(peer.run(json!({"command": format!("cd {directory}; canary=canary-{number}-")})));
    for round in 0..repetitions(ROUNDS) {
        let own = format!("canary-{number}-{round}");
        let seen = is_own(peer.run(json!({"command": "echo \"$canary ${PWD##*/}\""})));
        assert!(
            seen.contains(&format!("canary-{number}- d{number}\n")),
            "{number}: {seen}"
        );
        let seen = is_own(peer.run(json!({"command": format!("yes {own} | head -n 6000")})));
        let stored = addresses.find(&seen);
        let stored = stored.unwrap_or_else(|| panic!("{seen}")).as_str();
        let whole = is_own(peer.run(json!({"command": format!("sort -u {stored}")})));
        assert!(whole.starts_with(&format!("{own}\n")), "{number}: {whole}");
        // What others have stored is not there.
        let strange = {
            let mut all = all.lock().unwrap();
            let strange = all
                .iter()
                .rev()
                .find(|(whose, _)| *whose != number)
                .cloned();
            all.push((number, stored.to_owned()));
            strange
        };
        if let Some((_, strange)) = strange {
            is_own(peer.run(json!({"command": format!("sort -u {strange}")})));
        }
        let command = format!("echo {own} $canary ${{PWD##*/}}");
        let listed = peer.job(json!({"list": true}));
        if listed.map(is_own).is_none() {
            continue;
        }
        let started = is_own(peer.run(json!({"command": command, "async": true})));
        let id = started
            .split("poll: [\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let id = id.unwrap_or_else(|| panic!("{started}"));
        let polled = is_own(peer.job(json!({"poll": [id]})).unwrap());
        let expected = format!("{own} canary-{number}- d{number}\n");
        assert!(polled.contains(&expected), "{number}: {polled}");
        is_own(peer.job(json!({"list": true})).unwrap());
    }
    // Its jobs would be earlier ones to the others if it went.
    peer
}

#[test]
fn eight_clients_at_once_see_nothing_of_each_other() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let directories: Vec<String> = (0..8)
        .map(|number| {
            let directory = home.workspace().join(format!("d{number}"));
            std::fs::create_dir(&directory).unwrap();
            directory.display().to_string()
        })
        .collect();
    let (socket_server, mut peers) = on_a_socket(&home);
    let (stdio_servers, more) = on_stdio(&home);
    peers.extend(more);
    let (http_server, more) = over_http(&home);
    peers.extend(more);
    let (acp_server, more) = over_acp(&home, &directories[6..]);
    peers.extend(more);
    let all = Arc::new(StoredByAll::default());
    let work = peers.into_iter().enumerate().map(|(number, peer)| {
        let (directory, all) = (directories[number].clone(), Arc::clone(&all));
        std::thread::spawn(move || rounds(number, &directory, peer, &all))
    });
    let workers = work.collect::<Vec<_>>().into_iter();
    let peers: Vec<_> = workers.map(|worker| worker.join().unwrap()).collect();
    // A person sees the jobs of all six that have any.
    let all = crate::shown(&home, &["jobs", "--all", "--json"]);
    let owners: BTreeSet<String> = (all.out().lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["owner"].to_string())
        .collect();
    assert_eq!(owners.len(), 6, "{owners:?}");
    let table = crate::shown(&home, &["jobs", "--all"]);
    assert!(
        table.out().lines().next().unwrap().contains("OWNER"),
        "{}",
        table.out()
    );
    drop(peers);
    drop((socket_server, stdio_servers, acp_server, http_server));
}
