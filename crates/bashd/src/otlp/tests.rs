//! Spans arrive, and nobody waits for a collector that does not.

use super::*;
use crate::ledger::RecordedOutcome;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

fn record(number: u64) -> Record {
    let time = "2026-08-04T10:11:12.345Z".parse().unwrap();
    let mut record = Record::new(format!("R{number}"), time, RecordedOutcome::Exited);
    record.command = "cargo test --all".to_owned();
    record.owner = "mcp:K3T9AZ2C.1".to_owned();
    record.exit_code = Some(0);
    record.wall_ms = 1500;
    record
}

fn settings(address: impl std::fmt::Display) -> SpanSettings {
    SpanSettings::new(format!("http://{address}"), "0.0.0")
}

/// Answers requests with these statuses; the spans of each that was taken.
fn collector(statuses: Vec<u16>) -> (std::net::SocketAddr, std::thread::JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let mut taken = Vec::new();
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(count) = line.strip_prefix("Content-Length: ") {
                    length = count.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: 2\r\n\r\n{{}}"
            )
            .unwrap();
            if status == 200 {
                let message: Value = serde_json::from_slice(&body).unwrap();
                let spans = &message["resourceSpans"][0]["scopeSpans"][0]["spans"];
                taken.extend(spans.as_array().unwrap().clone());
            }
        }
        taken
    });
    (address, serving)
}

fn attribute(span: &Value, name: &str) -> Option<Value> {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|one| one["key"] == name)?;
    Some(
        found["value"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .clone(),
    )
}

#[test]
fn a_span_says_what_the_record_says_and_no_command_unasked() {
    let mut failed = record(1);
    failed.exit_code = Some(101);
    let span = span::of(&failed, &settings("h"));
    assert_eq!(span["name"], "tools/call bash");
    assert_eq!(span["startTimeUnixNano"], "1785838272345000000");
    assert_eq!(span["endTimeUnixNano"], "1785838273845000000");
    assert_eq!(span["status"]["code"], 2);
    assert_eq!(attribute(&span, "error.type").unwrap(), "exit_101");
    assert_eq!(attribute(&span, "mcp.method.name").unwrap(), "tools/call");
    assert_eq!(
        attribute(&span, "gen_ai.operation.name").unwrap(),
        "execute_tool"
    );
    assert_eq!(
        attribute(&span, "bashd.command.name").unwrap(),
        "cargo test"
    );
    assert_eq!(attribute(&span, "process.exit.code").unwrap(), "101");
    assert!(!span.to_string().contains("--all"), "{span}");
    let span = span::of(&failed, &settings("h").with_commands(true));
    assert_eq!(
        attribute(&span, "process.command_line").unwrap(),
        "cargo test --all"
    );
    let other = span::of(&record(2), &settings("h"));
    assert_eq!(other["status"]["code"], 1);
    assert_ne!(other["spanId"], span["spanId"]);
    // The calls of a session are one trace.
    let of = |number| {
        let mut record = record(number);
        record.session = Some("main".to_owned());
        span::of(&record, &settings("h"))["traceId"].clone()
    };
    assert_eq!(of(3), of(4));
    assert_eq!(of(3).as_str().unwrap().len(), 32);
}

#[test]
fn spans_arrive_also_after_a_collector_was_busy_and_at_the_end() {
    let (address, serving) = collector(vec![200, 200]);
    let sender = SpanSender::start(settings(address)).unwrap();
    let RecordListener(tell) = sender.listener();
    for number in 0..600 {
        tell(&record(number));
    }
    drop(sender);
    let spans = serving.join().unwrap();
    assert_eq!(spans.len(), 600);
    // What a collector refuses for good is not tried again.
    let (address, serving) = collector(vec![400, 200]);
    let sender = SpanSender::start(settings(address)).unwrap();
    let RecordListener(tell) = sender.listener();
    for number in 0..=(MOST_SENT as u64) {
        tell(&record(number));
    }
    let begun = Instant::now();
    while sender.trouble().0 == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    let (dropped, complaint) = sender.trouble();
    assert_eq!(dropped, MOST_SENT as u64);
    assert!(complaint.is_none_or(|why| why.contains("400")));
    drop(sender);
    assert_eq!(serving.join().unwrap().len(), 1);
}

#[test]
fn nobody_waits_for_a_collector_that_is_silent() {
    // Connections come in and are never answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = SpanSender::start(settings(listener.local_addr().unwrap())).unwrap();
    let RecordListener(tell) = sender.listener();
    let begun = Instant::now();
    for number in 0..(3 * MOST_WAITING as u64) {
        tell(&record(number));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    let begun = Instant::now();
    drop(sender);
    assert!(begun.elapsed() < AT_THE_END + Duration::from_secs(1));
    // Who still has the listener is not held up either.
    tell(&record(1));
}
