//! What developers do, confined: builds, and mass work on files; without and with files watched.

use crate::bench::Bench;
use crate::measure::{Compared, in_turn};
use crate::table::Row;
use anyhow::{Result, ensure};
use bashd::config::{Preset, RefusalReport};
use bashd::{Engine, Request};
use std::path::Path;
use std::process::Command;

/// A piece of work: how it is set up, once for all its runs, and what is measured.
pub(super) struct Work {
    pub(super) name: &'static str,
    before: &'static str,
    pub(super) run: &'static str,
    /// What a confinement may cost, and one whose files are watched.
    bars: (f64, f64),
    /// The program that it needs.
    needs: &'static str,
}

const BUILD: (f64, f64) = (1.05, 1.10);
const MASS: (f64, f64) = (1.10, 2.0);

pub(super) const CHECK: Work = Work {
    name: "cargo check",
    before: "mkdir -p crate/src && cd crate && printf '[package]\\nname = \"small\"\\nedition = \"2021\"\\n' > Cargo.toml && \
             for n in 1 2 3 4 5 6 7 8; do printf 'pub fn f%s(x: u64) -> u64 { x + %s }\\n' $n $n; done > src/lib.rs",
    run: "cd crate && rm -rf target && CARGO_NET_OFFLINE=true cargo check -q",
    bars: BUILD,
    needs: "cargo",
};

pub(super) const MAKE: Work = Work {
    name: "make, 300 steps",
    before: "mkdir -p m && cd m && { printf 'all:'; for n in $(seq 300); do printf ' o%s' $n; done; \
             printf '\\no%%:\\n\\techo $* > $@\\n'; } > Makefile",
    run: "cd m && rm -f o* && make -s",
    bars: BUILD,
    needs: "make",
};

pub(super) const TAR: Work = Work {
    name: "tar x, 10,000 files",
    before: "mkdir -p many t && for n in $(seq 10000); do echo $n > many/$n; done && tar cf many.tar many",
    run: "rm -rf t/* && tar xf many.tar -C t",
    bars: MASS,
    needs: "tar",
};

const WORKS: &[Work] = &[
    CHECK,
    Work {
        name: "15 C compiles",
        before: "mkdir -p c && cd c && for n in $(seq 15); do \
                 printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%s(void) { return printf(\"%s\"); }\\n' $n $n > f$n.c; done",
        run: "cd c && rm -f *.o && for n in $(seq 15); do gcc -c f$n.c || exit 1; done",
        bars: BUILD,
        needs: "gcc",
    },
    MAKE,
    TAR,
    Work {
        name: "git clone",
        before: "mkdir -p r && cd r && git init -q . && for n in $(seq 2000); do echo $n > $n; done && git add . && \
                 git -c user.name=n -c user.email=e commit -qm one",
        run: "rm -rf clone && git clone -q --no-hardlinks r clone",
        bars: MASS,
        needs: "git",
    },
];

/// Pairs of a round.
const PAIRS: usize = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let free = bench.engine_at_home(|_| {})?;
    let confined = |report| {
        bench.engine_at_home(|config| {
            config.confinement.preset = Some(Preset::Workspace);
            config.confinement.workspace = Some(bench.home().to_owned());
            config.confinement.report = report;
        })
    };
    let unwatched = confined(RefusalReport::Network)?;
    let watched = confined(RefusalReport::All)?;
    let mut rows = Vec::new();
    for work in WORKS {
        if !prepare(bench, work, &unwatched, bench.home())? {
            continue;
        }
        let (plain, all) = work.bars;
        let against = "the same, unconfined";
        let title = format!("confined, {}", work.name);
        let compared = pair(bench, work, &unwatched, &free)?;
        rows.push(Row::ratio(&title, against, &compared, plain));
        let title = format!("confined and watched, {}", work.name);
        let compared = pair(bench, work, &watched, &free)?;
        rows.push(Row::ratio(&title, against, &compared, all));
    }
    Ok(rows)
}

/// Sets a piece of work up in a directory; `false` if its program is not there.
pub(super) fn prepare(
    bench: &Bench,
    work: &Work,
    confined: &Engine,
    directory: &Path,
) -> Result<bool> {
    // Below a home that is not the benchmark's, a confined command does not see it.
    let seen = Request::new(format!("command -v {}", work.needs)).cwd(directory);
    if bench.call(confined, seen).is_err() {
        let program = work.needs;
        eprintln!(
            "*** {}: {program} is not seen in a confinement here: NOT measured",
            work.name
        );
        return Ok(false);
    }
    let status = Command::new(&bench.bash)
        .args(["-c", work.before])
        .current_dir(directory)
        .status()?;
    ensure!(status.success(), "{}: it can't be set up", work.name);
    Ok(true)
}

fn pair(bench: &Bench, work: &Work, confined: &Engine, free: &Engine) -> Result<Compared> {
    let call = |engine: &Engine| {
        let request = Request::new(work.run).cwd(bench.home());
        let (time, reply) = bench.call(engine, request)?;
        ensure!(reply.exit_code == Some(0), "{}: {}", work.name, reply.text);
        Ok(time)
    };
    in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::pause,
        || call(confined),
        || call(free),
    )
}
