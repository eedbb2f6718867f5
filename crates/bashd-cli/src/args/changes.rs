//! The command lines of `bashd try`, `bashd changes` and `bashd undo`, and the names of effects.

use super::{Everywhere, RunOptions};
use bashd::changes::Effects;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// When the effects of a command on files become real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectsName {
    Now,
    Undoable,
    Ask,
    Hold,
}

impl From<EffectsName> for Effects {
    fn from(name: EffectsName) -> Self {
        match name {
            EffectsName::Now => Self::Now,
            EffectsName::Undoable => Self::Undoable,
            EffectsName::Ask => Self::Ask,
            EffectsName::Hold => Self::Hold,
        }
    }
}

/// Run one command, and hold what it does to files until you apply it.
///
/// It runs confined (docs/confinement.md). `bashd changes` has what it changed: show it, apply it
/// or discard it (docs/effects.md).
#[derive(Debug, Args)]
pub(crate) struct TryOptions {
    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// List what commands changed in files; show, apply, discard and undo it.
#[derive(Debug, Args)]
pub(crate) struct ChangesOptions {
    #[command(subcommand)]
    pub(crate) action: Option<ChangesAction>,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ChangesAction {
    List(ChangesList),
    Show(ChangesShow),
    Apply(ChangesApply),
    Discard(ChangesDiscard),
    Undo(UndoOptions),
    Prune(ChangesPrune),
}

/// List changes, oldest first.
#[derive(Debug, Args)]
pub(crate) struct ChangesList {
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Show what changed, path by path.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own, given or not"
)]
pub(crate) struct ChangesShow {
    /// The change, or the beginning of its id; by default the newest.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Count the lines that changed in each file.
    #[arg(long, group = "form")]
    pub(crate) stat: bool,
    /// Show the lines that changed.
    #[arg(long, group = "form")]
    pub(crate) diff: bool,
    /// Print one JSON object per path.
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Show the paths as a tree.
    #[arg(long, group = "form")]
    pub(crate) tree: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Make a change real: all of it, or only these paths.
///
/// If somebody changed one of them since the command began, nothing is applied, and the paths are
/// listed; exits with status 1 then.
#[derive(Debug, Args)]
pub(crate) struct ChangesApply {
    /// The change, or the beginning of its id.
    #[arg(value_name = "ID", required_unless_present = "last")]
    pub(crate) id: Option<String>,
    /// Apply only these, and what is below.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Apply the newest that is not; what is named are paths then.
    #[arg(long)]
    pub(crate) last: bool,
    /// Also where somebody changed something since: what is there is kept, and `bashd undo` brings
    /// it back.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Drop changes: what is held is gone, and what was applied can't be undone any more.
#[derive(Debug, Args)]
pub(crate) struct ChangesDiscard {
    /// The changes, or the beginnings of their ids.
    #[arg(value_name = "ID", required_unless_present = "last")]
    pub(crate) ids: Vec<String>,
    /// Drop the newest that is not applied.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) last: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Remove changes that are older or larger than configured (`effects.*`).
#[derive(Debug, Args)]
pub(crate) struct ChangesPrune {
    /// Remove all that are not running.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Take back what a command did to files, if its effects were undoable or held and applied.
///
/// If somebody changed one of the files since, nothing is undone, and the paths are listed; exits
/// with status 1 then. An undone change can be applied again (`bashd changes apply`).
#[derive(Debug, Args)]
pub(crate) struct UndoOptions {
    /// The change, or the beginning of its id; by default the one that was applied last.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Undo only these, and what is below.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Undo the change that was applied last; what is named are paths then.
    #[arg(long, conflicts_with = "since")]
    pub(crate) last: bool,
    /// Undo all changes that were applied since this time, the newest first: 90m, 2h, today,
    /// '2026-08-01 10:30'. What is named are paths then.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Also where somebody changed something since: what is there is kept, and applying the change
    /// again brings it back.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

impl ChangesOptions {
    /// The options that may be given after any subcommand.
    pub(super) fn everywhere(&self) -> &Everywhere {
        match &self.action {
            Some(ChangesAction::List(list)) => &list.everywhere,
            Some(ChangesAction::Show(show)) => &show.everywhere,
            Some(ChangesAction::Apply(apply)) => &apply.everywhere,
            Some(ChangesAction::Discard(discard)) => &discard.everywhere,
            Some(ChangesAction::Undo(undo)) => &undo.everywhere,
            Some(ChangesAction::Prune(prune)) => &prune.everywhere,
            None => &self.everywhere,
        }
    }
}
