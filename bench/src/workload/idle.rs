//! An engine that nobody calls: it must not wake up, and must be small.
//!
//! It is looked at from outside, in a process of its own. That process runs a copy of this program,
//! since pages of the program that it shared with this one would count as less than they cost.

use crate::arguments::IDLE_ENGINE;
use crate::bench::{self, Bench};
use crate::processes;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::{Config, Request};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Most bytes of all processes together.
const MEMORY_BAR: u64 = 10 * 1024 * 1024;

/// How long they are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// How long it is looked at in a smoke run, and how long the last call's keeper may take to leave.
const SETTLE: Duration = Duration::from_secs(1);

/// How long started shells may stay that only its calls needed.
const GIVEN_BACK: Duration = Duration::from_secs(20);

/// How long the process may take to get ready.
const READY_SECONDS: i64 = 10;

/// Calls that the engine makes before it is idle.
const CALLS: usize = 3;

/// The engine's process, its fork server, and its spare keeper.
const PROCESSES: usize = 3;

/// A started shell, and its keeper.
const PROCESSES_OF_A_SHELL: usize = 2;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = bench.home().join("idle-engine");
    fs::copy("/proc/self/exe", &program)?;
    let mut rows = of_engine(bench, &program, 0, "engine, fork server, spare keeper")?;
    rows.extend(of_engine(bench, &program, 1, "the same, a started shell")?);
    fs::remove_file(&program)?;
    Ok(rows)
}

/// The rows of an engine with so many started shells.
fn of_engine(bench: &Bench, program: &Path, shells: usize, whom: &str) -> Result<Vec<Row>> {
    let mut host = start(program, bench, shells)?;
    let looked = look(&mut host, bench, PROCESSES + shells * PROCESSES_OF_A_SHELL);
    host.kill()?;
    host.wait()?;
    let (wake_ups, bytes) = looked?;
    let length = bench.effort.choose(LOOK, SETTLE).as_secs();
    let title = format!("idle, wake-ups in {length} s");
    Ok(vec![
        Row::count(&title, whom, wake_ups, 0),
        Row::bytes("idle, memory (PSS)", whom, bytes, MEMORY_BAR),
    ])
}

fn start(program: &Path, bench: &Bench, shells: usize) -> Result<Child> {
    Ok(Command::new(program)
        .arg(IDLE_ENGINE)
        .arg(bench.home().join("idle-state"))
        .arg(shells.to_string())
        .env_clear()
        .envs(bench.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?)
}

/// Wake-ups and memory of the engine's processes.
fn look(host: &mut Child, bench: &Bench, processes: usize) -> Result<(u64, u64)> {
    until_ready(host)?;
    sleep(SETTLE);
    let begun = Instant::now();
    let mut before = switches()?;
    while before.len() > processes && begun.elapsed() < GIVEN_BACK {
        sleep(SETTLE);
        before = switches()?;
    }
    ensure!(before.len() == processes, "the processes are {before:?}");
    sleep(bench.effort.choose(LOOK, SETTLE));
    let after = switches()?;
    ensure!(
        after.len() == processes && after.keys().all(|pid| before.contains_key(pid)),
        "processes came or went: {before:?} {after:?}"
    );
    let wake_ups = after.values().sum::<u64>() - before.values().sum::<u64>();
    if wake_ups > 0 {
        eprintln!("*** idle: context switches by process, before and after: {before:?} {after:?}");
    }
    let bytes = after
        .keys()
        .map(|pid| processes::proportional_bytes(*pid))
        .sum::<Result<u64>>()?;
    Ok((wake_ups, bytes))
}

/// Waits until the process has made its calls: it closes its stdout then.
fn until_ready(host: &mut Child) -> Result<()> {
    let stdout = host.stdout.as_ref().context("stdout is a pipe")?;
    let mut fds = [PollFd::new(stdout, PollFlags::IN)];
    let bound = Timespec {
        tv_sec: READY_SECONDS,
        tv_nsec: 0,
    };
    let count = rustix::event::poll(&mut fds, Some(&bound))?;
    ensure!(count > 0, "the engine was not ready in {READY_SECONDS} s");
    let mut word = [0; 16];
    let length = rustix::io::read(stdout, &mut word)?;
    ensure!(word.get(..length) == Some(READY), "the engine failed");
    Ok(())
}

/// Context switches of each process below us.
fn switches() -> Result<HashMap<Pid, u64>> {
    let pids = processes::below().into_iter();
    pids.map(|pid| Ok((pid, processes::context_switches(pid)?)))
        .collect()
}

/// What the process says when it has made its calls.
const READY: &[u8] = b"ready\n";

/// The process that is looked at: some calls, and then nothing until it is killed.
pub(crate) fn be_idle_engine(state: &Path, shells: usize) -> Result<ExitCode> {
    let runtime = bench::runtime()?;
    runtime.block_on(async {
        let mut config = Config::new(state);
        config.started_shells = shells;
        let engine = bench::engine(config, std::env::vars_os().collect())?;
        for _ in 0..CALLS {
            let reply = engine.run(Request::new("true")).await;
            ensure!(reply.exit_code == Some(0), "the reply is {reply:?}");
        }
        rustix::io::write(rustix::stdio::stdout(), READY)?;
        std::future::pending::<()>().await;
        Ok(ExitCode::SUCCESS)
    })
}
