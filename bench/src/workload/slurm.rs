//! Calls and maps on an allocation of Slurm of three nodes: beside `srun` into the same allocation,
//! `srun` with one of its own, and `xargs -P` here.

use crate::bare;
use crate::bench::Bench;
use crate::binaries;
use crate::measure::{Extent, in_turn};
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::place::{PlaceKind, PlaceSettings, SlurmSettings, SlurmSharing};
use bashd::{Engine, Request};
use bashd_testkit::{Proctrack, SlurmRig};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `true`, beside `srun`, and what it takes longer than here.
const SRUN_BAR: f64 = 0.08;
const OVER_LOCAL: Duration = Duration::from_millis(1);

/// The first call in a new allocation, beside `srun true` with its own.
const FIRST_BAR: f64 = 1.5;

/// A map, beside `xargs -P24` here.
const MAP_BAR: f64 = 1.2;

/// What a map of many items takes for each, beside one of few.
const STEADY_BAR: f64 = 1.1;

/// What the memory of many items may be more than that of few.
const FLAT_BAR: u64 = 4 * 1024 * 1024;

const PAIRS: usize = 40;
const FEW_PAIRS: usize = 5;

/// Items of a map, and of a long one.
const ITEMS: usize = 1000;
const MANY: usize = 100_000;

/// How many run at a time, here and there.
const AT_ONCE: &str = "24";

/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A cluster, and what is measured on it.
struct OnSlurm<'a> {
    bench: &'a Bench,
    rig: SlurmRig,
    program: &'a Path,
}

/// How a map went.
struct Mapped {
    took: Duration,
    near: u64,
    far: u64,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = binaries::build("bashd-cli", "bashd")?;
    let Some(rig) = SlurmRig::start(Proctrack::Linuxproc) else {
        // It said so loudly.
        return Ok(Vec::new());
    };
    let on = OnSlurm {
        bench,
        rig,
        program: &program,
    };
    let mut rows = on.calls()?;
    rows.extend(on.first()?);
    rows.extend(on.maps()?);
    on.rig.client_says(&["scancel", "--name=bashd"]);
    Ok(rows)
}

impl OnSlurm<'_> {
    fn engine(&self, nodes: u64) -> Result<Engine> {
        let mut settings = SlurmSettings::default();
        settings.bin = self.program.to_str().map(str::to_owned);
        settings.state_dir = Some(self.rig.shared());
        settings.sharing = SlurmSharing::Shared;
        settings.nodes = Some(nodes);
        settings.cpus = Some(8);
        let place = PlaceSettings::new("far", PlaceKind::Slurm(settings));
        let mut config = bashd::Config::new(self.bench.home().join("state"));
        config.places = vec![place];
        crate::bench::engine(config, self.rig.env(self.bench.env.clone()))
    }

    fn call(&self, engine: &Engine) -> Result<Duration> {
        Ok(self.bench.call(engine, Request::new("true").on("far"))?.0)
    }

    fn srun(&self, words: &[&str]) -> Result<Duration> {
        let words = words.iter().copied().chain(["true"]);
        bare::process(&self.rig.client().join("srun"), words, &self.bench.env)
    }

    /// The number of the job that holds the allocation.
    fn job(&self) -> String {
        let asked = [
            "squeue",
            "--noheader",
            "--name=bashd",
            "--states=R",
            "--format=%A",
        ];
        self.rig.client_says(&asked)
    }

    fn calls(&self) -> Result<Vec<Row>> {
        let bench = self.bench;
        let (there, here) = (self.engine(3)?, bench.engine(|_| {})?);
        self.call(&there)?;
        let job = format!("--jobid={}", self.job());
        let pairs = bench.effort.choose(PAIRS, 2);
        let warm = in_turn(
            bench.effort,
            pairs,
            Bench::pause,
            || self.call(&there),
            || self.srun(&[&job, "--overlap", "--nodes=1", "--ntasks=1"]),
        )?;
        let local = in_turn(
            bench.effort,
            pairs,
            Bench::pause,
            || self.call(&there),
            || Ok(bench.call(&here, Request::new("true"))?.0),
        )?;
        Ok(vec![
            Row::ratio("slurm, warm", "`srun --jobid true`", &warm, SRUN_BAR),
            Row::time_over(
                "slurm, warm, over local",
                "the same call here",
                &local,
                local.limit.p50,
                OVER_LOCAL,
            ),
        ])
    }

    /// The first call in an allocation that is there for it alone, without the time for which
    /// Slurm let that wait though all nodes were free. `srun` gets its own at once.
    fn first(&self) -> Result<Vec<Row>> {
        let mut queued = Vec::new();
        let compared = in_turn(
            self.bench.effort,
            self.bench.effort.choose(FEW_PAIRS, 1),
            || self.nothing_is_held(),
            || {
                let took = self.call(&self.engine(1)?)?;
                let waited = waited(&self.rig.controller_log(), &self.job())?;
                queued.push(waited);
                Ok(took.saturating_sub(waited))
            },
            || self.srun(&["--nodes=1", "--ntasks=1", "--cpus-per-task=8"]),
        )?;
        queued.sort();
        let middle = queued
            .get(queued.len() / 2)
            .context("nothing was measured")?;
        let against = "`srun true` with its own allocation";
        let name = format!(
            "slurm, first call, without {} ms in the queue",
            middle.as_millis()
        );
        Ok(vec![Row::ratio(&name, against, &compared, FIRST_BAR)])
    }

    /// Waits until no allocation is left.
    fn nothing_is_held(&self) -> Result<()> {
        let begun = Instant::now();
        self.rig.client_says(&["scancel", "--name=bashd"]);
        while !self.rig.client_says(&["squeue", "--noheader"]).is_empty() {
            ensure!(begun.elapsed() < Duration::from_mins(1), "a job stays");
            std::thread::sleep(LOOK_EVERY);
        }
        Bench::pause()
    }

    fn maps(&self) -> Result<Vec<Row>> {
        let bench = self.bench;
        let few = bench.effort.choose(ITEMS, 20);
        self.nothing_is_held()?;
        // Its allocation is there before anything is measured.
        self.mapped(few)?;
        let list = self.list(few)?;
        let list = list.to_str().context("its path is no text")?;
        let words = ["-a", list, "-n1", "-P", AT_ONCE, "bash", "-c", "true"];
        let compared = in_turn(
            bench.effort,
            bench.effort.choose(FEW_PAIRS, 1),
            Bench::pause,
            || Ok(self.mapped(few)?.took),
            || bare::process(Path::new("/usr/bin/xargs"), words, &bench.env),
        )?;
        let name = format!("map, {few} on three nodes");
        let against = format!("`xargs -P{AT_ONCE} bash -c true` here");
        let mut rows = vec![Row::ratio(&name, &against, &compared, MAP_BAR)];
        if bench.effort.extent == Extent::Full {
            rows.extend(self.long(few)?);
        }
        Ok(rows)
    }

    /// Many items, beside few.
    fn long(&self, few: usize) -> Result<Vec<Row>> {
        let (short, long) = (self.mapped(few)?, self.mapped(MANY)?);
        let each = |mapped: &Mapped, items: usize| mapped.took.div_f64(items as f64);
        let compared = in_turn(
            self.bench.effort,
            1,
            Bench::pause,
            || Ok(each(&long, MANY)),
            || Ok(each(&short, few)),
        )?;
        let name = format!("map, {MANY} on three nodes");
        let against = format!("an item of {few}");
        let limit = format!("with {few}");
        Ok(vec![
            Row::ratio(&format!("{name}, each"), &against, &compared, STEADY_BAR),
            Row::growth(
                &format!("{name}, memory near"),
                &limit,
                long.near,
                short.near,
                FLAT_BAR,
            ),
            Row::growth(
                &format!("{name}, memory far"),
                &limit,
                long.far,
                short.far,
                FLAT_BAR,
            ),
        ])
    }

    fn list(&self, items: usize) -> Result<std::path::PathBuf> {
        let list = self.bench.home().join(format!("items-{items}"));
        let numbers: Vec<String> = (1..=items).map(|number| number.to_string()).collect();
        fs::write(&list, numbers.join("\n"))?;
        Ok(list)
    }

    /// A map of `true`, all of whose items must end well.
    fn mapped(&self, items: usize) -> Result<Mapped> {
        let config = self.bench.home().join("slurm.toml");
        let (program, shared) = (self.program.display(), self.rig.shared());
        let text = format!(
            "[places.far]\nkind = 'slurm'\nbin = '{program}'\nstate_dir = '{}'\nnodes = 3\n\
             cpus = 8\nallocation = 'shared'\n",
            shared.display()
        );
        fs::write(&config, text)?;
        let told = self.bench.home().join("told");
        let begun = Instant::now();
        let mut map = Command::new(self.program)
            .arg("--config")
            .arg(&config)
            .args(["map", "--json", "--on", "far", "-j", AT_ONCE, "true"])
            .env_clear()
            .envs(self.rig.env(self.bench.env.clone()))
            .stdin(File::open(self.list(items)?)?)
            .stdout(File::create(&told)?)
            .stderr(Stdio::null())
            .spawn()?;
        let (mut near, mut far) = (0, 0);
        let status = loop {
            near = near.max(most_memory(map.id()));
            if let Some(status) = map.try_wait()? {
                break status;
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let took = begun.elapsed();
        for process in self.rig.on_nodes() {
            far = far.max(most_memory(process.pid as u32));
        }
        let text = fs::read_to_string(&told)?;
        let done = text.matches("\"state\":\"done\"").count();
        ensure!(
            status.success() && done == items,
            "{done} of {items} are done"
        );
        Ok(Mapped { took, near, far })
    }
}

/// How long a job waited in the queue, as Slurm's controller wrote it down.
fn waited(log: &str, job: &str) -> Result<Duration> {
    let of_job = format!("JobId={job} ");
    let at = |what: &str| {
        let mut lines = log.lines();
        let line = lines.find(|line| line.contains(what) && line.contains(&of_job));
        let line = line.with_context(|| format!("no `{what}` of job {job}:\n{log}"))?;
        // [2026-11-19T20:05:00.123]
        let time = line.get(12..24).context("a line without its time")?;
        let mut parts = time.split(':').map(str::parse::<f64>);
        let mut next = || parts.next().context("a time has three parts");
        let (hours, minutes, seconds) = (next()??, next()??, next()??);
        anyhow::Ok(Duration::from_secs_f64(
            (hours * 60.0 + minutes) * 60.0 + seconds,
        ))
    };
    // `sched: Allocate`, or `sched/backfill: _start_job: Started`, which looks once a second.
    let (asked, begun) = (at("submit_batch_job")?, at("sched")?);
    Ok(begun.saturating_sub(asked))
}

/// The most memory that a process has had; none if it is gone.
fn most_memory(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}
