//! The program that is sent to a place on which bashd is not installed, by its content.

use crate::error::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Where a host finds programs for places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramSources {
    /// Directories with `bashd-outpost-MACHINE`.
    pub directories: Vec<PathBuf>,
    /// This program itself, which may do at a like machine.
    pub own: Option<PathBuf>,
}

/// A program that can be sent.
#[derive(Debug, Clone)]
pub(crate) struct ProgramToSend {
    pub(crate) path: PathBuf,
    /// SHA-256, in hexadecimal digits.
    pub(crate) hash: String,
    pub(crate) bytes: u64,
    /// The same, compressed by gzip, and how many bytes that has: a file beside it.
    pub(crate) pressed: Option<(PathBuf, u64)>,
    /// The kind of machine that it is for; one that the user named is taken at its word.
    machine: Option<String>,
}

impl ProgramSources {
    /// The program for this kind of machine, as `uname` names it. One that is named is taken as it
    /// is.
    pub(crate) fn find(&self, named: Option<&Path>, machine: &str) -> Option<PathBuf> {
        if let Some(named) = named {
            return Some(named.to_owned());
        }
        let name = format!("bashd-outpost-{machine}");
        let beside = self.directories.iter().map(|folder| folder.join(&name));
        let mut beside = beside.filter(|path| path.is_file());
        let own = || self.own.clone().filter(|_| machine == own_machine());
        beside.next().or_else(own)
    }

    /// What to do if there is none.
    pub(crate) fn missing(&self, system: &str, machine: &str) -> String {
        if system != "Linux" {
            return format!("the machine runs {system}, and bashd needs Linux");
        }
        let folder = (self.directories.last()).map_or_else(
            || "the directory of bashd's data".to_owned(),
            |folder| folder.display().to_string(),
        );
        format!(
            "the machine is {machine}, and there is no program for it here: put a static \
             bashd-outpost for it at {folder}/bashd-outpost-{machine}, name one in `program`, \
             or install bashd there and name it in `bin`"
        )
    }
}

/// The kind of this machine.
pub(crate) fn own_machine() -> String {
    // As `uname` has it, where bashd is built for it.
    std::env::consts::ARCH.to_owned()
}

impl ProgramToSend {
    /// Reads it once.
    pub(crate) fn of(path: &Path, machine: Option<String>) -> Result<Self> {
        Self::read(path, machine).map_err(|error| {
            let doing = format!("read {}, the program for the place,", path.display());
            Error::io(ErrorKind::Place, doing, error)
        })
    }

    /// Whether it is for this kind of machine.
    pub(crate) fn is_for(&self, machine: &str) -> bool {
        let own = self.machine.as_deref();
        own.is_none_or(|own| own == machine)
    }

    fn read(path: &Path, machine: Option<String>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut hash, mut buffer, mut bytes) = (Sha256::new(), vec![0; 256 * 1024], 0);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => {
                    hash.update(buffer.get(..count).unwrap_or_default());
                    bytes += count as u64;
                }
            }
        }
        let digits = hash.finalize();
        let digits = digits.iter().map(|byte| format!("{byte:02x}"));
        let mut beside = path.as_os_str().to_owned();
        beside.push(".gz");
        let size = std::fs::metadata(&beside).map(|found| found.len());
        Ok(Self {
            pressed: size.ok().map(|size| (beside.into(), size)),
            path: path.to_owned(),
            hash: digits.collect(),
            bytes,
            machine,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_machine_and_named_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let mips = folder.path().join("bashd-outpost-mips");
        std::fs::write(&mips, "abc").unwrap();
        let sources = ProgramSources {
            directories: vec![folder.path().to_owned()],
            own: Some("/own".into()),
        };
        assert_eq!(sources.find(None, "mips"), Some(mips.clone()));
        assert_eq!(sources.find(None, "vax"), None);
        assert_eq!(sources.find(None, &own_machine()), Some("/own".into()));
        let named = Some(Path::new("/named"));
        assert_eq!(sources.find(named, "mips"), Some("/named".into()));
        let program = ProgramToSend::of(&mips, Some("mips".to_owned())).unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((&*program.hash, program.bytes), (known, 3));
        assert!(program.is_for("mips") && !program.is_for("vax"));
        let told = sources.missing("Linux", "vax");
        assert!(told.contains("the machine is vax"), "{told}");
        let told = sources.missing("Darwin", "arm64");
        assert!(told.contains("runs Darwin"), "{told}");
    }
}
