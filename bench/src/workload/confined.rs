//! Calls in a confinement, beside the same calls without one.
//!
//! A view is built ahead while nobody waits, so the calls that are measured one by one have a pause
//! in which that can be done, as between two calls of an agent.

use super::many::at_once;
use super::warm::SHELLS;
use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::{Compared, in_turn};
use crate::processes;
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::config::Preset;
use bashd::{Config, Engine, Request};
use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

/// A call for which a view was built ahead; and beside a bare shell.
const PREPARED_BAR: f64 = 1.08;
const BARE_BAR: f64 = 1.3;

/// Calls of which each has another confinement than the one before.
const OTHER_BAR: f64 = 1.25;

/// A call whose view is built when it comes.
const COLD_BAR: f64 = 2.0;

/// A call in a shell that was started confined, or in a session.
const STARTED_BAR: f64 = 1.05;

/// A hundred calls at once.
const MANY_BAR: f64 = 1.3;

/// What a view that waits adds to the memory of an idle engine.
const MEMORY_BAR: u64 = 600 * 1024;

/// Names Codex's program, if it is not on the path.
const CODEX: &str = "BASHD_BENCH_CODEX";

/// What of a view bubblewrap can give.
const BUBBLEWRAP: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "bash",
    "-c",
    "true",
];

const CODEX_SANDBOX: &[&str] = &["sandbox", "--", "bash", "-c", "true"];

/// Time in which the next view is built, even on a busy machine.
const BUILT_WITHIN: Duration = Duration::from_millis(25);

/// Pairs of a round.
const PAIRS: usize = 200;

/// Calls at once.
const CALLS: usize = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let same = "the same call, unconfined";
    let prepared = pair(bench, 0, |request| request)?;
    let row = |title, compared: &Compared, bar| Row::ratio(title, same, compared, bar);
    let mut rows = vec![
        row("confined, prepared", &prepared, PREPARED_BAR),
        beside_bare(bench)?,
        row(
            "confined, other than the last",
            &of_two_kinds(bench)?,
            OTHER_BAR,
        ),
        row(
            "confined, warm",
            &pair(bench, SHELLS, |request| request)?,
            STARTED_BAR,
        ),
        row(
            "confined, session",
            &pair(bench, 0, |request| request.session("bench"))?,
            STARTED_BAR,
        ),
        at_the_call(bench)?,
        process(bench)?,
        many(bench)?,
        memory(bench)?,
    ];
    rows.extend(others(bench)?);
    Ok(rows)
}

/// What other sandboxes take for the same command, where they are installed: bubblewrap, and that
/// of Codex.
fn others(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let codex = std::env::var(CODEX).unwrap_or_else(|_| "codex".to_owned());
    for (title, program, words) in [
        ("bubblewrap, beside a shell", "bwrap", BUBBLEWRAP),
        ("Codex's sandbox, beside a shell", &codex, CODEX_SANDBOX),
    ] {
        let Some(program) = found(program) else {
            eprintln!("*** {title}: it is not installed: NOT measured");
            continue;
        };
        let mut env = bench.env.clone();
        env.extend(std::env::var_os("CODEX_HOME").map(|home| ("CODEX_HOME".into(), home)));
        let compared = in_turn(
            bench.effort,
            bench.effort.choose(PAIRS / 4, 1),
            Bench::pause,
            || bare::process(&program, words, &env),
            || bare::process(&bench.bash, ["-c", "true"], &bench.env),
        )?;
        rows.push(Row::information(title, "bare `bash -c true`", &compared));
    }
    Ok(rows)
}

fn found(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&paths).map(|path| path.join(program));
    places.find(|place| place.is_file())
}

/// Lets the next view be built.
#[expect(clippy::unnecessary_wraps, reason = "one of several ways to settle")]
fn built() -> Result<()> {
    std::thread::sleep(BUILT_WITHIN);
    Ok(())
}

/// An engine that confines, and one that does not.
fn engines(bench: &Bench, shells: usize) -> Result<(Engine, Engine)> {
    let free = bench.engine_at_home(|config| config.started_shells = shells)?;
    let confined = bench.engine_at_home(|config| {
        config.started_shells = shells;
        confine(bench, config);
    })?;
    let (_, reply) = bench.call(&confined, in_workspace(bench))?;
    let level = reply.confinement.map(|held| held.level.name());
    ensure!(level == Some("full"), "it was held by {level:?}");
    Ok((confined, free))
}

fn confine(bench: &Bench, config: &mut Config) {
    config.confinement.preset = Some(Preset::Workspace);
    config.confinement.workspace = Some(bench.home().to_owned());
}

/// What is below /tmp is not seen inside, unless it is the workspace.
fn in_workspace(bench: &Bench) -> Request {
    Request::new("true").cwd(bench.home())
}

fn pair(bench: &Bench, shells: usize, of: fn(Request) -> Request) -> Result<Compared> {
    let (confined, free) = engines(bench, shells)?;
    let call = |engine: &Engine| Ok(bench.call(engine, of(in_workspace(bench)))?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    in_turn(
        bench.effort,
        pairs,
        built,
        || call(&confined),
        || call(&free),
    )
}

fn beside_bare(bench: &Bench) -> Result<Row> {
    let (confined, _) = engines(bench, 0)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 3),
        built,
        || Ok(bench.call(&confined, in_workspace(bench))?.0),
        || bare::process(&bench.bash, ["-c", "true"], &bench.env),
    )?;
    let title = "confined, prepared, beside a shell";
    Ok(Row::ratio(
        title,
        "bare `bash -c true`",
        &compared,
        BARE_BAR,
    ))
}

/// Calls that change between two confinements.
fn of_two_kinds(bench: &Bench) -> Result<Compared> {
    let (confined, free) = engines(bench, 0)?;
    let turn = Cell::new(false);
    let ours = || {
        turn.set(!turn.get());
        let request = in_workspace(bench);
        let request = if turn.get() {
            request.confine(Preset::ReadOnly)
        } else {
            request
        };
        Ok(bench.call(&confined, request)?.0)
    };
    let limit = || Ok(bench.call(&free, in_workspace(bench))?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    in_turn(bench.effort, pairs, built, ours, limit)
}

/// The first confined call of an engine that does not expect one: a keeper waits, and no view.
fn at_the_call(bench: &Bench) -> Result<Row> {
    let second = |of: fn(Request) -> Request| {
        let engine = bench.engine_at_home(|config| {
            config.started_shells = 0;
            config.confinement.workspace = Some(bench.home().to_owned());
        })?;
        bench.call(&engine, in_workspace(bench))?;
        built()?;
        Ok(bench.call(&engine, of(in_workspace(bench)))?.0)
    };
    let pairs = bench.effort.choose(PAIRS / 4, 3);
    let ours = || second(|request| request.confine(Preset::Workspace));
    let limit = || second(|request| request);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    let (title, against) = ("confined, cold", "the second call of an engine, unconfined");
    Ok(Row::ratio(title, against, &compared, COLD_BAR))
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
    let title = "confined, process";
    Ok(Row::ratio(title, against, &compared, COLD_BAR))
}

fn many(bench: &Bench) -> Result<Row> {
    let (confined, free) = engines(bench, 0)?;
    let calls = bench.effort.choose(CALLS, 5);
    let place = bench.home();
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(5, 1),
        || {
            std::thread::sleep(BUILT_WITHIN * 8);
            Ok(())
        },
        || bench.wait(at_once(&confined, calls, place)),
        || bench.wait(at_once(&free, calls, place)),
    )?;
    let against = format!("{calls} unconfined calls at once");
    Ok(Row::ratio("confined, many", &against, &compared, MANY_BAR))
}

/// What a view that waits costs: the processes of an engine that confines, beyond those of one that
/// does not.
fn memory(bench: &Bench) -> Result<Row> {
    let idle = |confines: bool| -> Result<u64> {
        let engine = bench.engine_at_home(|config| {
            if confines {
                confine(bench, config);
            }
        })?;
        bench.call(&engine, in_workspace(bench))?;
        std::thread::sleep(BUILT_WITHIN * 20);
        processes::proportional_bytes_of(processes::below())
    };
    let free = idle(false)?;
    let confined = idle(true)?;
    let more = confined.saturating_sub(free);
    let whom = "beyond an engine that does not confine: keeper, first process, waiter";
    Ok(Row::bytes("confined, memory (PSS)", whom, more, MEMORY_BAR))
}
