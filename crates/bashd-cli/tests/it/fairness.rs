//! Eight honest clients beside a hostile one, on each transport that has many clients: how much
//! longer their calls take than without it.

use crate::mcp::HttpServer;
use crate::rpc_socket::{Peer, flood, serving};
use bashd_testkit::processes::with_variable;
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{Home, MARK, loudly, repetitions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::cell::Cell;
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

/// How long a hostile client is left as it is: less than the server does.
const STUCK_FOR: Duration = Duration::from_secs(15);

/// When a flood has certainly begun.
const BEGINS_WITHIN: Duration = Duration::from_secs(3);

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

/// The middle one of three rounds alone, and of three beside somebody hostile. They take turns, so
/// that both meet what else the machine does.
fn medians(alone: impl Fn() -> Duration, beside: impl Fn() -> Duration) -> (Duration, Duration) {
    let both = [(); 3].map(|()| (alone(), beside()));
    let middle = |mut rounds: [Duration; 3]| {
        rounds.sort();
        let [_, middle, _] = rounds;
        middle
    };
    (
        middle(both.map(|(alone, _)| alone)),
        middle(both.map(|(_, beside)| beside)),
    )
}

/// Waits until a flood has begun, and nothing of it runs any more. It may have as many commands at
/// once as anybody, and these take the processors for a moment; then it has more replies to read
/// than it may have, and all its other calls wait.
fn until_stuck(home: &Home) {
    let (begun, mut was_busy, mut quiet) = (Instant::now(), false, 0);
    // All of it may have been between two looks.
    while quiet < 5 || !was_busy && begun.elapsed() < BEGINS_WITHIN {
        let all = with_variable(MARK, home.mark());
        let is_busy = all.iter().any(|process| process.command.starts_with("tr "));
        was_busy |= is_busy;
        quiet = if is_busy { 0 } else { quiet + 1 };
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "it is never stuck"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
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
    let homes = [Home::new(), Home::new()];
    let [_, beset_home] = &homes;
    // One is left in peace.
    let [(mut quiet, quiet_path), (mut beset, beset_path)] = homes.each_ref().map(serving);
    let ask = |peer: &mut Peer| {
        let answer = peer.ask(&json!({"id": 1, "type": "bash", "command": "echo fine"}));
        assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    };
    let round = |path| p99(|| Peer::connect(path), ask);
    // It is dropped after a while; then another comes.
    let hostile = Cell::new(None);
    let beside = || {
        let there = hostile.take();
        let fresh = there.filter(|(since, _): &(Instant, _)| since.elapsed() < STUCK_FOR);
        hostile.set(fresh.or_else(|| {
            let stream = flood(&beset_path, 600, "head -c 40000 /dev/zero | tr '\\0' x");
            until_stuck(beset_home);
            Some((Instant::now(), stream))
        }));
        round(&beset_path)
    };
    round(&quiet_path);
    round(&beset_path);
    let (alone, beside) = medians(|| round(&quiet_path), beside);
    for server in [&mut quiet, &mut beset] {
        kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
        server.ended();
    }
    compare("rpc --socket", alone, beside);
}

#[test]
fn honest_clients_over_http_are_served_beside_silent_and_abandoned_ones() {
    let homes = [Home::new(), Home::new()];
    let start = |home| HttpServer::start(home, &["--token", "none"]);
    let [quiet, beset] = homes.each_ref().map(start);
    let ask = |server: &mut &HttpServer| {
        let answer = server.bash(&json!({"command": "echo fine"}));
        assert!(answer.to_string().contains("fine"), "{answer}");
    };
    let round = |server| p99(|| server, ask);
    let beside = || {
        let silent: Vec<TcpStream> = (0..300).map(|_| beset.connect()).collect();
        for _ in 0..260 {
            beset.begin_session();
        }
        let taken = round(&beset);
        drop(silent);
        taken
    };
    round(&quiet);
    round(&beset);
    let (alone, beside) = medians(|| round(&quiet), beside);
    compare("mcp --http", alone, beside);
}
