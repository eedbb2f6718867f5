//! `true` in a confinement, beside the same call without one.

use super::warm::SHELLS;
use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::config::Preset;
use bashd::{Config, Engine, Request};

/// A call whose namespaces are made when it comes.
const COLD_BAR: f64 = 2.0;

/// A call in a shell that was started confined.
const STARTED_BAR: f64 = 1.05;

/// Pairs of a round.
const PAIRS: usize = 200;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    Ok(vec![
        row(bench, "confined, one-shot", COLD_BAR, 0)?,
        row(bench, "confined, warm", STARTED_BAR, SHELLS)?,
        process(bench)?,
    ])
}

/// Two engines, of which one confines.
fn row(bench: &Bench, title: &str, bar: f64, shells: usize) -> Result<Row> {
    let free = bench.engine(|config| config.started_shells = shells)?;
    let confined = bench.engine(|config| {
        config.started_shells = shells;
        confine(bench, config);
    })?;
    // What is below /tmp is hidden, unless it is the workspace.
    let request = || Request::new("true").cwd(bench.home());
    let (_, reply) = bench.call(&confined, request())?;
    let level = reply.confinement.map(|held| held.level.name());
    ensure!(level == Some("full"), "it was held by {level:?}");
    let call = |engine: &Engine| Ok(bench.call(engine, request())?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(
        bench.effort,
        pairs,
        Bench::pause,
        || call(&confined),
        || call(&free),
    )?;
    Ok(Row::ratio(
        title,
        "the same call, unconfined",
        &compared,
        bar,
    ))
}

fn confine(bench: &Bench, config: &mut Config) {
    config.confinement.preset = Some(Preset::Workspace);
    config.confinement.workspace = Some(bench.home().to_owned());
}

/// `bashd run` as a process.
fn process(bench: &Bench) -> Result<Row> {
    let bashd = binaries::build("bashd-cli", "bashd")?;
    let workspace = format!("confinement.workspace={}", bench.home().display());
    let cwd = bench.home().to_string_lossy();
    let mut free = vec!["run", "--cwd", &*cwd, "--set", &workspace];
    let mut confined = free.clone();
    confined.extend(["--confine", "workspace", "true"]);
    free.push("true");
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(
        bench.effort,
        pairs,
        Bench::pause,
        || bare::process(&bashd, &confined, &bench.env),
        || bare::process(&bashd, &free, &bench.env),
    )?;
    let against = "`bashd run true`, unconfined";
    Ok(Row::ratio(
        "confined, process",
        against,
        &compared,
        COLD_BAR,
    ))
}
