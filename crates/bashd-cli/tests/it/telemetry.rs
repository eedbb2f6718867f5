//! Spans and metrics, read by what OpenTelemetry and Prometheus publish for that.

use crate::web::server::{self, WebUnderTest};
use crate::{bashd, shown};
use bashd_testkit::{Home, loudly};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Python with the packages, if they are installed.
fn python() -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers");
    if !place.join("telemetry.installed").exists() {
        loudly(
            "spans and metrics in the formats of OpenTelemetry and Prometheus are NOT tested here",
        );
        return None;
    }
    Some(place.join("telemetry/bin/python"))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/peers")
        .join(name)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_server_sends_a_span_for_each_call() {
    let Some(python) = python() else { return };
    let home = Home::new();
    let mut collector = Command::new(python)
        .arg(script("collector.py"))
        .arg("2")
        .env_clear()
        .envs(home.env())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(collector.stdout.take().unwrap());
    let mut port = String::new();
    told.read_line(&mut port).unwrap();
    let endpoint = format!("otlp.endpoint=http://127.0.0.1:{}", port.trim());
    let asked = format!(
        "{}\n{}\n",
        json!({"id": 1, "type": "bash", "command": "echo hi; exit 3"}),
        json!({"id": 2, "type": "bash", "command": "uname -s"}),
    );
    let transcript = bashd(&home, &["--set", &endpoint, "rpc"])
        .stdin(asked)
        .run();
    assert_eq!(transcript.code(), Some(0), "{}", transcript.err());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut told, &mut text).unwrap();
    drop(told);
    assert!(collector.wait().unwrap().success());
    let spans = lines(&text);
    let failed = spans.iter().find(|span| span["status"] == 2).unwrap();
    let attributes = &failed["attributes"];
    assert_eq!(failed["service"], "bashd");
    assert_eq!(attributes["gen_ai.operation.name"], "execute_tool");
    assert_eq!(attributes["error.type"], "exit_3");
    assert_eq!(attributes["process.exit.code"], 3);
    assert_eq!(attributes["bashd.output.bytes"], 3);
    assert!(!text.contains("echo hi"), "no command unasked: {text}");
    let good = spans.iter().find(|span| span["status"] == 1).unwrap();
    assert_eq!(good["attributes"]["bashd.command.name"], "uname");
    home.finish();
}

#[test]
fn a_server_says_what_is_wrong_with_its_collector() {
    let home = Home::new();
    let transcript = bashd(
        &home,
        &["--set", "otlp.endpoint=https://example.org", "rpc"],
    )
    .stdin("")
    .run();
    assert_eq!(transcript.code(), Some(125), "{}", transcript.err());
    assert!(
        transcript.err().contains("http://127.0.0.1:4318"),
        "{}",
        transcript.err()
    );
    // One that is not there delays nothing and fails nothing.
    let asked = json!({"id": 1, "type": "bash", "command": "echo fine"}).to_string();
    let begun = std::time::Instant::now();
    let transcript = bashd(&home, &["--set", "otlp.endpoint=http://127.0.0.1:1", "rpc"])
        .stdin(asked)
        .run();
    assert!(transcript.out().contains("fine") && transcript.code() == Some(0));
    assert!(begun.elapsed().as_secs() < 10);
    home.finish();
}

#[test]
fn metrics_are_for_who_shows_the_token_and_are_read_by_prometheus() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &["--metrics"]);
    let visitor = server.visitor();
    let mut now = server.now(&visitor, None);
    now.next();
    for command in ["exit 3", "true", "printf 12345"] {
        shown(&home, &["run", command]);
    }
    now.until(|row| row["command"] == "printf 12345" && row["state"] == "ended");
    let file = home.state().join("web/metrics-token");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let token = std::fs::read_to_string(file).unwrap();
    let host = server.address.to_string();
    let get = |bearer: &str, host: &str| {
        let headers = [("Host", host), ("Authorization", bearer)];
        server.raw("GET /metrics HTTP/1.1", &headers, "")
    };
    assert_eq!(get("", &host).status, 401);
    assert_eq!(get(&format!("Bearer {token}0"), &host).status, 401);
    assert_eq!(get(&format!("Bearer {token}"), "evil.example").status, 403);
    let reply = get(&format!("Bearer {token}"), &host);
    assert_eq!(reply.status, 200);
    let text = reply.text();
    assert!(text.contains("bashd_calls_running 0"), "{text}");
    // Without the option there are none.
    let other = WebUnderTest::start(&home, &[]);
    let without = other.raw(
        "GET /metrics HTTP/1.1",
        &[("Host", &other.address.to_string())],
        "",
    );
    assert_eq!(without.status, 404);
    let Some(python) = python() else { return };
    let mut reading = Command::new(python)
        .arg(script("read_metrics.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reading
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = reading.wait_with_output().unwrap();
    assert!(output.status.success());
    let samples = lines(&String::from_utf8(output.stdout).unwrap());
    let sum = |name: &str| -> f64 {
        let found = samples.iter().filter(|sample| sample["name"] == name);
        found.map(|sample| sample["value"].as_f64().unwrap()).sum()
    };
    assert_eq!(
        (sum("bashd_calls_total"), sum("bashd_calls_failed_total")),
        (3.0, 1.0),
        "{text}"
    );
    let bytes = sum("bashd_output_bytes_total");
    let timed = sum("bashd_call_duration_seconds_count");
    assert_eq!((bytes, timed), (5.0, 3.0), "{text}");
    let call = samples
        .iter()
        .find(|sample| sample["name"] == "bashd_calls_total")
        .unwrap();
    assert_eq!(
        (&call["kind"], &call["labels"]["front_end"]),
        (&json!("counter"), &json!("cli"))
    );
}
