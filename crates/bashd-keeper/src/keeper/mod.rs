//! The keeper: a tiny process between the engine and a shell, one per run.
//!
//! A keeper owns everything about its command that must outlive the engine's attention: the process
//! tree (it is a subreaper, so every orphan comes back to it), the pipes and the spool behind them,
//! and the deadline. The engine only asks and is told; `protocol` has the messages, `life` the
//! states, `hearing` what reaches them. Keepers are forked by a *fork server*, a small
//! single-threaded process made for it (`serve`), because a host with threads can't fork safely.
//!
//! Where the fork server's program comes from is the host's choice: see [`KeeperSource`].

mod beacon;
mod clients;
mod drain;
mod ending;
mod hearing;
mod input;
mod job;
pub mod job_messages;
mod life;
mod messages;
mod no_keeper;
mod prompt;
pub mod protocol;
mod pty;
mod pump;
mod report;
mod restraint;
mod roster_watch;
mod serve;
pub mod session;
mod source;
mod start;
mod started_shell;
mod waiting;

pub use no_keeper::NoKeeper;
pub use source::{ForkedKeeper, KeeperSource, run_if_asked};
pub use source::{StartedServer, socket_pair, start_server};
