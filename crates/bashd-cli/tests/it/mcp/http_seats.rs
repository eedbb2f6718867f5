//! The HTTP transport under clients that take seats and do nothing with them.

use super::client::LIMIT;
use super::http::{MODERN, Server, call};
use bashd_testkit::Home;
use serde_json::json;
use std::io::Read;
use std::time::{Duration, Instant};

#[test]
fn silent_connections_lock_nobody_out() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let token = format!("Bearer {}", server.token.as_ref().unwrap());
    let with = [MODERN, &[("Authorization", token.as_str())]].concat();
    // The oldest has to give way, and not only when its time is over.
    let begun = Instant::now();
    let mut silent: Vec<_> = (0..200).map(|_| server.connect()).collect();
    let oldest = silent.first_mut().unwrap();
    oldest.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    for number in 200..400 {
        silent.push(server.connect());
        if number % 100 == 99 {
            let begun = Instant::now();
            let (status, answer) = server.post(&with, &call("echo hi"));
            assert_eq!(status, 200, "{answer}");
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(8), "{took:?} after {number}");
        }
    }
}

/// Sessions whose clients went away without a word: more than the server keeps.
#[test]
fn abandoned_sessions_give_way_the_oldest_first() {
    let home = Home::new();
    let server = Server::start(&home, &["--token", "none"]);
    let begin = || server.begin_session();
    let first = begin();
    for _ in 0..255 {
        begin();
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let headers = |session: &str| {
        let version = ("MCP-Protocol-Version".to_owned(), "2025-11-25".to_owned());
        [version, ("Mcp-Session-Id".to_owned(), session.to_owned())]
    };
    let status = |session: &str| {
        let headers = headers(session);
        let headers = headers.each_ref().map(|(name, value)| (&**name, &**value));
        server.post(&headers, &list).0
    };
    // It is used, so the second is the oldest now.
    assert_eq!(status(&first), 200);
    let newest = begin();
    assert_eq!(status(&first), 200);
    assert_eq!(status(&newest), 200);
    let called = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "bash", "arguments": {"command": "echo hi"},
    }});
    let (answer, _) = server.ask_in_session(Some(&newest), &called);
    assert!(answer.to_string().contains("hi"), "{answer}");
    for _ in 0..256 {
        begin();
    }
    // A client that comes back learns that its session is gone, and begins another.
    assert_eq!(status(&first), 404);
}
