//! Calls in a session, beside a bare bash that reads commands from a pipe.
//!
//! The bare session has neither a keeper nor a spool: it is written a line, and its answer is read.
//! A keeper between caller and shell costs two wake-ups more, which on several cores are those of
//! idle ones: so much is a *ping-pong*, a byte to another thread and back.

use super::flood;
use crate::bare;
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::Request;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Beyond the bare session, everything on one core.
const ONE_CORE_BAR: Duration = Duration::from_micros(60);

/// Beyond the bare session and two ping-pongs.
const BAR: Duration = Duration::from_micros(40);

/// 1 GiB of output.
const FLOOD_BAR: f64 = 1.15;

/// Pairs of a round.
const PAIRS: usize = 300;

/// Ping-pongs that the bar allows.
const PING_PONGS: u32 = 2;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    Ok(vec![
        on_one_core(bench)?,
        anywhere(bench)?,
        one_flood(
            bench,
            "session, flood-yes",
            &flood::lines(flood::size(bench)),
        )?,
        one_flood(
            bench,
            "session, flood-zero",
            &flood::zeros(flood::size(bench)),
        )?,
    ])
}

fn on_one_core(bench: &Bench) -> Result<Row> {
    let _pinned = Pinned::to_one_core()?;
    let engine = bench.engine(|_| ())?;
    let mut bare = BareSession::start(bench)?;
    let ours = || {
        Ok(bench
            .call(&engine, Request::new("true").session("bench"))?
            .0)
    };
    let limit = || bare.round_trip();
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    bare.finish()?;
    let (against, nominal) = ("a bare session's", compared.limit.p50);
    let title = "session, `true`, one core";
    Ok(Row::time_over(
        title,
        against,
        &compared,
        nominal,
        ONE_CORE_BAR,
    ))
}

fn anywhere(bench: &Bench) -> Result<Row> {
    let engine = bench.engine(|_| ())?;
    let mut bare = BareSession::start(bench)?;
    let mut table = PingPong::start()?;
    let ours = || {
        Ok(bench
            .call(&engine, Request::new("true").session("bench"))?
            .0)
    };
    let limit = || {
        let bare = bare.round_trip()?;
        Bench::pause()?;
        Ok(bare + table.play()? * PING_PONGS)
    };
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    bare.finish()?;
    table.finish()?;
    let (against, nominal) = ("a bare session's, and 2 ping-pongs", compared.limit.p50);
    let title = "session, `true`";
    Ok(Row::time_over(title, against, &compared, nominal, BAR))
}

fn one_flood(bench: &Bench, title: &str, script: &str) -> Result<Row> {
    let size = flood::size(bench);
    let engine = bench.engine(|_| ())?;
    let request = || Request::new(script).session("flood");
    let ours = || {
        let (took, reply) = bench.call(&engine, request())?;
        ensure!(reply.output_bytes == size, "not {size} bytes");
        Ok(took)
    };
    let limit = || bare::into_nowhere(&bench.bash, script, &bench.env, size);
    let pairs = bench.effort.choose(flood::PAIRS, 1);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    Ok(Row::ratio(title, "read into nowhere", &compared, FLOOD_BAR))
}

/// A bash that reads its commands from a pipe.
struct BareSession {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl BareSession {
    fn start(bench: &Bench) -> Result<Self> {
        let mut child = Command::new(&bench.bash)
            .args(["--norc", "--noprofile"])
            .env_clear()
            .envs(bench.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("stdin is a pipe")?;
        let stdout = BufReader::new(child.stdout.take().context("stdout is a pipe")?);
        let mut session = Self {
            child,
            stdin,
            stdout,
        };
        session.round_trip()?; // it has started then
        Ok(session)
    }

    fn round_trip(&mut self) -> Result<Duration> {
        let mut answer = String::new();
        let begun = Instant::now();
        self.stdin.write_all(b"true;echo $?\n")?;
        self.stdout.read_line(&mut answer)?;
        let took = begun.elapsed();
        ensure!(answer == "0\n", "the bare session said {answer:?}");
        Ok(took)
    }

    fn finish(self) -> Result<()> {
        let Self {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        ensure!(child.wait()?.success(), "the bare session failed");
        Ok(())
    }
}

/// A thread that sends back what it is sent.
struct PingPong {
    there: PipeWriter,
    back: PipeReader,
    partner: JoinHandle<std::io::Result<()>>,
}

impl PingPong {
    fn start() -> Result<Self> {
        let (mut from_us, there) = std::io::pipe()?;
        let (back, mut to_us) = std::io::pipe()?;
        let partner = std::thread::spawn(move || {
            let mut ball = [0];
            while from_us.read(&mut ball)? > 0 {
                to_us.write_all(&ball)?;
            }
            Ok(())
        });
        Ok(Self {
            there,
            back,
            partner,
        })
    }

    fn play(&mut self) -> Result<Duration> {
        let mut ball = [1];
        let begun = Instant::now();
        self.there.write_all(&ball)?;
        self.back.read_exact(&mut ball)?;
        Ok(begun.elapsed())
    }

    fn finish(self) -> Result<()> {
        drop(self.there);
        let played = self.partner.join();
        played.map_err(|_| anyhow::anyhow!("the partner panicked"))??;
        Ok(())
    }
}

/// This thread, and what it starts, on one core while this lives.
struct Pinned(CpuSet);

impl Pinned {
    fn to_one_core() -> Result<Self> {
        let before = sched_getaffinity(None)?;
        let core = (0..CpuSet::MAX_CPU).rev().find(|core| before.is_set(*core));
        let mut one = CpuSet::new();
        one.set(core.context("there is no core")?);
        sched_setaffinity(None, &one)?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // What it was before, so that it can't be refused.
        let _ = sched_setaffinity(None, &self.0);
    }
}
