//! The command lines of the servers: `bashd mcp`, `bashd rpc` and `bashd acp`.

use super::{Everywhere, Judging, seconds};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serve the tools of a profile to a client of the Model Context Protocol.
///
/// Speaks the protocol on stdin and stdout, and ends when stdin closes; with `--http` it is reached
/// under `/mcp` of an address, and ends by a signal.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serve HTTP here instead, on this machine only unless an address is given.
    #[arg(long, value_name = "[HOST:]PORT", value_parser = crate::mcp::access::parse_address)]
    pub(crate) http: Option<SocketAddr>,
    /// The token that clients must bring; one is made and told on stderr by default. `none` lets
    /// everybody on this machine in.
    #[arg(long, value_name = "TOKEN", requires = "http")]
    pub(crate) token: Option<String>,
    /// Read the token from this file, where other users can't see it in a list of processes.
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// A name by which clients may call the server, besides its address; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Answer a call after so many seconds unless it says otherwise; what still runs goes on as a
    /// job. For profiles that know such a wait; many clients give up on a request after a minute.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "50")]
    pub(crate) wait_max: Duration,
    #[command(flatten)]
    pub(crate) serving: Serving,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// What every server is told about the calls that it will make.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Serving {
    /// Offer the tools of this profile; the configured one by default.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Run commands in this directory unless they name another.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,
    /// Keep one shell for all calls that name no session of their own; its jobs are of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// Serve JSON lines: commands and tool calls from any language.
///
/// Reads requests from stdin and writes responses and events to stdout, many at once; nothing else
/// is written there. Ends when stdin closes. `docs/rpc.md` is the protocol.
#[derive(Debug, Args)]
pub(crate) struct Rpc {
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// Serve clients of the same user on this Unix socket instead, until a signal comes.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Let calls run for so many seconds more when the client closes its end.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "5")]
    pub(crate) linger: Duration,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Serve the Agent Client Protocol: an agent whose prompts are commands.
///
/// They run in terminals of the client where it offers them. Speaks on stdin and stdout, and ends
/// when stdin closes; see `docs/acp.md`.
#[derive(Debug, Args)]
pub(crate) struct Acp {
    #[command(flatten)]
    pub(crate) serving: Serving,
    /// End each command after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}
