//! Changes: what a command did to files, as a thing that can be looked at, applied, discarded and
//! undone.
//!
//! A command whose effects are held, or can be undone, runs in a view in which every directory that
//! it may write is covered by a layer (`layers`). What is in the layers when it ends is *scanned*
//! into steps (`scan`), each of which is one thing that changed as a whole: a file, a directory
//! that is new, gone or replaced, the attributes of a directory. To apply a change, what is in the
//! layer and what is in the real tree trade places, by one rename for each step, and the layer has
//! the former state then (`journal`). To undo it, they trade again. So nothing is copied, and what
//! it costs depends on what changed.
//!
//! `record` is what is kept of a change, `listing` shows it path by path, `store` is the directory
//! of all of them, in which `trading` applies and undoes them and `at_end` applies those of jobs,
//! `tree` looks at files, and `removal` removes them; `marks` is what the kernel notes in a layer,
//! `own_moves` when we moved things ourselves.

mod at_end;
mod conflicts;
mod journal;
mod layers;
mod listing;
mod marks;
mod own_moves;
mod record;
mod removal;
mod scan;
mod store;
mod summary;
#[cfg(test)]
mod tests;
mod trading;
mod tree;

pub(crate) use layers::{LayersInUse, NEAR as LAYERS_NEAR, layers_for, made_for, name_after};
pub use listing::{ChangedPath, EffectKind, PathSide};
use serde::{Deserialize, Serialize};
use std::fmt;
pub use store::{Change, ChangeFailure, ChangeState, ChangeStore, Conflict, Moved};
pub use summary::{ChangesSummary, ListedPath};

/// When the effects of a command on files become real. The later in this list, the later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// At once.
    #[default]
    Now,
    /// When the command ends, all of them or none, and they can be undone.
    Undoable,
    /// When the command ends and the person who is asked has seen and allowed them; else never.
    Ask,
    /// When somebody applies them.
    Hold,
}

impl Effects {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Now, Self::Undoable, Self::Ask, Self::Hold];

    /// Their names, in that order.
    pub const NAMES: [&'static str; 4] = ["now", "undoable", "ask", "hold"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Undoable => "undoable",
            Self::Ask => "ask",
            Self::Hold => "hold",
        }
    }

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
