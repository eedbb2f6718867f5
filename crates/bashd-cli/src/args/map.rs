//! The command line of `bashd map`.

use super::limits::Limiting;
use super::{Everywhere, Judging, seconds};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run a command for each item that comes on stdin, many at a time, here or at places.
///
/// Each line is an item; it stands where {} is, or else behind the command, and is always one word
/// for the shell. Each item begins at most once, also when a map that was killed is resumed by its
/// name. The exit status is 0 if all items ended with status 0, 123 if one failed or is lost or
/// some did not begin, 125 when bashd itself failed or the request was invalid, 126 when a rule
/// denies the command, 130 on Ctrl-C (docs/map.md).
#[derive(Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a flag is a switch, and a command line has many"
)]
pub(crate) struct MapOptions {
    /// Run so many at a time; by default as many as the places have processors.
    #[arg(short = 'j', long, visible_short_alias = 'P', value_name = "COUNT", value_parser = count)]
    pub(crate) jobs: Option<usize>,
    /// Run them at these places of the configuration; `here` is this machine.
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    pub(crate) on: Vec<String>,
    /// Name it, so that it can be resumed, and looked at when it is over.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Go on with the map of this name: what has ended is told again, and what never began begins.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "command"])]
    pub(crate) resume: Option<String>,
    /// With --resume: let items begin again that are lost, or that failed.
    // clap asks for nothing that another argument forbids, and COMMAND forbids --resume.
    #[arg(long, value_name = "WHICH", value_delimiter = ',', requires = "resume",
        conflicts_with_all = ["command", "list", "forget", "name"])]
    pub(crate) retry: Vec<RetriedItems>,
    /// Print results in the order of the items, or as they come.
    #[arg(long, value_name = "ORDER", default_value = "in")]
    pub(crate) order: Option<ResultOrderName>,
    /// Items end with a NUL, not with a line.
    #[arg(short = '0', long)]
    pub(crate) null: bool,
    /// Let this stand for the item, instead of {}.
    #[arg(short = 'I', long, value_name = "MARK")]
    pub(crate) replace: Option<String>,
    /// End each item after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Begin no more items after one failed.
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) stop_at_failure: bool,
    /// Begin them all, whatever fails; this is the default.
    #[arg(long, overrides_with = "stop_at_failure")]
    pub(crate) keep_going: bool,
    /// Print one JSON object per item, and one with the counts at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// List the maps that are known by name.
    #[arg(long, conflicts_with_all = ["resume", "name", "command"])]
    pub(crate) list: bool,
    /// Remove what is known of a map.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["list", "resume", "name", "command"])]
    pub(crate) forget: Option<String>,
    /// Use this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Run the commands in this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limiting: Limiting,
    #[command(flatten)]
    pub(crate) judging: Judging,
    /// One word is a shell script; several are a program and its arguments. Everything from the
    /// first word on belongs to the command.
    #[arg(required_unless_present_any = ["resume", "list", "forget"], trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// In which order results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultOrderName {
    In,
    AsTheyCome,
}

/// Which items of a map begin again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RetriedItems {
    Lost,
    Failed,
}

fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "expected a number above zero".to_owned())
}
