//! Searching a ledger of a million records, beside a search of the whole file; and what a span
//! costs a call.

use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::Config;
use bashd::ledger::index::LedgerIndex;
use bashd::ledger::{Record, RecordListener, RecordQuery, RecordedOutcome, Timestamp};
use bashd::otlp::{SpanSender, SpanSettings};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a search may take; or else so many times as long as ripgrep over the file.
const BAR: Duration = Duration::from_millis(50);
const RIPGREPS: f64 = 2.0;

/// What a span may cost a call.
const SPAN_BAR: Duration = Duration::from_micros(20);

/// Records of the ledger, and every how many has the rare word.
const RECORDS: u64 = 1_000_000;
const RARE: u64 = 100_003;

/// Pairs of a round.
const PAIRS: usize = 5;

/// Records that a page shows.
const PAGE: usize = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let config = Config::new(bench.home().join("searched"));
    let records = bench.effort.choose(RECORDS, 2000);
    let file = config.ledger_dir().join("2026-08.jsonl");
    write(&file, records)?;
    let begun = Instant::now();
    let mut index = LedgerIndex::open(&config)?;
    let progress = index.catch_up(Duration::from_mins(30))?;
    ensure!(progress.missing() == 0, "{progress:?}");
    eprintln!(
        "indexed {records} records in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    let all = RecordQuery::default;
    let with = |text: &str| {
        let mut query = all();
        query.contains = Some(text.to_owned());
        query
    };
    let mut slow = with("cargo");
    slow.at_least = Some(Duration::from_millis(99_990));
    let mut large = all();
    large.least_bytes = Some(999_990);
    let questions = [
        ("a rare word", with("needle_in")),
        ("a usual word", with("cargo test")),
        ("no hit", with("nothing has this")),
        ("numbers", with("file_77.rs --seed 77")),
        ("a word and a time", slow),
        ("a size alone", large),
    ];
    let mut rows = Vec::new();
    for (name, query) in questions {
        rows.push(search(bench, &index, &file, (name, &query))?);
    }
    std::fs::remove_dir_all(&config.state_dir)?;
    rows.push(span(bench)?);
    Ok(rows)
}

/// One question, beside a search of the file for a word in it.
fn search(
    bench: &Bench,
    index: &LedgerIndex,
    file: &Path,
    (name, query): (&str, &RecordQuery),
) -> Result<Row> {
    let path = file.to_str().context("a path of text")?;
    let word = query.contains.as_deref().unwrap_or("\"output_bytes\":9999");
    let (program, words) = match ["/usr/bin/rg", "/usr/local/bin/rg"]
        .iter()
        .find(|path| Path::new(path).exists())
    {
        Some(program) => (*program, vec!["-c", "-i", "-F", word, path]),
        None => ("/bin/grep", vec!["-c", "-F", word, path]),
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        || Ok(()),
        || {
            let begun = Instant::now();
            index.search(query, None, PAGE)?;
            Ok(begun.elapsed())
        },
        || {
            let begun = Instant::now();
            // It also fails if it finds nothing.
            let _ = bare::process(Path::new(program), words.clone(), &bench.env);
            Ok(begun.elapsed())
        },
    )?;
    let program = program.rsplit('/').next().unwrap_or_default();
    let against = format!("`{program}` over the file; the bar is the whole time");
    // Another program may be slower than ripgrep, and then says nothing about it.
    let bar = match program {
        "rg" => BAR.max(Duration::from_secs_f64(compared.limit.p50 * RIPGREPS)),
        _ => BAR,
    };
    Ok(Row::time_over(
        &format!("search, {name}"),
        &against,
        &compared,
        0.0,
        bar,
    ))
}

/// A ledger as agents fill it.
fn write(path: &Path, records: u64) -> Result<()> {
    const COMMANDS: [&str; 8] = [
        "cargo test --workspace",
        "git status --short",
        "npm run build",
        "grep -rn 'fn main' src",
        "ls -la",
        "python3 -m pytest -x tests",
        "make -j8 all",
        "sed -i 's/foo/bar/' src/lib.rs",
    ];
    std::fs::create_dir_all(path.parent().context("a file has a directory")?)?;
    let mut file = BufWriter::new(File::create(path)?);
    let mut chance: u64 = 88_172_645_463_325_252;
    for number in 0..records {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let verb = COMMANDS[(chance % 8) as usize];
        let rare = if number % RARE == 5 {
            "needle_in_haystack "
        } else {
            ""
        };
        let (part, name, seed) = (
            chance >> 20 & 63,
            chance >> 30 & 1023,
            chance >> 40 & 0xffff,
        );
        let command = format!("{verb} {rare}crates/part{part}/src/file_{name}.rs --seed {seed}");
        let (day, hour, minute) = (1 + number / 40_000 % 28, number / 1700 % 24, number % 60);
        writeln!(
            file,
            "{{\"v\":1,\"id\":\"01KA{number:022X}\",\"time\":\"2026-08-{day:02}T{hour:02}:{minute:02}:00.000Z\",\
             \"profile\":\"default\",\"owner\":\"mcp:K3T9AZ2C.{}\",\"session\":\"main\",\"command\":{},\
             \"command_truncated\":false,\"cwd\":\"/home/somebody/projects/something{}\",\"outcome\":\"exited\",\
             \"exit_code\":{},\"signal\":null,\"error\":null,\"wall_ms\":{},\"ran_ms\":12,\"output_bytes\":{},\
             \"output_lines\":12,\"chain\":\"01KA00000000000000000000\",\"n\":{number},\
             \"prev\":\"0123456789abcdef0123456789abcdef\"}}",
            chance % 7,
            serde_json::to_string(&command)?,
            chance % 50,
            u8::from(chance.is_multiple_of(11)),
            chance % 100_000,
            chance % 1_000_000,
        )?;
    }
    Ok(file.flush()?)
}

/// Telling of a call for its span, with a collector that takes none: the worst case.
fn span(bench: &Bench) -> Result<Row> {
    let calls = bench.effort.choose(200, 2);
    let sender = SpanSender::start(SpanSettings::new("http://127.0.0.1:9", "0"))?;
    let RecordListener(tell) = sender.listener();
    let mut record = Record::new(
        "20261118T080000.000000-1",
        Timestamp::UNIX_EPOCH,
        RecordedOutcome::Exited,
    );
    record.command = "cargo test --locked --workspace -- --nocapture".into();
    record.owner = "mcp:K3T9AZ2C.1".into();
    record.cwd = "/home/somebody/projects/something".into();
    let timed = |work: &dyn Fn(&Record)| {
        let begun = Instant::now();
        for _ in 0..calls {
            work(&record);
        }
        Ok(begun.elapsed() / calls)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS * 4, 1),
        Bench::pause,
        || timed(&|record| tell(record)),
        || timed(&|record| drop(std::hint::black_box(record.clone()))),
    )?;
    let against = "a copy of its record; the bar is the whole time";
    Ok(Row::time_over(
        "otlp, a call's span",
        against,
        &compared,
        0.0,
        SPAN_BAR,
    ))
}
