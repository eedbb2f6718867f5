//! The record of an artifact: which bytes of the stream are in which file, and where its lines are.

use super::{ArtifactKind, Summary, address, check_limit};
use crate::place::StoredThere;
use bashd_keeper::job::directory::{check_seal, sealed};
use bashd_keeper::seal::{SealKey, Unsealed};
use bashd_keeper::spool::{open_to_read, read_small};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The record's file.
pub(super) const NAME: &str = "artifact.json";

/// The most bytes of which a digest is made: that takes half a millisecond.
const MOST_DIGESTED: u64 = 512 << 10;

/// Version of the format.
const VERSION: u32 = 1;

/// A file of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArtifactFile {
    /// The first bytes, or all of them in order.
    Head,
    /// The ring.
    Tail,
    /// What only memory held.
    Rest,
}

impl ArtifactFile {
    /// Every place.
    pub(super) const ALL: [Self; 3] = [Self::Head, Self::Tail, Self::Rest];

    /// The name of its file.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Head => "artifact",
            Self::Tail => "artifact.tail",
            Self::Rest => "artifact.rest",
        }
    }
}

/// Consecutive bytes of the stream in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArtifactPart {
    /// The stream offset of the first byte.
    pub(super) from: u64,
    pub(super) bytes: u64,
    pub(super) place: ArtifactFile,
    /// Where they begin in the file.
    pub(super) at: u64,
}

impl ArtifactPart {
    /// The stream offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.from + self.bytes
    }
}

/// What is known of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArtifactRecord {
    v: u32,
    pub(super) id: u64,
    pub(super) run: String,
    pub(super) profile: String,
    /// Missing in records from before there were two kinds.
    #[serde(default)]
    pub(super) kind: ArtifactKind,
    pub(super) created_ms: u64,
    /// Whose call it was; missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    /// Whether it is shown without secrets; missing in older records.
    #[serde(default)]
    pub(super) hides_secrets: bool,
    /// Bytes of the stream, kept or not.
    pub(super) bytes: u64,
    /// Newlines of the stream, kept or not.
    pub(super) lines: u64,
    /// What is kept, in stream order. Bytes between two parts were dropped.
    pub(super) parts: Vec<ArtifactPart>,
    /// Offsets into what is kept, each with the number of newlines before it.
    pub(super) steps: Vec<(u64, u64)>,
    /// Where it is stored, if not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) there: Option<StoredThere>,
    /// SHA-256 of what is kept, unless that is much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl ArtifactRecord {
    /// A record of an artifact that has no number yet.
    pub(super) fn new(run: String, profile: &str, bytes: u64, lines: u64) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            v: VERSION,
            id: 0,
            run,
            profile: profile.to_owned(),
            kind: ArtifactKind::default(),
            created_ms: now.unwrap_or_default().as_millis() as u64,
            owner: None,
            hides_secrets: false,
            bytes,
            lines,
            parts: Vec::new(),
            steps: Vec::new(),
            there: None,
            digest: None,
        }
    }

    /// Reads the record of an artifact's directory.
    pub(super) fn load(directory: &Path) -> io::Result<Self> {
        let text = read_small(&directory.join(NAME))?;
        let record: Self = serde_json::from_slice(&text)?;
        if record.v != VERSION {
            let text = format!("an artifact's record has version {}", record.v);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(record)
    }

    /// Writes the record, replacing an older one.
    pub(super) fn store(&self, directory: &Path) -> io::Result<()> {
        let text = self.written(directory)?;
        check_limit(0, text.len() as u64)?;
        let fresh = directory.join(format!("{NAME}.new"));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let flags = flags | OFlags::NONBLOCK;
        let file = rustix::fs::open(&fresh, flags, Mode::RUSR | Mode::WUSR)?;
        let written = fs::File::from(file).write_all(&text);
        let stored = written.and_then(|()| fs::rename(&fresh, directory.join(NAME)));
        if stored.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        stored
    }

    /// The record with its seal, and with what tells its bytes if they are few.
    fn written(&self, directory: &Path) -> io::Result<Vec<u8>> {
        let digest = self.digest_of(directory)?;
        let record = Self {
            digest,
            ..self.clone()
        };
        Ok(sealed(directory, NAME, serde_json::to_vec(&record)?))
    }

    /// What tells the bytes that are kept, unless they are many: reading them takes time.
    pub(super) fn digest_of(&self, directory: &Path) -> io::Result<Option<String>> {
        if self.kept() > MOST_DIGESTED || self.there.is_some() {
            return Ok(None);
        }
        let mut digest = Sha256::new();
        for part in &self.parts {
            let file = open_to_read(&directory.join(part.place.file()))?;
            let mut bytes = vec![0; usize::try_from(part.bytes).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut bytes, part.at)?;
            digest.update(&bytes);
        }
        let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
        Ok(Some(digest.finalize().iter().fold(String::new(), hex)))
    }

    /// What is wrong with an artifact that is there, if anything.
    pub(super) fn check(directory: &Path, key: &SealKey) -> io::Result<Option<Unsealed>> {
        let found = check_seal(directory, NAME, key)?;
        let record = Self::load(directory)?;
        let is_altered = record.digest.is_some() && record.digest != record.digest_of(directory)?;
        Ok(if is_altered {
            Some(Unsealed::Altered)
        } else {
            found
        })
    }

    /// Bytes that are kept.
    pub(super) fn kept(&self) -> u64 {
        let here = self.parts.iter().map(|part| part.bytes).sum();
        self.there.as_ref().map_or(here, |there| there.kept)
    }

    /// What a list tells of it.
    pub(super) fn summary(&self) -> Summary {
        Summary {
            id: self.id,
            address: address(self.id),
            run: self.run.clone(),
            profile: self.profile.clone(),
            kind: self.kind,
            created_ms: self.created_ms,
            bytes: self.bytes,
            lines: self.lines,
            dropped_bytes: self.bytes.saturating_sub(self.kept()),
            place: self.there.as_ref().map(|there| there.place.clone()),
        }
    }
}
