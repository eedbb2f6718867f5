//! A hundred calls at once, beside a hundred bare spawns at once.

use crate::bare::{self, Spawned};
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::{Engine, Request};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const BAR: f64 = 1.35;

/// Calls at once.
const CALLS: usize = 100;

/// Pairs of a round.
const PAIRS: usize = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let calls = bench.effort.choose(CALLS, 5);
    let engine = bench.engine(|_| ())?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::rest,
        || bench.wait(at_once(&engine, calls, bench.home())),
        || bare_at_once(bench, calls),
    )?;
    let against = format!("{calls} bare spawns at once");
    Ok(vec![Row::ratio("many", &against, &compared, BAR)])
}

fn script(number: usize) -> String {
    format!("echo {number}")
}

/// All calls, in a directory, and every reply must be that of its own call.
pub(super) async fn at_once(engine: &Engine, calls: usize, place: &Path) -> Result<Duration> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..calls {
        let engine = engine.clone();
        let request = Request::new(script(number)).cwd(place);
        running.spawn(async move { (number, engine.run(request).await) });
    }
    let replies = running.join_all().await;
    let took = begun.elapsed();
    for (number, reply) in &replies {
        let is_right = reply.exit_code == Some(0) && reply.output == format!("{number}\n");
        ensure!(is_right, "call {number} got {reply:?}");
    }
    ensure!(replies.len() == calls, "{} replies came", replies.len());
    Ok(took)
}

/// All started, then all read and waited for.
fn bare_at_once(bench: &Bench, calls: usize) -> Result<Duration> {
    let begun = Instant::now();
    let spawned: Vec<Spawned> = (0..calls)
        .map(|number| bare::spawn(&bench.bash, ["-c", &script(number)], &bench.env))
        .collect::<Result<_>>()?;
    let outputs: Vec<Vec<u8>> = spawned
        .into_iter()
        .map(Spawned::finish)
        .collect::<Result<_>>()?;
    let took = begun.elapsed();
    for (number, output) in outputs.iter().enumerate() {
        ensure!(*output == format!("{number}\n").into_bytes(), "{output:?}");
    }
    Ok(took)
}
