//! The command line of `bashd places`.

use super::Everywhere;
use clap::Args;

/// Show the other places at which commands can run, and whether they can be reached.
///
/// Reaches all of them at once. Exits with status 1 if one can't be reached.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PlacesOptions {
    #[command(subcommand)]
    pub(crate) action: Option<PlacesAction>,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PlacesAction {
    Check(PlacesCheck),
}

/// Look whether commands can run at a place, and how well: what is missing there is named.
///
/// Exits with status 1 if something is.
#[derive(Debug, Args)]
pub(crate) struct PlacesCheck {
    /// The place, as `[places.NAME]` of the configuration has it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

impl PlacesOptions {
    /// The options that may be given after any subcommand.
    pub(super) fn everywhere(&self) -> &Everywhere {
        match &self.action {
            Some(PlacesAction::Check(check)) => &check.everywhere,
            None => &self.everywhere,
        }
    }
}
