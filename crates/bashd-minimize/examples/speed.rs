//! How fast the exact tier is on the recorded outputs, for each tool: megabytes a second.
//!
//! `cargo run --profile dist -p bashd-minimize --example speed`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd_minimize::{FilterSettings, Reach, Subject, minimize};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, io};

/// The best of so many rounds counts.
const ROUNDS: u32 = 25;

fn main() -> io::Result<()> {
    let only = env::args().nth(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in fs::read_dir(root)? {
        let tool = tool?;
        let name = tool.file_name().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        for case in fs::read_dir(tool.path())? {
            let bytes = fs::read(case?.path().join("raw"))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            texts.entry(name.clone()).or_default().push(text);
        }
    }
    let settings = FilterSettings {
        reach: Reach::Lossless,
        ..FilterSettings::default()
    };
    let mut best: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut whole = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut round = Duration::ZERO;
        for (tool, texts) in &texts {
            let begun = Instant::now();
            for text in texts {
                let subject = Subject {
                    command: "",
                    exit: Some(0),
                    text,
                };
                let _ = black_box(minimize(black_box(subject), &settings));
            }
            let took = begun.elapsed();
            round += took;
            let known = best.entry(tool).or_insert(took);
            *known = took.min(*known);
        }
        whole = whole.min(round);
    }
    let rate = |bytes: usize, took: Duration| bytes as f64 / took.as_secs_f64() / 1e6;
    let mut all = 0;
    for (tool, texts) in &texts {
        let bytes: usize = texts.iter().map(String::len).sum();
        let took = best.get(tool.as_str()).copied().unwrap_or_default();
        println!(
            "{:7.0} MB/s {bytes:9} bytes {:7} us  {tool}",
            rate(bytes, took),
            took.as_micros()
        );
        all += bytes;
    }
    println!("{:7.0} MB/s {all:9} bytes  (all)", rate(all, whole));
    Ok(())
}
