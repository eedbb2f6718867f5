//! bashd runs shell commands for LLM agents.
//!
//! One [`Engine`] takes [`Request`]s (or a model's JSON, as a [`Call`]) and answers each with a
//! [`Reply`]: always, within the deadline and its grace, with every byte accounted for and nothing
//! left running that was not meant to stay. A *profile* decides what the reply looks like.
//!
//! ```no_run
//! use bashd::{Config, Engine, KeeperSource, Request, Surroundings};
//!
//! # async fn example() -> bashd::Result<()> {
//! // First in main: bashd::run_if_asked();
//! let surroundings = Surroundings { cwd: "/".into(), env: std::env::vars_os().collect() };
//! let engine = Engine::new(Config::new("/tmp/state"), surroundings, KeeperSource::Hook)?;
//! let reply = engine.run(Request::new("echo hello")).await;
//! assert_eq!(reply.text, "hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! Used by the binary (`bashd-cli`) and by programs that embed it. It depends on `bashd-script`,
//! `bashd-minimize` and `bashd-keeper`.
//!
//! Read next: `engine` has the pipeline in order, and each stage has its own module. The library
//! never prints, exits, installs signal handlers or reads the environment, except in the keeper
//! processes that it starts.

#![deny(missing_docs)]
// The example of the README is run.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod activity;
mod ancestors;
mod appending;
pub mod approval;
pub mod artifact;
mod call;
pub mod changes;
pub mod config;
mod engine;
mod errand;
mod error;
mod event;
pub mod exec;
pub mod feed;
pub mod jobs;
pub mod ledger;
pub mod map;
mod near;
pub mod notice;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod outpost;
pub mod output;
mod patterns;
pub mod place;
pub mod plan;
pub mod profile;
pub mod rc;
pub mod recording;
pub mod records;
mod reply;
pub mod request;
pub mod rewrite;
mod run_id;
mod running;
pub mod savings;
pub mod screen;
pub mod secrets;
pub mod signals;
pub mod slip;
pub mod urls;

pub use bashd_keeper::keeper::{ForkedKeeper, KeeperSource, NoKeeper, run_if_asked};
pub use bashd_keeper::left_behind::{LeftBehind, LeftReason};
pub use bashd_keeper::os::seclusion::seclude;
pub use bashd_keeper::seen_clock::{ClockJump, SeenClock};
pub use bashd_minimize as minimize;
pub use bashd_script::{guard, script};
pub use call::Call;
pub use config::{Config, Surroundings};
pub use engine::{Engine, FarDelivery};
pub use errand::{hung_in, serve_from_here};
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, Excerpt, Stream};
pub use exec::Keyboard;
pub use exec::terminal::{
    ClientAnswer, ClientTerminal, NewTerminal, Patience, TerminalExit, TerminalOutput,
};
pub use jobs::{Job, Jobs};
pub use profile::Profile;
pub use reply::{Denied, FieldType, Nothing, Reply, ReplyField};
pub use request::Request;
pub use run_id::RunId;
pub use running::Running;
pub use tokio_util::sync::CancellationToken;
