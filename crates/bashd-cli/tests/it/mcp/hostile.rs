//! Clients that mean no good, or know no better.

use super::client::{Client, until};
use bashd_testkit::{Home, repetitions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

/// Memory that a server may have used at most, whatever its client did: its limit for what is in
/// the works, and itself.
const MEMORY: u64 = 192 * 1024;

/// The most memory that a process ever had, in KiB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn is_alive(client: &mut Client) {
    let alive = client.bash(&json!({"command": "echo alive"}));
    assert_eq!(alive["_meta"]["bashd/reply"]["output"], "alive\n");
}

#[test]
fn what_is_no_message_gets_a_clear_error() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        ("5", -32600),
        ("null", -32600),
        ("{}", -32600),
        (
            "{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"ping\"}",
            -32600,
        ),
        ("{\"id\": 7, \"method\": \"ping\"}", -32600),
        (
            "{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}",
            -32600,
        ),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let answer = client.next();
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    client.write(b"\xff\xfe\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    // What has an id is answered with it, though it can't be read.
    client.write(b"{\"jsonrpc\": \"2.0\", \"id\": \"lone\", \"method\": \"ping\", \"params\": {\"a\": \"\\ud800\"}}\n");
    let answer = client.next();
    assert_eq!(answer["id"], "lone", "{answer}");
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    client.write(b"\n\r\n   \n");
    is_alive(&mut client);
}

#[test]
fn requests_that_make_no_sense_get_a_clear_error() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        ("tools/call", json!({"name": "no_such"}), -32602),
        ("logging/setLevel", json!({"level": "loud"}), -32602),
    ] {
        let answer = client.ask(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/no/such"}));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4711}}));
    client.say(&json!({"jsonrpc": "2.0", "id": 4711, "result": {}}));
    client.say(&json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}));
    is_alive(&mut client);
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    let go = home.workspace().join("go");
    let command = format!(
        "until [ -e {} ]; do sleep 0.05; done; echo one",
        go.display()
    );
    let call = |command: &str| {
        json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call",
               "params": {"name": "bash", "arguments": {"command": command}}})
    };
    client.say(&call(&command));
    client.say(&call("echo two"));
    let refused = client.next();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    fs::write(go, "").unwrap();
    let answer = client.wait_for(|message| message["id"] == "same");
    assert_eq!(answer["result"]["_meta"]["bashd/reply"]["output"], "one\n");
    client.say(&call("echo three"));
    let answer = client.wait_for(|message| message["id"] == "same");
    assert_eq!(
        answer["result"]["_meta"]["bashd/reply"]["output"],
        "three\n"
    );
}

#[test]
fn before_the_handshake_nothing_else_counts() {
    let home = Home::new();
    let mut client = Client::start(&home, &[]);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.say(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    client.write(b"garbage\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    let early = client.ask("tools/list", &json!({}));
    assert!(early["error"].is_object(), "{early}");
    assert!(client.initialize(&json!({}))["result"].is_object());
    is_alive(&mut client);
}

/// A file takes every line at once, and has it only later: lines that are written at once and lines
/// that wait must not get in each other's way. Which of them lose something depends on moments, and
/// `a_line_that_is_only_not_flushed_still_waits` beside the code holds one of these; here is what
/// the client has in the end.
#[test]
fn garbage_loses_no_answer_where_stdout_is_a_file() {
    /// Requests of each kind, and pieces of garbage of each kind.
    const COUNT: usize = 120;
    for _ in 0..repetitions(10) {
        let home = Home::new();
        let file = home.workspace().join("answers");
        let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_bashd"));
        server.arg("mcp").env_clear().envs(home.env());
        server.current_dir(home.workspace());
        server.stdin(std::process::Stdio::piped());
        server.stdout(std::fs::File::create(&file).unwrap());
        let mut server = server.spawn().unwrap();
        let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut lines = format!("{begin}\n{ready}\n");
        let mut waiting = BTreeSet::from([0]);
        for id in 1..=COUNT {
            let params = json!({"name": "bash", "arguments": {"command": format!("echo {id}")}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let list = json!({"jsonrpc": "2.0", "id": 1000 + id, "method": "tools/list"});
            waiting.extend([id, 1000 + id]);
            for line in [
                "garbage",
                "{nonsense",
                "[]",
                &list.to_string(),
                &call.to_string(),
            ] {
                lines.extend([line, "\n"]);
            }
        }
        let mut stdin = server.stdin.take().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        let all = waiting.len() + 3 * COUNT;
        until("everything is answered", || {
            let written = fs::read_to_string(&file).unwrap();
            written.lines().count() >= all
        });
        drop(stdin);
        assert!(server.wait().unwrap().success());
        let written = fs::read_to_string(&file).unwrap();
        let mut refused = 0;
        for line in written.lines() {
            let answer: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
            match answer["id"].as_u64() {
                Some(id) => assert!(waiting.remove(&(id as usize)), "{id} again"),
                None => refused += usize::from(answer["error"].is_object()),
            }
            let id = answer["id"].as_u64().unwrap_or(0);
            if (1..=COUNT as u64).contains(&id) {
                let output = &answer["result"]["_meta"]["bashd/reply"]["output"];
                assert_eq!(*output, format!("{id}\n"), "{answer}");
            }
        }
        assert_eq!((refused, waiting), (3 * COUNT, BTreeSet::new()));
    }
}

#[test]
fn long_lines_are_read_or_refused_and_cost_a_bounded_amount() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    // 10 MB of comment: nobody judges so long a script, and the reply says so.
    let comment = "x".repeat(10_000_000);
    let result = client.bash(&json!({"command": format!("echo hi # {comment}")}));
    let denied = &result["_meta"]["bashd/reply"]["denied"];
    assert_eq!(denied["rule"], "script_within_bounds", "{denied}");
    let garbage = vec![b'x'; 10_000_000];
    client.write(&garbage);
    client.write(b"\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    // With its id, if it has one.
    client.write(b"{\"jsonrpc\": \"2.0\", \"id\": 77, \"method\": \"");
    for _ in 0..5 {
        client.write(&garbage);
    }
    client.write(b"\"}\n");
    let refused = client.next();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["id"], 77, "{refused}");
    is_alive(&mut client);
    let peak = peak(client.child.id());
    assert!(peak < MEMORY, "{peak} KiB");
}

#[test]
fn a_thousand_requests_at_once_all_get_their_answer() {
    let home = Home::new();
    let mut client = Client::connect(&home, &["--set", "ledger.enabled=false"]);
    let mut waiting = BTreeSet::new();
    let mut lines = String::new();
    for id in 1000..2000 {
        // Most of them cost nothing; a tenth run something.
        let request = if id % 10 == 0 {
            let arguments = json!({"command": format!("echo {id}")});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                   "params": {"name": "bash", "arguments": arguments}})
        } else {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
        };
        lines.push_str(&request.to_string());
        lines.push('\n');
        waiting.insert(id);
    }
    client.write(lines.as_bytes());
    while !waiting.is_empty() {
        let answer = client.next();
        let id = answer["id"].as_i64().unwrap();
        assert!(waiting.remove(&id), "{id} was answered twice");
        if id % 10 == 0 {
            let output = &answer["result"]["_meta"]["bashd/reply"]["output"];
            assert_eq!(*output, format!("{id}\n"), "{answer}");
        }
    }
    let peak = peak(client.child.id());
    assert!(peak < MEMORY, "{peak} KiB");
}

#[test]
fn a_client_that_never_reads_fills_no_memory() {
    use std::io::Write;
    let home = Home::new();
    let mut child = crate::bashd(&home, &["mcp"]).stdin("").spawn();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    writeln!(stdin, "{hello}").unwrap();
    // Answers of some KiB each, none of which is read; our own writes then stop at a full pipe.
    let flags = rustix::fs::fcntl_getfl(&stdin).unwrap();
    rustix::fs::fcntl_setfl(&stdin, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut sent = 0_u64;
    let mut stuck = 0;
    let mut rest = Vec::new();
    for id in 1.. {
        if rest.is_empty() {
            rest = format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
            )
            .into_bytes();
        }
        match stdin.write(&rest) {
            Ok(length) => {
                rest.drain(..length);
                sent += length as u64;
                stuck = 0;
            }
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                stuck += 1;
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        if stuck > 50 {
            break;
        }
    }
    assert!(sent > 100_000, "{sent}");
    let peak = peak(child.id());
    assert!(peak < MEMORY, "{peak} KiB");
    // It leaves when its reader does.
    drop(child.stdout.take());
    until("the server ends", || child.try_wait().unwrap().is_some());
}

#[test]
fn half_closed_pipes_end_the_server_or_get_their_answers() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    // Whoever asks and then closes still gets answers to what is quick.
    let id = client.request("tools/list", &json!({}));
    let (rest, status) = client.finish();
    assert!(status.success());
    let answered = rest.iter().any(|line| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["id"] == id
    });
    assert!(answered, "{rest:?}");
    // Also to what was wrong, of which a log message tells as well.
    let mut client = Client::connect(&home, &[]);
    let call = json!({"name": "bash", "arguments": {"comand": "true"}});
    let id = client.request("tools/call", &call);
    let (rest, _) = client.finish();
    let refused = rest.iter().find(|line| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["id"] == id
    });
    assert!(
        refused.is_some_and(|line| line.contains("there is no parameter `comand`")),
        "{rest:?}"
    );
    // A message that was cut off is none.
    let mut client = Client::connect(&home, &[]);
    client.write(b"{\"jsonrpc\": \"2.0\", \"id\": 3, \"meth");
    let (rest, status) = client.finish();
    assert!(status.success() && rest.is_empty(), "{rest:?}");
    // Nobody reads our answers: then there is nobody.
    let mut child = crate::bashd(&home, &["mcp"]).stdin("").spawn();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    until("the server ends", || {
        use std::io::Write;
        let _ = writeln!(stdin, "{ping}");
        child.try_wait().unwrap().is_some()
    });
    // Nothing at all was said.
    let silent = crate::bashd(&home, &["mcp"]).stdin("").run();
    assert_eq!((silent.code(), silent.out().as_str()), (Some(0), ""));
}

/// Registering one after the other took longer with each.
#[test]
fn secrets_that_are_too_many_are_refused_at_once() {
    let home = Home::new();
    let secrets = |count: usize| {
        let one = |number: usize| (format!("S{number}"), json!(format!("value-{number:06}-Aa")));
        let secrets: serde_json::Map<_, _> = (0..count).map(one).collect();
        json!({"experimental": {"bashd/secrets": secrets}})
    };
    let mut client = Client::start(&home, &[]);
    let begun = std::time::Instant::now();
    let refused = client.initialize(&secrets(100_000));
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    let told = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(told.contains("too many secrets: at most 4096"), "{refused}");
}

/// One client has every place that one may have, and a further call of its own waits for one.
#[test]
fn a_call_that_comes_to_no_place_is_answered_at_its_own_deadline() {
    let home = Home::new();
    let mut client = Client::connect(&home, &[]);
    // A client's share of 128 places.
    for _ in 0..96 {
        let sleep = json!({"name": "bash", "arguments": {"command": "sleep 300"}});
        client.request("tools/call", &sleep);
    }
    let answer = client.bash(&json!({"command": "touch X", "timeout": 1}));
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    let words = "every place for a command was taken for 1 s, and nothing was run";
    assert!(text.contains(words), "{answer}");
    assert!(!home.workspace().join("X").exists());
    client.finish();
}
