//! Carriers whose other end is no outpost, or an outpost that lies.

use super::liar::{Liar, Lie, replaced};
use super::{assert_unknown, error_of};
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::Home;
use std::fs;
use std::time::{Duration, Instant};

/// A carrier that is right until so many bytes have come, and then is this script.
fn turning(after: usize, into: &str) -> Vec<String> {
    let script = format!("\"$0\" outpost --idle 0.3 | stdbuf -o0 head -c {after}; {into}");
    let program = env!("CARGO_BIN_EXE_bashd");
    ["sh", "-c", &script, program].map(str::to_owned).to_vec()
}

/// A call whose command has a second, and whose place has one of patience.
fn call(home: &Home, command: Vec<String>, script: &str) -> (Reply, Duration) {
    let mut place = PlaceSettings::new("far", PlaceKind::Pipe { command });
    place.patience = Duration::from_millis(500);
    place.connect = Duration::from_secs(1);
    let mut config = Config::new(home.state());
    config.places = vec![place];
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).unwrap();
        let begun = Instant::now();
        let request = Request::new(script).timeout(Duration::from_secs(1));
        (engine.run(request.on("far")).await, begun.elapsed())
    })
}

/// That this process never had much more memory than it needs.
fn assert_small() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let kibibytes = peak.unwrap().split_whitespace().nth(1).unwrap();
    assert!(kibibytes.parse::<u64>().unwrap() < 250_000, "{peak:?}");
}

#[test]
fn fault_27_what_is_no_outpost_is_ended_in_bounded_time_and_memory() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let floods = ["cat /dev/zero", "cat /dev/urandom", "yes"];
    let others = ["printf '\\377\\377\\377\\377garbage'; sleep 60", "sleep 60"];
    let most = if super::is_whole() { 5 } else { 1 };
    for into in floods.into_iter().chain(others).take(most) {
        // It turns before it has greeted, in the middle of that, and after it.
        for after in [0, 5, 700] {
            let (reply, took) = call(&home, turning(after, into), "sleep 60");
            let error = error_of(&reply);
            let what = format!("{into} after {after}");
            assert!(error.contains("place `far`"), "{what}: {error}");
            assert!(took < Duration::from_secs(12), "{what}: {took:?}");
        }
    }
    super::end_outposts(&home);
    assert_small();
}

fn says_another_version(_: usize, message: &[u8]) -> Vec<Vec<u8>> {
    vec![replaced(
        message,
        b"\xa7version\x04",
        b"\xa7version\xcd\x03\xe7",
    )]
}

#[test]
fn fault_23_an_outpost_of_another_version_is_refused_with_both_versions() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let liar = Liar::telling(&home, says_another_version);
    let (reply, _) = call(&home, liar.carrier(), "touch ran");
    let error = error_of(&reply);
    assert!(
        error.contains("it speaks version 999, and this bashd 4"),
        "{error}"
    );
    assert!(!home.home().join("ran").exists());
}

/// The encoding of the largest number.
const HUGE: &[u8] = b"\xa5bytes\xcf\xff\xff\xff\xff\xff\xff\xff\xff";

/// Lies that can't be believed, and what is told instead of a status.
const LIES: &[(&str, Lie)] = &[
    ("it never says how commands end", |number, message| {
        if number == 0 {
            vec![message.to_vec()]
        } else {
            Vec::new()
        }
    }),
    ("it says what nobody asked for", |number, message| {
        if number == 0 {
            vec![message.to_vec()]
        } else {
            vec![b"\xa4Nope".to_vec()]
        }
    }),
    ("it says half of everything", |number, message| {
        let half = message.get(..message.len() / 2).unwrap_or_default();
        if number == 0 {
            vec![message.to_vec()]
        } else {
            vec![half.to_vec()]
        }
    }),
    (
        "it asks for signs of life without end",
        |number, message| {
            let ping = vec![b"\xa4Ping".to_vec(); 300_000];
            if number == 0 {
                vec![message.to_vec()]
            } else {
                ping
            }
        },
    ),
];

#[test]
fn fault_27_an_outpost_that_lies_makes_no_status_up_and_costs_little() {
    let most = if super::is_whole() { LIES.len() } else { 1 };
    // The last one costs most if nothing bounds it.
    for (what, lie) in LIES.iter().rev().take(most) {
        let home = Home::new().keeping_in_state(&["outpost"]);
        let liar = Liar::telling(&home, *lie);
        let (reply, took) = call(&home, liar.carrier(), "echo $BASHD_RUN >>ran; exit 7");
        error_of(&reply);
        let marks = fs::read_to_string(home.home().join("ran")).unwrap_or_default();
        assert!(marks.lines().count() <= 1, "{what}: it ran twice");
        if !marks.is_empty() {
            assert_unknown(&reply);
        }
        assert!(took < Duration::from_secs(15), "{what}: {took:?}");
        drop(liar);
        super::end_outposts(&home);
    }
    assert_small();
}

#[test]
fn fault_27_counts_that_lie_are_no_more_than_wrong_counts() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let liar = Liar::telling(&home, |_, message| vec![message.to_vec(); 2]);
    let (reply, _) = call(&home, liar.carrier(), "echo hello; exit 7");
    assert_eq!(
        reply.exit_code,
        Some(7),
        "what is said twice is said: {reply:?}"
    );
    drop(liar);
    let liar = Liar::telling(&home, |_, message| {
        vec![replaced(message, b"\xa5bytes\x06", HUGE)]
    });
    let (reply, took) = call(&home, liar.carrier(), "echo hello; exit 7");
    // The status is the outpost's to say; that its counts are wrong shows when output is read.
    assert!(matches!(reply.exit_code, Some(7) | None), "{reply:?}");
    assert!(reply.output.len() < 1 << 20, "{}", reply.output.len());
    assert!(took < Duration::from_secs(40), "{took:?}");
    drop(liar);
    super::end_outposts(&home);
    assert_small();
}
