//! Calls as agents make them: after pauses of milliseconds to seconds, when caches are cold and the
//! cores sleep, and many in a row without any. Each beside bare `bash -c` after the same pause.

use super::mcp::{self, Client};
use super::warm::SHELLS;
use crate::bench::Bench;
use crate::measure::{Effort, in_turn};
use crate::table::Row;
use crate::{bare, binaries};
use anyhow::{Result, ensure};
use bashd::{Engine, Request};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Pauses, and the pairs of a round.
const PAUSES: [(Duration, &str, usize); 5] = [
    (Duration::ZERO, "no pause", 100),
    (Duration::from_millis(10), "10 ms", 60),
    (Duration::from_millis(50), "50 ms", 40),
    (Duration::from_millis(300), "300 ms", 15),
    (Duration::from_secs(2), "2 s", 4),
];

/// After a pause of 50 ms to 2 s, in a new shell.
const COLD_BAR: f64 = 1.3;

/// The same in a shell that was started ahead.
const WARM_BAR: f64 = 0.55;

/// The shortest pause that these bars are for.
const FROM: Duration = Duration::from_millis(50);

/// Calls in a row over MCP.
const BURST: usize = 20;
const BURST_BAR: f64 = 0.8;

/// Pairs of a round, and the pause between two bursts: a model thinks.
const BURSTS: usize = 10;
const BETWEEN_BURSTS: Duration = Duration::from_millis(500);

/// Ways to run `true`.
enum Way {
    Library(Engine, fn() -> Request),
    Mcp(Client),
}

impl Way {
    fn call(&mut self, bench: &Bench) -> Result<Duration> {
        match self {
            Self::Library(engine, request) => Ok(bench.call(engine, request())?.0),
            Self::Mcp(client) => client.time("true"),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Library(..) => Ok(()),
            Self::Mcp(client) => client.finish(),
        }
    }
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let bashd = binaries::build("bashd-cli", "bashd")?;
    let plain = || Request::new("true");
    let in_session = || Request::new("true").session("bench");
    let engine = |shells| bench.engine(|config| config.started_shells = shells);
    let mut rows = Vec::new();
    for (title, bar) in [
        ("one-shot", Some(COLD_BAR)),
        ("warm", Some(WARM_BAR)),
        ("session", None),
        ("mcp", Some(COLD_BAR)),
        ("mcp, warm", Some(WARM_BAR)),
    ] {
        let mut way = match title {
            "one-shot" => Way::Library(engine(0)?, plain),
            "warm" => Way::Library(engine(SHELLS)?, plain),
            "session" => Way::Library(engine(0)?, in_session),
            "mcp" => Way::Mcp(Client::connect_with(&bashd, bench, Some(0))?),
            _ => Way::Mcp(Client::connect(&bashd, bench)?),
        };
        for pause in PAUSES {
            rows.push(paused(bench, &mut way, (title, bar), pause)?);
        }
        way.finish()?;
    }
    rows.push(burst(bench, &bashd)?);
    Ok(rows)
}

fn paused(
    bench: &Bench,
    way: &mut Way,
    (title, bar): (&str, Option<f64>),
    (pause, named, pairs): (Duration, &str, usize),
) -> Result<Row> {
    let pause_as_asked = bench
        .effort
        .choose(pause, Duration::from_millis(1).min(pause));
    let settle = || {
        sleep(pause_as_asked);
        Ok(())
    };
    let ours = || way.call(bench);
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let compared = in_turn(
        rounds(bench),
        bench.effort.choose(pairs, 1),
        settle,
        ours,
        limit,
    )?;
    let title = format!("{title}, after {named}");
    let against = "bare `bash -c true`, after the same";
    Ok(match bar.filter(|_| pause >= FROM) {
        Some(bar) => Row::ratio(&title, against, &compared, bar),
        None => Row::information(&title, against, &compared),
    })
}

/// Long pauses make long rounds: there are two at most.
fn rounds(bench: &Bench) -> Effort {
    Effort {
        rounds: bench.effort.rounds.min(2),
        ..bench.effort
    }
}

fn burst(bench: &Bench, bashd: &Path) -> Result<Row> {
    let mut client = Client::connect(bashd, bench)?;
    let count = bench.effort.choose(BURST, 2);
    let ours = || {
        let begun = Instant::now();
        for _ in 0..count {
            client.say(&mcp::call(1, "true"))?;
            let answer = client.hear()?;
            ensure!(answer.contains(r#""exit_code":0"#), "{answer}");
        }
        Ok(begun.elapsed())
    };
    let limit = || {
        let begun = Instant::now();
        for _ in 0..count {
            bare::process(&bench.bash, ["-c", "true"], &bench.env)?;
        }
        Ok(begun.elapsed())
    };
    let settle = || {
        sleep(bench.effort.choose(BETWEEN_BURSTS, Duration::ZERO));
        Ok(())
    };
    let pairs = bench.effort.choose(BURSTS, 1);
    let compared = in_turn(rounds(bench), pairs, settle, ours, limit)?;
    client.finish()?;
    let title = format!("mcp, {count} in a row");
    Ok(Row::ratio(
        &title,
        "the same by bare `bash -c`",
        &compared,
        BURST_BAR,
    ))
}
