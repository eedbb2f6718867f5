//! What telling the feed costs a call: its two events alone, and a call with and without them,
//! while nobody reads the feed and while somebody does.

use crate::bench::Bench;
use crate::measure::{Compared, in_turn};
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::feed::{CallBegun, Feed, FeedEvent, FeedReader, FeedRecord};
use bashd::ledger::Timestamp;
use bashd::{Engine, Request};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What the feed may cost a call.
const BAR: Duration = Duration::from_micros(10);

/// Calls whose events are told at a time.
const CALLS: u32 = 200;

/// Pairs of a round: ten microseconds of a call that takes hundreds are seen only in many.
const PAIRS: usize = 1000;

/// How long a reader waits at most, so that it sees soon that it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let told = bench.engine(|config| config.feed = true)?;
    let untold = bench.engine(|config| config.feed = false)?;
    let again = bench.engine(|config| config.feed = false)?;
    let own = "the same without the feed";
    let mut rows = vec![events(bench)?];
    // What two sides that do the same differ by is what the next two figures can't tell apart.
    let control = calls(bench, &again, &untold)?;
    let same = "feed, a call of two engines that tell nothing";
    rows.push(Row::information(same, "each other", &control));
    let compared = calls(bench, &told, &untold)?;
    let nominal = compared.limit.p50;
    rows.push(Row::time_over("feed, a call", own, &compared, nominal, BAR));
    let compared = while_read(told.config().feed_dir(), || calls(bench, &told, &untold))?;
    let nominal = compared.limit.p50;
    let read = "feed, a call, while a reader follows";
    rows.push(Row::time_over(read, own, &compared, nominal, BAR));
    Ok(rows)
}

/// The two events of a call, beside two bare writes of the same lines.
fn events(bench: &Bench) -> Result<Row> {
    let calls = bench.effort.choose(CALLS, 2);
    let told = [begun(), ended()?];
    let feed = Feed::new(bench.home().join("feed"));
    let lines = told.each_ref().map(serde_json::to_vec);
    let mut bare = OpenOptions::new()
        .create(true)
        .append(true)
        .open(bench.home().join("bare-feed"))?;
    let ours = || {
        let begun = Instant::now();
        for _ in 0..calls {
            for record in &told {
                feed.tell(record);
            }
        }
        Ok(begun.elapsed() / calls)
    };
    let limit = || {
        let begun = Instant::now();
        for _ in 0..calls {
            for line in lines.iter().flatten() {
                bare.write_all(line)?;
            }
        }
        Ok(begun.elapsed() / calls)
    };
    let pairs = bench.effort.choose(30, 2);
    let compared = in_turn(bench.effort, pairs, || Ok(()), ours, limit)?;
    let against = "two bare writes; the bar is the whole time";
    Ok(Row::time_over(
        "feed, two events",
        against,
        &compared,
        0.0,
        BAR,
    ))
}

/// A call in a session of one engine, beside one in a session of another.
fn calls(bench: &Bench, ours: &Engine, limit: &Engine) -> Result<Compared> {
    let request = || Request::new("true").session("bench");
    let ours = || Ok(bench.call(ours, request())?.0);
    let limit = || Ok(bench.call(limit, request())?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    in_turn(bench.effort, pairs, Bench::pause, ours, limit)
}

/// Measures while a thread reads this feed as it is written, as `bashd top` does.
fn while_read<T>(directory: PathBuf, measured: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| follow(directory, &is_over));
        let measured = measured();
        is_over.store(true, Ordering::Relaxed);
        let read = reader.join();
        let read = read.map_err(|_| anyhow::anyhow!("the reader panicked"))??;
        ensure!(read > 0, "the reader read nothing");
        measured
    })
}

/// Reads until it is over; how many events.
fn follow(directory: PathBuf, is_over: &AtomicBool) -> io::Result<usize> {
    let mut reader = FeedReader::new(directory);
    // What was told before is not counted.
    reader.read()?;
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        reader.wait(LOOK_EVERY)?;
        count += reader.read()?.records.len();
    }
    Ok(count)
}

/// A call that came in, as long as usual ones.
fn begun() -> FeedRecord {
    let mut call = CallBegun::default();
    call.pid = 12_345;
    call.owner = "mcp:K3T9AZ2C.1".into();
    call.session = Some("main".into());
    call.profile = "default".into();
    call.command = "cargo test --locked --workspace -- --nocapture".into();
    call.cwd = "/home/somebody/projects/something".into();
    FeedRecord::new(
        "20261118T080000.000000-1",
        Timestamp::UNIX_EPOCH,
        FeedEvent::Begun(call),
    )
}

/// Its end.
fn ended() -> Result<FeedRecord> {
    let ended = serde_json::json!({
        "outcome": "exited", "exit_code": 0, "wall_ms": 12_345, "output_bytes": 54_321,
    });
    let event = FeedEvent::Ended(serde_json::from_value(ended)?);
    Ok(FeedRecord::new(
        "20261118T080000.000000-1",
        Timestamp::UNIX_EPOCH,
        event,
    ))
}
