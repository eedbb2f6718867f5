//! The profile's literal strings, fields and error mapping: from an ending to a [`Reply`].

use super::Profile;
use crate::error::Error;
use crate::exec::{EndedBy, Exit};
use crate::output::Captured;
use crate::reply::{Denied, LeftBehind, Reply};
use crate::request::Refusal;
use std::time::Duration;

/// How a call ended, whichever stage it reached.
#[derive(Debug)]
pub enum Ending {
    /// The request was bad; nothing ran.
    Refused(Refusal),
    /// A guard said no; nothing ran.
    Denied(Denied),
    /// bashd failed; what was captured until then is here.
    Failed(Error, Option<Box<Finished>>),
    /// The command ran to its end, whatever that was.
    Ran(Box<Finished>),
    /// The caller cancelled before the command was started.
    CancelledBeforeStart,
}

/// A run whose output has passed the profile's windows.
#[derive(Debug)]
pub struct Finished {
    /// How the shell ended.
    pub exit: Exit,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// The limit that held, for texts like "timed out after 30s".
    pub timeout: Duration,
    /// The text.
    pub captured: Captured,
    /// Bytes that the spool no longer holds.
    pub dropped_bytes: u64,
    /// Things to tell about the request or the run (a clamp, lost output), one sentence each.
    pub notices: Vec<String>,
    /// Processes that outlived the run.
    pub left_behind: Vec<LeftBehind>,
}

/// Shapes the ending of a call into the reply that the profile's document prescribes.
pub fn reply(_profile: &Profile, _ending: &Ending, _wall: Duration) -> Reply {
    unimplemented!()
}
