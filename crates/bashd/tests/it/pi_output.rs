//! `pi`, end to end: what of the output is shown, what is said about the rest, how calls end, live
//! snapshots.

use crate::profile_under_test::{Contract, running};
use bashd::plan::Quota;
use bashd::{
    Call, CancellationToken, Config, Engine, Event, Excerpt, KeeperSource, Reply, Surroundings,
};
use bashd_testkit::{Home, repetitions};
use std::fs;
use std::time::{Duration, Instant};

fn pi(home: &Home) -> Contract {
    Contract::new(home, "pi")
}

/// The text without the figure of the wall time, which differs.
fn steady(text: &str) -> String {
    let Some((before, after)) = text.split_once("Wall time: ") else {
        return text.to_owned();
    };
    let rest = after.split_once(" seconds").expect("seconds").1;
    format!("{before}Wall time: N seconds{rest}")
}

#[tokio::test]
async fn failure_result_real_exits() {
    let home = Home::new();
    let pi = pi(&home);
    for (command, text, is_error) in [
        ("echo hi", "hi\n\n\nWall time: N seconds", false),
        ("true", "(no output)\n\nWall time: N seconds", false),
        (
            "echo out; echo err >&2; exit 3",
            "out\nerr\n\n\nWall time: N seconds\n\nCommand exited with code 3",
            true,
        ),
        (
            "kill -9 $$",
            "(no output)\n\nWall time: N seconds\n\nCommand exited with code 137",
            true,
        ),
    ] {
        let reply = pi.run(command).await;
        assert_eq!(steady(&reply.text), text, "{command}");
        assert_eq!(
            (reply.is_error, reply.artifact),
            (is_error, None),
            "{command}"
        );
    }
    let reply = pi.json(r#"{"command":"true","timeout":5000}"#).await;
    assert_eq!(
        steady(&reply.text),
        "(no output)\n\nWall time: N seconds\n\
         Timeout clamped to 3600s (requested 5000s; allowed range 1-3600s)."
    );
    assert_eq!(reply.result["details"]["requestedTimeoutSeconds"], 5000);
}

#[tokio::test]
async fn failure_result_a_timeout_has_exactly_one_notice_and_the_output() {
    let home = Home::new();
    let pi = pi(&home);
    let request = pi
        .request("echo part; sleep 60")
        .timeout(Duration::from_secs(2));
    let reply = pi.engine.run(request).await;
    assert_eq!(reply.text, "[Command timed out after 2 seconds]\npart\n");
    assert_eq!(reply.text.matches("timed out").count(), 1);
    assert!(reply.is_error && reply.result["details"]["timedOut"] == true);
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn failure_result_a_cancellation_is_no_timeout() {
    let home = Home::new();
    let pi = pi(&home);
    let token = CancellationToken::new();
    let call = Call::from(pi.request("echo part; sleep 60")).cancel_by(token.clone());
    let mut call = pi.engine.stream(call);
    let mut reply = None;
    while let Some(event) = call.next().await {
        match event {
            Event::Output { .. } => token.cancel(),
            Event::Finished(last) => reply = Some(last),
            _ => {}
        }
    }
    let reply = reply.expect("a reply");
    assert_eq!(reply.text, "[Command cancelled]\npart\n");
    assert!(reply.is_error && reply.cancelled && !reply.timed_out);
    assert_eq!(reply.result["details"].get("timedOut"), None);
}

#[tokio::test]
async fn streaming_output_overflow_keeps_the_last_50_kib_and_the_whole_spill() {
    let home = Home::new();
    let pi = pi(&home);
    let reply = pi.run("seq -w 1 20000").await;
    let line = |number: u32| format!("{number:05}\n");
    let all: String = (1..=20_000).map(line).collect();
    assert_eq!(reply.output.len(), 51_200);
    assert!(all.ends_with(&reply.output));
    assert!(
        reply.text.ends_with(
            "[Showing lines 11467-20000 of 20000 (50.0KB limit). Read artifact://0 for full output]"
        ),
        "{}",
        reply.text
    );
    let path = pi.engine.artifacts().path(0).expect("a path");
    assert_eq!(fs::read_to_string(path).expect("a file"), all);
    // Two lines more than fit make the same notice, only truthful for them.
    let exact = pi.run("head -c 51200 /dev/zero | tr '\\0' '\\n'").await;
    assert_eq!((exact.output.len(), exact.artifact), (51_200, None));
}

#[tokio::test]
async fn streaming_output_a_cut_line_has_its_artifact() {
    let home = Home::new();
    let pi = pi(&home);
    let reply = pi
        .run("head -c 5000 /dev/zero | tr '\\0' x; echo; echo end")
        .await;
    assert_eq!(reply.output, format!("{}…\nend\n", "x".repeat(765)));
    assert!(
        reply
            .text
            .ends_with("[Some lines truncated to 768 chars. Read artifact://0 for full output]"),
        "{}",
        reply.text
    );
    let path = pi.engine.artifacts().path(0).expect("a path");
    assert_eq!(fs::metadata(path).expect("a file").len(), 5005);
}

#[tokio::test]
async fn streaming_output_what_the_quota_dropped_is_not_called_full() {
    let home = Home::new();
    let mut config = Config::new(home.state());
    config.quota = Quota {
        head: 64 << 10,
        ring: 64 << 10,
    };
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    let reply = Contract::on(&engine, "pi").run("seq -w 1 50000").await;
    let dropped = 300_000 - (128 << 10);
    assert_eq!(reply.dropped_bytes, dropped);
    let sentence =
        format!("Read artifact://0 for what was kept of it ({dropped} bytes were dropped)]");
    assert!(reply.text.ends_with(&sentence), "{}", reply.text);
    // Line 20,000 is among it: what is kept before it is shown.
    let input = r#"{"command": "seq -w 1 50000", "head": 20000}"#;
    let reply = Contract::on(&engine, "pi").json(input).await;
    assert!(reply.output.ends_with("\n10921\n10922\n"), "{reply:?}");
    let told = "[Showing lines 2389-10922 of 50000 (50.0KB limit). ";
    assert!(reply.text.contains(told), "{}", reply.text);
}

fn showing_of_the_start(home: &Home, bytes: u64) -> Engine {
    let mut config = Config::new(home.state());
    config.head_bytes = Some(bytes);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

#[tokio::test]
async fn streaming_output_a_head_is_a_setting_with_a_marker_between_the_ends() {
    let home = Home::new();
    let engine = showing_of_the_start(&home, 600);
    let reply = Contract::on(&engine, "pi").run("seq -w 1 20000").await;
    let line = |number: u32| format!("{number:05}\n");
    let head: String = (1..=100).map(line).collect();
    let all: String = (1..=20_000).map(line).collect();
    let (shown, tail) = reply.output.split_once("[… ").expect("a marker");
    let (marker, tail) = tail.split_once(" …]\n").expect("its end");
    assert_eq!(shown, head);
    assert_eq!(tail.len(), 51_200 - 600);
    assert!(all.ends_with(tail));
    assert_eq!(marker, "11,466 lines elided (67.2KB)");
    let truncation = &reply.result["details"]["meta"]["truncation"];
    assert_eq!(truncation["direction"], "middle");
    assert_eq!(truncation["elidedBytes"], 120_000 - 51_200);
    // Of lines that were asked for, those that are told are those that are shown.
    let input = r#"{"command": "seq -w 1 20000", "tail": 10000}"#;
    let reply = Contract::on(&engine, "pi").json(input).await;
    let told =
        "[Showing lines 10001-10100 and 11567-20000 of 20000; 1,466 middle lines (8.6KB) elided. ";
    assert!(reply.text.contains(told), "{}", reply.text);
    let truncation = &reply.result["details"]["meta"]["truncation"];
    assert_eq!(truncation["elidedBytes"], 60_000 - 51_200);
    let summary = &reply.result["summary"];
    assert_eq!(summary["elidedBytes"], 60_000 - 51_200);
    assert_eq!(summary["elidedLines"], 1466);
    // Not more than half, however much is asked for; and a head that ends inside of a line.
    let engine = showing_of_the_start(&home, 1 << 30);
    let reply = Contract::on(&engine, "pi").run("seq -w 1 20000").await;
    let (head, tail) = reply.output.split_once("\n[… ").expect("a marker");
    assert_eq!(head.len(), 25_600);
    assert!(tail.ends_with("20000\n"));
    // What fits is whole, and without a marker.
    let reply = Contract::on(&engine, "pi").run("seq 3").await;
    assert_eq!(reply.output, "1\n2\n3\n");
    // In `default`, which shows both ends, it can be none.
    let engine = showing_of_the_start(&home, 0);
    let reply = Contract::on(&engine, "default").run("seq -w 1 20000").await;
    assert!(
        reply
            .output
            .starts_with("[bashd: 87232 bytes (14538 lines) left out"),
        "{}",
        reply.output
    );
    assert!(reply.output.ends_with("20000\n"));
    // Where a document says what is shown, it goes on saying so.
    let voice = Contract::on(&engine, "voice").run("seq -w 1 20000").await;
    assert!(voice.output.starts_with("00001\n"));
}

/// Everything that could break a reader: sequences, progress, broken characters, NUL, long lines.
fn hostile() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..400 {
        bytes.extend(format!("\x1b[3{}mline {number}\x1b[0m é€😀\n", number % 8).bytes());
        bytes.extend(b"10%\r20%\r\x1b[Kdone \xff\xfe\xe2\x82 \x00 end\r\n");
        bytes.extend(b"\x1b]0;title \xc3\xa9\x07after\x9b\x1b(B\n");
    }
    bytes
}

#[tokio::test]
async fn streaming_output_the_same_reply_for_one_byte_and_64_kib_chunks() {
    let home = Home::new();
    let pi = pi(&home);
    fs::write(home.workspace().join("hostile"), hostile()).expect("a file");
    let line = vec![b'z'; 10_000_000];
    fs::write(home.workspace().join("line"), line).expect("a file");
    let script = |small: &str, long: &str| {
        format!(
            "dd if=hostile bs={small} status=none; dd if=line bs={long} status=none; echo; \
             dd if=hostile bs={small} status=none; printf 'last \\303'; printf '\\251'"
        )
    };
    // Ten million system calls are for the long run.
    let long = if repetitions(2) == 2 { "1" } else { "97" };
    let whole = pi.run(script("65536", "65536")).await;
    let bytes = pi.run(script("1", long)).await;
    assert_eq!(bytes.output, whole.output);
    assert_eq!(
        steady(&bytes.text).replace("artifact://1", "artifact://0"),
        steady(&whole.text)
    );
    assert_eq!(
        (bytes.output_bytes, bytes.output_lines),
        (whole.output_bytes, whole.output_lines)
    );
    assert!(whole.output.starts_with("line 0 é"));
    assert!(whole.output.ends_with("after\u{FFFD}\nlast é"));
    assert!(
        whole
            .output
            .contains("\nline 399 é€😀\ndone \u{FFFD}\u{FFFD}\u{FFFD}  end\nafter")
    );
    assert!(whole.output.contains(&format!("\n{}…\n", "z".repeat(765))));
    assert!(!whole.output.contains(['\u{1b}', '\r', '\0']));
}

/// All snapshots of a call, and its reply.
async fn followed(
    engine: &Engine,
    call: impl Into<Call>,
    look_every: Duration,
) -> (Vec<Excerpt>, Box<Reply>) {
    let mut call = engine.follow(call);
    let mut snapshots = Vec::new();
    loop {
        match call.next().await.expect("more events") {
            Event::Excerpt(snapshot) => {
                snapshots.push(snapshot);
                std::thread::sleep(look_every);
            }
            Event::Finished(reply) => {
                assert!(call.next().await.is_none());
                return (snapshots, reply);
            }
            Event::Output { .. } => panic!("output is told as snapshots only"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn live_snapshots_are_throttled_and_the_last_state_always_comes() {
    let home = Home::new();
    let pi = pi(&home);
    let begun = Instant::now();
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\r%d%%' $i; sleep 0.02; done; echo; printf '\\033[31mend\\033[0m\\n'";
    let (snapshots, reply) = followed(&pi.engine, pi.request(script), Duration::ZERO).await;
    let last = snapshots.last().expect("a snapshot");
    assert_eq!((last.text.as_str(), last.lines), ("10%\nend\n", 2));
    assert_eq!(last.bytes, reply.output_bytes);
    let most = begun.elapsed().as_millis() / 50 + 2;
    assert!(
        snapshots.len() as u128 <= most,
        "{} in {:?}",
        snapshots.len(),
        begun.elapsed()
    );
    assert!(
        snapshots
            .windows(2)
            .all(|pair| pair[0].bytes < pair[1].bytes)
    );
    let (nothing, reply) = followed(&pi.engine, pi.request("true"), Duration::ZERO).await;
    assert_eq!((nothing.len(), reply.exit_code), (0, Some(0)));
}

#[tokio::test]
async fn live_snapshots_of_a_flood_are_small_and_a_slow_receiver_slows_nothing() {
    let home = Home::new();
    let pi = pi(&home);
    let script = "seq -w 1 500000; touch finished";
    let (snapshots, reply) =
        followed(&pi.engine, pi.request(script), Duration::from_millis(100)).await;
    assert!(
        snapshots
            .iter()
            .all(|snapshot| snapshot.text.len() <= 50 * 1024)
    );
    let last = snapshots.last().expect("a snapshot");
    assert!(last.text.ends_with("\n499999\n500000\n"));
    assert_eq!((last.bytes, last.lines), (3_500_000, 500_000));
    // Nothing is dropped from the result.
    assert_eq!((reply.output_bytes, reply.dropped_bytes), (3_500_000, 0));
    assert_eq!(reply.output.len(), 51_200);
    assert!(home.workspace().join("finished").exists());
}

#[tokio::test]
async fn live_snapshots_of_both_streams_where_they_are_apart() {
    let home = Home::new();
    let harness = Contract::new(&home, "harness");
    let request = harness.request("echo out; echo err >&2");
    let (snapshots, reply) = followed(&harness.engine, request, Duration::ZERO).await;
    let last = snapshots.last().expect("a snapshot");
    assert_eq!(
        (last.text.as_str(), last.bytes),
        ("out\nerr\n", reply.output_bytes)
    );
}
