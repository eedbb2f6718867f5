//! What the caller gets: one [`Reply`] per call, whatever happened.
//!
//! State is data here, never text: timed out, cancelled, signalled and denied are fields. `text` is
//! what a model sees, in the profile's literal words. The JSON form (`bashd run --json`) is this
//! struct, field by field; names and types are stable and documented in `docs/reply.md`.
//!
//! A field is added by its line in [`Reply`]. Protocols make their schemas from [`Reply::FIELDS`],
//! and a test compares the docs with it.

mod fields;

use crate::changes::ChangesSummary;
use crate::guard::Judgement;
use crate::output::veiled::Veil;
use crate::plan::{ConfinementInForce, Connected, GrantableAccess, LimitsInForce, Refused};
use bashd_keeper::left_behind::LeftBehind;
use fields::{Typed, list, reply};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use fields::{FieldType, Nothing, ReplyField};

reply! {
    /// The finished answer to one call.
    ///
    /// A field is defined by its line here. The first line of its comment is what clients are told
    /// about it.
    #[derive(Debug, Clone, Default, Serialize)]
    #[non_exhaustive]
    pub struct Reply {
        /// The reply as the model sees it.
        pub text: String,
        /// Whether the profile counts this reply as a tool error.
        pub is_error: bool,
        /// The profile's own structured result.
        pub result: Value,
        /// The output, cut to its window.
        /// It is what the profile shows, without the texts around it.
        pub output: String,
        /// The command's exit status, where it has one.
        /// It has none when it was killed by a signal or never ran.
        pub exit_code: Option<i32>,
        /// The signal that ended the shell.
        pub signal: Option<i32>,
        /// The deadline ended the command.
        pub timed_out: bool,
        /// The caller ended the command.
        pub cancelled: bool,
        /// The rule that denied the command; nothing ran.
        pub denied: Option<Denied>,
        /// Why bashd itself failed, or what was wrong with the request.
        pub error: Option<String>,
        /// Bytes that the command wrote, shown or not.
        /// Both streams together.
        pub output_bytes: u64,
        /// Newlines that the command wrote, shown or not.
        /// Both streams together.
        pub output_lines: u64,
        /// Bytes on stderr, where the streams are apart.
        pub stderr_bytes: Option<u64>,
        /// Bytes that the output leaves out.
        pub omitted_bytes: u64,
        /// Newlines that the output leaves out.
        pub omitted_lines: u64,
        /// Bytes that are no longer kept.
        /// Exactly this many of the bytes that the command wrote are lost.
        pub dropped_bytes: u64,
        /// From request to reply, in milliseconds.
        pub wall_ms: u64,
        /// Handle of the stored full output.
        pub artifact: Option<String>,
        /// The place at which the command ran, if not here.
        pub place: Option<String>,
        /// `place`, if that ended the command: an allocation that was over.
        pub ended_by: Option<String>,
        /// Handle of the background job.
        pub job: Option<String>,
        /// Processes that outlived the call.
        pub left_behind: Vec<LeftBehind>,
        /// Whether something still worked on the output when the call was answered.
        /// A process substitution (`>(…)`) that took longer than the profile waits for it.
        pub output_unfinished: bool,
        /// Why the session has lost its state.
        /// Its shell is gone, or is another one than before.
        pub session_reset: Option<String>,
        /// The terminal of the client in which it ran.
        pub terminal: Option<String>,
        /// What the command may use up, and by which means that is held.
        pub limits: Option<LimitsInForce>,
        /// What the command may reach, and by how much that is held.
        pub confinement: Option<ConfinementInForce>,
        /// What the confinement refused: at most ten.
        /// Hosts if `confinement.network` lists any; files if `confinement.report` says so.
        pub refused: Vec<Refused>,
        /// Refusals of other things than these ten.
        pub refused_more: u64,
        /// What a repeated call can ask for as `needs`, of what was refused.
        pub grantable: Option<GrantableAccess>,
        /// The hosts that the command connected to through its proxy: at most ten.
        pub connections: Vec<Connected>,
        /// What the command did to files, where that is held or can be undone.
        pub changes: Option<ChangesSummary>,
    }
}

impl Reply {
    /// The same without secrets in what we say ourselves: errors, denials, commands. Output is
    /// veiled where it is read.
    pub(crate) fn veiled(mut self, veil: &Veil) -> Self {
        if veil.hides() {
            let hide = |text: &mut String| *text = veil.text(std::mem::take(text));
            hide(&mut self.text);
            hide_in(&mut self.result, &hide);
            self.error.iter_mut().for_each(hide);
            self.session_reset.iter_mut().for_each(hide);
            self.left_behind
                .iter_mut()
                .for_each(|left| hide(&mut left.command));
            self.refused
                .iter_mut()
                .for_each(|refused| hide(&mut refused.what));
            if let Some(denied) = &mut self.denied {
                hide(&mut denied.message);
            }
        }
        self
    }

    /// The fields that hold something, except those that the caller puts elsewhere:
    /// clients pass this on to models, and a null costs tokens and says nothing.
    pub fn without<'a>(&'a self, elsewhere: &'a [&'a str]) -> impl Serialize + 'a {
        let reply = self;
        Rest { reply, elsewhere }
    }

    /// Likewise, without zeros, empty texts and lists, and `false`: a missing field means one of
    /// these. Only a status of 0 is written, since it is one.
    pub fn compact<'a>(&'a self, elsewhere: &'a [&'a str]) -> impl Serialize + 'a {
        let reply = self;
        CompactReply { reply, elsewhere }
    }
}

/// Changes every text within a value.
fn hide_in(value: &mut Value, hide: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => hide(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in(item, hide)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| hide_in(member, hide)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A reply without some of its fields.
struct Rest<'a> {
    reply: &'a Reply,
    elsewhere: &'a [&'a str],
}

/// Likewise, without fields that say nothing.
struct CompactReply<'a> {
    reply: &'a Reply,
    elsewhere: &'a [&'a str],
}

/// Which rule denied a command, and its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Denied {
    /// The rule's name.
    pub rule: String,
    /// The rule's message.
    pub message: String,
    /// The tool to use instead, where the rule names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_tool: Option<String>,
}

/// What denies a call that needs more than its confinement gives, like a rule's name.
pub(crate) const CONFINEMENT: &str = "confinement";

impl Denied {
    /// The denial of what a call needs beyond its confinement.
    pub(crate) fn confinement(message: String) -> Self {
        Self {
            rule: CONFINEMENT.to_owned(),
            message,
            suggested_tool: None,
        }
    }

    /// The denial of what a command did.
    pub(crate) fn of_effects(rule: &str, message: String) -> Self {
        Self {
            rule: rule.to_owned(),
            message,
            suggested_tool: None,
        }
    }

    /// The denial if a rule would ask and there is nobody to ask: it says how to allow the command.
    pub(crate) fn with_nobody_to_ask(judgement: &Judgement) -> Self {
        let mut denied = Self::from(judgement);
        let rule = &denied.rule;
        let how = if bashd_script::guard::rule(rule).is_some() {
            format!("guard.disable = [\"{rule}\"] in config.toml allows it")
        } else {
            format!("the rule {rule} in config.toml decides it")
        };
        denied.message = format!("{}. Nobody can be asked here; {how}", denied.message);
        denied
    }
}

impl From<&Judgement> for Denied {
    fn from(judgement: &Judgement) -> Self {
        let objection = judgement.objection();
        Self {
            rule: objection
                .map(|objection| objection.rule.clone())
                .unwrap_or_default(),
            message: objection
                .map(|objection| objection.message.clone())
                .unwrap_or_default(),
            suggested_tool: judgement.suggested_tool.clone(),
        }
    }
}
