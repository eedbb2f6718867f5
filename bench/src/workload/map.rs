//! A command for each of many items, beside `xargs -P` with a bare shell for each.

use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BAR: f64 = 1.2;

/// Items of a map, and how many run at a time.
const ITEMS: usize = 1000;
const AT_ONCE: &str = "24";

/// Pairs of a round.
const PAIRS: usize = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = binaries::build("bashd-cli", "bashd")?;
    let items = bench.effort.choose(ITEMS, 20);
    let list = bench.home().join("items");
    let numbers: Vec<String> = (1..=items).map(|number| number.to_string()).collect();
    std::fs::write(&list, numbers.join("\n"))?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::rest,
        || mapped(bench, &program, &list, items),
        || {
            let words = [
                "-a",
                path(&list),
                "-n1",
                "-P",
                AT_ONCE,
                "bash",
                "-c",
                "true",
            ];
            bare::process(Path::new("/usr/bin/xargs"), words, &bench.env)
        },
    )?;
    let against = format!("`xargs -P{AT_ONCE} bash -c true`");
    let name = format!("map, {items} here");
    Ok(vec![Row::ratio(&name, &against, &compared, BAR)])
}

/// A map of `true`, all of whose items must end well.
fn mapped(bench: &Bench, program: &Path, list: &Path, items: usize) -> Result<Duration> {
    let begun = Instant::now();
    let shown = Command::new(program)
        .args(["map", "--json", "-j", AT_ONCE, "true"])
        .env_clear()
        .envs(bench.env.iter().map(|(name, value)| (name, value)))
        .stdin(std::fs::File::open(list)?)
        .stderr(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    let text = String::from_utf8_lossy(&shown.stdout);
    let done = text.matches("\"state\":\"done\"").count();
    ensure!(
        shown.status.success() && done == items,
        "{done} of {items} are done"
    );
    Ok(took)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}
