//! Eight honest clients beside a hostile one, on each transport that has many clients: how much
//! longer their calls take than without it.

use crate::mcp::HttpServer;
use crate::rpc_socket::{Peer, flood, serving};
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Home, loudly, repetitions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Honest clients.
const HONEST: usize = 8;

/// How much longer the slowest hundredth of their calls may take. A few calls on a machine that
/// runs other tests tell little; the whole count on a quiet one is the measurement.
fn most_times() -> f64 {
    if is_soak() { 2.0 } else { 5.0 }
}

/// What no ratio is counted below: a busy machine's hiccup.
const LEAST: Duration = Duration::from_millis(30);

/// The time within which 99 of 100 calls of all honest clients are answered.
fn p99<Client>(connect: impl Fn() -> Client + Sync, ask: impl Fn(&mut Client) + Sync) -> Duration {
    let each = repetitions(250);
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..HONEST {
            scope.spawn(|| {
                let mut client = connect();
                for _ in 0..each {
                    let begun = Instant::now();
                    ask(&mut client);
                    taken.lock().unwrap().push(begun.elapsed());
                }
            });
        }
    });
    let mut taken = taken.into_inner().unwrap();
    taken.sort();
    taken[(taken.len() * 99).div_ceil(100) - 1]
}

/// The middle one of three rounds.
fn median(round: impl Fn() -> Duration) -> Duration {
    let mut rounds = [round(), round(), round()];
    rounds.sort();
    let [_, middle, _] = rounds;
    middle
}

fn compare(what: &str, alone: Duration, beside: Duration) {
    let times = beside.as_secs_f64() / alone.max(LEAST).as_secs_f64();
    let told = format!("{what}: p99 {alone:?} alone, {beside:?} beside it: {times:.2} times");
    if is_soak() {
        loudly(&told);
    }
    assert!(times <= most_times(), "{told}");
}

#[test]
fn honest_clients_of_a_socket_are_served_beside_one_that_reads_nothing() {
    let home = Home::new();
    let (mut server, path) = serving(&home);
    let ask = |peer: &mut Peer| {
        let answer = peer.ask(&json!({"id": 1, "type": "bash", "command": "echo fine"}));
        assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    };
    let round = || p99(|| Peer::connect(&path), ask);
    round();
    let alone = median(round);
    let hostile = flood(&path, 600, "head -c 40000 /dev/zero | tr '\\0' x");
    let beside = median(round);
    drop(hostile);
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.ended();
    compare("rpc --socket", alone, beside);
}

#[test]
fn honest_clients_over_http_are_served_beside_silent_and_abandoned_ones() {
    let home = Home::new();
    let server = HttpServer::start(&home, &["--token", "none"]);
    let ask = |server: &mut &HttpServer| {
        let answer = server.bash(&json!({"command": "echo fine"}));
        assert!(answer.to_string().contains("fine"), "{answer}");
    };
    let round = || p99(|| &server, ask);
    round();
    let alone = median(round);
    let silent: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    for _ in 0..260 {
        server.begin_session();
    }
    let beside = median(round);
    drop(silent);
    compare("mcp --http", alone, beside);
}
