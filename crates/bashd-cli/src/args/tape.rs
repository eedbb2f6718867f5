//! The command line of `bashd tape`, and the options of servers for tapes.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a server does with a tape (docs/tape.md).
#[derive(Debug, Clone, Default, Args)]
#[expect(
    clippy::struct_field_names,
    reason = "they are options of servers, among others"
)]
pub(crate) struct TapeOptions {
    /// Write what the client asks and is answered to this file, without secrets.
    #[arg(long, value_name = "FILE")]
    pub(crate) tape_record: Option<PathBuf>,
    /// Answer as this tape says, and run nothing; another request than the tape's is an error.
    #[arg(long, value_name = "FILE", conflicts_with = "tape_record")]
    pub(crate) tape_play: Option<PathBuf>,
    /// Play whatever fits, in any order.
    #[arg(long, requires = "tape_play")]
    pub(crate) tape_match: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TapeAction {
    Record(TapeRecord),
    Play(TapePlay),
}

/// Run a client, and record what its servers of bashd are asked and answer.
///
/// Servers learn of it by a variable; a client that hands none on needs `bashd mcp --tape-record`.
#[derive(Debug, Args)]
pub(crate) struct TapeRecord {
    /// The tape; a second server of the client records FILE.2.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The client and its arguments.
    #[arg(value_name = "CLIENT", required = true, trailing_var_arg = true)]
    pub(crate) client: Vec<OsString>,
}

/// Run a client whose servers of bashd answer as a tape says, and run nothing.
///
/// Exits with the client's status, or with 1 if that is 0 and something was not as on the tape.
#[derive(Debug, Args)]
pub(crate) struct TapePlay {
    /// The tape.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Play whatever fits, in any order.
    #[arg(long = "match")]
    pub(crate) tape_match: bool,
    /// The client and its arguments.
    #[arg(value_name = "CLIENT", required = true, trailing_var_arg = true)]
    pub(crate) client: Vec<OsString>,
}
