//! 1 GiB of output, all of which is kept.
//!
//! What a fast producer writes can't be kept faster than the file system takes it: the limit of
//! `/dev/zero` is therefore `cat` into a file. `yes` is slower than both.

use super::flood::{self, PAIRS, flood};
use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::Engine;
use std::fs;
use std::time::{Duration, Instant};

const BAR: f64 = 1.25;

/// Bytes of output that are kept: more than there are.
const KEPT: u64 = 2 << 30;

/// Time that the file system is busy with a file of 1 GiB after it was removed.
const REMOVED_WITHIN: Duration = Duration::from_millis(300);

pub(super) fn yes(bench: &Bench) -> Result<Vec<Row>> {
    let script = flood::lines(flood::size(bench));
    let limit = || bare::into_nowhere(&bench.bash, &script, &bench.env, flood::size(bench));
    run(bench, ["whole-yes", "read into nowhere"], &script, limit)
}

pub(super) fn zero(bench: &Bench) -> Result<Vec<Row>> {
    let script = flood::zeros(flood::size(bench));
    let limit = || into_file(bench, &script);
    run(bench, ["whole-zero", "`cat` into a file"], &script, limit)
}

fn run(
    bench: &Bench,
    [name, against]: [&str; 2],
    script: &str,
    limit: impl FnMut() -> Result<Duration>,
) -> Result<Vec<Row>> {
    let engine = bench.engine(|config| config.quota.head = KEPT)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        || clear(&engine),
        || Ok(flood(bench, &engine, script, KEPT)?.0),
        limit,
    )?;
    Ok(vec![Row::ratio(name, against, &compared, BAR)])
}

/// Waits until the engine is at rest, and removes what it stored: the limit stores nothing, and
/// gigabytes of earlier runs would be on their way to the disk beside the next.
fn clear(engine: &Engine) -> Result<()> {
    Bench::rest()?;
    let store = engine.artifacts();
    for id in store.ids()? {
        store.remove(id)?;
    }
    std::thread::sleep(REMOVED_WITHIN);
    Ok(())
}

/// How long the script takes with `cat` behind it that writes a new file.
fn into_file(bench: &Bench, script: &str) -> Result<Duration> {
    let file = bench.home().join("whole");
    let script = format!("{script} | cat > {}", file.display());
    let begun = Instant::now();
    bare::spawn(&bench.bash, ["-c", &script], &bench.env)?.finish()?;
    let took = begun.elapsed();
    let length = fs::metadata(&file)?.len();
    ensure!(length == flood::size(bench), "the file has {length} bytes");
    fs::remove_file(&file)?;
    Ok(took)
}
