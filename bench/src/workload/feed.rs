//! What telling the feed costs a call: its two events alone, and a call with and without them.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::Result;
use bashd::Request;
use bashd::feed::{CallBegun, Feed, FeedEvent, FeedRecord};
use bashd::ledger::Timestamp;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

/// What the feed may cost a call.
const BAR: Duration = Duration::from_micros(10);

/// Calls whose events are told at a time.
const CALLS: u32 = 200;

/// Pairs of a round.
const PAIRS: usize = 300;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    Ok(vec![events(bench)?, calls(bench)?])
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
    let pairs = bench.effort.choose(PAIRS / 10, 2);
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

/// A call in a session, beside one that the feed is not told of.
fn calls(bench: &Bench) -> Result<Row> {
    let told = bench.engine(|config| config.feed = true)?;
    let untold = bench.engine(|config| config.feed = false)?;
    let request = || Request::new("true").session("bench");
    let ours = || Ok(bench.call(&told, request())?.0);
    let limit = || Ok(bench.call(&untold, request())?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    let nominal = compared.limit.p50;
    let against = "the same without the feed";
    Ok(Row::time_over(
        "feed, a call",
        against,
        &compared,
        nominal,
        BAR,
    ))
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
