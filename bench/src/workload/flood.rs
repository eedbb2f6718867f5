//! 1 GiB of output with the default quota, beside reading the same pipe into nowhere.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use crate::{bare, processes};
use anyhow::{Context, Result, ensure};
use bashd::secrets::Secrets;
use bashd::{Engine, Reply, Request};
use std::hint::black_box;
use std::time::{Duration, Instant};

const BAR: f64 = 1.15;

/// Hiding secrets in a flood costs at most this much.
const SECRETS_BAR: f64 = 1.03;

/// Recording the times of a flood costs at most this much.
const RECORDED_BAR: f64 = 1.10;

/// Most bytes by which engine and keeper together may grow.
const GROWTH_BAR: u64 = 8 * 1024 * 1024;

/// Pairs of a round.
pub(super) const PAIRS: usize = 2;

/// The keeper of a command is its shell's parent.
const PRINT_PEAK: &str = "grep VmHWM: /proc/$PPID/status";

pub(super) fn yes(bench: &Bench) -> Result<Vec<Row>> {
    run(bench, "flood-yes", &lines(size(bench)))
}

pub(super) fn zero(bench: &Bench) -> Result<Vec<Row>> {
    run(bench, "flood-zero", &zeros(size(bench)))
}

/// A flood in which secrets are looked for, beside the same in which they are not.
pub(super) fn secrets(bench: &Bench) -> Result<Vec<Row>> {
    let mut kept = 0;
    let mut engine = |hides: bool| {
        let engine = bench.engine(|config| {
            kept = config.quota.head + config.quota.ring;
            config.secrets.output = Some(hides);
        })?;
        engine.register_secret("BENCH", "a value that no line has: 7f3a9c51")?;
        anyhow::Ok(engine)
    };
    let (hiding, showing) = (engine(true)?, engine(false)?);
    let script = lines(size(bench));
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::pause,
        || Ok(flood(bench, &hiding, &script, kept)?.0),
        || Ok(flood(bench, &showing, &script, kept)?.0),
    )?;
    let row = Row::ratio(
        "flood-secrets",
        "the same with secrets shown",
        &compared,
        SECRETS_BAR,
    );
    Ok(vec![row, reading(bench)?])
}

/// A flood whose times are recorded, beside the same without.
pub(super) fn recorded(bench: &Bench) -> Result<Vec<Row>> {
    let mut kept = 0;
    let engine = bench.engine(|config| kept = config.quota.head + config.quota.ring)?;
    let script = lines(size(bench));
    let timed = |record: bool| {
        let mut request = Request::new(script.as_str());
        request.record = Some(record);
        Ok(flood_of(bench, &engine, request, kept)?.0)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::pause,
        || timed(true),
        || timed(false),
    )?;
    let against = "the same without recording";
    Ok(vec![Row::ratio(
        "flood-recorded",
        against,
        &compared,
        RECORDED_BAR,
    )])
}

/// Looking for secrets in much text at once, as who reads stored output does, beside a copy.
fn reading(bench: &Bench) -> Result<Row> {
    let line = "warning: unused variable `x`, as a compiler writes it, --> src/lib.rs:10:9\n";
    let bytes = bench.effort.choose(64 << 20, 1 << 20);
    let text = line.repeat(bytes / line.len());
    let mut known = Secrets::default();
    known.register(&[("BENCH", "a value that no line has: 7f3a9c51")])?;
    let timed = |work: &dyn Fn() -> usize| {
        let begun = Instant::now();
        ensure!(black_box(work()) == text.len(), "it was changed");
        Ok(begun.elapsed())
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(5, 1),
        Bench::pause,
        || timed(&|| known.veil(black_box(&text)).len()),
        || timed(&|| black_box(text.clone()).len()),
    )?;
    let rate = text.len() as f64 / compared.ours.p50 / 1e6;
    let name = format!("secrets, much text, {rate:.0} MB/s");
    Ok(Row::information(&name, "a copy of it", &compared))
}

/// Bytes of a flood.
pub(super) fn size(bench: &Bench) -> u64 {
    bench.effort.choose(1 << 30, 4 << 20)
}

/// A script that writes so many bytes of lines.
pub(super) fn lines(bytes: u64) -> String {
    format!("yes 'a line of an ordinary length, as a compiler writes them' | head -c {bytes}")
}

/// A script that writes so many bytes, as fast as anything can.
pub(super) fn zeros(bytes: u64) -> String {
    format!("head -c {bytes} /dev/zero")
}

/// Runs a flood through the library; every byte must be accounted for.
pub(super) fn flood(
    bench: &Bench,
    engine: &Engine,
    script: &str,
    kept: u64,
) -> Result<(Duration, Reply)> {
    flood_of(bench, engine, Request::new(script), kept)
}

fn flood_of(
    bench: &Bench,
    engine: &Engine,
    request: Request,
    kept: u64,
) -> Result<(Duration, Reply)> {
    let (took, reply) = bench.call(engine, request)?;
    let (bytes, dropped) = (reply.output_bytes, reply.dropped_bytes);
    ensure!(bytes >= size(bench), "{bytes} bytes were counted");
    let expected = bytes.saturating_sub(kept);
    ensure!(
        dropped == expected,
        "{dropped} bytes were dropped, not {expected}"
    );
    Ok((took, reply))
}

fn run(bench: &Bench, name: &str, script: &str) -> Result<Vec<Row>> {
    let mut kept = 0;
    let engine = bench.engine(|config| kept = config.quota.head + config.quota.ring)?;
    // Memory first: what one flood left allocated must not count as there before the next.
    let trivial = || Ok(bench.call(&engine, Request::new(PRINT_PEAK))?.1);
    peaks(trivial)?;
    let at_rest = peaks(trivial)?;
    let and_peak = format!("{script}; echo; {PRINT_PEAK}");
    let flooded = peaks(|| Ok(flood(bench, &engine, &and_peak, kept)?.1))?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::rest,
        || Ok(flood(bench, &engine, script, kept)?.0),
        || bare::into_nowhere(&bench.bash, script, &bench.env, size(bench)),
    )?;
    let memory = format!("{name}, memory");
    let few = "engine and keeper of a short call";
    Ok(vec![
        Row::ratio(name, "read into nowhere", &compared, BAR),
        Row::growth(&memory, few, flooded, at_rest, GROWTH_BAR),
    ])
}

/// Peak of engine and keeper together during a call that prints its keeper's.
fn peaks(call: impl FnOnce() -> Result<Reply>) -> Result<u64> {
    Bench::rest()?;
    processes::reset_own_peak()?;
    let reply = call()?;
    let engine = processes::own_peak_bytes()?;
    let line = reply.output.lines().last().unwrap_or_default();
    let figure = line.strip_prefix("VmHWM:").context("no peak was printed")?;
    Ok(engine + processes::peak_bytes(figure)?)
}
