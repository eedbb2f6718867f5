//! Which calls `log` shows.

use bashd::ledger::RecordedOutcome;
use clap::Args;
use std::time::Duration;

/// Which calls `log` shows.
#[derive(Debug, Default, Args)]
pub(crate) struct LogWanted {
    /// Show only calls of this front end or client, or of those whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) client: Option<String>,
    /// Show only calls of this session.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Show only calls that ended like this: exited, signalled, timed-out, cancelled, denied,
    /// refused, failed, background, goes-on, managed.
    #[arg(long, value_name = "WORD", value_parser = outcome)]
    pub(crate) outcome: Option<RecordedOutcome>,
    /// Show only calls that took this long or longer: 500ms, 10s, 2m.
    #[arg(long, value_name = "TIME", value_parser = super::recording::time)]
    pub(crate) longer: Option<Duration>,
    /// Show only calls that took this long or shorter.
    #[arg(long, value_name = "TIME", value_parser = super::recording::time)]
    pub(crate) shorter: Option<Duration>,
    /// Show only calls that wrote so much or more: 10KiB, 1MiB.
    #[arg(long, value_name = "SIZE", value_parser = super::limits::size)]
    pub(crate) larger: Option<u64>,
    /// Show only calls that wrote so much or less.
    #[arg(long, value_name = "SIZE", value_parser = super::limits::size)]
    pub(crate) smaller: Option<u64>,
}

/// How a call ended, as the ledger has it.
fn outcome(word: &str) -> Result<RecordedOutcome, String> {
    let read = serde_json::from_value::<RecordedOutcome>(word.replace('-', "_").into());
    let known = read
        .ok()
        .filter(|outcome| *outcome != RecordedOutcome::Unknown);
    known.ok_or_else(|| "docs/ledger.md lists the outcomes: exited, timed_out, denied …".to_owned())
}
