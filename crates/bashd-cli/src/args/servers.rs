//! The command lines of the servers: `bashd mcp`, `bashd rpc` and `bashd acp`.

use super::{EffectsName, Everywhere, Judging, TapeOptions, seconds};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serve the tools of a profile to a client of the Model Context Protocol.
///
/// Serves on stdin and stdout, and exits when stdin closes. With `--http` it serves the path `/mcp`
/// of an address instead, and exits on a signal.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serve HTTP on this port instead, for this machine only unless a host is given.
    #[arg(long, value_name = "[HOST:]PORT", value_parser = crate::mcp::access::parse_address)]
    pub(crate) http: Option<SocketAddr>,
    /// The token that clients must send; by default one is generated and printed on stderr. `none`
    /// lets in everybody on this machine.
    #[arg(long, value_name = "TOKEN", requires = "http")]
    pub(crate) token: Option<String>,
    /// Read the token from this file, so that other users can't see it in the process list.
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another host name under which clients may reach the server; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Answer a call after this many seconds unless it says otherwise; a command that is still
    /// running continues as a job. Applies to profiles that have such a wait. Many clients give up
    /// on a request after a minute.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "50")]
    pub(crate) wait_max: Duration,
    /// Also give results as data (`structuredContent`), for programs. Several agents then show
    /// their model nothing else.
    #[arg(long)]
    pub(crate) structured: bool,
    #[command(flatten)]
    pub(crate) tape: TapeOptions,
    #[command(flatten)]
    pub(crate) serving: Serving,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Options of every server for the calls that it makes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Serving {
    /// Offer the tools of this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Run commands in this directory unless a call names another.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,
    /// Run all calls that name no session in one shell; jobs then belong to this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Run all commands at this place; clients need not know of it (docs/places.md).
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Option<String>,
    /// When what commands do to files becomes real: now; undoable, when they end, for `bashd undo`;
    /// ask, when you have seen and allowed it; hold, when you apply it. A call can only name a
    /// later mode (docs/effects.md).
    #[arg(long, value_name = "MODE")]
    pub(crate) effects: Option<EffectsName>,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// Serve JSON lines: commands and tool calls from any language.
///
/// Reads requests from stdin, runs many at once, and writes only responses and events to stdout.
/// Exits when stdin closes. `docs/rpc.md` describes the protocol.
#[derive(Debug, Args)]
pub(crate) struct Rpc {
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// Serve clients of the same user on this Unix socket instead, until a signal arrives.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Let calls run for this many more seconds after the client has closed its end.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "5")]
    pub(crate) linger: Duration,
    /// On a socket, drop a client that has read none of its replies for this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "30")]
    pub(crate) patience: Duration,
    #[command(flatten)]
    pub(crate) tape: TapeOptions,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Serve the Agent Client Protocol: an agent whose prompts are commands.
///
/// Commands run in the client's terminals if it offers them. Serves on stdin and stdout, and exits
/// when stdin closes; see `docs/acp.md`.
#[derive(Debug, Args)]
pub(crate) struct Acp {
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// End each command after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}
