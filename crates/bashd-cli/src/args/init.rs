//! The command line of `bashd init`.

use super::{Everywhere, PresetName};
use clap::Args;

/// Set bashd up in the agents on this machine, or take it out again.
///
/// Shows what it will change, asks, keeps everything else in the files as it is, and ends by
/// starting the server exactly as the agents will. Exits with status 1 if anything was left undone.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a flag is a switch, and a command line has many"
)]
pub(crate) struct InitOptions {
    /// The agents to set up; by default all that are found here.
    #[arg(value_name = "AGENT")]
    pub(crate) agents: Vec<String>,
    /// Also put the guard before the agent's own shell tool.
    #[arg(long)]
    pub(crate) hook: bool,
    /// Only put the guard before the agent's own shell tool; write no server entry.
    #[arg(long, conflicts_with_all = ["hook", "replace_shell"])]
    pub(crate) hook_only: bool,
    /// Also switch the agent's own shell tool off, where the agent can be told so.
    #[arg(long)]
    pub(crate) replace_shell: bool,
    /// Have the server confine commands, as `bashd mcp --confine` does; asked for at a terminal.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["hook_only", "uninstall"])]
    pub(crate) confine: Option<PresetName>,
    /// Write into the files of the project in the current directory instead of the user's.
    #[arg(long)]
    pub(crate) project: bool,
    /// Take out exactly what was put in.
    #[arg(long, conflicts_with_all = ["hook", "hook_only", "replace_shell"])]
    pub(crate) uninstall: bool,
    /// Show what would be written; write nothing, start nothing.
    #[arg(long)]
    pub(crate) print: bool,
    /// Write without asking.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Print one JSON object; asks nothing, so it needs --yes or --print.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

impl InitOptions {
    /// The options that may be given after any subcommand.
    pub(super) fn everywhere(&self) -> &Everywhere {
        &self.everywhere
    }
}
