//! The minimizer's lossless tier over recorded outputs of real tools, beside a copy of them and a
//! crate that strips escapes.

use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::minimize::{FilterSettings, Reach, Subject, minimize};
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes a second that the tier must do.
const BAR: f64 = 200e6;

/// Pairs of a round.
const PAIRS: usize = 10;

/// Times that everything is done in one measurement.
const AT_ONCE: u32 = 4;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let recorded = recorded()?;
    let bytes: usize = recorded.iter().map(String::len).sum();
    let pairs = bench.effort.choose(PAIRS, 1);
    let lossless = FilterSettings {
        reach: Reach::Lossless,
        ..FilterSettings::default()
    };
    let all = FilterSettings::default();
    let digests = |settings: &FilterSettings| {
        let begun = Instant::now();
        for _ in 0..AT_ONCE {
            for text in &recorded {
                let subject = Subject {
                    command: "",
                    exit: Some(0),
                    text,
                };
                let _ = black_box(minimize(black_box(subject), settings));
            }
        }
        begun.elapsed() / AT_ONCE
    };
    let copies = || {
        let begun = Instant::now();
        for _ in 0..AT_ONCE {
            for text in &recorded {
                black_box(black_box(text).clone());
            }
        }
        begun.elapsed() / AT_ONCE
    };
    let stripped = || {
        let begun = Instant::now();
        for _ in 0..AT_ONCE {
            for text in &recorded {
                black_box(strip_ansi_escapes::strip(black_box(text)));
            }
        }
        begun.elapsed() / AT_ONCE
    };
    let bar = Duration::from_secs_f64(bytes as f64 / BAR);
    let nothing = || Ok(());
    let copy = in_turn(
        bench.effort,
        pairs,
        nothing,
        || Ok(digests(&lossless)),
        || Ok(copies()),
    )?;
    let strip = in_turn(
        bench.effort,
        pairs,
        nothing,
        || Ok(digests(&lossless)),
        || Ok(stripped()),
    )?;
    let whole = in_turn(
        bench.effort,
        pairs,
        nothing,
        || Ok(digests(&all)),
        || Ok(copies()),
    )?;
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    let name = format!("lossless tier, {:.0} MB/s", rate(copy.ours.p50));
    Ok(vec![
        Row::time_over(&name, "memcpy of the text", &copy, 0.0, bar),
        Row::information("lossless tier", "strip-ansi-escapes", &strip),
        Row::information(
            &format!("every tier, {:.0} MB/s", rate(whole.ours.p50)),
            "memcpy of the text",
            &whole,
        ),
    ])
}

/// The raw texts of the recorded cases that are long enough to be minimized.
fn recorded() -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/bashd-minimize/tests/cases");
    let mut texts = Vec::new();
    for tool in fs::read_dir(&root).with_context(|| root.display().to_string())? {
        for case in fs::read_dir(tool?.path())? {
            let bytes = fs::read(case?.path().join("raw"))?;
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    ensure!(!texts.is_empty(), "nothing is recorded");
    Ok(texts)
}
