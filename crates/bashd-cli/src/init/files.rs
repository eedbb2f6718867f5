//! Reads and writes files of others: links are followed, a file is replaced at once or not at all,
//! and what we should not touch is refused with its reason.

use rustix::fs::Access;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Bytes of a configuration at most.
const MOST_BYTES: u64 = 64 << 20;

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Where it really is.
    path: PathBuf,
    /// `None` if there is none yet.
    pub(super) text: Option<String>,
}

impl FoundFile {
    /// Reads a file that we may replace; else says why not.
    pub(super) fn at(path: &Path) -> Result<Self, String> {
        let real = match fs::symlink_metadata(path) {
            Ok(facts) if facts.is_symlink() => fs::canonicalize(path)
                .map_err(|error| format!("it is a link that leads nowhere: {error}"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = path.to_owned();
                return Ok(Self { path, text: None });
            }
            Err(error) => return Err(format!("it can't be read: {error}")),
            Ok(_) => path.to_owned(),
        };
        let unreadable = |error: io::Error| format!("it can't be read: {error}");
        let facts = fs::metadata(&real).map_err(unreadable)?;
        if !facts.is_file() {
            return Err("it is not a file".to_owned());
        }
        if facts.len() > MOST_BYTES {
            return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
        }
        // Whoever took the permission away meant it, even if we could write.
        let is_writable = facts.permissions().mode() & 0o222 != 0;
        let folder = real.parent().unwrap_or(Path::new("/"));
        let may = |path: &Path| rustix::fs::access(path, Access::WRITE_OK).is_ok();
        if !is_writable || !may(&real) {
            return Err("it is read-only".to_owned());
        }
        if !may(folder) {
            return Err(format!("its folder is read-only: {}", folder.display()));
        }
        let mut bytes = Vec::new();
        let file = File::open(&real).map_err(unreadable)?;
        file.take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        Ok(Self {
            path: real,
            text: Some(text),
        })
    }

    /// Puts another text in its place; gives back the folders that had to be made.
    pub(super) fn replace(&self, text: &str, mode: u32) -> Result<Vec<PathBuf>, String> {
        self.check_unchanged()?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let new_folders = make_folders(folder)
            .map_err(|error| format!("{} can't be made: {error}", folder.display()))?;
        let written = self.write(folder, text, mode);
        written.map_err(|error| format!("it can't be written: {error}"))?;
        Ok(new_folders)
    }

    fn write(&self, folder: &Path, text: &str, mode: u32) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let new = folder.join(format!(".{name}.bashd-{}", std::process::id()));
        let former = self
            .text
            .as_ref()
            .and_then(|_| fs::metadata(&self.path).ok());
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&new)?;
            if let Some(former) = &former {
                file.set_permissions(former.permissions())?;
                let own = file.metadata()?;
                if (own.uid(), own.gid()) != (former.uid(), former.gid()) {
                    fchown(&file, Some(former.uid()), Some(former.gid()))?;
                }
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        let written = write();
        if written.is_err() {
            // It may not exist.
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<(), String> {
        self.check_unchanged()?;
        fs::remove_file(&self.path).map_err(|error| format!("it can't be removed: {error}"))
    }

    /// Agents write these files, too, and at any time.
    fn check_unchanged(&self) -> Result<(), String> {
        if Self::at(&self.path)?.text == self.text {
            Ok(())
        } else {
            Err("it was changed meanwhile: try again".to_owned())
        }
    }
}

/// Removes those of the folders that are empty.
pub(super) fn remove_empty(mut folders: Vec<PathBuf>) {
    // What is deepest has the longest path.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_os_str().len()));
    for folder in folders {
        // One that others use stays.
        let _ = fs::remove_dir(folder);
    }
}

/// Makes a folder and those above it; gives back those that were missing, the uppermost first.
pub(super) fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    for folder in &missing {
        fs::create_dir(folder)?;
    }
    Ok(missing)
}
