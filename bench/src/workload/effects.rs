//! What holding effects costs: running in layers beside running confined, applying and undoing
//! beside a copy of the same files, and how little of it depends on what a command did not touch.

use super::confined_work::{MAKE, TAR, Work, prepare};
use crate::bench::Bench;
use crate::measure::{Compared, in_turn};
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use bashd::changes::{ChangeStore, Effects, Moved};
use bashd::config::Preset;
use bashd::{Engine, Reply, Request};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Pairs of a round.
const PAIRS: usize = 5;

/// Work that only reads.
const SCANS: &[(&str, &str)] = &[
    ("git status, 10,000 files", "cd scan && git status"),
    (
        "git grep, 10,000 files",
        "cd scan && git grep -c 77 >/dev/null",
    ),
];

const REPOSITORY: &str = "mkdir scan && cd scan && git init -q . && for n in $(seq 10000); do echo line $n >$n; done && git add . && \
                          git -c user.name=n -c user.email=e commit -qm one && git status";

/// Takes away what the work leaves.
const CLEAR: &str = "rm -rf t/* m/o? m/o?? m/o??? crate/target";

/// An engine whose commands are confined to a directory, and its changes.
struct Site<'a> {
    bench: &'a Bench,
    engine: Engine,
    root: PathBuf,
    store: ChangeStore,
}

impl<'a> Site<'a> {
    fn new(bench: &'a Bench, name: &str) -> Result<Self> {
        let root = bench.home().join(name);
        fs::create_dir(&root)?;
        let engine = bench.engine_at_home(|config| {
            config.confinement.preset = Some(Preset::Workspace);
            config.confinement.workspace = Some(root.clone());
        })?;
        let store = ChangeStore::in_state(&bench.home().join("state"));
        Ok(Self {
            bench,
            engine,
            root,
            store,
        })
    }

    fn set_up(&self, script: &str) -> Result<()> {
        let mut command = Command::new(&self.bench.bash);
        let done = command
            .args(["-c", script])
            .current_dir(&self.root)
            .output()?;
        ensure!(done.status.success(), "{script}: {done:?}");
        Ok(())
    }

    fn call(&self, command: &str, effects: Effects) -> Result<(Duration, Reply)> {
        let request = Request::new(command).cwd(&self.root).effects(effects);
        self.bench.call(&self.engine, request)
    }

    /// How long a held command takes; what it did is discarded.
    fn held(&self, command: &str) -> Result<Duration> {
        let (time, reply) = self.call(command, Effects::Hold)?;
        if let Some(id) = reply.changes.and_then(|changes| changes.id) {
            self.store.discard(&id)?;
        }
        Ok(time)
    }

    /// The id of what a command did.
    fn hold(&self, command: &str) -> Result<String> {
        let (_, reply) = self.call(command, Effects::Hold)?;
        let id = reply.changes.and_then(|changes| changes.id);
        id.context("it changed nothing")
    }

    /// A held command beside the same that is only confined.
    fn beside_confined(&self, command: &str, pairs: usize) -> Result<Compared> {
        in_turn(
            self.bench.effort,
            pairs,
            Bench::pause,
            || self.held(command),
            || {
                let (time, _) = self.call(command, Effects::Now)?;
                // So that the next one begins where this one did.
                self.set_up(CLEAR)?;
                Ok(time)
            },
        )
    }

    /// Applying, or undoing, what a command did, beside a copy of the files that it wrote.
    fn beside_copy(&self, command: &str, is_undo: bool) -> Result<Compared> {
        let copy = self.bench.home().join("copy");
        let upper = |id: &str| {
            let changes = self.bench.home().join("state/changes");
            changes.join(id).join("0/upper")
        };
        let ours = || {
            let id = self.hold(command)?;
            let all = Moved::default();
            let moved = |done: Result<_, bashd::changes::ChangeFailure>| {
                done.map_err(|failure| anyhow::anyhow!("{failure:?}"))
            };
            let begun = Instant::now();
            moved(self.store.apply(&id, &all))?;
            let mut time = begun.elapsed();
            let begun = Instant::now();
            moved(self.store.undo(&id, &all))?;
            if is_undo {
                time = begun.elapsed();
            }
            self.store.discard(&id)?;
            Ok(time)
        };
        let copied = || {
            let id = self.hold(command)?;
            let begun = Instant::now();
            let words = [Path::new("-a"), &upper(&id), &copy];
            let status = Command::new("cp").args(words).status()?;
            let time = begun.elapsed();
            ensure!(status.success(), "cp");
            fs::remove_dir_all(&copy)?;
            self.store.discard(&id)?;
            Ok(time)
        };
        let pairs = self.bench.effort.choose(PAIRS, 1);
        in_turn(self.bench.effort, pairs, Bench::pause, ours, copied)
    }
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let site = Site::new(bench, "ws")?;
    let pairs = bench.effort.choose(PAIRS, 1);
    let mut rows = Vec::new();
    let confined = "the same, confined";
    let compared = site.beside_confined("true", bench.effort.choose(30, 1))?;
    rows.push(Row::ratio("held, `true`", confined, &compared, 1.3));
    for (work, bar) in [(&MAKE, 1.10), (&TAR, 2.2)] {
        held_work(&site, work, bar, &mut rows)?;
    }
    held_work(&site, &super::confined_work::CHECK, 1.10, &mut rows)?;
    site.set_up(REPOSITORY)?;
    for (name, command) in SCANS {
        let compared = site.beside_confined(command, pairs)?;
        rows.push(Row::ratio(
            &format!("held, {name}"),
            confined,
            &compared,
            1.5,
        ));
    }
    moves(&site, &mut rows)?;
    growth(bench, &mut rows)?;
    Ok(rows)
}

fn held_work(site: &Site<'_>, work: &Work, bar: f64, rows: &mut Vec<Row>) -> Result<()> {
    if !prepare(site.bench, work, &site.engine, &site.root)? {
        return Ok(());
    }
    let compared = site.beside_confined(work.run, site.bench.effort.choose(PAIRS, 1))?;
    let title = format!("held, {}", work.name);
    rows.push(Row::ratio(&title, "the same, confined", &compared, bar));
    Ok(())
}

fn moves(site: &Site<'_>, rows: &mut Vec<Row>) -> Result<()> {
    let copy = "cp -a of the same files";
    site.set_up("mkdir in; for n in $(seq 500); do echo old >in/$n; done")?;
    let thousand = "for n in $(seq 1000); do echo new $n >in/$n; done";
    let compared = site.beside_copy(thousand, false)?;
    rows.push(Row::ratio("apply, 1,000 files", copy, &compared, 1.2));
    let compared = site.beside_copy(thousand, true)?;
    rows.push(Row::ratio("undo, 1,000 files", copy, &compared, 0.8));
    let ten = "for n in $(seq 10); do echo new $n >in/$n; done";
    let compared = site.beside_copy(ten, false)?;
    let bar = Duration::from_millis(5);
    rows.push(Row::time_over("apply, 10 files", copy, &compared, 0.0, bar));
    Ok(())
}

/// The same change in two projects, of which one has ten times the files.
fn growth(bench: &Bench, rows: &mut Vec<Row>) -> Result<()> {
    let many = bench.effort.choose(20_000, 200);
    let project = |name: &str, files: usize| {
        let site = Site::new(bench, name)?;
        let script = format!(
            "for d in $(seq {}); do mkdir $d; for n in $(seq 100); do echo $n >$d/$n; done; done",
            files / 100
        );
        site.set_up(&script)?;
        Ok::<_, anyhow::Error>(site)
    };
    let (large, small) = (project("large", many)?, project("small", many / 10)?);
    let change = |site: &Site<'_>| {
        let begun = Instant::now();
        let id = site.hold("echo new >1/1; rm 1/2; echo x >made")?;
        for is_undo in [false, true] {
            let all = Moved::default();
            let done = if is_undo {
                site.store.undo(&id, &all)
            } else {
                site.store.apply(&id, &all)
            };
            done.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        }
        let time = begun.elapsed();
        site.store.discard(&id)?;
        Ok(time)
    };
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS * 2, 1),
        Bench::pause,
        || change(&large),
        || change(&small),
    )?;
    let against = "the same with a tenth of the files";
    rows.push(Row::ratio(
        "held, applied and undone",
        against,
        &compared,
        1.1,
    ));
    Ok(())
}
