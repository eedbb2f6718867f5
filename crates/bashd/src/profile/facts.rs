//! What the parts of a reply can say: conditions that hold, and values of placeholders.

use super::Profile;
use super::parts::PartWhen;
use super::reply::{BackgroundedCall, Finished, SeenAtTerminal, SessionChange, TerminalProgress};
use super::rules::{JobNaming, TrimRule};
use super::shape;
use crate::exec::{EndedBy, Exit};
use crate::jobs::tool::texts::label;
use crate::jobs::{Job, JobState};
use crate::output::Captured;
use bashd_keeper::left_behind::LeftReason;
use bashd_keeper::signal;
use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// Bytes that count as one token.
const TOKEN: u64 = 4;

/// What is known of a call when its reply is put together.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) progress: Progress<'a>,
    /// The job that the call is about.
    pub(crate) job: Option<JobFacts<'a>>,
    /// What it found at the terminal of its session.
    pub(crate) terminal: Option<&'a SeenAtTerminal>,
    /// The name of the tool that was called.
    pub(crate) tool: &'a str,
    pub(crate) did: Did,
}

/// What a call of a tool that manages jobs did, besides looking.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Did {
    pub(crate) sent: bool,
    pub(crate) waited: bool,
    /// How long the call took.
    pub(crate) took: Option<Duration>,
}

/// How far a command has come.
#[derive(Clone, Copy)]
pub(crate) enum Progress<'a> {
    /// Nothing ran, for this reason.
    Unrun(Unrun, &'a str),
    /// It has ended.
    Ended(&'a Finished),
    /// It goes on; this is what there is.
    Running(&'a Finished),
}

/// Why nothing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unrun {
    Refused,
    Denied,
    Failed,
    Cancelled,
}

/// The job that a call is about.
#[derive(Clone, Copy)]
pub(crate) struct JobFacts<'a> {
    alias: &'a str,
    pid: i32,
    output_file: &'a std::path::Path,
    command: &'a str,
    description: Option<&'a str>,
    limit: Duration,
    /// Whether its call waited for it.
    waits: bool,
    state: Option<(JobState, Option<EndedBy>, Option<i32>)>,
}

impl<'a> From<&'a BackgroundedCall> for JobFacts<'a> {
    fn from(call: &'a BackgroundedCall) -> Self {
        Self {
            alias: &call.alias,
            pid: call.pid,
            output_file: &call.output_file,
            command: &call.command,
            description: None,
            limit: call.limit,
            waits: call.waits,
            state: None,
        }
    }
}

impl<'a> From<&'a Job> for JobFacts<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            alias: &job.alias,
            pid: job.pid,
            output_file: &job.output_file,
            command: &job.command,
            description: job.call.description.as_deref(),
            limit: job.limit,
            waits: true,
            state: Some((job.state, job.ended_by, job.exit_code)),
        }
    }
}

impl JobFacts<'_> {
    /// The job's name, as the contract spells it.
    fn called(&self, naming: JobNaming) -> String {
        match naming {
            JobNaming::Alias => self.alias.to_owned(),
            JobNaming::Number => number_of(self.alias).unwrap_or_default().to_owned(),
            JobNaming::Pid => self.pid.to_string(),
        }
    }

    /// One word for the job's state: `running`, `completed`, `failed`, `killed`.
    pub(crate) fn state(&self) -> &'static str {
        match self.state {
            None => "running",
            Some((state, ended_by, code)) => match (state, ended_by, code) {
                (JobState::Running | JobState::WaitingForInput, ..) => "running",
                (JobState::Killed | JobState::Lost, ..) | (_, Some(_), _) => "killed",
                (_, None, Some(0)) => "completed",
                (_, None, _) => "failed",
            },
        }
    }
}

/// The digits of a short name.
pub(crate) fn number_of(alias: &str) -> Option<&str> {
    alias.rsplit('_').next()
}

impl Facts<'_> {
    /// The placeholders that a part may have.
    pub(super) const NAMES: &'static [&'static str] = &[
        "chunk",
        "code",
        "command",
        "command_escaped",
        "cwd",
        "directory",
        "job",
        "key",
        "label",
        "left_pids",
        "limit",
        "lines",
        "lines_shown",
        "message",
        "message_escaped",
        "output",
        "output_escaped",
        "output_file",
        "pid",
        "python",
        "signal",
        "signal_name",
        "silence",
        "state",
        "state_upper",
        "stderr",
        "stderr_escaped",
        "stdout",
        "stdout_escaped",
        "time",
        "timeout",
        "timeout_decimal",
        "timeout_minutes",
        "timeout_ms",
        "timeout_seconds",
        "tokens",
        "tool",
        "wall_long",
        "wall_short",
    ];

    fn finished(&self) -> Option<&Finished> {
        match self.progress {
            Progress::Unrun(..) => None,
            Progress::Ended(finished) | Progress::Running(finished) => Some(finished),
        }
    }

    fn is_at_terminal(&self, progress: TerminalProgress) -> bool {
        self.terminal.is_some_and(|seen| seen.progress == progress)
    }

    /// The value of a placeholder about a terminal session.
    fn at_terminal(&self, name: &str) -> Option<String> {
        let seen = self.terminal;
        let value = match name {
            "directory" => {
                seen.and_then(|seen| Some(seen.directory.as_ref()?.display().to_string()))
            }
            "key" => seen.and_then(|seen| Some(seen.key?.to_string())),
            "python" => seen.and_then(|seen| seen.python.clone()),
            "silence" => self
                .profile
                .limits
                .silence_s
                .map(|seconds| seconds.to_string()),
            _ => return None,
        };
        Some(value.unwrap_or_default())
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, when: PartWhen) -> bool {
        let finished = self.finished();
        let ended = match self.progress {
            Progress::Ended(finished) => Some(finished),
            Progress::Unrun(..) | Progress::Running(_) => None,
        };
        let is_unrun = |why| matches!(self.progress, Progress::Unrun(is, _) if is == why);
        let change = finished.map(|finished| &finished.session_change);
        let ended_by = |who| finished.is_some_and(|finished| finished.ended_by == Some(who));
        match when {
            PartWhen::Ended => ended.is_some(),
            PartWhen::Running => matches!(self.progress, Progress::Running(_)),
            PartWhen::Started => {
                let is_job = matches!(self.progress, Progress::Running(_));
                is_job && self.job.is_some_and(|job| !job.waits)
            }
            PartWhen::Ok => ended.is_some_and(Finished::is_success),
            PartWhen::Failed => ended.is_some_and(|finished| !finished.is_success()),
            PartWhen::Signalled => ended.is_some_and(|run| matches!(run.exit, Exit::Signal(_))),
            PartWhen::TimedOut => ended_by(EndedBy::Timeout),
            PartWhen::Cancelled => ended_by(EndedBy::Cancel) || is_unrun(Unrun::Cancelled),
            PartWhen::Empty => finished.is_none_or(|finished| self.output(finished).is_empty()),
            PartWhen::Stopped => finished.is_some_and(|run| run.ended_by.is_some()),
            PartWhen::Stdout => !self.streams().0.is_empty(),
            PartWhen::Pid => {
                self.job.is_some() || finished.is_some_and(|finished| finished.pid != 0)
            }
            PartWhen::Stderr => !self.streams().1.is_empty(),
            PartWhen::Cut => finished.is_some_and(|run| shape::omitted(&run.captured).0 > 0),
            PartWhen::LeftRunning => !self.left_pids().is_empty(),
            PartWhen::Restarted => change == Some(&SessionChange::Restarted),
            PartWhen::CwdReset => matches!(change, Some(SessionChange::BackIn(_))),
            PartWhen::Unrun => finished.is_none(),
            PartWhen::Refused => is_unrun(Unrun::Refused),
            PartWhen::Denied => is_unrun(Unrun::Denied),
            PartWhen::Sent => self.did.sent,
            PartWhen::Waited => self.did.waited,
            PartWhen::Silent => self.is_at_terminal(TerminalProgress::Silent),
            PartWhen::OverTime => self.is_at_terminal(TerminalProgress::OverTime),
            PartWhen::Busy => self.is_at_terminal(TerminalProgress::Busy),
            PartWhen::Continued => self.terminal.is_some_and(|seen| seen.is_continued),
            PartWhen::NewShell => self.terminal.is_some_and(|seen| seen.is_restarted),
            PartWhen::Key => self.terminal.is_some_and(|seen| seen.key.is_some()),
            PartWhen::Directory => self.terminal.is_some_and(|seen| seen.directory.is_some()),
            PartWhen::Python => self.terminal.is_some_and(|seen| seen.python.is_some()),
        }
    }

    /// The value of a placeholder, if there is one of that name.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        if let Some(plain) = name.strip_suffix("_escaped") {
            return self.value(plain).map(|value| escaped(&value));
        }
        let finished = self.finished();
        let ran_for = || {
            let took = self.did.took.or(finished.map(|finished| finished.ran_for));
            took.unwrap_or_default().as_secs_f64()
        };
        let timeout = || finished.map_or(Duration::ZERO, |finished| finished.timeout);
        let of_job = |value: fn(&JobFacts<'_>) -> String| {
            Some(self.job.as_ref().map_or_else(String::new, value))
        };
        match name {
            "chunk" => Some(format!("{:06x}", random() % 0x100_0000)),
            "code" => Some(self.code()),
            "command" => match self.terminal {
                Some(seen) => Some(seen.command.clone()),
                None => of_job(|job| job.command.to_owned()),
            },
            "cwd" => match &finished?.session_change {
                SessionChange::BackIn(directory) => Some(directory.display().to_string()),
                SessionChange::None | SessionChange::Restarted => Some(String::new()),
            },
            "job" => {
                let naming = self.profile.background.called;
                Some(self.job.map_or_else(String::new, |job| job.called(naming)))
            }
            "label" => of_job(|job| {
                job.description
                    .map_or_else(|| label(job.command), str::to_owned)
            }),
            "left_pids" => Some(self.left_pids().join(", ")),
            "limit" => of_job(|job| words(job.limit)),
            "lines" => Some(finished?.all_lines().to_string()),
            "lines_shown" => Some(finished?.shown_lines().to_string()),
            "message" => match self.progress {
                Progress::Unrun(_, message) => Some(message.to_owned()),
                Progress::Ended(_) | Progress::Running(_) => Some(String::new()),
            },
            "output" => Some(finished.map_or_else(String::new, |run| self.output(run))),
            "output_file" => of_job(|job| job.output_file.display().to_string()),
            "pid" => match self.job {
                Some(job) => Some(job.pid.to_string()),
                None => finished.map(|finished| finished.pid.to_string()),
            },
            "signal" | "signal_name" => match finished?.exit {
                Exit::Signal(number) if name == "signal" => Some(number.to_string()),
                Exit::Signal(number) => Some(signal::name(number).to_owned()),
                Exit::Code(_) | Exit::Unknown => Some(String::new()),
            },
            "state" => of_job(|job| job.state().to_owned()),
            "state_upper" => of_job(|job| job.state().to_uppercase()),
            "stderr" => Some(self.streams().1.into_owned()),
            "stdout" => Some(self.streams().0.into_owned()),
            "time" => Some(now()),
            "timeout" => Some(words(timeout())),
            "timeout_decimal" => Some(format!("{:?}", timeout().as_secs_f64())),
            "timeout_minutes" => Some(format!("{:.1}", timeout().as_secs_f64() / 60.0)),
            "timeout_ms" => Some(timeout().as_millis().to_string()),
            "timeout_seconds" => Some(timeout().as_secs_f64().to_string()),
            "tokens" => Some(finished?.written.bytes.div_ceil(TOKEN).to_string()),
            "tool" => Some(self.tool.to_owned()),
            "wall_long" => Some(format!("{:.4}", ran_for())),
            "wall_short" => Some(format!("{:.1}", ran_for())),
            _ => self.at_terminal(name),
        }
    }

    /// The exit status; 128 + n for signal n.
    fn code(&self) -> String {
        let status = self.finished().and_then(Finished::status);
        let none = || self.profile.reply.texts.no_status.clone();
        status.map_or_else(none, |status| status.to_string())
    }

    /// The output as one text, trimmed as the profile wants it, and what was lost of it.
    fn output(&self, finished: &Finished) -> String {
        let output = shape::output(&finished.captured);
        let mut text = self.profile.output.trim.apply(&output).to_owned();
        for remark in shape::remarks(self.profile, finished) {
            shape::start_line(&mut text);
            text.push_str(&remark.line);
        }
        text
    }

    /// Both streams, where they are shown apart; all of it is stdout otherwise.
    fn streams(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        match self.finished().map(|finished| &finished.captured) {
            None => (Cow::Borrowed(""), Cow::Borrowed("")),
            Some(Captured::One(both)) => (self.trimmed(&both.text), Cow::Borrowed("")),
            Some(Captured::Apart { out, err }) => {
                (self.trimmed(&out.text), self.told_err(&err.text))
            }
        }
    }

    fn trimmed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(self.profile.output.trim.apply(text))
    }

    /// stderr, with what was lost of the output at its end.
    fn told_err<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(finished) = self.finished() else {
            return self.trimmed(text);
        };
        let remarks = shape::remarks(self.profile, finished);
        if remarks.is_empty() {
            return self.trimmed(text);
        }
        let mut text = self.trimmed(text).into_owned();
        for remark in remarks {
            shape::start_line(&mut text);
            text.push_str(&remark.line);
        }
        Cow::Owned(text)
    }

    fn left_pids(&self) -> Vec<String> {
        let left = self.finished().map(|finished| finished.left_behind.iter());
        let left = left.into_iter().flatten();
        let is_survivor = |reason: LeftReason| reason == LeftReason::Survivor;
        left.filter(|process| is_survivor(process.reason))
            .map(|process| process.pid.to_string())
            .collect()
    }
}

impl TrimRule {
    /// What is shown of a text.
    pub(crate) fn apply(self, text: &str) -> &str {
        match self {
            Self::None => text,
            Self::Newlines => text.trim_end_matches('\n'),
            Self::End => text.trim_end(),
            Self::Both => text.trim(),
            Self::BlankLines => {
                let text = text.trim_end();
                let begin = text.len() - text.trim_start().len();
                let line = text.get(..begin).and_then(|blank| blank.rfind('\n'));
                text.get(line.map_or(0, |newline| newline + 1)..)
                    .unwrap_or(text)
            }
        }
    }
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// A time in short words: `2s`, `10m`, `1m 30s`, `24h`.
pub(crate) fn words(time: Duration) -> String {
    let (seconds, rest) = (time.as_secs(), time.subsec_millis());
    if seconds < 60 && rest > 0 {
        return format!("{}s", time.as_secs_f64());
    }
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let words = parts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = words
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if words.is_empty() {
        return "0s".to_owned();
    }
    words.join(" ")
}

fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// The time as ISO 8601, to the millisecond.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_trimmed_as_each_rule_says() {
        let text = "\n \n  lead\ntrail \n\n";
        assert_eq!(TrimRule::None.apply(text), text);
        assert_eq!(TrimRule::Newlines.apply(text), "\n \n  lead\ntrail ");
        assert_eq!(TrimRule::End.apply(text), "\n \n  lead\ntrail");
        assert_eq!(TrimRule::BlankLines.apply(text), "  lead\ntrail");
        assert_eq!(TrimRule::BlankLines.apply(" \n\n"), "");
        assert_eq!(TrimRule::Both.apply(text), "lead\ntrail");
    }

    #[test]
    fn times_are_short_words() {
        let of = |seconds| words(Duration::from_secs(seconds));
        assert_eq!(
            [of(2), of(600), of(90), of(86_400)],
            ["2s", "10m", "1m 30s", "24h"]
        );
        assert_eq!(words(Duration::from_millis(1500)), "1.5s");
    }

    #[test]
    fn what_goes_into_json_is_escaped() {
        assert_eq!(escaped("a\"b\n\u{1}"), "a\\\"b\\n\\u0001");
    }
}
