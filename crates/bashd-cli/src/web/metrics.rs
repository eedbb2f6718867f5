//! Metrics for Prometheus: counted from the feed, so that no call waits for it.
//!
//! Who asks is no browser: it shows a token that is stored for it (`Authorization: Bearer`).

use super::WebServer;
use super::answer::{self, WebAnswer};
use crate::failure::{Failure, FailureKind};
use crate::serve::token::{is_equal, random};
use crate::watched::WatchedCalls;
use bashd::feed::{FeedEvent, FeedRecord};
use bashd::ledger::Timestamp;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Request, StatusCode};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The format of the answer, as Prometheus names it.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper ends of the buckets of how long calls took, in seconds.
const BUCKETS: [f64; 10] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 1800.0];

/// Profiles of users have names of their own; of more than this, the rest is one.
const MOST_PROFILES: usize = 50;

/// What calls are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CallLabels {
    front_end: String,
    profile: String,
    outcome: String,
}

/// Calls of the same labels.
#[derive(Debug, Clone, Default)]
struct CallCount {
    calls: u64,
    failed: u64,
    output_bytes: u64,
    seconds: f64,
    /// By bucket, without those below.
    buckets: [u64; BUCKETS.len()],
}

/// What was counted since the server started.
pub(super) struct CallMetrics {
    since: Timestamp,
    counts: BTreeMap<CallLabels, CallCount>,
    asked: u64,
}

impl CallMetrics {
    pub(super) fn from_now() -> Self {
        Self {
            since: Timestamp::now(),
            counts: BTreeMap::new(),
            asked: 0,
        }
    }

    /// Something happened; what was known of the calls before.
    pub(super) fn count(&mut self, record: &FeedRecord, calls: &WatchedCalls) {
        if record.time < self.since {
            return;
        }
        let ended = match &record.event {
            FeedEvent::Ended(ended) => ended,
            FeedEvent::Asks(_) => {
                self.asked += 1;
                return;
            }
            _ => return,
        };
        let begun = calls.get(&record.id).map(|call| &call.begun);
        let owner = begun.map_or("", |begun| &begun.owner);
        let outcome = serde_json::to_value(ended.outcome).ok();
        let mut labels = CallLabels {
            front_end: owner.split(':').next().unwrap_or_default().to_owned(),
            profile: begun.map(|begun| begun.profile.clone()).unwrap_or_default(),
            outcome: outcome
                .and_then(|word| word.as_str().map(str::to_owned))
                .unwrap_or_default(),
        };
        let is_known = self
            .counts
            .keys()
            .any(|known| known.profile == labels.profile);
        if !is_known && self.counts.len() >= MOST_PROFILES * 8 {
            "other".clone_into(&mut labels.profile);
        }
        let count = self.counts.entry(labels).or_default();
        let seconds = ended.wall_ms as f64 / 1000.0;
        count.calls += 1;
        count.failed += u64::from(ended.outcome.failed(ended.exit_code));
        count.output_bytes += ended.output_bytes;
        count.seconds += seconds;
        if let Some(at) = BUCKETS.iter().position(|end| seconds <= *end) {
            count.buckets[at] += 1;
        }
    }

    /// As Prometheus reads it.
    pub(super) fn text(&self, asking: usize, running: usize) -> String {
        let mut text = String::new();
        let mut counter = |name: &str, help: &str, of: fn(&CallCount) -> u64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for (labels, count) in &self.counts {
                let _ = writeln!(text, "{name}{{{}}} {}", shown(labels), of(count));
            }
        };
        counter(
            "bashd_calls_total",
            "Calls that have their reply.",
            |count| count.calls,
        );
        counter(
            "bashd_calls_failed_total",
            "Calls that did not exit with status 0.",
            |count| count.failed,
        );
        counter(
            "bashd_output_bytes_total",
            "Bytes that commands wrote.",
            |count| count.output_bytes,
        );
        let name = "bashd_call_duration_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} From request to reply.\n# TYPE {name} histogram"
        );
        for (labels, count) in &self.counts {
            let labels = shown(labels);
            let mut below = 0;
            for (end, bucket) in BUCKETS.iter().zip(count.buckets) {
                below += bucket;
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{end}\"}} {below}");
            }
            let _ = writeln!(
                text,
                "{name}_bucket{{{labels},le=\"+Inf\"}} {}",
                count.calls
            );
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", count.seconds);
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", count.calls);
        }
        let simple = [
            (
                "bashd_questions_total",
                "counter",
                "Questions to a person.",
                self.asked,
            ),
            (
                "bashd_calls_running",
                "gauge",
                "Calls and jobs that run.",
                running as u64,
            ),
            (
                "bashd_calls_asking",
                "gauge",
                "Calls that wait for a person.",
                asking as u64,
            ),
        ];
        for (name, kind, help, value) in simple {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
        text
    }
}

fn shown(labels: &CallLabels) -> String {
    let escaped = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    format!(
        "front_end=\"{}\",profile=\"{}\",outcome=\"{}\"",
        escaped(&labels.front_end),
        escaped(&labels.profile),
        escaped(&labels.outcome)
    )
}

/// Answers who asks for the metrics.
pub(super) fn answer(server: &WebServer, request: &Request<Incoming>) -> WebAnswer {
    let Some(token) = &server.metrics_token else {
        return answer::plain(StatusCode::NOT_FOUND, "`bashd web --metrics` has them\n");
    };
    let shown = request.headers().get(AUTHORIZATION);
    let shown = shown.and_then(|text| text.to_str().ok()?.strip_prefix("Bearer "));
    if !shown.is_some_and(|shown| is_equal(shown.as_bytes(), token.as_bytes())) {
        let why = "show the token in `web/metrics-token` of the state directory as a bearer\n";
        return answer::plain(StatusCode::UNAUTHORIZED, why);
    }
    answer::bytes(StatusCode::OK, FORMAT, server.board.metrics())
}

/// Where the token is.
pub(super) fn token_file(state_dir: &Path) -> PathBuf {
    state_dir.join("web").join("metrics-token")
}

/// The token of this state directory; it stays the same.
pub(super) fn token(state_dir: &Path) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let file = token_file(state_dir);
    if let Ok(known) = fs::read_to_string(&file)
        && known.trim().len() >= 2 * crate::serve::token::RANDOM
    {
        return Ok(known.trim().to_owned());
    }
    let made = random()?;
    let directory = state_dir.join("web");
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(failed)?;
    let _ = fs::remove_file(&file);
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&file);
    opened
        .and_then(|mut file| file.write_all(made.as_bytes()))
        .map_err(failed)?;
    Ok(made)
}
