//! The guard's verdict on a script, beside the bare tree-sitter parse of it.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::guard::{Guard, RULES, Verdict};
use bashd::script::Script;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tree_sitter::Parser;

/// A verdict on one line, over its parse.
const BAR_LINE: f64 = 1.0;

/// A verdict on a script of a mebibyte.
const BAR_LARGE: Duration = Duration::from_millis(60);

/// Verdicts of one measurement: one alone is shorter than the clock is fine.
const AT_ONCE: u32 = 200;

/// Pairs of a round.
const PAIRS: usize = 20;

const LINE: &str = "cd src && git diff HEAD~1 -- '*.rs' | grep -n \"$name\" > /tmp/out 2>&1";

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let twenty: String = format!("{LINE}\n").repeat(20);
    let large: String = format!("{LINE}\n").repeat((1 << 20) / (LINE.len() + 1));
    let pairs = bench.effort.choose(PAIRS, 1);
    let against = "tree-sitter's parse of it";
    let line = compare(bench, &guard, LINE, AT_ONCE, pairs)?;
    let twenty = compare(bench, &guard, &twenty, AT_ONCE / 20, pairs)?;
    let large = compare(bench, &guard, &large, 1, bench.effort.choose(3, 1))?;
    Ok(vec![
        Row::ratio("verdict, 1 line", against, &line, BAR_LINE),
        Row::information("verdict, 20 lines", against, &twenty),
        Row::time_over("verdict, 1 MiB", against, &large, 0.0, BAR_LARGE),
    ])
}

fn compare(
    bench: &Bench,
    guard: &Guard,
    text: &str,
    times: u32,
    pairs: usize,
) -> Result<crate::measure::Compared> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into())?;
    let judge = || {
        let begun = Instant::now();
        for _ in 0..times {
            let verdict = guard.check(&Script::parse(black_box(text)), text);
            ensure!(verdict == Verdict::Allow, "{verdict:?}");
        }
        Ok(begun.elapsed() / times)
    };
    let parse = || {
        let begun = Instant::now();
        for _ in 0..times {
            black_box(parser.parse(black_box(text), None)).context("no tree")?;
        }
        Ok(begun.elapsed() / times)
    };
    in_turn(bench.effort, pairs, || Ok(()), judge, parse)
}
