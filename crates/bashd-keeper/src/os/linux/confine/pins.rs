//! What of the things that a command may write is a mount of its own: what is protected there, and
//! all by which it is found. A mount can be neither renamed nor removed, so nothing else can be put
//! in its place: not for the directories on the way, and not for a link on it.

use super::Trouble;
use super::real_paths::RealPaths;
use crate::confinement::Confinement;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Where git looks for the configuration and the hooks of a repository, if this file is there: of
/// one that has none, it would make another.
const ELSEWHERE: &str = ".git/commondir";

/// Where git looks no more.
const TAKEN_AWAY: &str = "commondir.made-by-a-confined-command";

/// What is pinned, by its real path, and whether it is read-only.
pub(super) fn pins(
    confinement: &Confinement,
    write: &[PathBuf],
    real: &mut RealPaths,
) -> BTreeMap<PathBuf, bool> {
    let mut pins = BTreeMap::new();
    let root_of = |path: &Path| write.iter().rfind(|root| path.starts_with(root));
    for path in confinement.protect.iter().chain(&confinement.hide) {
        let links = real.links(path);
        for place in links.iter().cloned().chain(real.of(path)) {
            let Some(root) = root_of(&place) else {
                continue;
            };
            let between = place
                .ancestors()
                .skip(1)
                .take_while(|parent| parent != root);
            for parent in between {
                pins.entry(parent.to_owned()).or_insert(false);
            }
        }
        let links = links.into_iter().filter(|link| root_of(link).is_some());
        pins.extend(links.map(|link| (link, false)));
    }
    for path in &confinement.protect {
        let found = real.of(path).or_else(|| file_instead(path, real));
        let is_within = |path: &PathBuf| root_of(path).is_some_and(|root| root != path);
        pins.extend(found.filter(is_within).map(|path| (path, true)));
    }
    pins
}

/// The file that stands where a directory on the way to something protected would be: who changes
/// it says where that is, as in the `.git` of a work tree of git.
fn file_instead(path: &Path, real: &mut RealPaths) -> Option<PathBuf> {
    let found = path.ancestors().skip(1).find_map(|parent| real.of(parent));
    found.filter(|found| found.is_file())
}

/// What is protected as soon as it is there, and is not: a command may make it.
pub(super) fn not_there(confinement: &Confinement, real: &mut RealPaths) -> Vec<PathBuf> {
    let missing = confinement.protect.iter();
    let missing = missing.filter(|path| real.of(path).is_none());
    let missing = missing.filter(|path| path.symlink_metadata().is_err());
    missing.cloned().collect()
}

/// What has been made of that: it is protected from the next command on. What has git find another
/// repository's configuration is no part of any work, and does not stay.
pub(super) fn made_since(missing: &[PathBuf]) -> Vec<PathBuf> {
    let made = missing.iter();
    let made = made.filter(|path| path.symlink_metadata().is_ok());
    let made: Vec<PathBuf> = made.cloned().collect();
    for path in made.iter().filter(|path| path.ends_with(ELSEWHERE)) {
        let _ = std::fs::rename(path, path.with_file_name(TAKEN_AWAY));
    }
    made
}

/// Refuses what would be given by a name that leads through a link in what commands may write: one
/// of them could have made it, to be given what it leads to.
pub(super) fn check_links(confinement: &Confinement) -> Result<(), Trouble> {
    let mut real = RealPaths::default();
    let Confinement {
        write,
        read,
        sockets,
        ..
    } = confinement;
    let roots: Vec<PathBuf> = write.iter().filter_map(|path| real.of(path)).collect();
    let can_be_made =
        |link: &PathBuf| (roots.iter()).any(|root| link.starts_with(root) && link != root);
    for path in write.iter().chain(read).chain(sockets) {
        if let Some(link) = real.links(path).into_iter().find(can_be_made) {
            let doing = format!(
                "give the command {}, which is found through the link {}: commands can change that, \
                 so name the place to which it leads",
                path.display(),
                link.display()
            );
            let mut trouble = Trouble::new(&doing, io::ErrorKind::PermissionDenied.into());
            // At a lower level it is no better.
            trouble.is_programs = true;
            return Err(trouble);
        }
    }
    Ok(())
}
