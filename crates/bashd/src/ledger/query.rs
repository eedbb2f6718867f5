//! Which records are wanted: the same question for who reads the files and for the index.

use super::record::{Record, RecordedOutcome};
use jiff::Timestamp;
use std::time::Duration;

/// Which records are wanted. What is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// All calls, or only those that failed.
    pub which: Which,
    /// Only calls that came in at this time or later.
    pub since: Option<Timestamp>,
    /// Only calls that came in before this time.
    pub until: Option<Timestamp>,
    /// Only commands that contain this text, ignoring case.
    pub contains: Option<String>,
    /// Only calls of an owner (front end and client) that contains this text, ignoring case.
    pub owner: Option<String>,
    /// Only calls of the session of this name; empty for the one without a name.
    pub session: Option<String>,
    /// Only calls that ended in this way.
    pub outcome: Option<RecordedOutcome>,
    /// Only calls that took this long, or longer.
    pub at_least: Option<Duration>,
    /// Only calls that took this long, or shorter.
    pub at_most: Option<Duration>,
    /// Only calls that wrote so many bytes, or more.
    pub least_bytes: Option<u64>,
    /// Only calls that wrote so many bytes, or fewer.
    pub most_bytes: Option<u64>,
}

/// All calls, or only some.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Every call.
    #[default]
    All,
    /// Calls that did anything but exit with status 0.
    Failed,
}

impl RecordQuery {
    /// Whether it wants every record.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// As `wants` expects it: texts are compared in lower case.
    pub(super) fn in_lower_case(mut self) -> Self {
        self.contains = self.contains.map(|text| text.to_lowercase());
        self.owner = self.owner.map(|text| text.to_lowercase());
        self
    }

    /// Whether a record passes; the texts of the question are in lower case already.
    pub(super) fn wants(&self, record: &Record) -> bool {
        let took = Duration::from_millis(record.wall_ms);
        let has = |text: &Option<String>, of: &str| {
            let has = |text: &String| of.to_lowercase().contains(text.as_str());
            text.as_ref().is_none_or(has)
        };
        // What is cheap comes first.
        (self.which == Which::All || record.failed())
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && self.outcome.is_none_or(|outcome| record.outcome == outcome)
            && self.at_least.is_none_or(|least| took >= least)
            && self.at_most.is_none_or(|most| took <= most)
            && self
                .least_bytes
                .is_none_or(|least| record.output_bytes >= least)
            && self
                .most_bytes
                .is_none_or(|most| record.output_bytes <= most)
            && self
                .session
                .as_ref()
                .is_none_or(|name| record.session.as_ref() == Some(name))
            && has(&self.owner, &record.owner)
            && has(&self.contains, &record.command)
    }
}
