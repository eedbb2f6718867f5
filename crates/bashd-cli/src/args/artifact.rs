//! The command line of `bashd artifact`.

use super::Everywhere;
use clap::Args;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ArtifactAction {
    List(ArtifactList),
    Read(ArtifactRead),
    Rm(ArtifactRm),
}

/// List stored output.
#[derive(Debug, Args)]
pub(crate) struct ArtifactList {
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Print stored output, whole or in part.
///
/// Line and byte numbers refer to the command's output. A line marks where output was dropped.
#[derive(Debug, Args)]
pub(crate) struct ArtifactRead {
    /// Number of the artifact, as `3` or `artifact://3`.
    #[arg(value_name = "ID", value_parser = artifact_id)]
    pub(crate) id: u64,
    /// Print only these lines, counted from 1: `100-200`, `100-`, `-200`, `100`.
    #[arg(long, value_name = "A-B", value_parser = range, allow_hyphen_values = true)]
    pub(crate) lines: Option<RangeEnds>,
    /// Print only these bytes, counted from 0, both ends included.
    #[arg(long, value_name = "A-B", value_parser = range, allow_hyphen_values = true, conflicts_with = "lines")]
    pub(crate) bytes: Option<RangeEnds>,
    /// Print only the last N lines.
    #[arg(long, value_name = "N", conflicts_with_all = ["lines", "bytes"])]
    pub(crate) tail: Option<u64>,
    /// Print only the lines of these that match, each with its number.
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<String>,
    /// Also print N lines around each match.
    #[arg(
        short = 'C',
        long = "context",
        value_name = "N",
        requires = "grep",
        default_value_t = 0
    )]
    pub(crate) context: usize,
    /// Print every byte as the command wrote it, secrets too; only at a terminal.
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Print JSON, one object per piece: `text`, `dropped_bytes`, or `line`, `match` and `text`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Remove stored output; its numbers are not used again.
#[derive(Debug, Args)]
pub(crate) struct ArtifactRm {
    /// Numbers of artifacts, as `3` or `artifact://3`.
    #[arg(value_name = "ID", value_parser = artifact_id, required = true)]
    pub(crate) ids: Vec<u64>,
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Both ends of a range; either may be left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RangeEnds {
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

fn artifact_id(text: &str) -> Result<u64, String> {
    bashd::artifact::parse_id(text).ok_or_else(|| "expected a number or artifact://N".to_owned())
}

fn range(text: &str) -> Result<RangeEnds, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let end = |text: &str| (!text.is_empty()).then(|| text.parse::<u64>()).transpose();
    match (end(first), end(last)) {
        (Ok(None), Ok(None)) | (Err(_), _) | (_, Err(_)) => {
            Err("expected A-B, A-, -B or A".to_owned())
        }
        (Ok(Some(first)), Ok(Some(last))) if first > last => {
            Err("the range ends before it begins".to_owned())
        }
        (Ok(first), Ok(last)) => Ok(RangeEnds { first, last }),
    }
}
