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
//! Read next: `engine` has the pipeline in order, and each stage has its own module. The library
//! never prints, exits, installs signal handlers or reads the environment, except in the keeper
//! processes that it starts.

#![deny(missing_docs)]

mod activity;
pub mod artifact;
mod call;
pub mod config;
mod counted;
mod engine;
mod error;
mod event;
pub mod exec;
pub mod guard;
pub mod jobs;
pub mod ledger;
pub mod minimize;
pub mod notice;
pub mod output;
pub mod plan;
pub mod profile;
pub mod render;
mod reply;
pub mod request;
pub mod rewrite;
mod run_id;
pub mod savings;
pub mod screen;
pub mod script;
pub mod signals;
pub mod snapshot;
mod template;
pub mod urls;
mod variables;

pub use call::Call;
pub use config::{Config, Surroundings};
pub use engine::{Engine, Running};
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, Snapshot, Stream};
pub use exec::Keyboard;
pub use exec::keeper::{ForkedKeeper, KeeperSource, run_if_asked};
pub use exec::terminal::{
    ClientAnswer, ClientTerminal, NewTerminal, Patience, TerminalExit, TerminalOutput,
};
pub use jobs::{Job, Jobs};
pub use profile::Profile;
pub use reply::{Denied, LeftBehind, LeftReason, Reply};
pub use request::Request;
pub use run_id::RunId;
pub use tokio_util::sync::CancellationToken;
