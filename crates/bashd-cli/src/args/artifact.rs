//! The command line of `bashd artifact`.

use super::Everywhere;
use clap::Args;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Artifact {
    List(ArtifactList),
    Read(ArtifactRead),
    Rm(ArtifactRm),
}

/// List what is stored.
#[derive(Debug, Args)]
pub(crate) struct ArtifactList {
    /// Print one JSON object a line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Print stored output, all of it or a part.
///
/// Numbers of lines and bytes are those of the command's output. Where some of it was dropped, a
/// line says so.
#[derive(Debug, Args)]
pub(crate) struct ArtifactRead {
    /// Its number, as in `3` or `artifact://3`.
    #[arg(value_name = "ID", value_parser = artifact_id)]
    pub(crate) id: u64,
    /// Only these lines, counted from 1: `100-200`, `100-`, `-200`, `100`.
    #[arg(long, value_name = "A-B", value_parser = range, allow_hyphen_values = true)]
    pub(crate) lines: Option<Ends>,
    /// Only these bytes, counted from 0, both included.
    #[arg(long, value_name = "A-B", value_parser = range, allow_hyphen_values = true, conflicts_with = "lines")]
    pub(crate) bytes: Option<Ends>,
    /// Only the last so many lines.
    #[arg(long, value_name = "N", conflicts_with_all = ["lines", "bytes"])]
    pub(crate) tail: Option<u64>,
    /// Of that, only the lines that match, each with its number.
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<String>,
    /// Also so many lines around each match.
    #[arg(
        short = 'C',
        long = "context",
        value_name = "N",
        requires = "grep",
        default_value_t = 0
    )]
    pub(crate) context: usize,
    /// Print JSON, one object a piece: `text`, `dropped_bytes`, or `line`, `match` and `text`.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Remove stored output; its numbers are not used again.
#[derive(Debug, Args)]
pub(crate) struct ArtifactRm {
    /// Numbers, as in `3` or `artifact://3`.
    #[arg(value_name = "ID", value_parser = artifact_id, required = true)]
    pub(crate) ids: Vec<u64>,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Both ends of a range, each of which may be left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

fn artifact_id(text: &str) -> Result<u64, String> {
    bashd::artifact::parse_id(text).ok_or_else(|| "expected a number or artifact://N".to_owned())
}

fn range(text: &str) -> Result<Ends, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let end = |text: &str| (!text.is_empty()).then(|| text.parse::<u64>()).transpose();
    match (end(first), end(last)) {
        (Ok(None), Ok(None)) | (Err(_), _) | (_, Err(_)) => {
            Err("expected A-B, A-, -B or A".to_owned())
        }
        (Ok(Some(first)), Ok(Some(last))) if first > last => {
            Err("the first is behind the last".to_owned())
        }
        (Ok(first), Ok(last)) => Ok(Ends { first, last }),
    }
}
