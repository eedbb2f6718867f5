//! Carriers that are killed, cut in the middle of a frame, or lose their sshd.

use super::{Far, SLACK, assert_unknown, wait_until, whole};
use bashd::Request;
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Config, Engine, KeeperSource, Surroundings};
use bashd_testkit::processes::Process;
use bashd_testkit::{Home, repeat, repetitions};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Kills of a soak run, and runs at a time.
const KILLS: usize = 100;
const RUNS: usize = 20;

/// Between two kills; a login takes a third of a second.
const SHORTEST_PAUSE: u64 = 250;
const LONGEST_PAUSE: u64 = 1250;

/// The longest pause in logins: where each of them is killed no command begins at all.
const LOGINS: u64 = 4;

/// Pauses that are no two times the same.
fn pause(number: &mut u64, longest: u64) -> Duration {
    *number = number
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis(SHORTEST_PAUSE + (*number >> 33) % (longest - SHORTEST_PAUSE))
}

/// The longest pause where a login takes as long as it does now: on a busy machine, seconds.
fn longest_pause(far: &Far) -> u64 {
    let begun = Instant::now();
    let reply = far.run(&far.engine(|_| {}), Request::new("true"));
    assert_eq!(reply.exit_code, Some(0), "{reply:?}");
    LONGEST_PAUSE.max(begun.elapsed().as_millis() as u64 * LOGINS)
}

#[test]
fn fault_01_carriers_killed_at_random_moments_change_nothing() {
    let Some(far) = whole() else { return };
    let longest = longest_pause(&far);
    wait_until("the end of its carrier", || far.live_carriers().is_empty());
    let engine = far.engine(|_| {});
    let wanted = repetitions(KILLS);
    let seed = u64::from(std::process::id());
    let (killed, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (mut runs, mut wrong) = (0, Vec::new());
    let expected: String = (1..=8)
        .flat_map(|_| (1..=400).map(|line| format!("{line}\n")))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = seed;
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(pause(&mut number, longest));
                for carrier in far.live_carriers() {
                    carrier.kill();
                    killed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        while killed.load(Ordering::Relaxed) < wanted {
            let calls = (0..RUNS).map(|number| {
                let script = format!(
                    "echo $BASHD_RUN >>marks; for i in 1 2 3 4 5 6 7 8; do seq 1 400; sleep 0.2; done; exit {}",
                    number + 1
                );
                engine.run(Request::new(script).on("far"))
            });
            let replies = far.wait(futures::future::join_all(calls));
            runs += replies.len();
            for (number, reply) in replies.iter().enumerate() {
                let is_right =
                    reply.exit_code == Some(number as i32 + 1) && reply.output == expected;
                if !is_right {
                    let (code, bytes) = (reply.exit_code, reply.output.len());
                    wrong.push(format!(
                        "{number}: {code:?}, {bytes} bytes, {:?}",
                        reply.error
                    ));
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(wrong.is_empty(), "seed {seed}: {}", wrong.join("\n"));
    let marks = far.lines("/home/u/marks");
    let different: BTreeSet<&String> = marks.iter().collect();
    assert_eq!(
        (marks.len(), different.len()),
        (runs, runs),
        "seed {seed}: each ran once"
    );
    assert_eq!(far.machine.running("sleep 0.2").len(), 0);
}

/// A carrier of which the first one is cut after so many bytes, from the outpost or to it.
const CUT: &str = "n=$(cat \"$TMPDIR/count\" 2>/dev/null || echo 0); \
    echo $((n + 1)) >\"$TMPDIR/count\"; exec 4<&0; \
    [ $n = 0 ] || exec \"$3\" outpost --idle 0.3; \
    case $1 in from) exec stdbuf -o0 head -c $2 < <(\"$3\" outpost --idle 0.3 <&4) ;; \
    to) exec \"$3\" outpost --idle 0.3 < <(stdbuf -o0 head -c $2 <&4) ;; esac";

#[test]
fn fault_02_an_order_or_an_answer_that_is_cut_is_carried_out_at_most_once() {
    let home = Home::new().keeping_in_state(&["outpost"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let marks = home.workspace().join("marks");
    let count = home.tmp().join("count");
    let mut began = 0;
    let step = match (repeat::is_soak(), super::is_whole()) {
        (true, _) => 53,
        (_, true) => 307,
        _ => 1201,
    };
    for (way, most) in [("from", 2_500), ("to", 4_500)] {
        for bytes in (1..most).step_by(step) {
            let words = [
                "bash",
                "-c",
                CUT,
                "sh",
                way,
                &bytes.to_string(),
                env!("CARGO_BIN_EXE_bashd"),
            ];
            let command = words.map(str::to_owned).to_vec();
            let mut config = Config::new(home.state());
            let mut place = PlaceSettings::new("far", PlaceKind::Pipe { command });
            place.patience = Duration::from_secs(10);
            config.places = vec![place];
            let surroundings = Surroundings {
                cwd: home.workspace(),
                env: home.env(),
            };
            let before = fs::read_to_string(&marks)
                .unwrap_or_default()
                .lines()
                .count();
            let reply = runtime.block_on(async {
                let engine = Engine::new(config, surroundings, KeeperSource::Hook).unwrap();
                let script = format!("echo $BASHD_RUN >>{}; exit 7", marks.display());
                engine.run(Request::new(script).on("far")).await
            });
            let ran = fs::read_to_string(&marks)
                .unwrap_or_default()
                .lines()
                .count()
                - before;
            match reply.exit_code {
                Some(code) => assert_eq!((code, ran), (7, 1), "{way} {bytes}: {reply:?}"),
                // Only before it was sent: then nothing ran.
                None => assert_eq!(ran, 0, "{way} {bytes}: {reply:?}"),
            }
            began += ran;
            fs::remove_file(&count).unwrap();
        }
    }
    super::end_outposts(&home);
    assert!(began > 3, "only {began} of them were begun");
}

#[test]
fn fault_03_the_sshd_of_a_connection_is_killed_and_its_listener_is_away() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|_| {});
    let request =
        || Request::new("echo $BASHD_RUN >>marks; touch begun; sleep 1; seq 1 3000; exit 7");
    let reply = far.run_and(&engine, request(), || {
        far.machine
            .running("sshd: u@notty")
            .iter()
            .for_each(Process::kill);
    });
    assert_eq!(
        (reply.exit_code, reply.output_lines),
        (Some(7), 3000),
        "{reply:?}"
    );
    let mut back = None;
    let reply = far.run_and(&engine, request(), || {
        far.machine.keep_sshd(false);
        for name in ["[listener]", "sshd: u"] {
            far.machine.running(name).iter().for_each(Process::kill);
        }
        wait_until("the end of the command", || {
            far.machine.running("sleep 1").is_empty()
        });
        // Long enough for a few attempts.
        std::thread::sleep(Duration::from_secs(3));
        far.machine.keep_sshd(true);
        wait_until("an sshd", || far.machine.answers());
        back = Some(Instant::now());
    });
    let took = back.unwrap().elapsed();
    assert_eq!(
        (reply.exit_code, reply.output_lines),
        (Some(7), 3000),
        "{reply:?}"
    );
    assert!(
        took < Duration::from_secs(2),
        "{took:?} after the host was back"
    );
    assert_eq!(far.lines("/home/u/marks").len(), 2);
}

#[test]
fn fault_03_a_listener_that_never_comes_back_ends_in_an_end_that_nobody_knows() {
    let Some(far) = whole() else { return };
    let engine = far.engine(|place| place.patience = Duration::from_secs(1));
    let request = Request::new("touch begun; sleep 60").timeout(Duration::from_secs(1));
    let begun = Instant::now();
    let reply = far.run_and(&engine, request, || {
        far.machine.keep_sshd(false);
        far.machine.running("sshd: ").iter().for_each(Process::kill);
    });
    assert_unknown(&reply);
    assert!(
        begun.elapsed() < Duration::from_secs(4) + SLACK,
        "{:?}",
        begun.elapsed()
    );
    wait_until("its own deadline", || {
        far.machine.running("sleep 60").is_empty()
    });
}
