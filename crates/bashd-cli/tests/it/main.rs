//! The binary's tests: one block of stdout, stderr and status each. They show that the wiring
//! exists.
//!
//! | module | shows |
//! |---|---|
//! | `acceptance` | every statement of the profiles' documents, by a script; its protocol in the docs |
//! | `acp` | `acp` with clients that nobody here wrote |
//! | `alone` | `run` without a server: killed bashd, killed keeper, a terminal |
//! | `artifact` | `artifact`: list, every kind of range, JSON, removal |
//! | `book` | the pages as a book: contents, links, and the build where mdbook is |
//! | `chaos` | every server with 16 clients while a second process makes trouble |
//! | `usage` | help, version, bad usage, colors, a reader that stops reading |
//! | `config` | `config show`: origins, unknown keys, complaints, places |
//! | `confinement` | `--confine` and `bashd confine`, also where the kernel gives less |
//! | `install` | what `./dist` builds, installed into an empty root |
//! | `isolation` | eight clients of every server at once, of which none sees another |
//! | `jobs` | `run --background` and `jobs`: every subcommand, and SIGKILL of bashd |
//! | `jobs_clock` | jobs and a clock that is set back under them |
//! | `jobs_delivery` | ends of jobs whose clients went away |
//! | `jobs_lost` | jobs whose keeper was killed: what is left of them, and what is said |
//! | `jobs_screen` | `jobs screen`, and keys by `jobs send`: vim, less, top, a password |
//! | `jobs_upgrade` | jobs whose program is gone, and another looks after them |
//! | `ledger` | the ledger between processes |
//! | `log` | `log`: the table, JSON, filters, damage |
//! | `run` | `run`: replies, statuses, flags, signals, and that calls are recorded |
//! | `check` | `check`: verdicts for people and programs; safe mode and tools on `run`, too |
//! | `effects` | `try`, `changes`, `undo`: held, applied, discarded, undone; conflicts, refusals |
//! | `effects_faults` | killed while a change is applied, full disks: the tree is as before or as after |
//! | `effects_words` | which changes are meant, what is shown of them, what goes by itself; killed while held |
//! | `fairness` | honest clients beside hostile ones: how much longer their calls take |
//! | `features` | builds without each cargo feature: they compile, and say what is missing |
//! | `far` | places on far machines of our own, with 22 kinds of faults |
//! | `held_up` | what a process that stands still can hold up, and for whom |
//! | `hook` | `hook`: its answers to every agent, and that it never fails open |
//! | `in_the_way` | what lies in the place of a file of ours, or holds its lock |
//! | `init` | `init`: files of agents before and after, and what is left alone |
//! | `map` | `map`: order, statuses, failures; killed and resumed, each item at most once; places |
//! | `mcp` | `mcp`: the server, with clients of ours, hostile ones, and real ones |
//! | `minimize` | `minimize`: a pipe, JSON, the tests of filters |
//! | `names` | help, manual pages, completions: examples, sections, names; slips |
//! | `parity` | the same requests through every front end and the library |
//! | `person` | at a terminal, in tmux: `run --pty`, `jobs attach`, lists and messages, `top` |
//! | `places` | `run --on`: the same replies at a place, and carriers and outposts that are killed or lie |
//! | `readme` | the README's library example, and the two commands for a clone |
//! | `recording` | `run --record`, `replay`, `export`; players that nobody here wrote |
//! | `rpc` | `rpc`: requests, responses, events, flags, how it ends |
//! | `rpc_description` | `schema --rpc`: the description against a server, and what is made from it |
//! | `rpc_examples` | the examples of `docs/rpc.md`, executed |
//! | `rpc_hostile` | `rpc` with clients that mean no good |
//! | `rpc_order` | `rpc`: calls of one session in the order of their arrival |
//! | `rpc_socket` | `rpc --socket`: who may connect, what is in the way |
//! | `rpc_terminal` | `rpc`: commands in the client's terminals |
//! | `rpc_under_test` | (no tests) a client of `rpc` |
//! | `schema` | `schema`: the tool definition of each profile |
//! | `sdk` | the SDKs for Python and TypeScript: tests, READMEs, packages, frameworks |
//! | `seclusion` | what a command can do to the server that started it, as another user too |
//! | `secrets` | a canary in every kind of run, and in no record |
//! | `stalls` | what one caller can make slow, and whom that costs |
//! | `stalls_files` | files of ours, and directories of `PATH`, that do not answer |
//! | `snippets` | every block of the pages runs, or says why not |
//! | `stats` | `stats`: counted, estimated, read again, nothing to tell |
//! | `telemetry` | spans for OpenTelemetry and metrics for Prometheus, read by their own packages |
//! | `tape` | `tape`, `--tape-record`, `--tape-play`: sessions served again, of a real agent, too |
//! | `web` | `web`: who gets in, the stream, runs, questions; the page in a browser |
//! | `words` | `run` with words and its own stdin; small subcommands |
//! | `console` | `console` in tmux: commands, terminals, resizing, every way to leave |
//! | `doctor` | `doctor`: findings for people and for programs |
//! | `documents` | `docs/config.md` and `docs/ledger.md` against the code, command lines in pages |
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code: a panic is how a test fails"
)]

mod acceptance;
mod acp;
mod alone;
mod artifact;
mod book;
mod chaos;
mod check;
mod config;
mod confinement;
mod console;
mod doctor;
mod documents;
mod effects;
mod effects_faults;
mod effects_words;
mod fairness;
mod far;
mod features;
mod held_up;
mod hook;
mod in_the_way;
mod init;
mod install;
mod isolation;
mod jobs;
mod jobs_clock;
mod jobs_delivery;
mod jobs_lost;
mod jobs_screen;
mod jobs_upgrade;
mod ledger;
mod log;
mod map;
mod mcp;
mod minimize;
mod names;
mod parity;
mod person;
mod places;
mod readme;
mod recording;
mod rpc;
mod rpc_description;
mod rpc_examples;
mod rpc_hostile;
mod rpc_order;
mod rpc_socket;
mod rpc_terminal;
mod rpc_under_test;
mod run;
mod schema;
mod sdk;
mod seclusion;
mod secrets;
mod snippets;
mod stalls;
mod stalls_files;
mod stats;
mod tape;
#[cfg(feature = "web")]
mod telemetry;
mod usage;
#[cfg(feature = "web")]
mod web;
mod words;

use bashd_testkit::{Binary, Home, Transcript};

/// A run of the built binary in a home.
fn bashd<'home>(home: &'home Home, arguments: &[&str]) -> Binary<'home> {
    Binary::new(env!("CARGO_BIN_EXE_bashd"), home)
        .args(arguments)
        .env("TZ", "UTC")
}

/// What a run of the built binary shows.
fn shown(home: &Home, arguments: &[&str]) -> Transcript {
    bashd(home, arguments).run()
}
