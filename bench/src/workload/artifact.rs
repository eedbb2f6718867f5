//! 100 lines from the middle of a stored GiB, beside a read of as many bytes at a known place.

use super::flood;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::Request;
use bashd::artifact::{Range, Selection, parse_id};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const BAR: Duration = Duration::from_millis(5);

/// Pairs of a round.
const PAIRS: usize = 20;

/// Lines of a read.
const LINES: u64 = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let engine = bench.engine(|config| config.quota.head = 2 << 30)?;
    let script = flood::lines(flood::size(bench));
    let (_, reply) = bench.call(&engine, Request::new(&script))?;
    let id = reply.artifact.as_deref().and_then(parse_id);
    let id = id.context("the flood was not stored")?;
    let path = engine.artifacts().path(id)?;
    let (middle, line_bytes) = (
        reply.output_lines / 2,
        reply.output_bytes / reply.output_lines,
    );
    let selection = Selection {
        range: Range::Lines(middle, Some(middle + LINES - 1)),
        grep: None,
    };
    let ours = || {
        let begun = Instant::now();
        let artifact = engine.artifacts().open(id)?;
        let excerpt = artifact.passage(&selection, usize::MAX)?;
        let took = begun.elapsed();
        let lines = excerpt.text.lines().count() as u64;
        ensure!(lines == LINES, "{lines} lines were read");
        Ok(took)
    };
    let bare = || {
        let mut bytes = vec![0; (LINES * line_bytes) as usize];
        let begun = Instant::now();
        File::open(&path)?.read_exact_at(&mut bytes, middle * line_bytes)?;
        Ok(begun.elapsed())
    };
    let pairs = bench.effort.choose(PAIRS, 1);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, bare)?;
    engine.artifacts().remove(id)?;
    let against = "a read at a known place";
    Ok(vec![Row::time_over(
        "artifact", against, &compared, 0.0, BAR,
    )])
}
