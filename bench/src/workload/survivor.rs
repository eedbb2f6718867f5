//! A command that leaves something running, beside the same command that does not.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::processes;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::{Engine, Request};
use rustix::process::Pid;
use std::time::Duration;

const BAR: Duration = Duration::from_millis(30);

/// Pairs of a round.
const PAIRS: usize = 20;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let engine = bench.engine(|_| ())?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 2),
        Bench::rest,
        || leaving_a_sleep(bench, &engine),
        || Ok(bench.call(&engine, Request::new("echo done"))?.0),
    )?;
    let nominal = compared.limit.p50;
    let against = "`echo done` through the library";
    Ok(vec![Row::time_over(
        "survivor", against, &compared, nominal, BAR,
    )])
}

/// The call; the sleep that it left is ended afterwards.
fn leaving_a_sleep(bench: &Bench, engine: &Engine) -> Result<Duration> {
    let (took, reply) = bench.call(engine, Request::new("sleep 30 & echo done"))?;
    ensure!(reply.output == "done\n", "the reply is {reply:?}");
    let [left] = reply.left_behind.as_slice() else {
        anyhow::bail!("not one process was left: {:?}", reply.left_behind);
    };
    processes::end(Pid::from_raw(left.pid).context("a pid")?);
    Ok(took)
}
