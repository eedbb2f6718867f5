//! A record in the making: what is known about a call while it goes through the pipeline, and what
//! the feed says of it meanwhile.
//!
//! A call whose future is dropped has no outcome that anybody could report; its entry then records
//! itself as cancelled, so there is one record per call in that case too.

use super::outlasting::OutlastingRun;
use super::record::{LeftProcess, MinimizedOutput, RecordedObjection, cut};
use super::{Ledger, Record, RecordedOutcome};
use crate::engine::ItemRecord;
use crate::error::Error;
use crate::exec::{EndedBy, Exit};
use crate::feed::{
    self, AskedEffects, CallAsks, CallBegun, CallEnded, CallPlaced, Feed, FeedEvent, FeedRecord,
};
use crate::guard::{Judgement, Objection, Verdict};
use crate::profile::Profile;
use crate::profile::reply::{Ending, Finished, TerminalProgress};
use crate::reply::Reply;
use crate::request::Request;
use crate::run_id::RunId;
use bashd_keeper::secrets::Secrets;
use jiff::Timestamp;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Bytes after the longest recorded command that may hold the end of a secret.
const SECRET_AT_THE_CUT: usize = 64 << 10;

/// Variables of a call that are recorded at most, and bytes of each value.
const MOST_VARIABLES: usize = 32;
const LONGEST_VALUE: usize = 256;

/// Processes that a call left, of which its record tells at most.
const MOST_LEFT: usize = 32;

/// What is known of a call so far.
pub(crate) struct LedgerEntry<'a> {
    ledger: &'a Ledger,
    feed: &'a Feed,
    /// The run's id.
    pub(crate) id: RunId,
    time: Timestamp,
    begun: Instant,
    /// Name of the profile; empty until it is known.
    pub(crate) profile: String,
    /// The command as given; the raw input until it could be read.
    pub(crate) command: String,
    /// The directory; empty until it was resolved.
    pub(crate) cwd: PathBuf,
    /// The place at which it runs, if not here.
    pub(crate) place: Option<String>,
    /// Whether agents should not be told of it.
    pub(crate) is_kept_out: bool,
    /// What is recorded of it, if it is an item of a map.
    pub(crate) recorded: Option<ItemRecord>,
    /// Values that must not be written, those of the call's own variables among them.
    pub(crate) secrets: Arc<Secrets>,
    /// The text that runs, if it is another one than was given.
    as_run: Option<String>,
    /// What a rule objects to.
    objection: Option<RecordedObjection>,
    /// The variables that the call sets.
    env: Vec<(String, String)>,
    /// Front end and client; empty until the call was read.
    owner: String,
    /// Its session, if it has one.
    session: Option<String>,
    /// The job that it manages, if it does.
    job: Option<String>,
    /// Whether the feed knows of it.
    is_told: bool,
    is_closed: bool,
}

impl<'a> LedgerEntry<'a> {
    /// The entry of a call that just came in.
    pub(crate) fn new((ledger, feed): (&'a Ledger, &'a Feed), raw_text: &str) -> Self {
        Self {
            ledger,
            feed,
            id: RunId::new(),
            time: Timestamp::now(),
            begun: Instant::now(),
            profile: String::new(),
            command: raw_text.to_owned(),
            cwd: PathBuf::new(),
            place: None,
            is_kept_out: false,
            recorded: None,
            secrets: ledger.secrets(),
            as_run: None,
            objection: None,
            env: Vec::new(),
            owner: String::new(),
            session: None,
            job: None,
            is_told: false,
            is_closed: false,
        }
    }

    /// Keeps the values of these variables out of the record, and of what is shown from now on, if
    /// they are credentials.
    pub(crate) fn hide(&mut self, env: &[(OsString, OsString)]) {
        if !env.is_empty() {
            self.secrets = self.ledger.known.learn_of_call(env);
        }
    }

    /// Tells the feed of the call, now that it was read.
    pub(crate) fn begin(&mut self, profile: &Profile, request: &Request, owner: &str) {
        owner.clone_into(&mut self.owner);
        self.session = profile.session.name_of(request).map(str::to_owned);
        let cwd = request.cwd.as_ref();
        let cwd = cwd.map(|cwd| cwd.display().to_string());
        // Where it runs if it names none is known later, and told with its end.
        self.tell_begun(cwd, request.on.clone());
    }

    /// Notes what will run, with which variables of its own, and what a rule says of it.
    pub(crate) fn note(&mut self, request: &Request, to_run: &str, judgement: &Judgement) {
        let most = self.ledger.settings.max_command_bytes;
        if to_run != self.command {
            self.as_run = Some(self.shown(to_run, most));
        }
        let pairs = request.env.iter().take(MOST_VARIABLES);
        let text = |of: &OsString| self.shown(&of.to_string_lossy(), LONGEST_VALUE);
        self.env = pairs
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        self.objection = judgement.objection().map(|objection| RecordedObjection {
            decision: match judgement.verdict {
                Verdict::Ask(_) => "ask".to_owned(),
                Verdict::Allow | Verdict::Deny(_) => "deny".to_owned(),
            },
            rule: objection.rule.clone(),
            message: self.shown(&objection.message, feed::LONGEST_REASON),
        });
    }

    /// Tells the feed of what somebody does to a job.
    pub(crate) fn begin_deed(&mut self, by: &str, profile: &str, job: &str) {
        by.clone_into(&mut self.owner);
        profile.clone_into(&mut self.profile);
        self.job = Some(job.to_owned()).filter(|job| !job.is_empty());
        self.tell_begun(None, None);
    }

    /// Records what somebody did to a job.
    pub(crate) fn close_deed(mut self, failure: Option<&Error>) {
        self.is_closed = true;
        let outcome = match failure {
            Some(_) => RecordedOutcome::Failed,
            None => RecordedOutcome::Managed,
        };
        let mut record = self.record(outcome);
        record.error = failure.map(|failure| self.hidden(&failure.to_string()));
        let job = self.job.clone();
        self.tell_ended(&record, job.as_deref());
        // The next call of an engine says if the ledger can't be written.
        let _ = self.ledger.append(&record);
    }

    /// The command of this call, which may outlast it.
    pub(crate) fn outlasting(
        &mut self,
        profile: &Profile,
        owned: (Arc<Ledger>, Arc<Feed>),
    ) -> OutlastingRun {
        let mut record = self.record(RecordedOutcome::GoesOn);
        record.profile.clone_from(&profile.name);
        OutlastingRun::new(owned, record, self.begun)
    }

    /// Leaves no record: the call only looked.
    pub(crate) fn leave(mut self) {
        self.is_closed = true;
    }

    fn tell_begun(&mut self, cwd: Option<String>, place: Option<String>) {
        self.is_told = true;
        self.feed.tell_with(|| {
            let call = CallBegun {
                pid: rustix::process::getpid().as_raw_nonzero().get(),
                owner: self.owner.clone(),
                session: self.session.clone(),
                profile: self.profile.clone(),
                command: self.shown(&self.command, feed::LONGEST_COMMAND),
                cwd: cwd.map(|cwd| self.hidden(&cwd)).unwrap_or_default(),
                place,
            };
            FeedRecord::new(self.id.as_str(), self.time, FeedEvent::Begun(call))
        });
    }

    /// Tells the feed that it waits for a person, because of this text.
    pub(crate) fn ask(&self, objection: &Objection, judged: &str) {
        self.ask_about(objection, judged, None);
    }

    /// Likewise, because of what the command did.
    pub(crate) fn ask_about(
        &self,
        objection: &Objection,
        judged: &str,
        effects: Option<&AskedEffects>,
    ) {
        self.feed.tell_with(|| {
            let told = self.shown(&self.command, feed::LONGEST_COMMAND);
            let part = objection
                .span
                .and_then(|span| judged.get(span.start..span.end));
            let asks = CallAsks {
                rule: objection.rule.clone(),
                message: self.shown(&objection.message, feed::LONGEST_REASON),
                part: part.and_then(|part| {
                    let start = objection.span.map_or(0, |span| span.start);
                    place_of(part, start, &told)
                }),
                effects: effects.map(|effects| self.shown_effects(effects)),
            };
            FeedRecord::new(self.id.as_str(), Timestamp::now(), FeedEvent::Asks(asks))
        });
    }

    fn shown_effects(&self, effects: &AskedEffects) -> AskedEffects {
        let shown = |lines: &[String]| {
            let lines = lines.iter();
            lines
                .map(|line| self.shown(line, feed::LONGEST_REASON))
                .collect()
        };
        AskedEffects {
            refused: shown(&effects.refused),
            hosts: shown(&effects.hosts),
            ..effects.clone()
        }
    }

    /// Tells the feed that the person allowed it.
    pub(crate) fn allow(&self) {
        self.feed
            .tell_with(|| FeedRecord::new(self.id.as_str(), Timestamp::now(), FeedEvent::Allowed));
    }

    /// Tells the feed where its command was sent.
    pub(crate) fn placed(&self, place: &str, node: Option<String>) {
        if self.is_told {
            self.feed.tell_with(|| {
                let placed = CallPlaced {
                    place: place.to_owned(),
                    node,
                };
                FeedRecord::new(
                    self.id.as_str(),
                    Timestamp::now(),
                    FeedEvent::Placed(placed),
                )
            });
        }
    }

    /// Tells the feed of the end, as it is recorded.
    fn tell_ended(&mut self, record: &Record, job: Option<&str>) {
        if !self.is_told {
            self.tell_begun(None, None);
        }
        self.feed.tell_with(|| {
            let error = record.error.as_deref();
            let ended = CallEnded {
                outcome: record.outcome,
                exit_code: record.exit_code,
                signal: record.signal,
                error: error.map(|error| cut(error, feed::LONGEST_REASON).to_owned()),
                job: job.map(str::to_owned),
                place: record.place.clone(),
                cwd: record.cwd.clone(),
                wall_ms: record.wall_ms,
                output_bytes: record.output_bytes,
            };
            FeedRecord::new(self.id.as_str(), Timestamp::now(), FeedEvent::Ended(ended))
        });
    }

    /// The beginning of a text, without secrets, also at the cut.
    fn shown(&self, text: &str, most: usize) -> String {
        let hidden = self.secrets.hide(cut(text, most + SECRET_AT_THE_CUT));
        cut(&hidden, most).to_owned()
    }

    /// Records the call, now that it is over; returns the ledger's complaint, if any.
    pub(crate) fn close(
        mut self,
        profile: &Profile,
        ending: &Ending,
        reply: &Reply,
    ) -> Option<String> {
        self.is_closed = true;
        self.profile.clone_from(&profile.name);
        let mut record = self.record(outcome(ending));
        record.exit_code = reply.exit_code;
        record.signal = reply.signal;
        let denial = reply.denied.as_ref().map(|denied| denied.message.clone());
        let error = reply.error.clone().or(denial);
        record.error = error.map(|error| self.hidden(&error));
        record.wall_ms = reply.wall_ms;
        record.ran_ms = ran(ending).map(|finished| finished.ran_for.as_millis() as u64);
        record.output_bytes = reply.output_bytes;
        record.output_lines = reply.output_lines;
        record.minimized = ran(ending).and_then(|finished| {
            Some(MinimizedOutput {
                by: finished.minimized_by.clone()?,
                shown_bytes: reply.output.len() as u64,
                artifact: finished.artifact.as_ref().map(|kept| kept.id),
            })
        });
        record.refused.clone_from(&reply.refused);
        for refused in &mut record.refused {
            refused.what = self.hidden(&refused.what);
        }
        record.connections.clone_from(&reply.connections);
        let left = reply.left_behind.iter().take(MOST_LEFT);
        record.left = left
            .map(|left| LeftProcess {
                pid: left.pid,
                command: self.shown(&left.command, feed::LONGEST_COMMAND),
                job: left.job.clone(),
            })
            .collect();
        // What goes on in its terminal is told to have ended when it has.
        if record.outcome != RecordedOutcome::GoesOn {
            self.tell_ended(&record, reply.job.as_deref());
        }
        let is_recorded = match self.recorded {
            None => true,
            Some(ItemRecord::IfFailed) => {
                record.failed() || record.outcome == RecordedOutcome::Background
            }
            Some(ItemRecord::Never) => false,
        };
        if is_recorded {
            self.ledger.record(&record)
        } else {
            None
        }
    }

    fn hidden(&self, text: &str) -> String {
        self.secrets.hide(text).into_owned()
    }

    fn record(&mut self, outcome: RecordedOutcome) -> Record {
        let mut record = Record::new(self.id.as_str(), self.time, outcome);
        record.profile.clone_from(&self.profile);
        record.owner.clone_from(&self.owner);
        record.session.clone_from(&self.session);
        record.job.clone_from(&self.job);
        // More than is written, so that a secret at the cut is recognized whole.
        let most = self.ledger.settings.max_command_bytes + SECRET_AT_THE_CUT;
        let command = cut(&self.command, most);
        record.command_truncated = command.len() < self.command.len();
        record.command = self.hidden(command);
        record.cwd = self.hidden(&self.cwd.display().to_string());
        record.place.clone_from(&self.place);
        record.kept_out = self.is_kept_out;
        record.as_run.clone_from(&self.as_run);
        record.objection.clone_from(&self.objection);
        record.env.clone_from(&self.env);
        record.wall_ms = self.begun.elapsed().as_millis() as u64;
        record
    }
}

impl Drop for LedgerEntry<'_> {
    fn drop(&mut self) {
        if !self.is_closed {
            let record = self.record(RecordedOutcome::Cancelled);
            let job = self.job.clone();
            self.tell_ended(&record, job.as_deref());
            // Nobody is here to be told of a failure; the next call's entry reports it.
            let _ = self.ledger.append(&record);
        }
    }
}

/// Where a part of the text that runs is in the text that was told, from which it may differ:
/// where it was, or else the only place that has it.
fn place_of(part: &str, start: usize, told: &str) -> Option<(usize, usize)> {
    let ends = |start: usize| (start, start + part.len());
    let is_here = told.get(start..start + part.len()) == Some(part);
    let mut places = told.match_indices(part).map(|(at, _)| at);
    let only = places.next().filter(|_| places.next().is_none());
    Some(start).filter(|_| is_here).or(only).map(ends)
}

fn ran(ending: &Ending) -> Option<&Finished> {
    match ending {
        Ending::Ran(finished) => Some(finished),
        Ending::Failed(_, finished) => finished.as_deref(),
        Ending::Backgrounded(handed) => Some(&handed.so_far),
        Ending::AtTerminal(seen) => Some(&seen.finished),
        Ending::Refused(_) | Ending::Denied(_) | Ending::CancelledBeforeStart => None,
    }
}

fn outcome(ending: &Ending) -> RecordedOutcome {
    match ending {
        Ending::Refused(_) => RecordedOutcome::Refused,
        Ending::Denied(_) => RecordedOutcome::Denied,
        Ending::Failed(..) => RecordedOutcome::Failed,
        Ending::CancelledBeforeStart => RecordedOutcome::Cancelled,
        Ending::Backgrounded(_) => RecordedOutcome::Background,
        Ending::AtTerminal(seen) => match seen.progress {
            TerminalProgress::Ended => outcome_of_run(&seen.finished),
            TerminalProgress::Busy => RecordedOutcome::Refused,
            TerminalProgress::Silent | TerminalProgress::OverTime => RecordedOutcome::GoesOn,
        },
        Ending::Ran(finished) => outcome_of_run(finished),
    }
}

fn outcome_of_run(finished: &Finished) -> RecordedOutcome {
    if finished.denied.is_some() {
        return RecordedOutcome::Denied;
    }
    match (finished.ended_by, finished.exit) {
        (Some(EndedBy::Timeout), _) => RecordedOutcome::TimedOut,
        (Some(EndedBy::Cancel | EndedBy::Place), _) => RecordedOutcome::Cancelled,
        (None, Exit::Signal(_)) => RecordedOutcome::Signalled,
        (None, Exit::Code(_) | Exit::Unknown) => RecordedOutcome::Exited,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_where_it_was_or_where_it_alone_is() {
        let told = "echo rm x; rm x";
        assert_eq!(place_of("rm x", 11, told), Some((11, 15)));
        assert_eq!(place_of("rm x", 3, told), None, "it could be either");
        assert_eq!(place_of("echo", 40, told), Some((0, 4)));
        assert_eq!(place_of("secret", 0, told), None);
    }
}
