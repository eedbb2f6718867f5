//! Two million short lines with exact counts, beside reading the same pipe into nowhere.

use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::Request;

const BAR: f64 = 1.15;

/// Lines of a call.
const LINES: u64 = 2_000_000;

/// Pairs of a round.
const PAIRS: usize = 20;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let lines = bench.effort.choose(LINES, 2000);
    let script = format!("seq 1 {lines}");
    let bytes = (1..=lines).map(|line| u64::from(line.ilog10()) + 2).sum();
    let engine = bench.engine(|_| ())?;
    let ours = || {
        let (took, reply) = bench.call(&engine, Request::new(&script))?;
        let counted = (reply.output_lines, reply.output_bytes);
        ensure!(counted == (lines, bytes), "counted {counted:?}");
        Ok(took)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::rest,
        ours,
        || bare::into_nowhere(&bench.bash, &script, &bench.env, bytes),
    )?;
    Ok(vec![Row::ratio(
        "lines",
        "read into nowhere",
        &compared,
        BAR,
    )])
}
