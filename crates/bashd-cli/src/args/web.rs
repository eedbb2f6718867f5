//! The command line of `bashd web`.

use super::Everywhere;
use crate::web::access::{AllowedOrigin, parse_origin};
use clap::Args;
use std::path::PathBuf;

/// Show on a page what every bashd of this user runs: watch, answer, type, end.
///
/// Serves the page to your browsers on this machine alone, and prints the link to it, which works
/// once. While a page is open, a command that a rule wants approval for, and whose client can ask
/// nobody, waits for your answer there. Exits on a signal.
#[derive(Debug, Args)]
pub(crate) struct WebOptions {
    /// Open the page in your browser.
    #[arg(long)]
    pub(crate) open: bool,
    /// Listen on this port of 127.0.0.1; by default on that of last time, if it is free.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Serve on this Unix socket instead, for a tunnel by ssh.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "open"])]
    pub(crate) socket: Option<PathBuf>,
    /// The origin under which a reverse proxy shows the page, as `https://bashd.example.org`; may
    /// be repeated. Connections of other users are then let in, if they have the token.
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub(crate) allow_origin: Vec<AllowedOrigin>,
    /// Also serve `/metrics` for Prometheus, to who has the token in `web/metrics-token` of the
    /// state directory.
    #[arg(long)]
    pub(crate) metrics: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}
