//! Commands in a terminal, beside a bare pseudoterminal that is read into nowhere.

use crate::bench::Bench;
use crate::measure::{Compared, in_turn};
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::{Event, Request};
use rustix::pty::OpenptFlags;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Pairs of a round, for a short call and for a flood.
const PAIRS: usize = 100;
const FLOODS: usize = 2;

/// Bytes of the flood: a terminal hands out at most 4 KiB at a time.
const FLOOD: u64 = 64 << 20;

/// Says that it is ready, then gives every byte back.
const ECHO: &str = "stty raw -echo; echo ready; exec cat";

/// Pause between two keys of somebody who types fast.
const BETWEEN_KEYS: Duration = Duration::from_millis(20);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let engine = bench.engine(|_| ())?;
    let short = || Ok(bench.call(&engine, Request::new("true").pty())?.0);
    let pairs = bench.effort.choose(PAIRS, 3);
    let calls = in_turn(bench.effort, pairs, Bench::pause, short, || {
        bare(bench, "true", 0)
    })?;
    let bytes = bench.effort.choose(FLOOD, 1 << 20);
    let script = format!("stty -opost; {}", super::flood::lines(bytes));
    let flood = || {
        let (took, reply) = bench.call(&engine, Request::new(&script).pty())?;
        ensure!(reply.output_bytes == bytes, "{} bytes", reply.output_bytes);
        Ok(took)
    };
    let pairs = bench.effort.choose(FLOODS, 1);
    let floods = in_turn(bench.effort, pairs, Bench::rest, flood, || {
        bare(bench, &script, bytes)
    })?;
    let keys = keys(bench, &engine)?;
    Ok(vec![
        Row::information("terminal", "bare terminal, `bash -c true`", &calls),
        Row::information("terminal, key and echo", "bare terminal, `cat`", &keys),
        Row::information(
            "terminal, flood",
            "bare terminal, read into nowhere",
            &floods,
        ),
    ])
}

/// A key and what comes back for it: typed by somebody, so with pauses between.
fn keys(bench: &Bench, engine: &bashd::Engine) -> Result<Compared> {
    let request = Request::new(ECHO).pty().timeout(Duration::from_mins(10));
    let mut running = engine.stream(request);
    let keyboard = running.keyboard();
    let mut ours = |key: &'static str| {
        let begun = Instant::now();
        if !key.is_empty() {
            keyboard.type_bytes(key);
        }
        bench.wait(async {
            loop {
                match running.next().await {
                    Some(Event::Output { .. }) => return Ok(begun.elapsed()),
                    Some(Event::Finished(reply)) => anyhow::bail!("it ended: {reply:?}"),
                    Some(_) => {}
                    None => anyhow::bail!("it ended"),
                }
            }
        })
    };
    ours("")?;
    let (mut child, terminal) = spawn(bench, ECHO)?;
    let theirs = |key: &str| {
        let begun = Instant::now();
        rustix::io::write(&terminal, key.as_bytes())?;
        let mut buffer = [0; 64];
        let count = rustix::io::read(&terminal, &mut buffer[..])?;
        ensure!(count > 0, "it ended");
        Ok(begun.elapsed())
    };
    theirs("")?;
    let pairs = bench.effort.choose(PAIRS, 3);
    let settle = || {
        std::thread::sleep(BETWEEN_KEYS);
        Ok(())
    };
    let compared = in_turn(bench.effort, pairs, settle, || ours("x"), || theirs("x"));
    drop(terminal);
    child.kill()?;
    child.wait()?;
    compared
}

/// How long a script takes in a terminal of our own, all of whose output is read and none kept.
fn bare(bench: &Bench, script: &str, expected: u64) -> Result<Duration> {
    let begun = Instant::now();
    let (mut child, ours) = spawn(bench, script)?;
    let (mut buffer, mut total) = (vec![0; 64 * 1024], 0);
    // A terminal without anybody on its other end is an error, not an end.
    while let Ok(count @ 1..) = rustix::io::read(&ours, &mut buffer[..]) {
        total += count as u64;
    }
    let status = child.wait()?;
    ensure!(
        status.success() && total == expected,
        "{status}, {total} bytes"
    );
    Ok(begun.elapsed())
}

/// A script in a terminal of our own, and our end of that.
fn spawn(bench: &Bench, script: &str) -> Result<(Child, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let theirs: OwnedFd = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    // The command, and with it our copies of its end, is gone after this statement.
    let child = Command::new(&bench.bash)
        .args(["-c", script])
        .env_clear()
        .envs(bench.env.iter().map(|(name, value)| (name, value)))
        .stdin(theirs.try_clone()?)
        .stdout(theirs.try_clone()?)
        .stderr(theirs)
        .spawn()?;
    Ok((child, ours))
}
