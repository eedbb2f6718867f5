//! `bashd run true` as a process, beside `bash -c true` as a process.
//!
//! For comparison: a Rust program that does nothing but start bash.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use crate::{bare, binaries};
use anyhow::{Result, ensure};

const BAR: f64 = 2.2;

/// Pairs of a round.
const PAIRS: usize = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let only_spawn = binaries::build("bashd-bench", "only-spawn")?;
    let pairs = bench.effort.choose(PAIRS, 3);
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let least = in_turn(
        bench.effort,
        pairs,
        Bench::pause,
        || bare::process(&only_spawn, ["true"], &bench.env),
        limit,
    )?;
    let name = "process";
    let against = "`bash -c true` as a process";
    let comparison = Row::information("process, only spawns", against, &least);
    let bashd = match bashd(bench) {
        Ok(bashd) => bashd,
        Err(error) => {
            eprintln!("*** {name} IS NOT MEASURED: {error:#}");
            return Ok(vec![Row::failed(name, &error), comparison]);
        }
    };
    let ours = || bare::process(&bashd, ["run", "true"], &bench.env);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    Ok(vec![Row::ratio(name, against, &compared, BAR), comparison])
}

/// The program, which must do what it is measured for.
fn bashd(bench: &Bench) -> Result<std::path::PathBuf> {
    let bashd = binaries::build("bashd-cli", "bashd")?;
    let output = bare::spawn(&bashd, ["run", "echo ready"], &bench.env)?.finish()?;
    let shown = String::from_utf8_lossy(&output);
    ensure!(
        shown == "ready\n",
        "`bashd run 'echo ready'` prints {shown:?}"
    );
    Ok(bashd)
}
