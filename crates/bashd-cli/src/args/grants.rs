//! The command line of `bashd grants`.

use super::Everywhere;
use clap::Args;

/// List what was allowed for good, and remove it.
///
/// A grant covers one rule with the exact text of one command: you chose `always` when you were
/// asked.
#[derive(Debug, Args)]
pub(crate) struct GrantsOptions {
    #[command(subcommand)]
    pub(crate) action: Option<GrantsAction>,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum GrantsAction {
    List(GrantsList),
    Rm(GrantsRm),
}

/// List grants, oldest first.
#[derive(Debug, Args)]
pub(crate) struct GrantsList {
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Remove grants: their commands are asked about again.
#[derive(Debug, Args)]
pub(crate) struct GrantsRm {
    /// Numbers of grants, as `bashd grants` lists them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<u64>,
    #[command(flatten)]
    everywhere: Everywhere,
}

impl GrantsOptions {
    /// The options that may be given after any subcommand.
    pub(super) fn everywhere(&self) -> &Everywhere {
        match &self.action {
            Some(GrantsAction::List(list)) => &list.everywhere,
            Some(GrantsAction::Rm(rm)) => &rm.everywhere,
            None => &self.everywhere,
        }
    }
}
