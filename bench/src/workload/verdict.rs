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

/// A line, and the texts in it that it hands to a shell: whoever judges it reads those, too.
type Line = (&'static str, &'static [&'static str]);

/// Ordinary lines by other means; the one with the worst ratio is shown.
const LINES: [Line; 24] = [
    (LINE, &[]),
    ("ls -la", &[]),
    ("git log --oneline -20", &[]),
    ("cargo test --workspace 2>&1 | tail -n 40", &[]),
    (
        "for f in src/*.rs; do echo \"$f: $(wc -l < \"$f\")\"; done",
        &[],
    ),
    ("for d in a b c; do x=$d/src; ls \"$x\"; done", &[]),
    (
        "if [ -f package.json ]; then npm ci && npm run build; fi",
        &[],
    ),
    (
        "x=$(git rev-parse --short HEAD) && docker build -t \"app:$x\" .",
        &[],
    ),
    (
        "python3 - <<'E'\nimport json\nprint(json.load(open('a.json'))['version'])\nE",
        &[],
    ),
    (
        "find . -name '*.py' -not -path './venv/*' -print0 | xargs -0 grep -ln 'import os'",
        &[],
    ),
    (
        "curl -fsS -H \"Authorization: Bearer $TOKEN\" https://example.com/api | jq -r '.items[].name'",
        &[],
    ),
    (
        "rm -rf build dist && mkdir -p build && cd build && cmake .. && make -j8",
        &[],
    ),
    (
        "sed -i 's/foo/bar/g' src/*.rs && git add -u && git commit -m 'Rename foo to bar'",
        &[],
    ),
    (
        "while read -r id; do kill -0 \"$id\" 2>/dev/null || echo \"$id is gone\"; done < pids.txt",
        &[],
    ),
    ("bash -c 'ls'", &["ls"]),
    ("bash -c 'cd app && npm test'", &["cd app && npm test"]),
    (
        "bash -c 'set -o pipefail; make test 2>&1 | tee log.txt'",
        &["set -o pipefail; make test 2>&1 | tee log.txt"],
    ),
    ("sudo -u app bash -c 'whoami'", &["whoami"]),
    (
        "ssh host 'cd /srv/app && git pull && docker compose up -d'",
        &["cd /srv/app && git pull && docker compose up -d"],
    ),
    ("bash <<'E'\nset -e\nmake\nE", &["set -e\nmake\n"]),
    ("watch -n2 'kubectl get pods'", &["kubectl get pods"]),
    (
        "docker run --rm -v \"$PWD\":/app -w /app node:20 sh -c 'npm ci && npm test'",
        &["npm ci && npm test"],
    ),
    (
        "find . -name '*.rs' -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        &["wc -l \"$1\""],
    ),
    (
        "f() { echo \"$1\"; }; f a; f b",
        &["echo \"$1\"", "echo \"$1\""],
    ),
];

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let guard = Guard::new(RULES.iter().map(|rule| rule.name), &[]);
    let twenty: String = format!("{LINE}\n").repeat(20);
    let large: String = format!("{LINE}\n").repeat((1 << 20) / (LINE.len() + 1));
    let pairs = bench.effort.choose(PAIRS, 1);
    let against = "tree-sitter's parse of it";
    let mut line = compare(bench, &guard, (LINE, &[]), (AT_ONCE, pairs))?;
    let mut worst = LINE;
    for other in LINES {
        let compared = compare(bench, &guard, other, (AT_ONCE, pairs))?;
        if compared.ratio.p50 > line.ratio.p50 {
            (line, worst) = (compared, other.0);
        }
    }
    eprintln!("the worst of {} lines: {worst}", LINES.len());
    let twenty = compare(bench, &guard, (&twenty, &[]), (AT_ONCE / 20, pairs))?;
    let large = compare(bench, &guard, (&large, &[]), (1, bench.effort.choose(3, 1)))?;
    Ok(vec![
        Row::ratio("verdict, 1 line, worst of 24", against, &line, BAR_LINE),
        Row::information("verdict, 20 lines", against, &twenty),
        Row::time_over("verdict, 1 MiB", against, &large, 0.0, BAR_LARGE),
    ])
}

fn compare(
    bench: &Bench,
    guard: &Guard,
    (text, handed): (&str, &[&str]),
    (times, pairs): (u32, usize),
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
            for text in [text].iter().chain(handed) {
                black_box(parser.parse(black_box(*text), None)).context("no tree")?;
            }
        }
        Ok(begun.elapsed() / times)
    };
    in_turn(bench.effort, pairs, || Ok(()), judge, parse)
}
