//! How a profile runs things: environment, limits, modes; `shell` and `output` for those two.

mod at_terminal;
mod output;
mod shell;

use super::parts::ReplyPart;
use crate::config::Preset;
use crate::guard::AskBy;
use crate::guard::safe_mode::SafeMode;
use crate::jobs::EndLines;
use crate::plan::{Limits, Overlap, Survivors};
use crate::request::{OnTimeout, Request};
pub use at_terminal::AtTerminalRules;
pub use output::{ArtifactsWhen, MinimizeSwitch, OutputRules, StreamDisplay, TextForm, TrimRule};
pub(crate) use output::{CutOutput, Within};
use serde::Deserialize;
pub use shell::{ShellCandidate, ShellChoice, ShellRules};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

/// What is added to the environment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EnvironmentRules {
    /// Whether `BASHD_RUN` tells the command the id of its run.
    #[serde(default)]
    pub run_variable: bool,
    /// Whether `SHELL` is the program that runs the command.
    #[serde(default)]
    pub shell_variable: bool,
    /// Variables that are not inherited; a name that ends in `*` stands for all with that prefix.
    #[serde(default)]
    pub not_inherited: Vec<String>,
    /// Variables set for every command: they override inherited ones, and the call overrides them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Variables whose value is the first of these programs that exists.
    #[serde(default)]
    pub set_to_program: BTreeMap<String, Vec<String>>,
}

impl EnvironmentRules {
    /// Whether a variable of the surroundings is passed on.
    pub(crate) fn inherits(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        let patterns = self.not_inherited.iter();
        !patterns.map(String::as_bytes).any(|pattern| match pattern {
            [start @ .., b'*'] => name.starts_with(start),
            whole => name == whole,
        })
    }
}

/// Which calls share a shell, and when.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionRules {
    /// Whether calls that name no session share one.
    #[serde(default)]
    pub implicit: bool,
    /// What happens to a call while another one of its session runs.
    #[serde(default)]
    pub overlap: Overlap,
    /// What a call finds of the one before it.
    #[serde(default)]
    pub keeps: SessionKeeps,
}

/// What a call of a session finds of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKeeps {
    /// The shell itself, with everything that was done to it.
    #[default]
    Shell,
    /// Only the directory, as long as it is inside of the one in which calls run.
    Directory,
}

impl SessionRules {
    /// What happens to a call while another one of its session runs.
    pub(crate) fn overlap_of(&self, request: &Request) -> Overlap {
        if request.by.is_typed() {
            Overlap::OneShot
        } else {
            self.overlap
        }
    }

    /// The name of a call's session, if it has one. Calls that name none share one of their
    /// owner's, whose name is empty.
    pub(crate) fn name_of<'a>(&self, request: &'a Request) -> Option<&'a str> {
        match &request.session {
            Some(name) => Some(name),
            None if self.implicit => Some(""),
            None => None,
        }
    }
}

/// How the text of a command is rewritten before it runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RewriteRules {
    /// What happens to a leading `cd DIR &&`.
    #[serde(default)]
    pub leading_cd: LeadingCdRule,
    /// What happens to a trailing `| tail -n N`.
    #[serde(default)]
    pub trailing_limits: TrailingLimitsRule,
    /// Schemes of internal URLs that become paths (`local` for `local://x`).
    #[serde(default)]
    pub urls: Vec<String>,
}

/// What happens to a leading `cd DIR &&`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadingCdRule {
    /// It stays: bash reports a directory that does not exist.
    #[default]
    Keep,
    /// If no directory is given it becomes the working directory, and a missing one is an error
    /// before anything runs.
    Lift,
}

/// What happens to a trailing `| head -n N` or `| tail -n N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrailingLimitsRule {
    /// It stays: only what it lets through is kept.
    #[default]
    Keep,
    /// It becomes a limit on what is shown; everything is kept.
    Take,
}

/// When a command that asks for a terminal gets one, and how its output becomes text.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TerminalRules {
    /// When there is one.
    pub when: TerminalWhen,
    /// What happens if there is none.
    pub fallback: Fallback,
    /// What a carriage return inside a line does.
    pub carriage_return: CarriageReturn,
    /// The ending of a command whose terminal or shell could not be started.
    pub start_failure: StartFailure,
    /// Which key ends a command while somebody types at its terminal.
    pub end_key: EndKey,
}

/// The ending of a command whose terminal or shell could not be started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFailure {
    /// The call fails, as without a terminal.
    #[default]
    Fails,
    /// The output says `PTY error: …`, and there is no exit status.
    Written,
}

/// Which key ends a command while somebody types at its terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKey {
    /// Ctrl-] twice within a second: nothing that a program's user presses by habit.
    #[default]
    BracketTwice,
    /// A single Esc, unless the program draws on the alternate screen.
    Escape,
}

/// When a command that asks for a terminal gets one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalWhen {
    /// Always: a program that needs one works for a model, too.
    #[default]
    Always,
    /// Only if somebody watches who could type.
    WithUi,
}

/// What happens to a command that asks for a terminal when there is none: it runs without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The reply says so.
    #[default]
    Told,
    /// Nothing is said in the text; it is data, if the profile's reply has room for that.
    Silent,
}

/// What a carriage return inside a line of a terminal's output does to the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriageReturn {
    /// What follows overwrites the line, as on a screen: a progress bar keeps its last form.
    #[default]
    Rewrites,
    /// It ends the line.
    EndsLine,
}

/// Which rules decide before anything runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardRules {
    /// Names of compiled-in rules (`docs/guard.md`); `default` stands for all that are on by
    /// default.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Whether rules that a document states have its words and denials.
    #[serde(default)]
    pub to_the_letter: bool,
    /// Whether only read-only commands may run (`docs/safe-mode.md`).
    #[serde(default)]
    pub safe_mode: SafeMode,
    /// What commands may reach (`docs/confinement.md`).
    #[serde(default)]
    pub confinement: Preset,
    /// Whether somebody is asked about what a command did to files before that is real
    /// (`docs/effects.md`): `effects`. By `text` only rules ask.
    #[serde(default)]
    pub ask: AskBy,
    /// Whether commands are refused for which the caller has a better tool.
    #[serde(default)]
    pub interceptor: bool,
}

/// A named way to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Mode {
    /// Its name.
    pub name: String,
    /// Whether the call waits for the command.
    pub runs: ModeKind,
    /// The limit in seconds.
    pub timeout_s: u64,
}

/// Whether a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeKind {
    /// It waits, until the command ends or is ended.
    Foreground,
    /// It returns at once with a handle.
    Background,
}

/// How a call answers whose command continues as a job.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct BackgroundRules {
    /// A command that ends within this many milliseconds is reported as ended, not as started.
    pub early_exit_ms: u64,
    /// The call did not wait: `{job}` (the short name), `{id}`, `{pid}`, `{output_file}`, `{label}`
    /// (the command, shortened), `{command}`, `{limit}` (after which it is ended).
    pub started: String,
    /// The wait is over: the same placeholders, and `{seconds}`. The output so far comes before it.
    #[serde(rename = "handed_over")]
    pub backgrounded: String,
    /// What a call that waited for its job to be ready says when it is: `{by}` (the line that
    /// matched, the port, the status), `{seconds}`.
    pub ready: String,
    /// What it says if the job ended first: `{state}`.
    pub ended_first: String,
    /// What it says if the job keeps running and is not ready yet: `{seconds}`.
    pub not_ready: String,
    /// The last line of the output file.
    pub file_ends: Option<EndLines>,
    /// How the parts of the text are arranged.
    pub layout: JobLayout,
    /// Whether a call's timeout also applies to its job; otherwise only a requested one does.
    pub keeps_timeout: bool,
    /// The default limit of a call that does not wait, in seconds, if it is another one.
    pub timeout_s: Option<u64>,
    /// The least and the most that such a call may ask for, if that is different.
    pub timeout_range_s: Option<[u64; 2]>,
    /// By what jobs are called in parameters and texts.
    pub called: JobNaming,
    /// Whether long-running calls become jobs automatically, if that is enabled.
    pub auto: bool,
    /// What a model is told, unasked, when its jobs have ended.
    pub notices: NoticeRules,
}

/// By what a contract calls jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobNaming {
    /// Their short names.
    #[default]
    Alias,
    /// The number in that.
    Number,
    /// The process id of their shell.
    Pid,
}

/// What a model is told when its jobs have ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct NoticeRules {
    /// Whether replies begin with it also where no job tool tells of jobs.
    pub told: bool,
    /// The beginning if one has ended: `{job}`.
    pub one: String,
    /// What follows then: `{job}`, `{label}`, `{ending}`, `{result}` (what its call would have
    /// answered).
    pub one_block: String,
    /// The beginning if several have: `{count}`.
    pub many: String,
    /// What follows for each of them: the same placeholders as for one.
    pub block: String,
    /// What follows for each of them instead, in parts.
    pub parts: Vec<ReplyPart>,
    /// What is told of a job that somebody cancelled: `{job}`, `{label}`.
    pub cancelled: String,
    /// What surrounds it: `{text}`.
    pub around: String,
}

impl Default for NoticeRules {
    fn default() -> Self {
        Self {
            told: false,
            parts: Vec::new(),
            one: "[job {job} has ended]".into(),
            one_block: "{job}: {ending}: {label}\n{result}".into(),
            many: "[{count} jobs have ended]".into(),
            block: "{job}: {ending}: {label}\n{result}".into(),
            cancelled: "[job {job} was cancelled: {label}]".into(),
            around: "{text}".into(),
        }
    }
}

/// How output, notices and job are arranged in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobLayout {
    /// A line each; of a command that was just started, only the line about it.
    #[default]
    Lines,
    /// A line each, and the first output of a command that was just started, too.
    OutputFirst,
    /// A blank line between them, the output without trailing blanks.
    Paragraphs,
}

impl Default for BackgroundRules {
    fn default() -> Self {
        Self {
            early_exit_ms: 300,
            started: "[started as job {job}: process group {pid}, output in {output_file}]".into(),
            backgrounded:
                "[still running after {seconds} s, as job {job}; output in {output_file}]".into(),
            ready: "[ready after {seconds} s: {by}]".into(),
            ended_first: "[ended before it was ready: {state}]".into(),
            not_ready: "[not ready after {seconds} s; it keeps running]".into(),
            file_ends: None,
            layout: JobLayout::Lines,
            keeps_timeout: false,
            timeout_s: None,
            timeout_range_s: None,
            called: JobNaming::Alias,
            auto: false,
            notices: NoticeRules::default(),
        }
    }
}

/// The tool with which a model manages its jobs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JobToolRules {
    /// Its form.
    pub kind: JobToolKind,
    /// The tool's name.
    pub name: String,
    /// The tool's description.
    pub description: String,
}

/// The forms of a job tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobToolKind {
    /// One action per call: list, output, screen, wait, send, signal, kill, rename.
    Actions,
    /// `list`, `poll` and `cancel`, in the words of their document.
    Poll,
}

/// When and how a profile's runs are ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitRules {
    /// Default limit in seconds.
    pub timeout_s: u64,
    /// The least and the most that a call may ask for, in seconds; what is outside is clamped and
    /// the reply says so. Without it, any timeout above zero is accepted.
    #[serde(default)]
    pub timeout_range_s: Option<[u64; 2]>,
    /// What happens at the timeout to calls that do not say; nothing said: it ends the command.
    #[serde(default)]
    pub on_timeout: Option<OnTimeout>,
    /// A command that writes nothing for this many seconds is ended, or, as `on_timeout` says, goes
    /// on as a job. It replaces the timeout, unless a call sets one.
    #[serde(default)]
    pub silence_s: Option<u64>,
    /// How many seconds a call waits at most where only silence counts, whatever its command
    /// writes: then the command goes on, as a job or in its terminal.
    #[serde(default = "longest_s")]
    pub longest_s: u64,
    /// How long a call waits before its command goes on as a job, in milliseconds. It has no other
    /// limit then than that of all jobs, unless a call sets one.
    #[serde(default)]
    pub wait_ms: Option<u64>,
    /// The least and the most that a call may ask for.
    #[serde(default)]
    pub wait_range_ms: Option<[u64; 2]>,
    /// Whether the schema states that range. A client that checks the schema would otherwise turn a
    /// value that is only clamped into an error.
    #[serde(default)]
    pub timeout_range_in_schema: RangeInSchema,
    /// The notice about a timeout that was too short: `{seconds}`, `{requested}`, `{least}`,
    /// `{most}`.
    #[serde(default = "raised")]
    pub raised: String,
    /// The notice about a timeout that was too long: the same placeholders.
    #[serde(default = "lowered")]
    pub lowered: String,
    /// From TERM to KILL, in milliseconds.
    pub grace_ms: u64,
    /// Silence that ends the drain while something lives, in milliseconds.
    pub drain_silence_ms: u64,
    /// The drain's bound, in milliseconds.
    pub drain_total_ms: u64,
    /// Its bound while something still works on the last of the output, in milliseconds.
    #[serde(default = "finish_ms")]
    pub drain_finish_ms: u64,
    /// What happens to what a normally finished shell left running.
    pub survivors: Survivors,
}

/// Whether a schema states the range of the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeInSchema {
    /// As `minimum` and `maximum`.
    #[default]
    Stated,
    /// Only the description states it.
    Unstated,
}

fn finish_ms() -> u64 {
    2000
}

fn longest_s() -> u64 {
    600
}

fn raised() -> String {
    "timeout raised to {least} s, the minimum".to_owned()
}

fn lowered() -> String {
    "timeout lowered to {most} s, the maximum".to_owned()
}

impl LimitRules {
    /// How long a call waits that asks for this, where the profile hands commands over.
    pub(crate) fn wait(&self, asked: Option<Duration>) -> Option<Duration> {
        let default = Duration::from_millis(self.wait_ms?);
        let wanted = asked.unwrap_or(default);
        Some(match self.wait_range_ms {
            Some([least, most]) => {
                wanted.clamp(Duration::from_millis(least), Duration::from_millis(most))
            }
            None => wanted,
        })
    }

    /// The placeholders of the two texts about a clamped timeout.
    pub(super) const PLACEHOLDERS: [&str; 4] = ["seconds", "requested", "least", "most"];

    /// The limits of a run that may take `timeout`.
    pub fn with_timeout(&self, timeout: Duration) -> Limits {
        Limits {
            timeout,
            grace: Duration::from_millis(self.grace_ms),
            drain_silence: Duration::from_millis(self.drain_silence_ms),
            drain_total: Duration::from_millis(self.drain_total_ms),
            drain_finish: Duration::from_millis(self.drain_finish_ms),
            survivors: self.survivors,
        }
    }
}
