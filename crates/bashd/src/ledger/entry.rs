//! A record in the making: what is known of a call while it goes through the pipeline.

use super::{Outcome, Record};
use crate::exec::{EndedBy, Exit};
use crate::profile::Profile;
use crate::profile::reply::{Ending, Finished};
use crate::reply::Reply;
use crate::run_id::RunId;
use jiff::Timestamp;
use std::path::PathBuf;

/// What is known of a call so far.
pub(crate) struct Entry {
    /// The run's id.
    pub(crate) id: RunId,
    time: Timestamp,
    /// The command as given; the raw input until it could be read.
    pub(crate) command: String,
    /// The directory; empty until it was resolved.
    pub(crate) cwd: PathBuf,
}

impl Entry {
    /// The entry of a call that just came in.
    pub(crate) fn new(id: RunId, time: Timestamp, raw_text: &str) -> Self {
        let command = raw_text.to_owned();
        Self {
            id,
            time,
            command,
            cwd: PathBuf::new(),
        }
    }

    /// The record of the call, now that it is over.
    pub(crate) fn closed(self, profile: &Profile, ending: &Ending, reply: &Reply) -> Record {
        let mut record = Record::new(self.id.as_str(), self.time, outcome(ending));
        record.profile.clone_from(&profile.name);
        record.command = self.command;
        record.cwd = self.cwd.display().to_string();
        record.exit_code = reply.exit_code;
        record.signal = reply.signal;
        let denial = reply.denied.as_ref().map(|denied| denied.message.clone());
        record.error = reply.error.clone().or(denial);
        record.wall_ms = reply.wall_ms;
        record.ran_ms = ran(ending).map(|finished| finished.ran_for.as_millis() as u64);
        record.output_bytes = reply.output_bytes;
        record.output_lines = reply.output_lines;
        record
    }
}

fn ran(ending: &Ending) -> Option<&Finished> {
    match ending {
        Ending::Ran(finished) => Some(finished),
        Ending::Failed(_, finished) => finished.as_deref(),
        Ending::Refused(_) | Ending::Denied(_) | Ending::CancelledBeforeStart => None,
    }
}

fn outcome(ending: &Ending) -> Outcome {
    match ending {
        Ending::Refused(_) => Outcome::Refused,
        Ending::Denied(_) => Outcome::Denied,
        Ending::Failed(..) => Outcome::Failed,
        Ending::CancelledBeforeStart => Outcome::Cancelled,
        Ending::Ran(finished) => match (finished.ended_by, finished.exit) {
            (Some(EndedBy::Timeout), _) => Outcome::TimedOut,
            (Some(EndedBy::Cancel), _) => Outcome::Cancelled,
            (None, Exit::Signal(_)) => Outcome::Signalled,
            (None, Exit::Code(_) | Exit::Unknown) => Outcome::Exited,
        },
    }
}
