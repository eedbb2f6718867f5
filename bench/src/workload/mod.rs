//! The workloads: one file each, and one line each in this table.

mod artifact;
mod confined;
mod confined_work;
mod containers;
mod effects;
mod feed;
mod first_pi;
mod flood;
pub(crate) mod idle;
mod jobs;
mod lines;
mod many;
mod map;
mod mcp;
mod minimize;
mod one_shot;
mod page;
mod pauses;
mod places;
mod process;
mod proxied;
mod search;
mod session;
mod slurm;
mod survivor;
mod terminal;
mod timeout;
mod verdict;
mod warm;
mod whole;

use crate::bench::Bench;
use crate::table::Row;
use anyhow::Result;

/// Something that is measured.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Bench) -> Result<Vec<Row>>,
}

/// All workloads, in the order of the table.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "one-shot",
        about: "`true` through the library",
        run: one_shot::run,
    },
    Workload {
        name: "warm",
        about: "calls in shells that were started ahead",
        run: warm::run,
    },
    Workload {
        name: "session",
        about: "calls in a session",
        run: session::run,
    },
    Workload {
        name: "feed",
        about: "what telling the feed costs a call",
        run: feed::run,
    },
    Workload {
        name: "confined",
        about: "`true` in a confinement",
        run: confined::run,
    },
    Workload {
        name: "confined-work",
        about: "builds and mass work on files in a confinement, without and with its files watched",
        run: confined_work::run,
    },
    Workload {
        name: "effects",
        about: "commands whose effects are held, applied and undone",
        run: effects::run,
    },
    Workload {
        name: "proxied",
        about: "a download through the proxy of a confinement",
        run: proxied::run,
    },
    Workload {
        name: "first-pi",
        about: "the first call of a process in profile `pi`",
        run: first_pi::run,
    },
    Workload {
        name: "process",
        about: "`bashd run true` as a process",
        run: process::run,
    },
    Workload {
        name: "flood-yes",
        about: "1 GiB of lines, default quota",
        run: flood::yes,
    },
    Workload {
        name: "flood-zero",
        about: "1 GiB of zeros, default quota",
        run: flood::zero,
    },
    Workload {
        name: "flood-secrets",
        about: "1 GiB of lines in which secrets are looked for",
        run: flood::secrets,
    },
    Workload {
        name: "flood-recorded",
        about: "1 GiB of lines with their times recorded",
        run: flood::recorded,
    },
    Workload {
        name: "whole-yes",
        about: "1 GiB of lines, all of it kept",
        run: whole::yes,
    },
    Workload {
        name: "whole-zero",
        about: "1 GiB of zeros, all of it kept",
        run: whole::zero,
    },
    Workload {
        name: "artifact",
        about: "100 lines from the middle of a stored GiB",
        run: artifact::run,
    },
    Workload {
        name: "lines",
        about: "2 million short lines, exact counts",
        run: lines::run,
    },
    Workload {
        name: "many",
        about: "100 calls at once",
        run: many::run,
    },
    Workload {
        name: "mcp",
        about: "`bashd mcp` on stdin and stdout",
        run: mcp::run,
    },
    Workload {
        name: "pauses",
        about: "`true` after pauses, and many times in a row",
        run: pauses::run,
    },
    Workload {
        name: "map",
        about: "`true` for each of 1,000 items",
        run: map::run,
    },
    Workload {
        name: "slurm",
        about: "`true` on an allocation of Slurm of three nodes, and maps over them",
        run: slurm::run,
    },
    Workload {
        name: "page",
        about: "1 GiB of lines while a page follows, and the first byte of any place of it",
        run: page::run,
    },
    Workload {
        name: "search",
        about: "a ledger of a million records, and the span of a call",
        run: search::run,
    },
    Workload {
        name: "places",
        about: "calls on a far machine, by ssh",
        run: places::run,
    },
    Workload {
        name: "containers",
        about: "calls in containers, by podman, and in pods",
        run: containers::run,
    },
    Workload {
        name: "terminal",
        about: "`true`, and 64 MiB of lines, in a terminal",
        run: terminal::run,
    },
    Workload {
        name: "timeout-obeys",
        about: "the deadline of a tree that obeys TERM",
        run: timeout::obeys,
    },
    Workload {
        name: "timeout-ignores",
        about: "the deadline of a tree that ignores TERM",
        run: timeout::ignores,
    },
    Workload {
        name: "verdict",
        about: "the guard's verdict on scripts",
        run: verdict::run,
    },
    Workload {
        name: "minimize",
        about: "recorded outputs of real tools through the minimizer",
        run: minimize::run,
    },
    Workload {
        name: "survivor",
        about: "`sleep 30 & echo done` beside `echo done`",
        run: survivor::run,
    },
    Workload {
        name: "job-start",
        about: "the start of a background job",
        run: jobs::start,
    },
    Workload {
        name: "job-hundred",
        about: "100 jobs at once, from start to known end",
        run: jobs::hundred,
    },
    Workload {
        name: "job-list",
        about: "the list of 1,000 running jobs",
        run: jobs::list,
    },
    Workload {
        name: "job-follow",
        about: "from a line that a job writes to the same line shown",
        run: jobs::follow,
    },
    Workload {
        name: "idle",
        about: "an engine that nobody calls",
        run: idle::run,
    },
];
