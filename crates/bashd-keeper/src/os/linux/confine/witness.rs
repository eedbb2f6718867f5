//! Whether a view that was built ahead is still what would be built now.
//!
//! What is hidden and protected is found when a view is built. A repository that somebody made
//! since would have hooks that are not protected; and what covers a file is gone, in every view,
//! when that file is replaced by another. So whoever uses a view that waited asks first: everything
//! that the confinement names, and every directory on the way, must be the one it was, or missing
//! as it was.
//!
//! Somebody waits for the answer. A directory whose time of change is what it was has the entries
//! that it had, so one look at it answers for all of them, where the file system keeps that time.

use super::real_paths::RealPaths;
use super::view::ConfinedView;
use crate::confinement::Confinement;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD, FileType, FsWord, StatxFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Changes that follow each other more closely may have the same time.
const COARSE: Duration = Duration::from_millis(50);

/// File systems of this machine's own that keep the time of the last change of a directory: ext4,
/// xfs, btrfs, tmpfs, overlay, f2fs, bcachefs, zfs.
const TIMEKEEPERS: &[FsWord] = &[
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x794C_7630,
    0xF2F5_2010,
    0xCA45_1A4E,
    0x2FC1_2FC1,
];

/// What is at a path, as long as it is the same: file system, inode, and when that was made, since
/// numbers of inodes are used again. A link is itself.
type FileIdentity = ((u32, u32), u64, (i64, u32));

/// What was seen at a path.
#[derive(Clone, Copy)]
struct SeenFile {
    identity: FileIdentity,
    is_directory: bool,
    /// When it changed; a directory, when its entries did.
    changed: (i64, u32),
}

fn look(path: &Path) -> Option<SeenFile> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::BTIME | StatxFlags::CTIME;
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let system = (found.stx_dev_major, found.stx_dev_minor);
    let made = (found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
    let kind = FileType::from_raw_mode(u32::from(found.stx_mode));
    Some(SeenFile {
        identity: (system, found.stx_ino, made),
        is_directory: kind == FileType::Directory,
        changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
    })
}

/// A directory, or a link to one, and what was found in it.
struct WitnessedDirectory {
    path: PathBuf,
    seen: SeenFile,
    /// Whether a change of its entries is bound to change its time.
    keeps_time: bool,
    entries: Vec<(PathBuf, Option<FileIdentity>)>,
}

impl WitnessedDirectory {
    fn is_same(&self) -> bool {
        look(&self.path).is_some_and(|now| {
            let is_untouched = self.keeps_time && now.changed == self.seen.changed;
            now.identity == self.seen.identity && (is_untouched || self.has_same_entries())
        })
    }

    fn has_same_entries(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.all(|(path, known)| look(path).map(|now| now.identity) == *known)
    }
}

/// Whether a later change of a directory's entries is bound to have another time than it has now.
fn keeps_time(path: &Path, seen: SeenFile, now: SystemTime) -> bool {
    let (seconds, nanos) = seen.changed;
    let changed = u64::try_from(seconds).map(|seconds| Duration::new(seconds, nanos));
    let now = now.duration_since(SystemTime::UNIX_EPOCH);
    let is_old = now
        .ok()
        .zip(changed.ok())
        .and_then(|(now, changed)| now.checked_sub(changed))
        .is_some_and(|age| age > COARSE);
    let system = || rustix::fs::statfs(path).map(|found| found.f_type);
    seen.is_directory && is_old && system().is_ok_and(|kind| TIMEKEEPERS.contains(&kind))
}

/// What a view depends on, as it was when it was surveyed.
pub(super) struct ViewWitness {
    /// In the order of paths: what is below something missing is left out.
    directories: Vec<WitnessedDirectory>,
    /// Whether a link leads nowhere: what it would lead to is not known.
    has_lost_links: bool,
    /// Reports changes of what is mounted.
    mounts: Option<OwnedFd>,
}

impl ViewWitness {
    /// To be made before the survey.
    pub(super) fn new(confinement: &Confinement) -> Self {
        let mounts = fs::File::open("/proc/self/mounts").ok().map(OwnedFd::from);
        // The first look at a change that was before it was opened takes it away.
        let _ = mounts.as_ref().map(is_changed);
        let now = SystemTime::now();
        let mut real = RealPaths::default();
        let mut found = BTreeMap::new();
        let mut has_lost_links = false;
        for path in named(confinement) {
            let leads_to = real.of(path);
            let is_there = look_along(path, &mut found);
            has_lost_links |= is_there && leads_to.is_none();
            if let Some(leads_to) = leads_to.filter(|leads_to| leads_to != path) {
                look_along(&leads_to, &mut found);
                for link in real.links(path) {
                    look_along(&link, &mut found);
                }
            }
        }
        Self {
            directories: directories(&found, now),
            has_lost_links,
            mounts,
        }
    }

    /// Whether a survey would still find this view, and everything in it is where it was put.
    pub(super) fn confirms(&self, view: &ConfinedView, confinement: &Confinement) -> bool {
        !self.mounts.as_ref().is_none_or(is_changed)
            && self.directories.iter().all(WitnessedDirectory::is_same)
            && view.knows_sockets()
            && (!self.has_lost_links
                || ConfinedView::survey(confinement).is_ok_and(|now| now == *view))
    }
}

/// Whether something was mounted or unmounted since the last look.
fn is_changed(mounts: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(mounts.as_fd(), PollFlags::PRI)];
    let now = Timespec::default();
    rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0)
}

/// Everything that a confinement names.
fn named(confinement: &Confinement) -> BTreeSet<&PathBuf> {
    let Confinement {
        write,
        read,
        hide,
        protect,
        sockets,
        home,
        bring,
        ..
    } = confinement;
    let lists = [write, read, hide, protect, sockets, bring];
    lists.into_iter().flatten().chain(home).collect()
}

/// Looks at a path and at every directory on the way, down to the first that is missing: at each
/// directory before its entries. Returns whether something is at its end.
fn look_along(path: &Path, found: &mut BTreeMap<PathBuf, Option<SeenFile>>) -> bool {
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().all(|place| {
        let known = found.get(place).copied();
        let known = known.unwrap_or_else(|| {
            let seen = look(place);
            found.insert(place.to_owned(), seen);
            seen
        });
        known.is_some()
    })
}

/// What was found, by the directories in which it is. The root is there in any case.
fn directories(
    found: &BTreeMap<PathBuf, Option<SeenFile>>,
    now: SystemTime,
) -> Vec<WitnessedDirectory> {
    let mut within: BTreeMap<&Path, Vec<(PathBuf, Option<FileIdentity>)>> = BTreeMap::new();
    for (path, seen) in found {
        if let Some(parent) = path.parent() {
            let entries = within.entry(parent).or_default();
            entries.push((path.clone(), seen.map(|seen| seen.identity)));
        }
    }
    let directories = within.into_iter().filter_map(|(path, entries)| {
        let seen = (*found.get(path)?)?;
        Some(WitnessedDirectory {
            path: path.to_owned(),
            seen,
            keeps_time: keeps_time(path, seen, now),
            entries,
        })
    });
    directories.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confinement::{Level, Network};

    fn confinement(workspace: &Path) -> Confinement {
        Confinement {
            preset: "workspace".to_owned(),
            workspace: workspace.to_owned(),
            write: vec![workspace.to_owned()],
            read: vec!["/".into()],
            hide: vec![workspace.join("keys/a")],
            protect: vec![workspace.join(".git/hooks"), workspace.join(".envrc")],
            sockets: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            resolve: Vec::new(),
            home: None,
            layers: Vec::new(),
            bring: Vec::new(),
            require: Level::Full,
            most: Level::Full,
            watches_files: false,
        }
    }

    fn is_current_after(change: impl FnOnce(&Path)) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        fs::create_dir(workspace.join("keys")).unwrap();
        fs::create_dir(workspace.join("sources")).unwrap();
        let confinement = confinement(&workspace);
        let witness = ViewWitness::new(&confinement);
        let view = ConfinedView::survey(&confinement).unwrap();
        assert!(witness.confirms(&view, &confinement));
        change(&workspace);
        witness.confirms(&view, &confinement)
    }

    #[test]
    fn what_would_be_protected_or_hidden_now_is_noticed() {
        assert!(!is_current_after(|at| fs::create_dir_all(
            at.join(".git/hooks")
        )
        .unwrap()));
        assert!(!is_current_after(
            |at| fs::write(at.join(".envrc"), "").unwrap()
        ));
        assert!(!is_current_after(
            |at| fs::write(at.join("keys/a"), "").unwrap()
        ));
        assert!(!is_current_after(|at| {
            std::os::unix::fs::symlink("sources", at.join(".envrc")).unwrap();
        }));
    }

    #[test]
    fn other_files_change_nothing() {
        assert!(is_current_after(
            |at| fs::write(at.join("made"), "").unwrap()
        ));
        assert!(is_current_after(|at| fs::write(
            at.join("sources/made"),
            ""
        )
        .unwrap()));
    }

    #[test]
    fn what_is_replaced_is_noticed() {
        let replaced = |change: fn(&Path)| {
            let directory = tempfile::tempdir().unwrap();
            let workspace = directory.path().canonicalize().unwrap();
            fs::write(workspace.join(".envrc"), "one").unwrap();
            fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
            let confinement = confinement(&workspace);
            let witness = ViewWitness::new(&confinement);
            let view = ConfinedView::survey(&confinement).unwrap();
            change(&workspace);
            assert_eq!(ConfinedView::survey(&confinement).unwrap(), view);
            !witness.confirms(&view, &confinement)
        };
        assert!(replaced(|at| {
            fs::write(at.join("new"), "two").unwrap();
            fs::rename(at.join("new"), at.join(".envrc")).unwrap();
        }));
        assert!(replaced(|at| {
            fs::remove_file(at.join(".envrc")).unwrap();
            fs::write(at.join(".envrc"), "two").unwrap();
        }));
        assert!(replaced(|at| {
            fs::rename(at.join(".git"), at.join("was")).unwrap();
            fs::create_dir_all(at.join(".git/hooks")).unwrap();
        }));
        // In a directory that has not changed for long, as most have not.
        let was_old = |change: fn(&Path)| {
            let directory = tempfile::tempdir().unwrap();
            let workspace = directory.path().canonicalize().unwrap();
            fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
            let confinement = confinement(&workspace);
            let mut witness = ViewWitness::new(&confinement);
            let begun = std::time::Instant::now();
            let is_young =
                |one: &WitnessedDirectory| one.path.starts_with(&workspace) && !one.keeps_time;
            while witness.directories.iter().any(is_young) {
                assert!(begun.elapsed() < Duration::from_secs(30), "it is never old");
                witness = ViewWitness::new(&confinement);
            }
            let view = ConfinedView::survey(&confinement).unwrap();
            assert!(witness.confirms(&view, &confinement));
            change(&workspace);
            !witness.confirms(&view, &confinement)
        };
        assert!(was_old(|at| fs::write(at.join(".envrc"), "").unwrap()));
        assert!(was_old(|at| fs::remove_dir(at.join(".git/hooks")).unwrap()));
        assert!(was_old(|at| fs::create_dir_all(at.join("keys/a")).unwrap()));
        assert!(!was_old(|at| fs::write(at.join("other"), "").unwrap()));
        // Written in its place it is still the same file.
        assert!(!replaced(|at| fs::write(at.join(".envrc"), "two").unwrap()));
    }
}
