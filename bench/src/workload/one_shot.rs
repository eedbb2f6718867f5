//! `true` through the library, beside bare `bash -c true`.

use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::Result;
use bashd::Request;
use std::time::Instant;

const BAR: f64 = 1.2;

/// Pairs of a round.
const PAIRS: usize = 200;

/// Calls in a row where nothing pauses between them.
const BURST: usize = 20;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let engine = bench.engine(|_| ())?;
    let ours = || Ok(bench.call(&engine, Request::new("true"))?.0);
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let pairs = bench.effort.choose(PAIRS, 3);
    let calm = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;

    let burst = bench.effort.choose(BURST, 2);
    let bursts = bench.effort.choose(PAIRS / BURST, 1);
    let ours_in_a_row = || {
        let begun = Instant::now();
        (0..burst).try_for_each(|_| ours().map(drop))?;
        Ok(begun.elapsed())
    };
    let limit_in_a_row = || {
        let begun = Instant::now();
        (0..burst).try_for_each(|_| limit().map(drop))?;
        Ok(begun.elapsed())
    };
    let hurried = in_turn(
        bench.effort,
        bursts,
        Bench::pause,
        ours_in_a_row,
        limit_in_a_row,
    )?;
    let title = format!("one-shot, {burst} in a row");
    Ok(vec![
        Row::ratio("one-shot", "bare `bash -c true`", &calm, BAR),
        Row::information(&title, "the same without a pause", &hurried),
    ])
}
