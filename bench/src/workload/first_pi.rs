//! The first call of a process in profile `pi`, whose rc file was read before, beside
//! `bash -c true`.

use super::warm::RC;
use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::Request;
use std::fs;

const BAR: f64 = 1.5;

/// Pairs of a round.
const PAIRS: usize = 40;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let rc = bench.home().join(".bashrc");
    fs::write(&rc, RC)?;
    let engine = || bench.engine(|config| "pi".clone_into(&mut config.profile));
    let (_, reply) = bench.call(&engine()?, Request::new("greet you"))?;
    ensure!(reply.output.contains("hello you"), "no snapshot: {reply:?}");
    let ours = || {
        let engine = engine()?;
        Bench::pause()?;
        Ok(bench.call(&engine, Request::new("true"))?.0)
    };
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let pairs = bench.effort.choose(PAIRS, 2);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    fs::remove_file(rc)?;
    let (title, against) = ("pi, first call", "bare `bash -c true`");
    Ok(vec![Row::ratio(title, against, &compared, BAR)])
}
