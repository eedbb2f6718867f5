//! A change path by path, for people and programs: also what is in new and removed directories.

use super::record::{ChangeCounts, ChangeRecord, ChangeStep, StepContent};
use super::tree;
use rustix::fs::CWD;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// It was not there.
    Created,
    /// It is another one, or has other attributes.
    Modified,
    /// It is not there any more.
    Deleted,
}

impl EffectKind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }

    /// One letter for lists.
    pub fn letter(self) -> char {
        match self {
            Self::Created => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
        }
    }
}

/// One path of a change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChangedPath {
    /// Where it is, or was.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: EffectKind,
    /// What was there, and where that can be read now.
    pub old: Option<PathSide>,
    /// What is there, or will be, and where that can be read now.
    pub new: Option<PathSide>,
    /// How many paths below it belong to the change as well, if it is a whole directory.
    pub below: u64,
    /// Whether it is a directory that stays, with other extended attributes.
    has_other_extended: bool,
}

/// One side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathSide {
    /// Where it can be read now.
    pub at: PathBuf,
    /// `file`, `directory`, `symlink`, `fifo`, `socket` or `device`.
    pub kind: &'static str,
    /// Its permissions.
    pub mode: u32,
    /// Its owner and group.
    pub owner: (u32, u32),
    /// Its length.
    pub size: u64,
}

impl PathSide {
    fn of(at: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(at).ok()?;
        (!is_whiteout(&found)).then(|| Self {
            at: at.to_owned(),
            kind: kind_of(&found),
            mode: found.mode() & 0o7777,
            owner: (found.uid(), found.gid()),
            size: found.len(),
        })
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == "directory"
    }
}

impl ChangedPath {
    /// Whether it is, or was, a directory.
    pub fn is_directory(&self) -> bool {
        let side = self.new.as_ref().or(self.old.as_ref());
        side.is_some_and(PathSide::is_directory)
    }

    /// What else is to be said: another type, mode, owner, other attributes; that nothing but its
    /// time is another; that a new program runs with the rights of its owner. Looks at the files.
    pub fn remarks(&self) -> Vec<String> {
        let (old, new) = match (&self.old, &self.new) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(new)) if new.kind == "file" && new.mode & 0o6000 != 0 => {
                return vec![format!("mode {:o}", new.mode)];
            }
            _ => return Vec::new(),
        };
        let mut remarks = Vec::new();
        if old.kind != new.kind {
            remarks.push(format!("{} to {}", old.kind, new.kind));
        }
        if old.mode != new.mode {
            remarks.push(format!("mode {:o} to {:o}", old.mode, new.mode));
        }
        if old.owner != new.owner {
            let ((owner, group), (to, to_group)) = (old.owner, new.owner);
            remarks.push(format!("owner {owner}:{group} to {to}:{to_group}"));
        }
        let extended = |side: &PathSide| tree::extended(&side.at).ok();
        let is_moved = old.at != new.at && old.kind == new.kind;
        if self.has_other_extended || is_moved && extended(old) != extended(new) {
            remarks.push("extended attributes".to_owned());
        }
        if remarks.is_empty() && new.kind == "file" && is_moved && is_same(self) {
            remarks.push("time".to_owned());
        }
        remarks
    }
}

fn is_whiteout(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}

fn kind_of(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_dir() {
        "directory"
    } else if kind.is_symlink() {
        "symlink"
    } else if kind.is_file() {
        "file"
    } else if kind.is_fifo() {
        "fifo"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

/// Every step as one path: a directory that is new or gone counts what is in it.
pub(super) fn steps(record: &ChangeRecord) -> impl Iterator<Item = ChangedPath> {
    let steps = record.steps.iter().flatten();
    steps.filter_map(|step| of_step(record, step))
}

/// Every path, in order.
pub(super) fn paths(record: &ChangeRecord) -> Vec<ChangedPath> {
    let mut all = Vec::new();
    for top in steps(record) {
        below(&top, &mut |path| all.push(path));
        all.push(top);
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

/// How much changed. No list is made for that: a command can remove millions.
pub(super) fn counts(record: &ChangeRecord) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for top in steps(record) {
        below(&top, &mut |path| count(&path, &mut counts));
        count(&top, &mut counts);
    }
    counts
}

fn count(path: &ChangedPath, counts: &mut ChangeCounts) {
    match path.kind {
        EffectKind::Created => counts.created += 1,
        EffectKind::Modified => counts.modified += 1,
        EffectKind::Deleted => counts.deleted += 1,
    }
    let bytes = |side: &Option<PathSide>| {
        let file = side.as_ref().filter(|side| !side.is_directory());
        file.map_or(0, |side| side.size)
    };
    counts.bytes += bytes(&path.new);
    counts.former_bytes += bytes(&path.old);
}

fn of_step(record: &ChangeRecord, step: &ChangeStep) -> Option<ChangedPath> {
    let layer = record.layers.get(step.layer)?;
    // Joining nothing would make it end with a slash.
    let joined = |root: PathBuf| {
        if step.path.as_os_str().is_empty() {
            root
        } else {
            root.join(&step.path)
        }
    };
    let (real, kept) = (joined(layer.root.clone()), joined(layer.upper()));
    match &step.what {
        StepContent::Tree { here, aside } => {
            let (new_at, old_at) = if step.is_applied {
                (&real, &kept)
            } else {
                (&kept, &real)
            };
            let (new, old) = if step.is_applied {
                (here, aside)
            } else {
                (aside, here)
            };
            let side = |at: &Path, stamp: bool| stamp.then(|| PathSide::of(at)).flatten();
            let (old_side, new_side) = (side(old_at, old.is_some()), side(new_at, new.is_some()));
            let count = |stamp: &Option<tree::TreeStamp>| {
                let below = stamp.as_ref().and_then(|stamp| stamp.below.as_ref());
                below.map_or(0, |below| below.count)
            };
            Some(ChangedPath {
                path: real.clone(),
                kind: kind(old.is_some(), new.is_some())?,
                old: old_side,
                new: new_side,
                below: count(old).max(count(new)),
                has_other_extended: false,
            })
        }
        StepContent::Attributes { here, aside } => {
            let (new, old) = if step.is_applied {
                (here, aside)
            } else {
                (aside, here)
            };
            let side = |attributes: &tree::Attributes| PathSide {
                at: real.clone(),
                kind: "directory",
                mode: attributes.mode,
                owner: (attributes.owner, attributes.group),
                size: 0,
            };
            Some(ChangedPath {
                kind: EffectKind::Modified,
                old: Some(side(old)),
                new: Some(side(new)),
                path: real,
                below: 0,
                has_other_extended: old.extended != new.extended,
            })
        }
    }
}

fn kind(was: bool, is: bool) -> Option<EffectKind> {
    match (was, is) {
        (false, true) => Some(EffectKind::Created),
        (true, true) => Some(EffectKind::Modified),
        (true, false) => Some(EffectKind::Deleted),
        (false, false) => None,
    }
}

/// What is below a directory on either side.
fn below(top: &ChangedPath, tell: &mut dyn FnMut(ChangedPath)) {
    let is_tree = |side: &&PathSide| side.is_directory();
    let (old, new) = (
        top.old.as_ref().filter(is_tree),
        top.new.as_ref().filter(is_tree),
    );
    // The attributes of a directory that stays: the same place on both sides.
    if old.zip(new).is_some_and(|(old, new)| old.at == new.at) {
        return;
    }
    let names = |side: Option<&PathSide>| -> Vec<_> {
        let entries = side.and_then(|side| fs::read_dir(&side.at).ok());
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    let both: BTreeSet<_> = names(old).into_iter().chain(names(new)).collect();
    for name in both {
        let side = |side: Option<&PathSide>| PathSide::of(&side?.at.join(&name));
        let (old, new) = (side(old), side(new));
        let Some(kind) = kind(old.is_some(), new.is_some()) else {
            continue;
        };
        let path = ChangedPath {
            path: top.path.join(&name),
            kind,
            below: 0,
            old,
            new,
            has_other_extended: false,
        };
        below(&path, tell);
        if kind != EffectKind::Modified || !is_same(&path) {
            tell(path);
        }
    }
}

/// Whether a path of a replaced directory is as before.
fn is_same(path: &ChangedPath) -> bool {
    let (Some(old), Some(new)) = (&path.old, &path.new) else {
        return false;
    };
    let facts = |side: &PathSide| (side.kind, side.mode, side.owner);
    if facts(old) != facts(new) {
        return false;
    }
    match new.kind {
        "symlink" => fs::read_link(&old.at).ok() == fs::read_link(&new.at).ok(),
        "file" => {
            let (one, other) = ((CWD, old.at.as_os_str()), (CWD, new.at.as_os_str()));
            old.size == new.size && tree::has_same_bytes(one, other, new.size)
        }
        // What is in a directory is looked at by itself, and in the rest there is nothing.
        _ => true,
    }
}
