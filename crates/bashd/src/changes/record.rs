//! What is kept of a change: who made it, which steps it has, and where each of them stands.

use super::tree::{self, Attributes, DirectoryIdentity, FileTime, TreeStamp, path_bytes};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The version of what is written.
const VERSION: u32 = 1;

/// A change as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ChangeRecord {
    version: u32,
    pub(super) id: String,
    pub(super) command: String,
    #[serde(with = "path_bytes")]
    pub(super) cwd: PathBuf,
    /// When its command began, in milliseconds since 1970.
    pub(super) began_ms: u64,
    /// When it was last applied or undone.
    pub(super) moved_ms: Option<u64>,
    /// Whether it is applied when its command ends.
    pub(super) is_undoable: bool,
    pub(super) layers: Vec<LayerRecord>,
    /// What changed; `None` while the command runs.
    pub(super) steps: Option<Vec<ChangeStep>>,
    pub(super) counts: ChangeCounts,
}

/// One directory that the command could change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LayerRecord {
    #[serde(with = "path_bytes")]
    pub(super) root: PathBuf,
    /// Which directory that was.
    pub(super) identity: DirectoryIdentity,
    #[serde(with = "path_bytes")]
    pub(super) directory: PathBuf,
    /// What changed after this moment, somebody else may have changed.
    pub(super) began: FileTime,
    /// The attributes with which the layer was made.
    pub(super) made: Attributes,
}

impl LayerRecord {
    /// Opens the directory, if it is still the one that it was: on the file system of its layer,
    /// without which nothing can move between them.
    pub(super) fn open_root(&self) -> io::Result<OwnedFd> {
        let (root, layer) = (tree::open(&self.root)?, tree::open(&self.directory)?);
        let is_it = tree::identity(&root)? == self.identity
            && tree::device(&root)? == tree::device(&layer)?;
        if is_it {
            return Ok(root);
        }
        let text = format!(
            "{} is not the directory that it was: it was moved or replaced",
            self.root.display()
        );
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    pub(super) fn upper(&self) -> PathBuf {
        self.directory.join("upper")
    }
}

/// How much changed: every path counts, also those in new and removed directories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangeCounts {
    pub(super) created: u64,
    pub(super) modified: u64,
    pub(super) deleted: u64,
    /// Bytes of what is new.
    pub(super) bytes: u64,
    /// Bytes that are kept, once it is applied.
    pub(super) former_bytes: u64,
}

/// One thing that changed as a whole. What is in its place and what is kept aside trade places when
/// it is applied, and again when that is undone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ChangeStep {
    /// Which layer.
    pub(super) layer: usize,
    /// Its path in the layer's directory.
    #[serde(with = "path_bytes")]
    pub(super) path: PathBuf,
    /// Whether the new is in place, and the former aside.
    pub(super) is_applied: bool,
    /// Whether somebody else changed it while the command ran.
    pub(super) is_contested: bool,
    pub(super) what: StepContent,
}

/// What a step is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum StepContent {
    /// Files and directories: what is in place, and what is aside. `None`: nothing.
    Tree {
        here: Option<TreeStamp>,
        aside: Option<TreeStamp>,
    },
    /// The attributes of a directory that stays.
    Attributes { here: Attributes, aside: Attributes },
}

impl ChangeStep {
    /// What is in place, if it is something that moves.
    pub(super) fn here(&self) -> Option<&TreeStamp> {
        match &self.what {
            StepContent::Tree { here, .. } => here.as_ref(),
            StepContent::Attributes { .. } => None,
        }
    }

    /// What is aside.
    pub(super) fn aside(&self) -> Option<&TreeStamp> {
        match &self.what {
            StepContent::Tree { aside, .. } => aside.as_ref(),
            StepContent::Attributes { .. } => None,
        }
    }
}

impl ChangeRecord {
    pub(super) fn new(id: &str, command: &str, cwd: &Path, began_ms: u64) -> Self {
        Self {
            version: VERSION,
            id: id.to_owned(),
            command: command.to_owned(),
            cwd: cwd.to_owned(),
            began_ms,
            moved_ms: None,
            is_undoable: false,
            layers: Vec::new(),
            steps: None,
            counts: ChangeCounts::default(),
        }
    }

    /// Reads what was written.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let record: Self = decode(&fs::read(path)?)?;
        if record.version > VERSION {
            let text = "it was written by a later version of bashd";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(record)
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, path: &Path, durability: Durability) -> io::Result<()> {
        let new = path.with_extension("new");
        write_file(&new, &encode(self)?, durability)?;
        fs::rename(&new, path)
    }
}

/// Whether what is written must be there after a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    Synced,
    Later,
}

pub(super) fn write_file(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    match durability {
        Durability::Synced => file.sync_all(),
        Durability::Later => Ok(()),
    }
}

pub(super) fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    rmp_serde::to_vec_named(value).map_err(io::Error::other)
}

pub(super) fn decode<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> io::Result<T> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    rmp_serde::from_slice(bytes).map_err(invalid)
}
