//! The command line of `bashd jobs`.

use super::{Everywhere, seconds};
use clap::Args;
use std::time::Duration;

/// List and manage commands that run in the background.
///
/// Without a subcommand, lists running jobs and those whose end has not been reported yet.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct JobsOptions {
    /// List all jobs that are kept, including those that ended long ago.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) action: Option<JobsAction>,
    #[command(flatten)]
    everywhere: Everywhere,
}

impl JobsOptions {
    /// The options that every subcommand takes, wherever they are given.
    pub(super) fn everywhere(&self) -> &Everywhere {
        match &self.action {
            None => &self.everywhere,
            Some(JobsAction::List(list)) => &list.everywhere,
            Some(JobsAction::Attach(attach)) => &attach.everywhere,
            Some(JobsAction::Show(show)) => &show.everywhere,
            Some(JobsAction::Output(output)) => &output.everywhere,
            Some(JobsAction::Follow(follow)) => &follow.everywhere,
            Some(JobsAction::Screen(screen)) => &screen.everywhere,
            Some(JobsAction::Wait(wait)) => &wait.everywhere,
            Some(JobsAction::Send(send)) => &send.everywhere,
            Some(JobsAction::Kill(kill)) => &kill.everywhere,
            Some(JobsAction::Rename(rename)) => &rename.everywhere,
            Some(JobsAction::Rm(rm)) => &rm.everywhere,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum JobsAction {
    List(JobsList),
    Attach(JobsAttach),
    Show(JobsShow),
    Output(JobsOutput),
    Follow(JobsFollow),
    Screen(JobsScreen),
    Wait(JobsWait),
    Send(JobsSend),
    Kill(JobsKill),
    Rename(JobsRename),
    Rm(JobsRm),
}

/// List jobs; the same as `bashd jobs`.
#[derive(Debug, Args)]
pub(crate) struct JobsList {
    /// List all jobs that are kept, including those that ended long ago.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Type at a running job and watch it, at your terminal.
///
/// A job with a terminal (`--pty`) gets every key; Ctrl-] twice within a second detaches. A job
/// without one gets the lines you type, if its input is open (`--stdin-open`); Ctrl-C detaches.
/// The job keeps running either way.
#[derive(Debug, Args)]
pub(crate) struct JobsAttach {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print everything known about a job.
#[derive(Debug, Args)]
pub(crate) struct JobsShow {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print a job's output, whole or in part.
#[derive(Debug, Args)]
pub(crate) struct JobsOutput {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Start at this byte.
    #[arg(long, value_name = "BYTE", conflicts_with = "tail")]
    pub(crate) offset: Option<u64>,
    /// Print only this many lines from the end.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<u64>,
    /// Print only lines that match this regular expression.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) grep: Option<String>,
    /// Print at most this many bytes; by default 32768 with --json, otherwise all.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
    /// Print stderr, if the streams are separate.
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print one JSON object: the text, its position in the output, and the job.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print a job's output as it arrives, until the job ends; Ctrl-C leaves the job running.
#[derive(Debug, Args)]
pub(crate) struct JobsFollow {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Start this many lines before the end instead of at the beginning.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<u64>,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print what a job's terminal shows, now or once a condition is met.
///
/// Exits with status 0 when the condition is met, 1 when the job ended first, 124 after --timeout.
#[derive(Debug, Args)]
pub(crate) struct JobsScreen {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Wait until the screen shows something that matches this regular expression.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) regex: Option<String>,
    /// Wait until nothing has been written for this many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(crate) silent: Option<u64>,
    /// Wait at most this many seconds; by default 30.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Also print this many of the lines that scrolled off the screen last.
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pub(crate) scrollback: usize,
    /// Print one JSON object: lines, cursor, title, size and the job.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Wait until jobs end, print something, answer or fall silent.
///
/// Exits with status 0 when the condition is met, 1 when a job ended first, 124 after --timeout.
#[derive(Debug, Args)]
pub(crate) struct JobsWait {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Return as soon as one of the jobs meets the condition.
    #[arg(long)]
    pub(crate) any: bool,
    /// Wait until a line of the output matches this regular expression.
    #[arg(long, value_name = "PATTERN", group = "condition")]
    pub(crate) regex: Option<String>,
    /// Wait until something listens on this TCP port of this machine.
    #[arg(long, value_name = "PORT", group = "condition", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Wait until this http:// address answers.
    #[arg(long, value_name = "URL", group = "condition")]
    pub(crate) http: Option<String>,
    /// Wait until nothing has been written for this many milliseconds.
    #[arg(long, value_name = "MS", group = "condition")]
    pub(crate) silent: Option<u64>,
    /// Wait at most this many seconds; by default as long as it takes.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Print one JSON object per job, each on a line: the job, `met` and `by`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Send input, keys, the end of input, or a signal to a job.
///
/// Only jobs started with `--stdin-open` or `--pty` accept input. It is sent in this order: text,
/// paste, Enter, keys.
#[derive(Debug, Args)]
pub(crate) struct JobsSend {
    /// The job's id, short name (`bg_1`) or given name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Text to send, exactly as given; `-` reads it from stdin.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Text to send as a paste, for programs that distinguish pasting from typing.
    #[arg(long, value_name = "TEXT")]
    pub(crate) paste: Option<String>,
    /// Send a newline after the text; at a terminal, press Enter.
    #[arg(long)]
    pub(crate) enter: bool,
    /// Press a key by name: `Enter`, `Up`, `F1`, `C-c`, `M-x`, `S-Tab`; may be repeated.
    #[arg(long = "key", value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// Close the input after that.
    #[arg(long)]
    pub(crate) close: bool,
    /// Send this signal to every process of the job, by name or number.
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) signal: Option<String>,
    /// Print one JSON object: the job.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// End jobs and everything they started: TERM, then KILL after a grace period.
#[derive(Debug, Args)]
pub(crate) struct JobsKill {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object per job, each on a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Give a job a name.
#[derive(Debug, Args)]
pub(crate) struct JobsRename {
    /// The job's id, short name (`bg_1`) or current name.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The new name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Remove jobs that have ended, with their output and status.
#[derive(Debug, Args)]
pub(crate) struct JobsRm {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object per job, each on a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}
