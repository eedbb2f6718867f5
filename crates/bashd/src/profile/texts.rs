//! The literal texts of a profile: for outcomes, for bad requests, for our own failures.

use super::parts::{ListRules, ReplyPart};
use crate::error::{Error, ErrorKind};
use crate::exec::Exit;
use crate::request::{Issue, Refusal, RefusalKind};
use crate::script::{CommandOrigin, Script, SimpleCommand, Word};
use bashd_keeper::template::fill;
use serde::Deserialize;

/// How outcomes become replies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplyRules {
    /// How text and result are put together.
    pub shape: ReplyShape,
    /// The prefix of a text that says that nothing ran, or that we failed.
    pub error_prefix: String,
    /// Which outcomes of a run count as tool errors. Refused, denied and failed calls always do.
    pub error_when: Vec<ErrorWhen>,
    /// The texts.
    pub texts: OutcomeTexts,
    /// The texts about what is not shown, in the detailed shape.
    #[serde(default)]
    pub truncation: TruncationTexts,
    /// The pieces of the text, in the shape `parts`.
    #[serde(default)]
    pub parts: Vec<ReplyPart>,
    /// How the replies to several commands of one call become one.
    #[serde(default)]
    pub list: Option<ListRules>,
    /// Statuses that count as success after these commands.
    #[serde(default)]
    pub benign: Vec<BenignStatus>,
    /// Whether a call in which nothing ran is a tool error.
    #[serde(default = "yes")]
    pub unrun_is_error: bool,
}

fn yes() -> bool {
    true
}

/// A status that says something else than that a command failed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BenignStatus {
    /// The status.
    pub code: i32,
    /// After one of these, where it is the last command: a name, or a name and its first argument.
    pub commands: Vec<String>,
}

impl ReplyRules {
    /// Whether the profile takes this status of a script for success.
    pub(crate) fn tolerates(&self, script: &str, exit: Exit) -> bool {
        let Exit::Code(code) = exit else {
            return false;
        };
        let mut benign = self.benign.iter().filter(|benign| benign.code == code);
        benign.any(|benign| benign.is_of(script))
    }
}

impl BenignStatus {
    fn is_of(&self, script: &str) -> bool {
        let script = Script::parse(script);
        let is_outermost = |command: &&SimpleCommand| {
            command.origin == CommandOrigin::Written && command.place.inside.is_empty()
        };
        let Some(last) = script.commands.iter().rfind(is_outermost) else {
            return false;
        };
        let Some(name) = last.name() else {
            return false;
        };
        let first = last.arguments().first().and_then(Word::known);
        let is_it = |wanted: &String| match wanted.split_once(' ') {
            Some((program, argument)) => name == program && first == Some(argument),
            None => name == wanted,
        };
        self.commands.iter().any(is_it)
    }
}

/// How text and result of a reply are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyShape {
    /// Text: the output, what happened to it, and always the exit line last.
    OutputThenExit,
    /// A JSON object with both streams and the exit code, or one with an error.
    StreamsObject,
    /// Text: a line about the failure, if there was one, then the output.
    FailureThenOutput,
    /// Text: the output, then a line in brackets for each thing worth saying.
    Annotated,
    /// Text: the output, notices, how it ended, what is not shown; or what ended it, then the
    /// output. All of that also as data.
    Detailed,
    /// Text: the parts that apply (`[[reply.parts]]`).
    Parts,
}

/// Outcomes of a run that a profile may count as tool errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorWhen {
    /// The deadline ended it.
    TimedOut,
    /// The caller ended it.
    Cancelled,
    /// Its exit status is not 0, or a signal ended it.
    Failed,
    /// The shell found nothing it could run: its last command is a program that is not there (127)
    /// or may not be executed (126), with nothing on stdout and something on stderr. Only known if
    /// the streams are shown separately.
    NotRunnable,
}

/// The texts for outcomes. Optional ones are left out when empty.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OutcomeTexts {
    /// The exit status: `{code}`.
    #[serde(default)]
    pub exit: String,
    /// What `{code}` is when there is no status.
    pub no_status: String,
    /// A signal ended the shell: `{signal}`, `{name}`. Empty: `exit` with 128 + signal.
    #[serde(default)]
    pub signal: String,
    /// The deadline ended it: `{seconds}`.
    #[serde(default)]
    pub timed_out: String,
    /// The caller ended it.
    #[serde(default)]
    pub cancelled: String,
    /// The deadline ended it in a terminal before it wrote anything (detailed): `{seconds}`. Empty:
    /// `timed_out`.
    #[serde(default)]
    pub timed_out_silent_in_terminal: String,
    /// The caller ended it there (detailed). Empty: `cancelled`.
    #[serde(default)]
    pub cancelled_silent_in_terminal: String,
    /// The caller cancelled before anything ran.
    pub cancelled_before_start: String,
    /// A guard denied it: `{rule}`, `{message}`.
    pub denied: String,
    /// Output was lost: `{notice}`.
    pub output_lost: String,
    /// A client's terminal dropped output, in other words than those: `{notice}`.
    #[serde(default)]
    pub terminal_truncated: String,
    /// Something about the request (a clamp): `{notice}`.
    #[serde(default)]
    pub notice: String,
    /// A process was deliberately left running: `{pid}`, `{command}`.
    #[serde(default)]
    pub left_running: String,
    /// What can be done about what was left running, once after the list: `{job}`.
    #[serde(default)]
    pub left_next: String,
    /// A process could not be ended: `{pid}`, `{command}`, `{reason}`.
    #[serde(default)]
    pub left_unended: String,
    /// More processes than are listed: `{count}`.
    #[serde(default)]
    pub left_more: String,
    /// There is nothing else to say, or (detailed) no output.
    #[serde(default)]
    pub empty: String,
    /// How long it ran (detailed): `{seconds}`.
    #[serde(default)]
    pub wall_time: String,
    /// There is no exit status (detailed). Empty: `exit` with `no_status`.
    #[serde(default)]
    pub missing_status: String,
}

/// The texts about what is not shown, joined with periods. Empty ones are left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TruncationTexts {
    /// Only these lines: `{first}`, `{last}`, `{total}`.
    pub range: String,
    /// No line fits: `{shown}`, `{total}`.
    pub count: String,
    /// What follows if the window's size is the reason: `{limit}`.
    pub by_bytes: String,
    /// Only both ends: `{head}`, `{first}`, `{last}`, `{total}`, `{omitted_lines}`,
    /// `{omitted_size}`.
    pub middle: String,
    /// Lines are cut: `{max}`.
    pub lines_cut: String,
    /// All of the output is stored: `{address}`.
    pub stored: String,
    /// Some of it is: `{address}`, `{dropped}`.
    pub stored_partly: String,
    /// What follows if a digest is shown whose lines have other numbers than the raw output's:
    /// `{first}`, `{last}`, `{total}`, `{raw_total}`.
    #[serde(default)]
    pub minimized: String,
    /// What follows if the numbers are the digest's, since no others are known: the same.
    #[serde(default)]
    pub minimized_only: String,
    /// Likewise if a client's terminal dropped some before it was seen: `{address}`.
    #[serde(default)]
    pub stored_incomplete: String,
}

/// The texts for bad requests: `{detail}`, and `{known}` in that for an unknown parameter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each field is the text of the kind of the same name"
)]
pub struct RefusalTexts {
    pub invalid_json: String,
    pub not_an_object: String,
    pub missing_command: String,
    pub unknown_parameter: String,
    pub wrong_type: String,
    pub invalid_value: String,
    pub nul_byte: String,
    pub unknown_profile: String,
    pub not_available: String,
    /// Empty: `invalid_value`.
    #[serde(default)]
    pub invalid_env_name: String,
    /// Empty: `not_available`.
    #[serde(default)]
    pub background_disabled: String,
    /// Empty: `not_available`.
    #[serde(default)]
    pub background_unavailable: String,
    /// Empty: `invalid_value`.
    #[serde(default)]
    pub missing_parameter: String,
    /// Empty: `not_available`.
    #[serde(default)]
    pub unknown_tool: String,
    /// The text for arguments that are checked as a whole, instead of one for the first fault.
    #[serde(default)]
    pub issues: Option<IssueTexts>,
}

/// The text for arguments that are checked as a whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct IssueTexts {
    /// There is one fault: `{tool}`, `{issues}`.
    pub one: String,
    /// There are several: the same.
    pub many: String,
    /// A parameter is missing: `{name}`.
    pub missing: String,
    /// There is no such parameter: `{name}`.
    pub unknown: String,
    /// It has the wrong type: `{name}`, `{expected}`, `{got}`.
    pub wrong_type: String,
}

impl IssueTexts {
    fn text(&self, issues: &[Issue], tool: &str) -> String {
        let lines = issues.iter().map(|issue| match issue {
            Issue::Missing(name) => fill(&self.missing, &[("name", name)]),
            Issue::Unknown(name) => fill(&self.unknown, &[("name", name)]),
            Issue::WrongType {
                name,
                expected,
                got,
            } => {
                let values = [("name", &**name), ("expected", expected), ("got", got)];
                fill(&self.wrong_type, &values)
            }
        });
        let lines: Vec<String> = lines.collect();
        let template = match lines.as_slice() {
            [_] => &self.one,
            _ => &self.many,
        };
        fill(template, &[("tool", tool), ("issues", &lines.join("\n"))])
    }
}

impl RefusalTexts {
    /// The profile's text for a refusal.
    pub fn text(&self, refusal: &Refusal, tool: &str) -> String {
        if let Some(texts) = self.issues.as_ref().filter(|_| !refusal.issues.is_empty()) {
            return texts.text(&refusal.issues, tool);
        }
        let detail = &refusal.detail;
        let own = match refusal.kind {
            RefusalKind::InvalidEnvName => &self.invalid_env_name,
            RefusalKind::BackgroundDisabled => &self.background_disabled,
            RefusalKind::BackgroundUnavailable => &self.background_unavailable,
            // These have the same words everywhere.
            RefusalKind::InternalUrl | RefusalKind::TooManyJobs | RefusalKind::OfTool => {
                return detail.clone();
            }
            RefusalKind::MissingParameter => &self.missing_parameter,
            RefusalKind::UnknownTool => &self.unknown_tool,
            RefusalKind::InvalidJson => &self.invalid_json,
            RefusalKind::NotAnObject => &self.not_an_object,
            RefusalKind::MissingCommand => &self.missing_command,
            RefusalKind::UnknownParameter => &self.unknown_parameter,
            RefusalKind::WrongType => &self.wrong_type,
            RefusalKind::InvalidValue => &self.invalid_value,
            RefusalKind::NulByte => &self.nul_byte,
            RefusalKind::UnknownProfile => &self.unknown_profile,
            RefusalKind::NotAvailable => &self.not_available,
        };
        match refusal.kind {
            RefusalKind::InvalidEnvName if own.is_empty() => {
                let detail = format!("invalid environment variable name `{detail}`");
                fill(&self.invalid_value, &[("detail", &detail)])
            }
            RefusalKind::BackgroundDisabled | RefusalKind::BackgroundUnavailable
                if own.is_empty() =>
            {
                fill(&self.not_available, &[("detail", detail)])
            }
            RefusalKind::MissingParameter if own.is_empty() => {
                let detail = format!("`{detail}` is required");
                fill(&self.invalid_value, &[("detail", &detail)])
            }
            RefusalKind::UnknownTool if own.is_empty() => {
                let detail = format!("there is no tool `{detail}`");
                fill(&self.invalid_value, &[("detail", &detail)])
            }
            RefusalKind::UnknownParameter => {
                let known = refusal.known.join(", ");
                fill(own, &[("detail", detail), ("known", &known)])
            }
            _ => fill(own, &[("detail", detail)]),
        }
    }
}

/// The texts for our own failures: `{detail}`, `{subject}` (the path or program, if known).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each field is the text of the kind of the same name"
)]
pub struct ErrorTexts {
    pub cwd: String,
    /// Empty: `cwd`.
    #[serde(default)]
    pub cwd_missing: String,
    /// Empty: `cwd`.
    #[serde(default)]
    pub cwd_not_a_directory: String,
    pub shell: String,
    /// Empty: `shell`.
    #[serde(default)]
    pub shell_configured: String,
    pub spawn: String,
    pub keeper: String,
    pub keeper_lost: String,
    pub config: String,
    pub io: String,
}

impl ErrorTexts {
    /// The profile's text for a failure of ours.
    pub fn text(&self, error: &Error) -> String {
        let template = match error.kind() {
            ErrorKind::CwdMissing if !self.cwd_missing.is_empty() => &self.cwd_missing,
            ErrorKind::CwdNotADirectory if !self.cwd_not_a_directory.is_empty() => {
                &self.cwd_not_a_directory
            }
            ErrorKind::Cwd | ErrorKind::CwdMissing | ErrorKind::CwdNotADirectory => &self.cwd,
            ErrorKind::ShellConfigured if !self.shell_configured.is_empty() => {
                &self.shell_configured
            }
            ErrorKind::Shell | ErrorKind::ShellConfigured => &self.shell,
            ErrorKind::Spawn => &self.spawn,
            ErrorKind::Keeper => &self.keeper,
            ErrorKind::KeeperLost | ErrorKind::PlaceLost => &self.keeper_lost,
            ErrorKind::Config => &self.config,
            ErrorKind::NoSuchJob
            | ErrorKind::Job
            | ErrorKind::Io
            | ErrorKind::Place
            | ErrorKind::Denied
            | ErrorKind::Confinement => &self.io,
        };
        let detail = error.to_string();
        let subject = error.subject().unwrap_or(&detail);
        fill(template, &[("detail", &detail), ("subject", subject)])
    }
}
