//! Calls in containers, by podman without root, and in pods where Kubernetes was built: beside the
//! bare tools, and beside the same calls here.

use super::flood;
use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::in_turn;
use crate::processes;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::place::{ContainerSettings, PlaceKind, PlaceSettings, PodSettings};
use bashd::{Engine, Request};
use bashd_testkit::{Cluster, PodmanRig, PodmanUser};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// `true`, beside the bare tools, and what it takes longer than here.
const PODMAN_BAR: f64 = 0.02;
const OVER_LOCAL: Duration = Duration::from_millis(1);
const KUBECTL_BAR: f64 = 0.03;
const POD_OVER_LOCAL: Duration = Duration::from_micros(2500);

/// The first call in a container of our own, beside one that podman runs.
const FIRST_BAR: f64 = 1.3;

/// 1 GiB of output there, beside the same here, and what of it the carrier writes.
const FLOOD_BAR: f64 = 1.15;
const WIRE_BAR: u64 = 256 * 1024;

/// A hundred calls of a second at once, beside one second.
const MANY_BAR: f64 = 1.3;
const CALLS: usize = 100;

/// Pairs of a round.
const PAIRS: usize = 40;
const FEW_PAIRS: usize = 10;

/// The image.
const IMAGE: &str = "bench:1";

/// A place, and the bare tool beside which it is measured.
struct Beside<'a> {
    bench: &'a Bench,
    name: &'a str,
    place: PlaceSettings,
    env: Vec<(OsString, OsString)>,
    /// Program and arguments, before what it runs.
    tool: (PathBuf, Vec<String>),
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = binaries::build("bashd-cli", "bashd")?;
    let mut rows = in_containers(bench, &program)?;
    rows.extend(in_pods(bench, &program)?);
    Ok(rows)
}

fn in_containers(bench: &Bench, program: &Path) -> Result<Vec<Row>> {
    let Some(rig) = PodmanRig::start(PodmanUser::Rootless) else {
        // It said so loudly.
        return Ok(Vec::new());
    };
    let program = rig.program(program);
    rig.import_usual(IMAGE, &program);
    let mut settings = ContainerSettings::default();
    settings.image = Some(IMAGE.to_owned());
    settings.network = Some("none".to_owned());
    let mut place = PlaceSettings::new("far", PlaceKind::Container(settings));
    place.program = Some(program);
    let podman = rig.client().join("podman");
    let mut beside = Beside {
        bench,
        name: "containers",
        place,
        env: rig.env(bench.env.clone()),
        tool: (podman, Vec::new()),
    };
    let engine = beside.engine()?;
    let filter = "--filter=label=bashd.place=far";
    let called = rig.done(&["ps", "--format={{.Names}}", filter]);
    beside.tool.1 = ["exec", &called].map(str::to_owned).to_vec();
    let mut rows = beside.rows(&engine, ("`podman exec NAME true`", PODMAN_BAR), OVER_LOCAL)?;
    drop(engine);
    rows.push(beside.first(&rig, &called)?);
    Ok(rows)
}

fn in_pods(bench: &Bench, program: &Path) -> Result<Vec<Row>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = here.join("../crates/bashd-cli/tests/kubernetes/cluster");
    let Some(mut cluster) = Cluster::start(&script) else {
        // It said so loudly.
        return Ok(Vec::new());
    };
    cluster.image("bench", program);
    let mut settings = PodSettings::default();
    settings.image = Some("localhost/bench:1".to_owned());
    let spec = json!({ "hostNetwork": true, "containers": [{ "imagePullPolicy": "Never" }] });
    settings.spec = Some(spec);
    let mut place = PlaceSettings::new("far", PlaceKind::Kubernetes(settings));
    place.program = Some(program.to_owned());
    let mut env = bench.env.clone();
    env.push(("KUBECONFIG".into(), cluster.config().into()));
    let mut beside = Beside {
        bench,
        name: "pods",
        place,
        env,
        tool: ("/usr/bin/kubectl".into(), Vec::new()),
    };
    let engine = beside.engine()?;
    let label = "--selector=app.kubernetes.io/managed-by=bashd";
    let called = cluster.kubectl(&["get", "pods", label, "--output=name"]);
    beside.tool.1 = ["exec", &called, "--"].map(str::to_owned).to_vec();
    let against = ("`kubectl exec POD -- true`", KUBECTL_BAR);
    beside.rows(&engine, against, POD_OVER_LOCAL)
}

impl Beside<'_> {
    /// An engine whose place is there, with its carrier open.
    fn engine(&self) -> Result<Engine> {
        let engine = self.dialling()?;
        self.call(&engine)?;
        Ok(engine)
    }

    fn dialling(&self) -> Result<Engine> {
        let mut config = bashd::Config::new(self.bench.home().join("state"));
        config.places = vec![self.place.clone()];
        crate::bench::engine(config, self.env.clone())
    }

    fn call(&self, engine: &Engine) -> Result<Duration> {
        Ok(self.bench.call(engine, Request::new("true").on("far"))?.0)
    }

    fn bare(&self) -> Result<Duration> {
        let words = self.tool.1.iter().map(String::as_str).chain(["true"]);
        bare::process(&self.tool.0, words, &self.env)
    }

    fn rows(
        &self,
        there: &Engine,
        (against, bar): (&str, f64),
        over: Duration,
    ) -> Result<Vec<Row>> {
        let (bench, name) = (self.bench, self.name);
        let here = bench.engine(|_| {})?;
        let pairs = bench.effort.choose(PAIRS, 2);
        let warm = in_turn(
            bench.effort,
            pairs,
            Bench::pause,
            || self.call(there),
            || self.bare(),
        )?;
        let local = || Ok(bench.call(&here, Request::new("true"))?.0);
        let beside = in_turn(
            bench.effort,
            pairs,
            Bench::pause,
            || self.call(there),
            local,
        )?;
        let nominal = beside.limit.p50;
        let mut rows = vec![
            Row::ratio(&format!("{name}, warm"), against, &warm, bar),
            Row::time_over(
                &format!("{name}, warm, over local"),
                "the same call here",
                &beside,
                nominal,
                over,
            ),
            self.many(there)?,
        ];
        rows.extend(self.output(there, &here)?);
        Ok(rows)
    }

    fn many(&self, there: &Engine) -> Result<Row> {
        let calls = self.bench.effort.choose(CALLS, 5);
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
        let took = self.bench.wait(all)?;
        let second = || Ok(Duration::from_secs(1));
        let compared = in_turn(self.bench.effort, 1, Bench::pause, || Ok(took), second)?;
        let name = format!("{}, {calls} at once", self.name);
        Ok(Row::ratio(&name, "`sleep 1` once", &compared, MANY_BAR))
    }

    fn output(&self, there: &Engine, here: &Engine) -> Result<Vec<Row>> {
        let bench = self.bench;
        let script = flood::lines(flood::size(bench));
        let flood = |engine: &Engine, request: Request| {
            let (took, reply) = bench.call(engine, request)?;
            ensure!(reply.output_bytes == flood::size(bench), "{reply:?}");
            anyhow::Ok(took)
        };
        let before = written_by_carrier()?;
        flood(there, Request::new(&script).on("far"))?;
        let came = written_by_carrier()?.saturating_sub(before);
        let compared = in_turn(
            bench.effort,
            bench.effort.choose(flood::PAIRS, 1),
            Bench::pause,
            || flood(there, Request::new(&script).on("far")),
            || flood(here, Request::new(&script)),
        )?;
        let name = format!("{}, flood-yes", self.name);
        Ok(vec![
            Row::ratio(&name, "the same call here", &compared, FLOOD_BAR),
            Row::bytes(
                &format!("{name}, wire"),
                "that its carrier writes",
                came,
                WIRE_BAR,
            ),
        ])
    }

    /// The first call in a container of our own: nothing of it is there.
    fn first(&self, rig: &PodmanRig, called: &str) -> Result<Row> {
        let bench = self.bench;
        let compared = in_turn(
            bench.effort,
            bench.effort.choose(FEW_PAIRS, 1),
            Bench::pause,
            || {
                rig.done(&["rm", "--force", "--time=0", called]);
                let _ = std::fs::remove_dir_all(bench.home().join("state/places"));
                self.call(&self.dialling()?)
            },
            || {
                let words = ["run", "--rm", "--network=none", IMAGE, "true"];
                bare::process(&self.tool.0, words, &self.env)
            },
        )?;
        let name = format!("{}, first call", self.name);
        let against = "`podman run --rm IMAGE true`";
        Ok(Row::ratio(&name, against, &compared, FIRST_BAR))
    }
}

/// Bytes that the carriers of this process have written.
fn written_by_carrier() -> Result<u64> {
    let mut written = 0;
    for pid in processes::below() {
        let pid = pid.as_raw_nonzero();
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let is_carrier = words.contains("--interactive") || words.contains("--stdin");
        if !is_carrier {
            continue;
        }
        let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        written += line.context("what a carrier wrote")?.parse::<u64>()?;
    }
    Ok(written)
}
