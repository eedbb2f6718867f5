//! Background jobs: how fast one is started, how fast a hundred come and go, how fast a thousand
//! are listed, and how soon a byte that was written is shown to who follows.

use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::processes;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::jobs::{Condition, Met, WaitFor, Whose};
use bashd::{Engine, Job, Jobs, Request};
use rustix::fs::{FileType, Mode};
use rustix::process::Pid;
use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

/// Whose jobs these are.
const OWNER: &str = "bench";

/// A job's spec is on the disk before its call returns: two syncs and a rename stand between.
const START_OVER: Duration = Duration::from_millis(20);

/// A list of a thousand.
const LIST: Duration = Duration::from_millis(50);

/// Growth is told every 10 ms at most.
const FOLLOW: Duration = Duration::from_millis(15);

/// Memory of the engine for a job.
const IN_ENGINE: u64 = 16 * 1024;

/// Memory of a job's keeper.
const IN_KEEPER: u64 = 500 * 1024;

const PATIENCE: Duration = Duration::from_mins(2);

/// Jobs that are started at once where a thousand are.
const AT_ONCE: usize = 20;

/// The start of a job whose profile reports no early ending, beside the same call in the
/// foreground.
pub(super) fn start(bench: &Bench) -> Result<Vec<Row>> {
    let engine = roomy_engine(bench)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(20, 2),
        Bench::pause,
        || bench.wait(start_and_end(&engine)),
        || {
            Ok(bench
                .call(&engine, Request::new("true").profile("phoenix"))?
                .0)
        },
    )?;
    let nominal = compared.limit.p50;
    let against = "`true` in the foreground";
    let row = Row::time_over("job-start", against, &compared, nominal, START_OVER);
    Ok(vec![row])
}

/// How long the start took; what was started is ended and forgotten afterwards.
async fn start_and_end(engine: &Engine) -> Result<Duration> {
    let begun = Instant::now();
    let job = background(engine, "sleep 300").await?;
    let took = begun.elapsed();
    let ended = engine.jobs().kill(&job).await?;
    engine.jobs().remove(&ended).await?;
    Ok(took)
}

async fn background(engine: &Engine, command: &str) -> Result<Job> {
    let request = Request::new(command).profile("phoenix").mode("background");
    let reply = engine.run(request.owner(OWNER)).await;
    let id = reply.job.as_ref().with_context(|| format!("{reply:?}"))?;
    Ok(engine.jobs().find(Whose::Owner(OWNER), id)?)
}

/// A hundred jobs at once, from the first start to the last known end, beside as many calls.
pub(super) fn hundred(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.effort.choose(100, 5);
    let engine = roomy_engine(bench)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(3, 1),
        Bench::rest,
        || bench.wait(come_and_go(&engine, count)),
        || bench.wait(calls(&engine, count)),
    )?;
    let against = format!("{count} calls at once");
    Ok(vec![Row::information("job-hundred", &against, &compared)])
}

async fn come_and_go(engine: &Engine, count: usize) -> Result<Duration> {
    let begun = Instant::now();
    let mut starts = JoinSet::new();
    for number in 0..count {
        let engine = engine.clone();
        starts.spawn(async move { background(&engine, &format!("echo {number}")).await });
    }
    let jobs: Vec<Job> = starts.join_all().await.into_iter().collect::<Result<_>>()?;
    let all = engine.jobs();
    let waited = all
        .wait(jobs, &WaitFor::new(Condition::Exit, PATIENCE))
        .await;
    let took = begun.elapsed();
    for one in waited {
        let is_right = one.met == Met::Yes && one.job.exit_code == Some(0);
        ensure!(is_right, "a job ended as {one:?}");
        all.remove(&one.job).await?;
    }
    Ok(took)
}

async fn calls(engine: &Engine, count: usize) -> Result<Duration> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..count {
        let engine = engine.clone();
        let request = Request::new(format!("echo {number}")).profile("phoenix");
        running.spawn(async move { engine.run(request).await });
    }
    let replies = running.join_all().await;
    let took = begun.elapsed();
    let are_right = replies.iter().all(|reply| reply.exit_code == Some(0));
    ensure!(are_right, "a call failed");
    Ok(took)
}

/// The list of a thousand running jobs, beside the list of one.
pub(super) fn list(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.effort.choose(1000, 10);
    let engine = roomy_engine(bench)?;
    // One process for each beside its keeper: a shell that waits for somebody to write.
    let gate = bench.home().join("gate");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &gate, FileType::Fifo, mode, 0)?;
    let script = format!(": < {}", gate.display());
    let own = rustix::process::getpid();
    let before = processes::proportional_bytes(own)?;
    bench.wait(start_all(&engine, &script, count))?;
    let grown = processes::proportional_bytes(own)?.saturating_sub(before) / count as u64;
    let jobs = engine.jobs();
    let keeper = keeper_bytes(&jobs)?;
    let compared = in_turn(
        bench.effort,
        5,
        Bench::pause,
        || {
            let begun = Instant::now();
            let listed = jobs.list(Whose::Owner(OWNER)).len();
            let took = begun.elapsed();
            ensure!(listed == count, "{listed} jobs are listed");
            Ok(took)
        },
        || {
            let begun = Instant::now();
            fs::read_dir(bench.home().join("state/runs"))?.count();
            Ok(begun.elapsed())
        },
    )?;
    let opened = fs::File::options().read(true).write(true).open(&gate)?;
    let all = jobs.list(Whose::Owner(OWNER));
    let waited = bench.wait(jobs.wait(all, &WaitFor::new(Condition::Exit, PATIENCE)));
    ensure!(waited.iter().all(|one| one.met == Met::Yes), "one was lost");
    for one in waited {
        bench.wait(jobs.remove(&one.job))?;
    }
    drop(opened);
    fs::remove_file(&gate)?;
    let against = format!("a look into a directory of {count}");
    let each = format!("each of {count} jobs");
    Ok(vec![
        Row::time_over("job-list", &against, &compared, 0.0, LIST),
        Row::bytes("job-list, engine (PSS)", &each, grown, IN_ENGINE),
        Row::bytes("job-list, keeper (PSS)", &each, keeper, IN_KEEPER),
    ])
}

/// What a keeper of these jobs has of memory, on average.
fn keeper_bytes(jobs: &Jobs) -> Result<u64> {
    let (mut total, mut count) = (0, 0);
    for job in jobs.list(Whose::Owner(OWNER)) {
        let parent = processes::parent(Pid::from_raw(job.pid).context("a pid")?)?;
        total += processes::proportional_bytes(parent)?;
        count += 1;
    }
    Ok(total / count.max(1))
}

async fn start_all(engine: &Engine, script: &str, count: usize) -> Result<()> {
    let mut starts = JoinSet::new();
    for _ in 0..count {
        if starts.len() >= AT_ONCE {
            starts.join_next().await.context("a start")???;
        }
        let (engine, script) = (engine.clone(), script.to_owned());
        starts.spawn(async move { background(&engine, &script).await.map(drop) });
    }
    starts.join_all().await.into_iter().collect()
}

/// From a line that a job writes to the same line in the hands of who follows it.
pub(super) fn follow(bench: &Bench) -> Result<Vec<Row>> {
    let engine = roomy_engine(bench)?;
    let lines = bench.effort.choose(40, 3);
    // Each line says when it was written.
    let script = format!("for i in $(seq {lines}); do echo $EPOCHREALTIME; sleep 0.03; done");
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(3, 1),
        Bench::rest,
        || bench.wait(followed(&engine, &script)),
        || piped(bench, &script),
    )?;
    let against = "a line through a pipe";
    let nominal = compared.limit.p50;
    let row = Row::time_over("job-follow", against, &compared, nominal, FOLLOW);
    Ok(vec![row])
}

/// The median age of a line when it is shown.
async fn followed(engine: &Engine, script: &str) -> Result<Duration> {
    let job = background(engine, &format!("sleep 0.2; {script}")).await?;
    let mut ages = Vec::new();
    let ended = engine
        .jobs()
        .follow(&job, 0, |text| {
            ages.extend(text.lines().filter_map(age));
            ControlFlow::Continue(())
        })
        .await?;
    engine.jobs().remove(&ended).await?;
    median(ages)
}

fn piped(bench: &Bench, script: &str) -> Result<Duration> {
    let mut ages = Vec::new();
    bare::spawn(&bench.bash, ["-c", script], &bench.env)?
        .each_line(|line| ages.extend(age(line)))?;
    median(ages)
}

/// How long ago a line was written that says when.
fn age(line: &str) -> Option<Duration> {
    let (seconds, micros) = line.trim().split_once('.')?;
    let then =
        Duration::from_secs(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(now.saturating_sub(then))
}

fn median(mut ages: Vec<Duration>) -> Result<Duration> {
    ages.sort_unstable();
    let middle = ages.get(ages.len() / 2).copied();
    middle.context("no line was shown")
}

/// An engine that takes a thousand jobs.
fn roomy_engine(bench: &Bench) -> Result<Engine> {
    bench.engine(|config| {
        config.jobs.limits.in_all = 2000;
        config.jobs.limits.per_owner = 2000;
    })
}
