//! The files that a confined command may open, as a ruleset of Landlock.
//!
//! Landlock only allows. In a view of its own a command sees nothing that is hidden, and these
//! rules are the second line. Without one they are the first: what is hidden is left out by
//! allowing everything beside it, as it is at that moment.

use super::view::ConfinedView;
use crate::confinement::{Confinement, Level};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What is used of Landlock where the kernel has it: 6 brought the scope of signals.
const NEWEST: ABI = ABI::V6;

/// What the second line must have: 3 brought truncation.
const LEAST: ABI = ABI::V3;

/// Devices that everybody may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// What a command may do with files, by the places below which it may: the kernel's rules are made
/// of this list, and it tells what they refuse.
#[derive(Debug, Clone)]
pub(in super::super) struct FileRules {
    level: Level,
    allowed: Vec<(PathBuf, BitFlags<AccessFs>)>,
}

impl FileRules {
    /// Those of a command in this view.
    pub(super) fn in_view(confinement: &Confinement, view: &ConfinedView) -> Self {
        let whole = |path: &PathBuf| fs::canonicalize(path).ok();
        let read = confinement.read.iter().filter_map(whole);
        let read = read.map(|path| (path, AccessFs::from_read(NEWEST)));
        // Here are the command's own processes alone, and what the kernel protects is read-only.
        let processes = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile;
        let own = [("/proc", processes), ("/dev", device_rights())];
        let own = own.map(|(path, rights)| (PathBuf::from(path), rights));
        let written = view.writable().into_iter();
        let written = written.map(|path| (path, AccessFs::from_all(NEWEST)));
        Self {
            level: Level::Full,
            allowed: read.chain(own).chain(written).collect(),
        }
    }

    /// Those of a command that shares the machine's view; `own` is a directory for its temporary
    /// files.
    pub(super) fn in_machine(confinement: &Confinement, own: &Path) -> Self {
        let whole = |path: &PathBuf| fs::canonicalize(path).ok();
        let hidden: Vec<PathBuf> = confinement.hide.iter().filter_map(whole).collect();
        let mut allowed = Vec::new();
        for path in confinement.read.iter().filter_map(whole) {
            let beside = beside(&path, &hidden);
            allowed.push((path, AccessFs::ReadDir.into()));
            allowed.extend(each(beside, AccessFs::from_read(NEWEST)));
        }
        for path in confinement.write.iter().filter_map(whole) {
            allowed.extend(each(beside(&path, &hidden), AccessFs::from_all(NEWEST)));
        }
        let devices = DEVICES.iter().map(PathBuf::from).collect();
        allowed.extend(each(devices, device_rights()));
        let ours = confinement.bring.iter().cloned().chain([own.to_owned()]);
        allowed.extend(each(ours.collect(), AccessFs::from_all(NEWEST)));
        Self {
            level: Level::Landlock,
            allowed,
        }
    }

    /// A ruleset of the kernel's, for paths as they are now.
    pub(super) fn ruleset(&self) -> io::Result<OwnedFd> {
        let mut ruleset = create(self.level).map_err(|error| refused(&error))?;
        for (path, rights) in &self.allowed {
            allow(&mut ruleset, path, *rights)?;
        }
        descriptor(ruleset)
    }

    /// Whether they allow this at a path that has no links.
    pub(in super::super) fn allows(&self, path: &Path, right: AccessFs) -> bool {
        let mut allowed = self.allowed.iter();
        allowed.any(|(place, rights)| rights.contains(right) && path.starts_with(place))
    }
}

fn each(
    paths: Vec<PathBuf>,
    rights: BitFlags<AccessFs>,
) -> impl Iterator<Item = (PathBuf, BitFlags<AccessFs>)> {
    paths.into_iter().map(move |path| (path, rights))
}

fn device_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev
}

/// A ruleset that allows nothing yet.
fn create(level: Level) -> Result<RulesetCreated, RulesetError> {
    let hard = if level == Level::Full { LEAST } else { NEWEST };
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(hard))?
        .set_compatibility(if level == Level::Full {
            CompatLevel::BestEffort
        } else {
            CompatLevel::HardRequirement
        })
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

/// Allows something below a path; one that is not there needs no rule.
fn allow(ruleset: &mut RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
    let Ok(found) = fs::metadata(path) else {
        return Ok(());
    };
    let access = if found.is_dir() {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    let Ok(opened) = PathFd::new(path) else {
        return Ok(());
    };
    if access.is_empty() {
        return Ok(());
    }
    let rule = PathBeneath::new(opened, access);
    ruleset.add_rule(rule).map_err(|error| refused(&error))?;
    Ok(())
}

/// Everything below a path, except for what is hidden: the path itself, or what is in it.
fn beside(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    // A link is not followed: where it leads is judged by its own path.
    let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    real.flat_map(|entry| beside(&entry.path(), hidden))
        .collect()
}

fn descriptor(ruleset: RulesetCreated) -> io::Result<OwnedFd> {
    let descriptor: Option<OwnedFd> = ruleset.into();
    descriptor.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// The kernel's own error, where there is one.
fn refused(error: &RulesetError) -> io::Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(found) = cause.downcast_ref::<io::Error>()
            && let Some(number) = found.raw_os_error()
        {
            return io::Error::from_raw_os_error(number);
        }
        source = cause.source();
    }
    // Missing rights of this kernel are no error of a system call.
    io::Error::from_raw_os_error(libc::EOPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_with_everything_below() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["a/b", "a/keys", "c"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("a/keys"), at("a/link")).unwrap();
        let mut found = beside(directory.path(), &[at("a/keys")]);
        found.sort();
        assert_eq!(found, [at("a/b"), at("c")]);
        assert_eq!(
            beside(&at("a/keys"), &[at("a/keys")]),
            Vec::<PathBuf>::new()
        );
        assert_eq!(beside(&at("c"), &[at("a/keys")]), [at("c")]);
    }
}
