//! What was: calls that are looked for, calls added up, and everything about one of them.

use super::runs::NotDone;
use crate::log;
use crate::past;
use bashd::artifact::ArtifactStore;
use bashd::changes::ChangeStore;
use bashd::config::Config;
use bashd::ledger::{CallSum, LedgerSums, Record, RecordQuery, RecordedOutcome, Timestamp, Which};
use bashd::recording::cast::{self, CastVersion};
use bashd::recording::{RecordedRun, Timing};
use bashd::savings;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Calls of one page at most.
const MOST: usize = 500;

/// Clients and commands that are named at most.
const MOST_NAMED: usize = 12;

/// Changed files of a call that are named at most.
const MOST_CHANGED: usize = 500;

/// Bytes of a recording that a page plays.
const LONGEST_CAST: usize = 16 << 20;

/// Finds past calls.
pub(super) struct PastDesk {
    config: Arc<Config>,
    is_filling: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

/// What a page looks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PastWish {
    text: String,
    client: String,
    session: Option<String>,
    outcome: Option<RecordedOutcome>,
    failed: bool,
    /// Milliseconds since 1970.
    since: Option<i64>,
    until: Option<i64>,
    longer_ms: Option<u64>,
    shorter_ms: Option<u64>,
    larger: Option<u64>,
    smaller: Option<u64>,
    before: Option<i64>,
    limit: usize,
}

impl PastWish {
    fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let time = |millis: Option<i64>| Timestamp::from_millisecond(millis?).ok();
        (time(self.since), time(self.until))
    }

    fn query(&self) -> RecordQuery {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (since, until) = self.times();
        RecordQuery {
            which: if self.failed {
                Which::Failed
            } else {
                Which::All
            },
            since,
            until,
            contains: text(&self.text),
            owner: text(&self.client),
            session: self.session.clone(),
            outcome: self.outcome,
            at_least: self.longer_ms.map(Duration::from_millis),
            at_most: self.shorter_ms.map(Duration::from_millis),
            least_bytes: self.larger,
            most_bytes: self.smaller,
        }
    }
}

impl PastDesk {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            config: Arc::new(config.clone()),
            is_filling: Arc::default(),
            is_over: Arc::default(),
        }
    }

    /// Calls that a page looks for.
    pub(super) async fn search(&self, wish: PastWish) -> Result<Value, NotDone> {
        let config = Arc::clone(&self.config);
        let page = aside(move || {
            let most = if wish.limit == 0 {
                MOST
            } else {
                wish.limit.min(MOST)
            };
            past::search(&config, &wish.query(), wish.before, most)
        })
        .await?;
        if page.percent < 100 {
            self.fill();
        }
        let rows: Vec<Value> = page.records.iter().map(row).collect();
        Ok(json!({
            "calls": rows,
            "next": page.next,
            "damaged": page.damaged,
            "percent": page.percent,
        }))
    }

    /// Goes on with the index while nobody asks.
    fn fill(&self) {
        if self.is_filling.swap(true, Ordering::Relaxed) {
            return;
        }
        let config = Arc::clone(&self.config);
        let (is_filling, is_over) = (Arc::clone(&self.is_filling), Arc::clone(&self.is_over));
        // It ends with the process, or when all is there.
        std::thread::spawn(move || {
            let _ = past::fill(&config, || is_over.load(Ordering::Relaxed));
            is_filling.store(false, Ordering::Relaxed);
        });
    }

    /// Calls added up.
    pub(super) async fn sums(&self, wish: PastWish) -> Result<Value, NotDone> {
        let config = Arc::clone(&self.config);
        let sums = aside(move || {
            let (since, until) = wish.times();
            past::sums(&config, since, until)
        })
        .await?;
        Ok(shown_sums(&sums))
    }

    /// Everything that is known of a call.
    pub(super) async fn describe(&self, id: &str) -> Result<Value, NotDone> {
        let (config, id) = (Arc::clone(&self.config), id.to_owned());
        let found = aside(move || {
            let Some(record) = past::find(&config, &id)? else {
                return Ok(None);
            };
            let stored = ArtifactStore::of(&config).open_run(&record.id).ok();
            let stored = stored.map(|artifact| artifact.summary());
            let shown = stored
                .as_ref()
                .and_then(|summary| savings::shown_again(&config, &record, summary.id));
            let mut about = row(&record);
            let whole = serde_json::to_value(&record)?;
            about["record"] = whole;
            about["stored"] = json!(stored);
            about["shown"] = json!(shown);
            about["changes"] = changes(&config, &record.id);
            let run = RecordedRun::of_record(&config, &record);
            about["recorded"] = json!(run.about.timing == Timing::Recorded);
            Ok(Some(about))
        });
        found.await?.ok_or_else(missing)
    }

    /// A run as an asciicast, to be played.
    pub(super) async fn cast(&self, id: &str) -> Result<Vec<u8>, NotDone> {
        let (config, id) = (Arc::clone(&self.config), id.to_owned());
        let written = aside(move || {
            let Some(record) = past::find(&config, &id)? else {
                return Ok(None);
            };
            let run = RecordedRun::of_record(&config, &record);
            let mut out = BoundedBytes(Vec::new());
            cast::write(&run, CastVersion::Two, None, &mut out)?;
            Ok(Some(out.0))
        });
        written.await?.ok_or_else(missing)
    }
}

impl Drop for PastDesk {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn missing() -> NotDone {
    NotDone::Missing("there is no such call in the ledger\n".to_owned())
}

/// Bytes up to a limit.
struct BoundedBytes(Vec<u8>);

impl io::Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_CAST {
            let why = "it is too long for the page: `bashd replay` plays it";
            return Err(io::Error::other(why));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Work that waits for files, on a thread for that.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, NotDone> {
    let failed = |why: String| NotDone::Not(format!("{why}\n"));
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| failed(error.to_string()))?;
    done.map_err(|error| failed(error.to_string()))
}

/// A call in a list.
fn row(record: &Record) -> Value {
    json!({
        "id": record.id,
        "time": record.time.as_millisecond(),
        "word": log::result(record),
        "failed": record.failed(),
        "command": record.command,
        "owner": record.owner,
        "session": record.session,
        "place": record.place,
        "cwd": record.cwd,
        "took": record.wall_ms,
        "bytes": record.output_bytes,
    })
}

/// The sums of the hours, and the names with the most calls.
fn shown_sums(sums: &LedgerSums) -> Value {
    let hours: Vec<Value> = sums
        .hours
        .iter()
        .map(|(hour, sum)| of_sum(json!({"hour": hour}), sum))
        .collect();
    json!({
        "total": of_sum(json!({}), &sums.total),
        "hours": hours,
        "commands": most(&sums.commands),
        "clients": most(&sums.owners),
    })
}

fn most(named: &BTreeMap<String, CallSum>) -> Vec<Value> {
    let mut all: Vec<(&String, &CallSum)> = named.iter().collect();
    all.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.calls));
    let all = all.into_iter().take(MOST_NAMED);
    all.map(|(name, sum)| of_sum(json!({"name": name}), sum))
        .collect()
}

fn of_sum(mut value: Value, sum: &CallSum) -> Value {
    value["calls"] = json!(sum.calls);
    value["failed"] = json!(sum.failed);
    value["ms"] = json!(sum.wall_ms);
    value["bytes"] = json!(sum.output_bytes);
    // As `bashd stats` estimates them where it can't count.
    value["tokens"] = json!(sum.saved_bytes / 3);
    value
}

/// The files that a call changed, if that is known.
fn changes(config: &Config, id: &str) -> Value {
    let Ok(change) = ChangeStore::in_state(&config.state_dir).find(id) else {
        return Value::Null;
    };
    let paths = change.paths();
    let named: Vec<Value> = paths
        .iter()
        .take(MOST_CHANGED)
        .map(|path| json!({"path": path.path.to_string_lossy(), "kind": path.kind.name()}))
        .collect();
    json!({"state": change.state().name(), "paths": named, "count": paths.len()})
}
