//! Whether a view that was built ahead is still what would be built now.
//!
//! What is hidden and protected is found when a view is built. A repository that somebody made
//! since would have hooks that are not protected; and what covers a file is gone, in every view,
//! when that file is replaced by another. So whoever uses a view that waited asks first: everything
//! that the confinement names, and every directory on the way, must be the one it was, or missing
//! as it was.

use super::real_paths::RealPaths;
use super::view::ConfinedView;
use crate::confinement::Confinement;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What is at a path, as long as it is the same: file system, inode, and when that was made, since
/// numbers of inodes are used again. A link is itself.
type FileIdentity = ((u32, u32), u64, (i64, u32));

fn identity(path: &Path) -> Option<FileIdentity> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let system = (found.stx_dev_major, found.stx_dev_minor);
    let made = (found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
    Some((system, found.stx_ino, made))
}

/// What a view depends on, as it was when it was surveyed.
pub(super) struct ViewWitness {
    /// In the order of paths: what is below something missing is left out.
    found: Vec<(PathBuf, Option<FileIdentity>)>,
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
        let mut real = RealPaths::default();
        let mut found = BTreeMap::new();
        let mut has_lost_links = false;
        for path in named(confinement) {
            let leads_to = real.of(path);
            let is_there = look_along(path, &mut found);
            has_lost_links |= is_there && leads_to.is_none();
            if let Some(leads_to) = leads_to.filter(|leads_to| leads_to != path) {
                look_along(&leads_to, &mut found);
            }
        }
        Self {
            found: found.into_iter().collect(),
            has_lost_links,
            mounts,
        }
    }

    /// Whether a survey would still find this view, and everything in it is where it was put.
    pub(super) fn confirms(&self, view: &ConfinedView, confinement: &Confinement) -> bool {
        let is_same = |(path, known): &(PathBuf, Option<FileIdentity>)| identity(path) == *known;
        !self.mounts.as_ref().is_none_or(is_changed)
            && self.found.iter().all(is_same)
            && view.knows_sockets()
            && (!self.has_lost_links || ConfinedView::survey(confinement) == *view)
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

/// Looks at a path and at every directory on the way, down to the first that is missing. Returns
/// whether something is at its end.
fn look_along(path: &Path, found: &mut BTreeMap<PathBuf, Option<FileIdentity>>) -> bool {
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().all(|place| {
        let known = found.get(place).copied();
        let known = known.unwrap_or_else(|| {
            let seen = identity(place);
            found.insert(place.to_owned(), seen);
            seen
        });
        known.is_some()
    })
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
        let view = ConfinedView::survey(&confinement);
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
            let view = ConfinedView::survey(&confinement);
            change(&workspace);
            assert_eq!(ConfinedView::survey(&confinement), view);
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
        // Written in its place it is still the same file.
        assert!(!replaced(|at| fs::write(at.join(".envrc"), "two").unwrap()));
    }
}
