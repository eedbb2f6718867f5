//! Calls on a far machine, by ssh: beside the bare ssh with its own way to keep a connection open,
//! and beside the same calls here.
//!
//! The machine is made by namespaces on this one, so its processors are these, too.

use super::flood;
use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::place::{PlaceKind, PlaceSettings};
use bashd::{Engine, Request};
use bashd_testkit::slow_wire::SlowWire;
use bashd_testkit::{FarMachine, far_machine};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// `true`, beside the bare ssh over a connection that is open.
const SSH_BAR: f64 = 0.25;

/// What it takes longer than here.
const OVER_LOCAL: Duration = Duration::from_millis(1);

/// A round trip, and what a call takes beyond it.
const ROUND_TRIP: Duration = Duration::from_millis(40);
const OVER_ROUND_TRIP: Duration = Duration::from_millis(5);

/// The first call, beside a fresh login.
const FIRST_BAR: f64 = 1.3;

const FIRST_WITH_UPLOAD: &str = "places, first call, upload";

/// 1 GiB of output there, beside the same here, and what of it comes over the wire.
const FLOOD_BAR: f64 = 1.15;
const WIRE_BAR: u64 = 256 * 1024;

/// A hundred calls of a second at once, beside one second.
const MANY_BAR: f64 = 1.3;
const CALLS: usize = 100;

/// Pairs of a round.
const PAIRS: usize = 100;
const FEW_PAIRS: usize = 10;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = binaries::build("bashd-cli", "bashd")?;
    let Some(machine) = FarMachine::start(&program) else {
        let why = anyhow::anyhow!("there can be no far machine here");
        return Ok(vec![Row::failed("places", &why)]);
    };
    let here = bench.engine(|_| {})?;
    let there = engine(bench, &machine)?;
    let mut rows = vec![
        beside_ssh(bench, &machine, &there)?,
        beside_local(bench, &there, &here)?,
        first(bench, &machine)?,
        many(bench, &there)?,
    ];
    // Building what is sent takes minutes, and one for debugging has a hundred megabytes to send.
    if bench.effort.choose(true, false) {
        rows.push(match binaries::outpost() {
            Ok(outpost) => first_with_upload(bench, &machine, &outpost)?,
            Err(error) => Row::failed(FIRST_WITH_UPLOAD, &error),
        });
    } else {
        eprintln!("*** places: a first call with upload is NOT measured in a smoke run");
    }
    rows.extend(timeouts(bench, &machine, &there, &here)?);
    rows.extend(output(bench, &machine, &here)?);
    rows.extend(far_away(bench, &machine)?);
    Ok(rows)
}

/// An engine whose place is the machine, with its carrier open.
fn engine(bench: &Bench, machine: &FarMachine) -> Result<Engine> {
    let engine = dialling(bench, machine)?;
    call(bench, &engine)?;
    Ok(engine)
}

/// The same before its first call.
fn dialling(bench: &Bench, machine: &FarMachine) -> Result<Engine> {
    dialling_by(bench, machine, |_| {})
}

fn dialling_by(
    bench: &Bench,
    machine: &FarMachine,
    set: impl FnOnce(&mut PlaceSettings),
) -> Result<Engine> {
    let mut env = bench.env.clone();
    for (name, value) in &mut env {
        if name == "PATH" {
            let mut path = machine.client().into_os_string();
            path.push(":");
            path.push(&*value);
            *value = path;
        }
    }
    let kind = PlaceKind::Ssh {
        host: "far".to_owned(),
        bin: Some(far_machine::BASHD.to_owned()),
    };
    let mut config = bashd::Config::new(bench.home().join("state"));
    let mut place = PlaceSettings::new("far", kind);
    set(&mut place);
    config.places = vec![place];
    crate::bench::engine(config, env)
}

fn call(bench: &Bench, engine: &Engine) -> Result<Duration> {
    Ok(bench.call(engine, Request::new("true").on("far"))?.0)
}

/// The words of an ssh that uses the connection which another one holds open.
struct Master<'a> {
    bench: &'a Bench,
    words: Vec<OsString>,
}

impl<'a> Master<'a> {
    fn open(bench: &'a Bench, machine: &FarMachine) -> Result<Self> {
        let mut words = machine.login();
        let socket = bench.home().join("master");
        let host = words.pop().context("a host")?;
        words.extend(["-S".into(), socket.into(), host]);
        let mut open = words.clone();
        open.splice(1..1, ["-fNM".into(), "-oLogLevel=ERROR".into()]);
        let master = Self { bench, words };
        // It goes on in the background, so its output is nobody's.
        let status = std::process::Command::new(open.first().context("ssh")?)
            .args(open.iter().skip(1))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()?;
        ensure!(status.success(), "ssh opens no connection: {status}");
        Ok(master)
    }

    fn run(&self, words: &[&str]) -> Result<Duration> {
        let program = Path::new(self.words.first().context("ssh")?);
        let rest = self.words.iter().skip(1).cloned();
        let all = rest.chain(words.iter().map(OsString::from));
        bare::process(program, all, &self.bench.env)
    }
}

impl Drop for Master<'_> {
    fn drop(&mut self) {
        let mut words = self.words.clone();
        words.splice(1..1, ["-Oexit".into()]);
        let _ = bare::process(
            Path::new("/usr/bin/ssh"),
            words.iter().skip(1),
            &self.bench.env,
        );
    }
}

fn beside_ssh(bench: &Bench, machine: &FarMachine, there: &Engine) -> Result<Row> {
    let master = Master::open(bench, machine)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 2),
        Bench::pause,
        || call(bench, there),
        || master.run(&["true"]),
    )?;
    let against = "`ssh -o ControlPath far true`";
    Ok(Row::ratio("places, warm", against, &compared, SSH_BAR))
}

fn beside_local(bench: &Bench, there: &Engine, here: &Engine) -> Result<Row> {
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 2),
        Bench::pause,
        || call(bench, there),
        || Ok(bench.call(here, Request::new("true"))?.0),
    )?;
    let (name, against) = ("places, warm, over local", "the same call here");
    let nominal = compared.limit.p50;
    Ok(Row::time_over(
        name, against, &compared, nominal, OVER_LOCAL,
    ))
}

/// The first call of an engine: its outpost is there, its carrier is not.
fn first(bench: &Bench, machine: &FarMachine) -> Result<Row> {
    let login = machine.login();
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(FEW_PAIRS, 1),
        Bench::pause,
        || call(bench, &dialling(bench, machine)?),
        || {
            let words = login
                .iter()
                .skip(1)
                .cloned()
                .chain([OsString::from("true")]);
            bare::process(Path::new("/usr/bin/ssh"), words, &bench.env)
        },
    )?;
    let against = "`ssh far true`, a login of its own";
    Ok(Row::ratio(
        "places, first call",
        against,
        &compared,
        FIRST_BAR,
    ))
}

/// The first call of all: the program is not there yet. Beside a login, and half as much again as
/// sending its bytes takes.
fn first_with_upload(bench: &Bench, machine: &FarMachine, outpost: &Path) -> Result<Row> {
    let sent = bench.home().join("to-send");
    let whole = std::fs::copy(outpost, &sent)?;
    let mut gzip = std::process::Command::new("gzip");
    ensure!(
        gzip.args(["-9", "--keep"]).arg(&sent).status()?.success(),
        "gzip"
    );
    let pressed = sent.with_extension("gz");
    let size = std::fs::metadata(&pressed)?.len();
    let shown = outpost.display();
    eprintln!("{shown}, {whole} bytes, is sent as {size} bytes, as ./dist compresses it");
    let login = machine.login();
    let at_ssh = |line: &str| {
        let script = format!("exec \"$@\" <{}", pressed.display());
        let begins = ["-c", &script, "sh"].map(OsString::from);
        let words = begins.into_iter().chain(login.iter().cloned());
        let words = words.chain([OsString::from(line)]);
        bare::process(Path::new("/bin/sh"), words, &bench.env)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(FEW_PAIRS, 1),
        Bench::pause,
        || {
            machine.sh("rm -rf /home/u/.cache/bashd");
            for outpost in machine.running("--build") {
                outpost.kill();
            }
            let kind = PlaceKind::Ssh {
                host: "far".to_owned(),
                bin: None,
            };
            let engine = dialling_by(bench, machine, |place| {
                place.kind = kind;
                place.program = Some(sent.clone());
            })?;
            call(bench, &engine)
        },
        || {
            let fresh = at_ssh("true")?;
            let copied = at_ssh("cat >/tmp/copy")?;
            // A login of its own is in both.
            Ok(fresh + copied.saturating_sub(fresh) * 3 / 2)
        },
    )?;
    let against = "`ssh far true` + 1.5x of copying it by ssh";
    Ok(Row::ratio(FIRST_WITH_UPLOAD, against, &compared, 1.0))
}

/// How late a timeout there is beside one here, and what is left of a thousand.
fn timeouts(
    bench: &Bench,
    machine: &FarMachine,
    there: &Engine,
    here: &Engine,
) -> Result<Vec<Row>> {
    let limit = Duration::from_millis(100);
    let late = |engine: &Engine, request: Request| {
        let request = request.timeout(limit);
        let begun = Instant::now();
        let reply = bench.wait(engine.run(request));
        ensure!(reply.timed_out, "{reply:?}");
        Ok(begun.elapsed())
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(FEW_PAIRS, 1),
        Bench::pause,
        || late(there, Request::new("sleep 60").on("far")),
        || late(here, Request::new("sleep 60")),
    )?;
    let (name, against) = ("places, timeout", "the same call here");
    let nominal = compared.limit.p50;
    let lateness = Row::time_over(name, against, &compared, nominal, OVER_ROUND_TRIP);
    let calls = bench.effort.choose(1000, 20);
    for _ in 0..calls / 20 {
        bench.wait(async {
            let mut running = JoinSet::new();
            for _ in 0..20 {
                let request = Request::new("sleep 77 & (setsid sleep 77 &) & sleep 77");
                let (engine, request) = (there.clone(), request.on("far").timeout(limit));
                running.spawn(async move { engine.run(request).await });
            }
            let replies = running.join_all().await;
            let late = replies.iter().filter(|reply| reply.timed_out).count();
            ensure!(late == 20, "{late} of 20 replies are right");
            anyhow::Ok(())
        })?;
    }
    let left = machine.running("sleep 77").len() as u64;
    let name = format!("places, {calls} timeouts, survivors");
    Ok(vec![
        lateness,
        Row::count(&name, "processes of theirs", left, 0),
    ])
}

/// Many at once; sshd's own limits are as they come.
fn many(bench: &Bench, there: &Engine) -> Result<Row> {
    let calls = bench.effort.choose(CALLS, 5);
    let second = Duration::from_secs(1);
    let all = async {
        let begun = Instant::now();
        let mut running = JoinSet::new();
        for _ in 0..calls {
            let engine = there.clone();
            running.spawn(async move { engine.run(Request::new("sleep 1").on("far")).await });
        }
        let replies = running.join_all().await;
        let right = replies.iter().filter(|reply| reply.exit_code == Some(0));
        let right = right.count();
        ensure!(right == calls, "{right} of {calls} replies are right");
        Ok(begun.elapsed())
    };
    let took = bench.wait(all)?;
    let compared = in_turn(bench.effort, 1, Bench::pause, || Ok(took), || Ok(second))?;
    let name = format!("places, {calls} at once");
    Ok(Row::ratio(&name, "`sleep 1` once", &compared, MANY_BAR))
}

fn output(bench: &Bench, machine: &FarMachine, here: &Engine) -> Result<Vec<Row>> {
    let wire = SlowWire::to((machine.address, 22).into(), Duration::ZERO);
    machine.ssh_setting(&format!("HostName 127.0.0.1\nPort {}", wire.port));
    let there = engine(bench, machine)?;
    let script = flood::lines(flood::size(bench));
    let flood = |engine: &Engine, request: Request| {
        let (took, reply) = bench.call(engine, request)?;
        ensure!(reply.output_bytes == flood::size(bench), "{reply:?}");
        anyhow::Ok(took)
    };
    let before = wire.bytes().1;
    flood(&there, Request::new(&script).on("far"))?;
    let came = wire.bytes().1 - before;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(flood::PAIRS, 1),
        Bench::pause,
        || flood(&there, Request::new(&script).on("far")),
        || flood(here, Request::new(&script)),
    )?;
    let (name, wire_name) = ("places, flood-yes", "places, flood-yes, wire");
    Ok(vec![
        Row::ratio(name, "the same call here", &compared, FLOOD_BAR),
        Row::bytes(wire_name, "that come over ssh", came, WIRE_BAR),
    ])
}

/// At the end of a long wire.
fn far_away(bench: &Bench, machine: &FarMachine) -> Result<Vec<Row>> {
    let address: SocketAddr = (machine.address, 22).into();
    let wire = SlowWire::to(address, ROUND_TRIP / 2);
    machine.ssh_setting(&format!("HostName 127.0.0.1\nPort {}", wire.port));
    let there = engine(bench, machine)?;
    let master = Master::open(bench, machine)?;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(FEW_PAIRS, 1),
        Bench::pause,
        || call(bench, &there),
        || master.run(&["true"]),
    )?;
    let millis = ROUND_TRIP.as_millis();
    let (nominal, bar) = (ROUND_TRIP.as_secs_f64(), OVER_ROUND_TRIP);
    let name = format!("places, {millis} ms away");
    let against = "`ssh -o ControlPath far true`; over: one round trip";
    Ok(vec![Row::time_over(
        &name, against, &compared, nominal, bar,
    )])
}
