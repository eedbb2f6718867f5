//! A change in a few words, for replies.

use super::listing::ChangedPath;
use super::store::{Change, ChangeFailure, ChangeState, Conflict};
use crate::profile::refusals::one_line;
use serde::Serialize;
use std::path::Path;

/// How many paths a reply has.
const LISTED: usize = 20;

/// The state of a change that was not allowed.
const DISCARDED: &str = "discarded";

/// What a command did to files, and whether that is real.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangesSummary {
    /// By which it is applied, discarded or undone; null if nothing changed, or it is discarded.
    pub id: Option<String>,
    /// `none`, `held`, `applied`, `undone`, `in_part` or `discarded`; `running` while its command
    /// runs, `unreadable` if it can't be looked through.
    pub state: String,
    /// Paths that are new.
    pub created: u64,
    /// Paths that are others than before.
    pub modified: u64,
    /// Paths that are gone.
    pub deleted: u64,
    /// Bytes of what is new.
    pub bytes: u64,
    /// At most twenty of them; a whole directory is one.
    pub paths: Vec<ListedPath>,
    /// How many others there are.
    pub more: u64,
    /// Why it was not applied, though it should have been.
    pub conflicts: Vec<String>,
}

/// A changed path in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListedPath {
    /// Relative to the command's directory if it is in there.
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub kind: String,
}

impl ChangesSummary {
    /// That nothing changed.
    pub(crate) fn none() -> Self {
        Self {
            id: None,
            state: "none".to_owned(),
            created: 0,
            modified: 0,
            deleted: 0,
            bytes: 0,
            paths: Vec::new(),
            more: 0,
            conflicts: Vec::new(),
        }
    }

    /// That its command goes on.
    pub(crate) fn running(id: String) -> Self {
        Self {
            id: Some(id),
            state: ChangeState::Running.name().to_owned(),
            ..Self::none()
        }
    }

    /// What a change is now.
    pub(crate) fn of(change: &Change) -> Self {
        let counts = change.record.counts;
        let mut all = change.steps();
        let paths: Vec<_> = (&mut all)
            .take(LISTED)
            .map(|path| listed(&path, change.directory()))
            .collect();
        Self {
            id: Some(change.id().to_owned()),
            state: change.state().name().to_owned(),
            created: counts.created,
            modified: counts.modified,
            deleted: counts.deleted,
            bytes: counts.bytes,
            more: all.count() as u64,
            paths,
            conflicts: Vec::new(),
        }
    }

    /// Why it was not applied, though it should have been.
    pub(super) fn not_applied(self, failure: ChangeFailure) -> Self {
        let conflicts = match failure {
            ChangeFailure::Conflicts(conflicts) => told(&conflicts),
            ChangeFailure::Failed(error) => vec![error.to_string()],
        };
        Self { conflicts, ..self }
    }

    /// That it is gone, and why.
    pub(crate) fn discarded(self, why: &str) -> Self {
        Self {
            id: None,
            state: DISCARDED.to_owned(),
            conflicts: vec![why.to_owned()],
            ..self
        }
    }

    /// `2 created, 1 deleted`.
    pub(crate) fn counted(&self) -> String {
        let counts = [
            (self.created, "created"),
            (self.modified, "modified"),
            (self.deleted, "deleted"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        counts.join(", ")
    }

    /// `2 created, 1 deleted; held as ID`.
    pub fn line(&self) -> String {
        let counts = self.counted();
        if self.state == DISCARDED {
            let why = self.conflicts.join("; ");
            return format!("{counts}: discarded, nothing of it is real, since {why}");
        }
        let Some(id) = &self.id else {
            return "no file changed".to_owned();
        };
        if self.state == ChangeState::Applied.name() {
            return format!("{counts}; `bashd undo {id}` takes it back");
        }
        if self.state == ChangeState::Running.name() && counts.is_empty() {
            return format!("its changes are held as {id} until it has ended and they are applied");
        }
        if self.state == ChangeState::Running.name() {
            return format!("the session so far: {counts}; held as {id} until it has ended");
        }
        match &*self.conflicts {
            [] => format!("{counts}; not applied yet: `bashd changes apply {id}` applies it"),
            conflicts => format!(
                "{counts}; not applied, but held as {id}: {}",
                conflicts.join("; ")
            ),
        }
    }
}

/// Conflicts as a reply tells them, each on one line; of many the first, and how many more.
fn told(conflicts: &[Conflict]) -> Vec<String> {
    let line = |conflict: &Conflict| {
        let path = one_line(&conflict.path.to_string_lossy());
        format!("{path} {}", conflict.why)
    };
    let mut told: Vec<String> = conflicts.iter().take(LISTED).map(line).collect();
    if conflicts.len() > LISTED {
        let more = conflicts.len() - LISTED;
        told.push(format!("and {more} more: `bashd changes apply` lists them"));
    }
    told
}

/// A path as it can be read from the command's directory.
pub(crate) fn listed(changed: &ChangedPath, directory: &Path) -> ListedPath {
    let path = changed
        .path
        .strip_prefix(directory)
        .unwrap_or(&changed.path);
    let mut text = path.to_string_lossy().into_owned();
    if text.is_empty() {
        ".".clone_into(&mut text);
    }
    if changed.is_directory() {
        text.push('/');
    }
    ListedPath {
        path: text,
        kind: changed.kind.name().to_owned(),
    }
}
