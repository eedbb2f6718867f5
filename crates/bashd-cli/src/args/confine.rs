//! The command line of `bashd confine`, and the names of presets.

use super::Everywhere;
use bashd::config::Preset;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The names of presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    Off,
    Workspace,
    #[value(name = "workspace+net")]
    WorkspaceNet,
    ReadOnly,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Off => Self::Off,
            PresetName::Workspace => Self::Workspace,
            PresetName::WorkspaceNet => Self::WorkspaceNet,
            PresetName::ReadOnly => Self::ReadOnly,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfineAction {
    Show(ConfineShow),
}

/// Show what commands may reach here, and why.
///
/// With a command, also run it that way, and show what held.
#[derive(Debug, Args)]
pub(crate) struct ConfineShow {
    /// Show this preset instead of the configured one.
    #[arg(long, value_name = "PRESET")]
    pub(crate) confine: Option<PresetName>,
    /// Show the preset of this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Show this directory as the workspace; by default the current one.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// A command whose directory and programs are looked for in what it would see.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}
