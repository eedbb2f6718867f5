//! `bashd mcp` on stdin and stdout, beside the same commands without it.
//!
//! The client here does as little as one can: it writes lines, and reads lines.

use crate::bare::{self, Spawned};
use crate::bench::Bench;
use crate::measure::in_turn;
use crate::table::Row;
use crate::workload::warm::SHELLS;
use crate::workload::{flood, timeout};
use crate::{binaries, processes};
use anyhow::{Context, Result, ensure};
use rustix::process::Pid;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A call of `true`, without warm shells.
const BAR: f64 = 1.4;

/// The same with warm shells.
const WARM_BAR: f64 = 0.5;

/// A hundred calls at once.
const MANY_BAR: f64 = 1.5;

/// 1 GiB of output.
const FLOOD_BAR: f64 = 1.15;

/// From the start of the process to its first answer.
const START_BAR: Duration = Duration::from_millis(8);

/// Most bytes of all processes together, at rest.
const MEMORY_BAR: u64 = 12 * 1024 * 1024;

/// What a process that stays adds to a call, and how late the reply to a timeout is.
const SURVIVOR_BAR: Duration = Duration::from_millis(30);
const TIMEOUT_BAR: Duration = Duration::from_millis(5);

/// The shortest limit that the default profile takes.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Pairs of a round, and the pause before each of their calls.
const SURVIVORS: usize = 10;
const TIMEOUTS: usize = 5;
const SETTLED: Duration = Duration::from_millis(20);

/// Pairs of a round.
const PAIRS: usize = 100;

/// Pairs of a round of many calls.
const MANY_PAIRS: usize = 5;

/// Calls at once.
const CALLS: usize = 100;

/// How long the last call's keeper may take to leave before memory is looked at.
const SETTLE: Duration = Duration::from_secs(1);

/// The first line of every client.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let bashd = binaries::build("bashd-cli", "bashd")?;
    let mut rows = vec![start(bench, &bashd)?];
    for (warm_shells, title, bar) in [
        (0, "mcp, `true`", BAR),
        (SHELLS, "mcp, `true`, warm", WARM_BAR),
    ] {
        let mut client = Client::connect_with(&bashd, bench, Some(warm_shells))?;
        rows.push(calls(bench, &mut client, title, bar)?);
        client.finish()?;
    }
    let mut client = Client::connect(&bashd, bench)?;
    rows.push(survivor(bench, &mut client)?);
    rows.push(timeout(bench, &mut client)?);
    rows.push(many(bench, &mut client)?);
    rows.push(one_flood(bench, &mut client)?);
    client.finish()?;
    // Many calls at once leave shells waiting for a while.
    let mut client = Client::connect(&bashd, bench)?;
    rows.push(memory(&mut client)?);
    client.finish()?;
    Ok(rows)
}

/// From nothing to the first answer.
fn start(bench: &Bench, bashd: &Path) -> Result<Row> {
    let ours = || {
        let begun = Instant::now();
        let client = Client::connect(bashd, bench)?;
        let took = begun.elapsed();
        client.finish()?;
        Ok(took)
    };
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    let against = "no time at all; `bash -c true` as a process for comparison";
    Ok(Row::time_over(
        "mcp, start",
        against,
        &compared,
        0.0,
        START_BAR,
    ))
}

fn calls(bench: &Bench, client: &mut Client, title: &str, bar: f64) -> Result<Row> {
    let ours = || client.time("true");
    let limit = || bare::process(&bench.bash, ["-c", "true"], &bench.env);
    let pairs = bench.effort.choose(PAIRS, 3);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    Ok(Row::ratio(title, "bare `bash -c true`", &compared, bar))
}

/// A command that leaves something running, beside the same command that does not.
fn survivor(bench: &Bench, client: &mut Client) -> Result<Row> {
    let client = RefCell::new(client);
    let leaving = || {
        let mut client = client.borrow_mut();
        let begun = Instant::now();
        client.say(&call(1, "sleep 30 & echo done"))?;
        let answer = client.hear()?;
        let took = begun.elapsed();
        let left = answer.split_once(r#""left_behind":[{"#);
        let pid = left.and_then(|(_, left)| left.split_once(r#""pid":"#));
        let digits = pid.and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        let pid = digits.and_then(|digits| digits.parse().ok());
        let pid = pid
            .and_then(Pid::from_raw)
            .with_context(|| answer.clone())?;
        processes::end(pid);
        Ok(took)
    };
    let plain = || client.borrow_mut().time("echo done");
    let settle = || {
        sleep(SETTLED);
        Ok(())
    };
    let pairs = bench.effort.choose(SURVIVORS, 2);
    let compared = in_turn(bench.effort, pairs, settle, leaving, plain)?;
    let (against, nominal) = ("`echo done` over MCP", compared.limit.p50);
    let title = "mcp, survivor";
    Ok(Row::time_over(
        title,
        against,
        &compared,
        nominal,
        SURVIVOR_BAR,
    ))
}

/// How late the reply to a call is that is over its timeout.
fn timeout(bench: &Bench, client: &mut Client) -> Result<Row> {
    let arguments = r#"{"command":"sleep 30 | sleep 30","timeout":1,"on_timeout":"kill"}"#;
    let line = call_with(1, arguments);
    let ours = || {
        let begun = Instant::now();
        client.say(&line)?;
        let answer = client.hear()?;
        let took = begun.elapsed();
        ensure!(answer.contains(r#""timed_out":true"#), "{answer}");
        Ok(took)
    };
    let limit = || timeout::plain_timer(TIMEOUT);
    let settle = || {
        sleep(SETTLED);
        Ok(())
    };
    let pairs = bench.effort.choose(TIMEOUTS, 1);
    let compared = in_turn(bench.effort, pairs, settle, ours, limit)?;
    let (against, nominal) = ("a timer of 1 s", TIMEOUT.as_secs_f64());
    let title = "mcp, timeout";
    Ok(Row::time_over(
        title,
        against,
        &compared,
        nominal,
        TIMEOUT_BAR,
    ))
}

fn many(bench: &Bench, client: &mut Client) -> Result<Row> {
    let count = bench.effort.choose(CALLS, 5);
    let ours = || {
        let mut lines = String::new();
        for number in 0..count {
            writeln!(lines, "{}", call(number, &format!("echo {number}")))?;
        }
        let begun = Instant::now();
        client.say(lines.trim_end())?;
        let answers: Vec<String> = (0..count).map(|_| client.hear()).collect::<Result<_>>()?;
        let took = begun.elapsed();
        for number in 0..count {
            let (id, output) = (
                format!(r#""id":{number},"#),
                format!(r#""output":"{number}\n""#),
            );
            let is_right = |answer: &String| answer.contains(&id) && answer.contains(&output);
            ensure!(answers.iter().any(is_right), "call {number} has no answer");
        }
        Ok(took)
    };
    let limit = || {
        let begun = Instant::now();
        let spawned: Vec<Spawned> = (0..count)
            .map(|number| bare::spawn(&bench.bash, ["-c", &format!("echo {number}")], &bench.env))
            .collect::<Result<_>>()?;
        spawned
            .into_iter()
            .try_for_each(|one| one.finish().map(drop))?;
        Ok(begun.elapsed())
    };
    let pairs = bench.effort.choose(MANY_PAIRS, 1);
    let settle = || {
        sleep(
            bench
                .effort
                .choose(Duration::from_millis(100), Duration::ZERO),
        );
        Ok(())
    };
    let compared = in_turn(bench.effort, pairs, settle, ours, limit)?;
    let against = format!("{count} bare spawns at once");
    Ok(Row::ratio("mcp, many", &against, &compared, MANY_BAR))
}

fn one_flood(bench: &Bench, client: &mut Client) -> Result<Row> {
    let size = flood::size(bench);
    let script = flood::lines(size);
    let ours = || {
        let begun = Instant::now();
        client.say(&call(1, &script))?;
        let answer = client.hear()?;
        let took = begun.elapsed();
        let counted = format!(r#""output_bytes":{size},"#);
        ensure!(answer.contains(&counted), "not {size} bytes");
        Ok(took)
    };
    let limit = || bare::into_nowhere(&bench.bash, &script, &bench.env, size);
    let pairs = bench.effort.choose(flood::PAIRS, 1);
    let compared = in_turn(bench.effort, pairs, Bench::pause, ours, limit)?;
    Ok(Row::ratio(
        "mcp, flood",
        "read into nowhere",
        &compared,
        FLOOD_BAR,
    ))
}

/// What the server and its keepers hold when nobody asks for anything.
fn memory(client: &mut Client) -> Result<Row> {
    client.say(&call(1, "true"))?;
    client.hear()?;
    sleep(SETTLE);
    let bytes = processes::below()
        .into_iter()
        .map(processes::proportional_bytes)
        .sum::<Result<u64>>()?;
    let whom = "server, fork server, spare keeper, started shell";
    Ok(Row::bytes(
        "mcp, idle memory (PSS)",
        whom,
        bytes,
        MEMORY_BAR,
    ))
}

/// A call of the tool, as a line.
pub(super) fn call(id: usize, command: &str) -> String {
    let command = command.replace('\\', "\\\\").replace('"', "\\\"");
    call_with(id, &format!(r#"{{"command":"{command}"}}"#))
}

fn call_with(id: usize, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"bash","arguments":{arguments}}}}}"#
    )
}

/// A running server, and both ends of its pipes.
pub(super) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    /// Starts a server as it comes and hears its first answer.
    pub(super) fn connect(bashd: &Path, bench: &Bench) -> Result<Self> {
        Self::connect_with(bashd, bench, None)
    }

    /// The same with so many shells started ahead.
    pub(super) fn connect_with(bashd: &Path, bench: &Bench, shells: Option<usize>) -> Result<Self> {
        let program: PathBuf = bashd.to_owned();
        let shells = shells.map(|count| ("BASHD_SESSIONS_WARM_SHELLS", count.to_string()));
        let mut child = Command::new(program)
            .arg("mcp")
            .env_clear()
            .envs(bench.env.iter().map(|(name, value)| (name, value)))
            .envs(shells)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("stdin is a pipe")?;
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        let stdout = BufReader::new(stdout);
        let mut client = Self {
            child,
            stdin,
            stdout,
        };
        client.say(HELLO)?;
        let hello = client.hear()?;
        ensure!(hello.contains("serverInfo"), "{hello}");
        Ok(client)
    }

    pub(super) fn say(&mut self, line: &str) -> Result<()> {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes())?)
    }

    pub(super) fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the server has left");
        Ok(line)
    }

    /// How long a command takes that must succeed.
    pub(super) fn time(&mut self, command: &str) -> Result<Duration> {
        let begun = Instant::now();
        self.say(&call(1, command))?;
        let answer = self.hear()?;
        let took = begun.elapsed();
        ensure!(answer.contains(r#""exit_code":0"#), "{answer}");
        Ok(took)
    }

    /// Closes the server's stdin, and waits for its end.
    pub(super) fn finish(self) -> Result<()> {
        let Self {
            mut child,
            stdin,
            stdout,
        } = self;
        drop(stdin);
        let status = child.wait()?;
        drop(stdout);
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}
