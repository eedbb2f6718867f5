//! Replies from parts: pieces of text with placeholders, each shown under its conditions.
//!
//! A document that no fixed shape fits is written as a list of parts (`[[reply.parts]]`, and
//! `[[tools.parts]]` for tools that manage jobs). What a part may say is in `facts`.

use super::facts::Facts;
use bashd_keeper::template::{fill_with, unknown_placeholder};
use serde::Deserialize;
use serde_json::Value;

/// One piece of a reply's text.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplyPart {
    /// It is shown if all of these hold,
    #[serde(default)]
    pub when: Vec<PartWhen>,
    /// and none of these.
    #[serde(default)]
    pub unless: Vec<PartWhen>,
    /// What it says: placeholders of [`Facts`].
    pub text: String,
}

/// What can be true of a call when its reply is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartWhen {
    /// The command has ended.
    Ended,
    /// It goes on, as a job or in the terminal of its session.
    Running,
    /// It goes on, and the call did not wait for it.
    Started,
    /// It ended with a status that counts as success.
    Ok,
    /// It ended in another way.
    Failed,
    /// A signal ended its shell.
    Signalled,
    /// Its deadline ended it.
    TimedOut,
    /// Its caller ended it, or the owner of the job.
    Cancelled,
    /// One of these two.
    Stopped,
    /// There is no output.
    Empty,
    /// There is something on stdout, or in the one output.
    Stdout,
    /// There is something on stderr, where it is shown separately.
    Stderr,
    /// Some of the output is not shown.
    Cut,
    /// Processes were left running.
    LeftRunning,
    /// The process id of its shell is known.
    Pid,
    /// The session has a new shell, as the call wanted, and nothing else was to be done.
    Restarted,
    /// The session is back in its first directory, since the command left it for one outside.
    CwdReset,
    /// Nothing ran: the request was bad, a rule said no, or bashd failed.
    Unrun,
    /// The request was bad.
    Refused,
    /// A rule said no.
    Denied,
    /// The call sent input.
    Sent,
    /// The call asked to wait for the end.
    Waited,
    /// The command goes on in the terminal of its session, and was silent for too long.
    Silent,
    /// It goes on there, and the call's time is over.
    OverTime,
    /// It goes on there, so that the call's own command was not run.
    Busy,
    /// An earlier call started it.
    Continued,
    /// The call wanted a new shell first.
    NewShell,
    /// The call typed a letter with Ctrl.
    Key,
    /// Where the shell is now is known.
    Directory,
    /// There is a program `python`.
    Python,
}

/// How the replies to several commands of one call become one text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ListRules {
    /// What comes between two of them.
    pub between: String,
    /// What surrounds them: `{entries}`, `{max_output}` (as the call has it, or `null`).
    pub around: String,
}

impl ListRules {
    /// The placeholders of `around`.
    pub(super) const PLACEHOLDERS: [&'static str; 2] = ["entries", "max_output"];

    /// One text of several.
    pub(crate) fn join(&self, entries: &[String], max_output: Option<u64>) -> String {
        let entries = entries.join(&self.between);
        let most = max_output.map_or_else(|| "null".to_owned(), |most| most.to_string());
        fill_with(&self.around, |name| match name {
            "entries" => Some(entries.as_str()),
            "max_output" => Some(most.as_str()),
            _ => None,
        })
    }
}

/// The text of the parts that apply.
pub(crate) fn compose(parts: &[ReplyPart], facts: &Facts<'_>) -> String {
    let applies = |part: &&ReplyPart| {
        part.when.iter().all(|when| facts.holds(*when))
            && !part.unless.iter().any(|when| facts.holds(*when))
    };
    let parts = parts.iter().filter(applies);
    parts
        .map(|part| fill_with(&part.text, |name| facts.value(name)))
        .collect()
}

/// A text as data, if it is that.
pub(crate) fn as_data(text: &str) -> Option<Value> {
    let is_data = text.starts_with(['{', '[']);
    serde_json::from_str(text).ok().filter(|_| is_data)
}

/// Names what no fact fills, if there is such a placeholder.
pub(super) fn check(key: &str, parts: &[ReplyPart]) -> Result<(), String> {
    let unknown = parts
        .iter()
        .find_map(|part| unknown_placeholder(&part.text, Facts::NAMES));
    match unknown {
        Some(name) => Err(format!("{key}: there is no placeholder {{{name}}} here")),
        None => Ok(()),
    }
}
