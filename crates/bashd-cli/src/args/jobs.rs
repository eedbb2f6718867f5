//! The command line of `bashd jobs`.

use super::{Everywhere, seconds};
use clap::Args;
use std::time::Duration;

/// Look after commands that run in the background.
///
/// Without a subcommand: lists the jobs that live, and those whose end nobody has been told.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Jobs {
    /// All jobs that are kept, also those that ended long ago.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object a line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) action: Option<JobsAction>,
    #[command(flatten)]
    everywhere: Everywhere,
}

impl Jobs {
    /// The options of everywhere, wherever they stand.
    pub(super) fn everywhere(&self) -> &Everywhere {
        match &self.action {
            None => &self.everywhere,
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

/// Print what there is to know about a job.
#[derive(Debug, Args)]
pub(crate) struct JobsShow {
    /// Its id, its short name (`bg_1`) or the name it was given.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print a job's output, all of it or a part.
#[derive(Debug, Args)]
pub(crate) struct JobsOutput {
    /// Its id, its short name (`bg_1`) or the name it was given.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Begin at this byte.
    #[arg(long, value_name = "BYTE", conflicts_with = "tail")]
    pub(crate) offset: Option<u64>,
    /// Only the last so many lines.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<u64>,
    /// Only lines that match this regular expression.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) grep: Option<String>,
    /// At most so many bytes; with --json 32768, else no limit.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<u64>,
    /// stderr, where the streams are apart.
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print one JSON object: the text, where it is, and the job.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print a job's output as it comes, until the job ends; Ctrl-C leaves the job running.
#[derive(Debug, Args)]
pub(crate) struct JobsFollow {
    /// Its id, its short name (`bg_1`) or the name it was given.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Begin so many lines before the end instead of at the beginning.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<u64>,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print what the terminal of a job shows, now or once it shows something.
///
/// Exits with status 0 when that came true, 1 when the job ended before it did, 124 after
/// --timeout.
#[derive(Debug, Args)]
pub(crate) struct JobsScreen {
    /// Its id, its short name (`bg_1`) or the name it was given.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Wait until the screen shows something that matches this regular expression.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) regex: Option<String>,
    /// Wait until nothing was written for so many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(crate) silent: Option<u64>,
    /// Wait so many seconds at most; without it, 30.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Also the last so many lines that scrolled away.
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pub(crate) scrollback: usize,
    /// Print one JSON object: lines, cursor, title, size and the job.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Wait until jobs end, say something, answer, or fall silent.
///
/// Exits with status 0 when that came true, 1 when a job ended before it did, 124 after --timeout.
#[derive(Debug, Args)]
pub(crate) struct JobsWait {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// One of the jobs is enough.
    #[arg(long)]
    pub(crate) any: bool,
    /// Until a line of the output matches this regular expression.
    #[arg(long, value_name = "PATTERN", group = "condition")]
    pub(crate) regex: Option<String>,
    /// Until this TCP port of this machine listens.
    #[arg(long, value_name = "PORT", group = "condition", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Until this http:// address answers.
    #[arg(long, value_name = "URL", group = "condition")]
    pub(crate) http: Option<String>,
    /// Until nothing was written for so many milliseconds.
    #[arg(long, value_name = "MS", group = "condition")]
    pub(crate) silent: Option<u64>,
    /// Wait so many seconds at most; without it, as long as it takes.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Print one JSON object a job and line: the job, `met` and `by`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Send input, keys, the end of input, or a signal to a job.
///
/// Input needs a job that was started with `--stdin-open` or `--pty`. What is given is sent in this
/// order: text, paste, Enter, keys.
#[derive(Debug, Args)]
pub(crate) struct JobsSend {
    /// Its id, its short name (`bg_1`) or the name it was given.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The text, as it is; `-` reads it from stdin.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Text as a paste, for programs that tell it from typing.
    #[arg(long, value_name = "TEXT")]
    pub(crate) paste: Option<String>,
    /// A newline after the text; at a terminal the key Enter.
    #[arg(long)]
    pub(crate) enter: bool,
    /// A key by name, as often as there are keys: `Enter`, `Up`, `F1`, `C-c`, `M-x`, `S-Tab`.
    #[arg(long = "key", value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// The end of the input after that.
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

/// End jobs with everything they started: TERM, a grace, KILL.
#[derive(Debug, Args)]
pub(crate) struct JobsKill {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object a job and line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Give a job a name.
#[derive(Debug, Args)]
pub(crate) struct JobsRename {
    /// Its id, its short name (`bg_1`) or the name it has.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The new name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Forget jobs that have ended: output, status, everything.
#[derive(Debug, Args)]
pub(crate) struct JobsRm {
    /// Ids, short names or given names.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Print one JSON object a job and line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}
