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

/// Ordinary lines by other means; the one with the worst ratio is shown.
const LINES: [&str; 12] = [
    LINE,
    "ls -la",
    "cargo test --workspace 2>&1 | tail -n 40",
    "for f in src/*.rs; do echo \"$f: $(wc -l < \"$f\")\"; done",
    "if [ -f package.json ]; then npm ci && npm run build; fi",
    "x=$(git rev-parse --short HEAD) && docker build -t \"app:$x\" .",
    "python3 - <<'E'\nimport json\nprint(json.load(open('a.json'))['version'])\nE",
    "find . -name '*.py' -not -path './venv/*' -print0 | xargs -0 grep -ln 'import os'",
    "curl -fsS -H \"Authorization: Bearer $TOKEN\" https://example.com/api | jq -r '.items[].name'",
    "rm -rf build dist && mkdir -p build && cd build && cmake .. && make -j8",
    "sed -i 's/foo/bar/g' src/*.rs && git add -u && git commit -m 'Rename foo to bar'",
    "while read -r id; do kill -0 \"$id\" 2>/dev/null || echo \"$id is gone\"; done < pids.txt",
];

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let twenty: String = format!("{LINE}\n").repeat(20);
    let large: String = format!("{LINE}\n").repeat((1 << 20) / (LINE.len() + 1));
    let pairs = bench.effort.choose(PAIRS, 1);
    let against = "tree-sitter's parse of it";
    let mut line = compare(bench, &guard, LINE, AT_ONCE, pairs)?;
    let mut worst = LINE;
    for other in LINES {
        let compared = compare(bench, &guard, other, AT_ONCE, pairs)?;
        if compared.ratio.p50 > line.ratio.p50 {
            (line, worst) = (compared, other);
        }
    }
    eprintln!("the worst of {} lines: {worst}", LINES.len());
    let twenty = compare(bench, &guard, &twenty, AT_ONCE / 20, pairs)?;
    let large = compare(bench, &guard, &large, 1, bench.effort.choose(3, 1))?;
    Ok(vec![
        Row::ratio("verdict, 1 line, worst of 12", against, &line, BAR_LINE),
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
