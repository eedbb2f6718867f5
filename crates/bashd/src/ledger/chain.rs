//! The chains of the ledger: each record names the one before it that the same process wrote.
//!
//! `prev` is the seal of that record's line. How far a chain has come, and the seal of its last
//! record, is in a second file beside the month's, one line of fixed length for each chain, so that
//! a cut end shows. A chain ends with its month.

use super::month::Month;
use super::record::ChainMark;
use bashd_keeper::seal::SealKey;
use rustix::fs::{Mode, OFlags};
use rustix::rand::GetRandomFlags;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What seals of records are seals of.
const KIND: &str = "record";

/// Digits of a number in a line of the second file.
const DIGITS: usize = 12;

/// The chain of this process.
#[derive(Debug)]
pub(super) struct Chain {
    state: PathBuf,
    at: Mutex<Option<ChainEnd>>,
}

/// Where a chain is.
#[derive(Debug)]
struct ChainEnd {
    key: SealKey,
    month: Month,
    id: String,
    n: u64,
    /// The seal of the last record; empty if there is none.
    seal: String,
    /// The second file, and where its line is there.
    noted: Option<(std::fs::File, u64)>,
}

/// How far a chain has come, as the second file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainHead {
    pub(super) id: String,
    pub(super) n: u64,
    pub(super) seal: String,
}

impl ChainHead {
    fn line(&self) -> String {
        format!("{} {:>DIGITS$} {}\n", self.id, self.n, self.seal)
    }

    /// Reads a line; `None` if it is none of ours.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (id, n, seal) = (words.next()?, words.next()?, words.next()?);
        Some(Self {
            id: id.to_owned(),
            n: n.parse().ok()?,
            seal: seal.to_owned(),
        })
    }
}

/// The seal of a record's line, without its newline.
pub(super) fn seal_of(key: &SealKey, line: &[u8]) -> String {
    key.seal(KIND, "", line.strip_suffix(b"\n").unwrap_or(line))
}

impl Chain {
    /// A chain under the key of this state directory.
    pub(super) fn of(state: PathBuf) -> Self {
        Self {
            state,
            at: Mutex::default(),
        }
    }

    /// Has a record written as the next of this chain. Without a key it is written as it is.
    pub(super) fn extend(
        &self,
        directory: &Path,
        month: Month,
        write: impl FnOnce(Option<ChainMark>) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        // Records of one chain are written one after the other.
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if at.as_ref().is_none_or(|end| end.month != month) {
            *at = ChainEnd::begin(&self.state, month).ok();
        }
        let Some(end) = &mut *at else {
            return write(None).map(drop);
        };
        let mark = ChainMark {
            chain: end.id.clone(),
            n: end.n + 1,
            prev: end.seal.clone(),
        };
        let line = write(Some(mark))?;
        end.n += 1;
        end.seal = seal_of(&end.key, &line);
        // What the second file does not say is said by the next record.
        let _ = end.note(&directory.join(month.chains_name()));
        Ok(())
    }
}

impl ChainEnd {
    fn begin(state: &Path, month: Month) -> io::Result<Self> {
        let mut id = [0; 8];
        rustix::rand::getrandom(&mut id, GetRandomFlags::empty())?;
        Ok(Self {
            key: SealKey::of(state)?,
            month,
            id: format!("{:016x}", u64::from_ne_bytes(id)),
            n: 0,
            seal: String::new(),
            noted: None,
        })
    }

    /// Writes down how far it has come.
    fn note(&mut self, path: &Path) -> io::Result<()> {
        let head = ChainHead {
            id: self.id.clone(),
            n: self.n,
            seal: self.seal.clone(),
        };
        let line = head.line();
        if let Some((file, at)) = &self.noted {
            // Somebody may have removed the file since, or cut it.
            let now = rustix::fs::fstat(file)?;
            if now.st_nlink > 0 && at + line.len() as u64 <= now.st_size as u64 {
                return file.write_all_at(line.as_bytes(), *at);
            }
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(path, flags | OFlags::APPEND, Mode::RUSR | Mode::WUSR)?;
        crate::appending::check(&file, line.len() as u64)?;
        if rustix::io::write(&file, line.as_bytes())? != line.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let behind = rustix::fs::tell(&file)?;
        // From now on it is written in its place.
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
        let at = behind.checked_sub(line.len() as u64);
        self.noted = at.map(|at| (file.into(), at));
        Ok(())
    }
}
