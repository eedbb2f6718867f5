//! Bytes that are no text, lines without an end, counts that must be exact, and memory that stays
//! flat.

use super::scene::{Answer, Scene, request};
use bashd::output::Source;
use bashd::plan::Streams;
use bashd_testkit::repeat::is_soak;
use bashd_testkit::{as_each_user, repetitions};
use std::fs;
use std::time::Duration;

/// What engine and keeper together may grow by, whatever the output is.
const MOST_GROWTH: u64 = 8 << 20;

/// A limit for floods, which are slow in a debug build.
const LONG: Duration = Duration::from_secs(100);

/// The most memory that a process ever had, in bytes.
fn peak_memory(of: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{of}/status")).expect("a process's status");
    peak_in(&status)
}

fn peak_in(status: &str) -> u64 {
    let line = status.lines().rfind(|line| line.contains("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("a peak") << 10
}

#[test]
fn invalid_utf8_is_replaced_and_counted_as_it_came() {
    as_each_user(|| {
        let scene = Scene::new();
        let command = r"printf 'a\xff\xc3\xa9\xe2\x82b\xf0\x9f\x98'; printf '\x80\n\x00\n'";
        let Answer { reply, .. } = scene.run(request(command));
        let text = "a\u{fffd}\u{e9}\u{fffd}b\u{1f600}\n\0\n";
        assert_eq!(reply.output, text);
        assert_eq!((reply.output_bytes, reply.output_lines), (14, 2));
        for profile in ["voice", "harness", "phoenix"] {
            let Answer { reply, .. } = scene.run(request(r"printf '\xff\n'").profile(profile));
            assert!(reply.text.contains('\u{fffd}'), "{profile}: {reply:?}");
        }
    });
}

#[test]
fn a_stream_that_leaves_the_head_is_followed_without_a_gap() {
    as_each_user(|| {
        let home = bashd_testkit::Home::new();
        let quota = bashd::plan::Quota {
            head: 1000,
            ring: 10 << 20,
        };
        let scene = Scene::with(home, |config| config.quota = quota);
        let numbers: Vec<String> = (1..=100_000).map(|number| number.to_string()).collect();
        let expected = numbers.join("\n") + "\n";
        for _ in 0..repetitions(100) {
            let events = events_of(&scene, "seq 100000");
            let same = events
                .bytes()
                .zip(expected.bytes())
                .take_while(|(a, b)| a == b);
            let same = same.count();
            assert!(
                events == expected,
                "differs after {same} of {} bytes",
                events.len()
            );
        }
    });
}

/// All that the events of a call tell about its output.
fn events_of(scene: &Scene, command: &str) -> String {
    let mut events = String::new();
    scene.block_on(async {
        let mut running = scene.engine.stream(request(command));
        while let Some(event) = running.next().await {
            if let bashd::Event::Output { text, .. } = event {
                events.push_str(&text);
            }
        }
    });
    events
}

#[test]
fn a_gigabyte_without_a_line_end_costs_no_memory() {
    as_each_user(|| {
        let scene = Scene::new();
        scene.still_works();
        // A quarter of it in CI.
        let bytes = (256_u64 << 20) * if is_soak() { 4 } else { 1 };
        let before = peak_memory("self");
        let command =
            format!("head -c {bytes} /dev/zero | tr '\\0' x; grep VmHWM /proc/$PPID/status");
        let Answer { reply, .. } = scene.run(request(command).timeout(LONG));
        let growth = peak_memory("self") - before;
        assert_eq!(reply.exit_code, Some(0), "{:?}", reply.error);
        assert_eq!(reply.output_lines, 1, "that of grep");
        let keeper = reply.output.rsplit('x').next().unwrap_or_default();
        assert_eq!(reply.output_bytes, bytes + keeper.len() as u64);
        // 8 MiB in the head, 56 in the ring.
        assert_eq!(reply.dropped_bytes, reply.output_bytes - (64 << 20));
        assert!(reply.text.len() < 64 << 10, "{}", reply.text.len());
        let idle = peak_memory(&super::scene::spare_keeper().raw().to_string());
        let keeper_growth = peak_in(keeper).saturating_sub(idle);
        assert!(
            growth + keeper_growth < MOST_GROWTH,
            "engine {growth}, keeper {keeper_growth}"
        );
    });
}

#[test]
fn two_million_lines_are_counted_exactly() {
    as_each_user(|| {
        let scene = Scene::new();
        let bytes = 9 * 2 + 90 * 3 + 900 * 4 + 9_000 * 5 + 90_000 * 6 + 900_000 * 7 + 1_000_001 * 8;
        let Answer { reply, .. } = scene.run(request("seq 2000000").timeout(LONG));
        assert_eq!((reply.output_bytes, reply.output_lines), (bytes, 2_000_000));
        assert_eq!(reply.dropped_bytes, 0);
        let (head, tail) = reply.output.split_once("\n[bashd: ").expect("a gap");
        assert!(head.starts_with("1\n2\n"), "{head}");
        assert!(tail.ends_with("\n1999999\n2000000\n"), "{tail}");
        // The text's own counts add up with what it shows.
        let told: Vec<u64> = tail
            .split_whitespace()
            .filter_map(|word| word.trim_start_matches('(').parse().ok())
            .take(2)
            .collect();
        let shown = tail.split_once("]\n").expect("the gap's end").1;
        assert_eq!(told[0], bytes - (head.len() + shown.len()) as u64);
        let line_ends = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        assert_eq!(told[1], 2_000_000 - line_ends(head) - line_ends(shown));
    });
}

#[test]
fn streams_that_are_apart_are_counted_apart() {
    as_each_user(|| {
        let scene = Scene::new();
        let command = "seq 100000 & seq 50000 >&2; wait";
        let run = scene.block_on(scene.engine.run_unjudged(&request(command), Streams::Apart));
        let run = run.expect("a run");
        assert_eq!(run.out.lines(), 100_000);
        assert_eq!(run.err.as_ref().map(Source::lines), Some(50_000));
        let Answer { reply, .. } = scene.run(request(command).profile("harness"));
        assert_eq!(reply.output_lines, 150_000);
        assert_eq!(
            reply.stderr_bytes,
            Some(9 * 2 + 90 * 3 + 900 * 4 + 9_000 * 5 + 40_001 * 6)
        );
    });
}

#[test]
fn a_flood_is_ended_by_its_deadline() {
    as_each_user(|| {
        let scene = Scene::new();
        let limit = Duration::from_millis(1500);
        let Answer { reply, took } = scene.run(request("yes").timeout(limit));
        assert!(reply.timed_out, "{:?}", reply.error);
        assert!(reply.output_bytes > 1 << 20, "{}", reply.output_bytes);
        assert_eq!(reply.output_lines, reply.output_bytes / 2);
        assert!(took < limit + super::scene::SLACK, "{took:?}");
        scene.nothing_runs();
    });
}
