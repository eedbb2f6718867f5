//! Calls in shells that were started ahead, beside bare `bash -c`.

use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::{Engine, Request};
use std::fs;

/// `true`, a builtin.
const BUILTIN_BAR: f64 = 0.35;

/// `/bin/true`, a program, in a shell that has sourced a snapshot.
const PROGRAM_BAR: f64 = 0.75;

/// A script of 4 KiB.
const SCRIPT_BAR: f64 = 0.45;

/// Bytes of that script.
const SCRIPT_BYTES: usize = 4096;

/// Lines of one that is full of commands, which are a little shorter; the rest is a comment.
const SCRIPT_LINES: usize = 100;

/// Pairs of a round.
const PAIRS: usize = 200;

/// Shells that wait: as many as servers have when nothing is said.
pub(super) const SHELLS: usize = 1;

/// What a user's rc file sets up.
pub(super) const RC: &str = "alias ll='ls -l'\nalias gs='git status'\nshopt -s globstar\n\
    greet() { echo \"hello $1\"; }\nexport PATH=\"$HOME/bin:$PATH\"\n";

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let engine = bench.engine(|config| config.started_shells = SHELLS)?;
    let mut rows = vec![
        row(bench, &engine, "warm, `true`", "true", BUILTIN_BAR)?,
        row(
            bench,
            &engine,
            "warm, 4 KiB of text",
            &long_text(),
            SCRIPT_BAR,
        )?,
        row(
            bench,
            &engine,
            "warm, 4 KiB, 300 commands",
            &many_commands(),
            SCRIPT_BAR,
        )?,
    ];
    drop(engine);
    let rc = bench.home().join(".bashrc");
    fs::write(&rc, RC)?;
    let engine = bench.engine(|config| {
        config.started_shells = SHELLS;
        config.rc_script = Some(true);
    })?;
    let title = "warm, `/bin/true`, snapshot";
    rows.push(row(bench, &engine, title, "/bin/true", PROGRAM_BAR)?);
    let (_, reply) = bench.call(&engine, Request::new("greet you; true"))?;
    ensure!(reply.output == "hello you\n", "no snapshot: {reply:?}");
    fs::remove_file(rc)?;
    Ok(rows)
}

fn row(bench: &Bench, engine: &Engine, title: &str, script: &str, bar: f64) -> Result<Row> {
    let ours = || Ok(bench.call(engine, Request::new(script))?.0);
    let limit = || bare::process(&bench.bash, ["-c", script], &bench.env);
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    let against = "the same by bare `bash -c`";
    Ok(Row::ratio(title, against, &compared, bar))
}

/// A text in quotes, as that of a file or a message: bash reads it and has nothing to do.
fn long_text() -> String {
    let line = "a line of an ordinary length, as people write them\n";
    let (begin, end) = ("note='", "'");
    let room = SCRIPT_BYTES - begin.len() - end.len();
    let text: String = line.chars().cycle().take(room).collect();
    [begin, &text, end].concat()
}

/// Assignments and tests, one after the other: bash needs about as long for them as for anything
/// else of a call.
fn many_commands() -> String {
    let line =
        |number| format!("v{number}=$((v{number} + {number})); [[ $v{number} ]] || exit 1\n");
    let script = (0..SCRIPT_LINES).map(line).collect::<Vec<_>>().concat();
    let rest = SCRIPT_BYTES.saturating_sub(script.len());
    script + &"#".repeat(rest)
}
