//! The working directory of a run: as given, from a leading `cd`, or the engine's own.

use super::OpenDirectory;
use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::profile::parameters::CwdSpelling;
use crate::request::Request;
use crate::rewrite::LeadingCd;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Where a command is to run.
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    /// Whether a `cd` of the shell would have gone there.
    pub(super) by_shell: bool,
}

/// What the request, the command or the surroundings say, in this order: relative to the engine's
/// own directory, or, where nothing is said, the one of a session that is taken over.
pub(super) fn wanted(
    profile: &Profile,
    request: &Request,
    lifted: Option<&LeadingCd>,
    (here, otherwise): (&Path, &Path),
    home: Option<&Path>,
) -> Wanted {
    match (&request.cwd, lifted) {
        (Some(cwd), _) => match profile.input.cwd {
            CwdSpelling::Path => Wanted {
                path: here.join(cwd),
                by_shell: false,
            },
            CwdSpelling::Shorthands => shorthand(cwd, here, home),
        },
        (None, Some(cd)) => Wanted {
            path: as_cd_goes(&here.join(without_tilde(Path::new(&cd.directory), home))),
            by_shell: true,
        },
        (None, None) => Wanted {
            path: otherwise.to_owned(),
            by_shell: false,
        },
    }
}

/// A directory as people write it. In a session the shell goes there by `cd`; outside a session it
/// looks the same.
fn shorthand(cwd: &Path, here: &Path, home: Option<&Path>) -> Wanted {
    let is_root = |part| part == Component::RootDir;
    let is_slashes = cwd.has_root() && cwd.components().all(is_root);
    Wanted {
        path: if is_slashes {
            here.to_owned()
        } else {
            here.join(without_tilde(cwd, home))
        },
        by_shell: !is_slashes,
    }
}

fn without_tilde(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.to_owned(),
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The path as bash's `cd` understands it: `..` takes back the name before it, even a link's.
fn as_cd_goes(path: &Path) -> PathBuf {
    let mut logical = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                logical.pop();
            }
            Component::CurDir => {}
            other => logical.push(other),
        }
    }
    logical
}

/// Whether a `cd` from one directory to another, by a relative path, would come to one.
pub(crate) fn check_way(from: &Path, relative: &Path) -> Result<()> {
    let path = as_cd_goes(&from.join(relative));
    let by_shell = true;
    open(&Wanted { path, by_shell }).map(drop)
}

/// Opens it, if it is a directory that may be entered.
pub(super) fn open(wanted: &Wanted) -> Result<OpenDirectory> {
    let path = wanted.path.clone();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A directory that nobody may enter can still be opened: the shell would be blamed.
    let enterable = |fd: OwnedFd| {
        rustix::fs::accessat(&fd, ".", Access::EXEC_OK, AtFlags::EACCESS).map(|()| fd)
    };
    match rustix::fs::open(&path, flags, Mode::empty()).and_then(enterable) {
        Ok(fd) => Ok(OpenDirectory { path, fd }),
        Err(error) => {
            let shown = path.display();
            let (kind, text) = match error {
                Errno::NOENT => (
                    ErrorKind::CwdMissing,
                    format!("working directory does not exist: {shown}"),
                ),
                Errno::NOTDIR => (
                    ErrorKind::CwdNotADirectory,
                    format!("working directory is not a directory: {shown}"),
                ),
                error => (
                    ErrorKind::Cwd,
                    format!("working directory is not accessible: {shown}: {error}"),
                ),
            };
            Err(Error::new(kind, text).about(shown))
        }
    }
}
