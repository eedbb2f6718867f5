//! Reading the ledger: newest first, month by month, filtered, whatever state the files are in.

use super::month::{self, Month};
use super::query::RecordQuery;
use super::record::Record;
use super::reverse_lines::{LedgerLine, ReverseLines};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Records, newest first.
#[derive(Debug)]
pub struct Records {
    /// Month files that have not been opened yet, the newest last.
    files: Vec<PathBuf>,
    lines: Option<ReverseLines>,
    filter: RecordQuery,
    damaged: u64,
}

impl Records {
    pub(super) fn open(directory: &Path, filter: RecordQuery) -> io::Result<Self> {
        let first = filter.since.map(Month::of);
        let last = filter.until.map(Month::of);
        let files = month::files(directory)?.into_iter().rev();
        let files = files.filter(|(month, _)| first.is_none_or(|first| *month >= first));
        let files = files.filter(|(month, _)| last.is_none_or(|last| *month <= last));
        let filter = filter.in_lower_case();
        Ok(Self {
            files: files.map(|(_, path)| path).collect(),
            lines: None,
            filter,
            damaged: 0,
        })
    }

    /// Lines skipped so far because they are not records.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            let Some(lines) = &mut self.lines else {
                let Some(path) = self.files.pop() else {
                    return Ok(None);
                };
                self.lines = open(&path)?;
                continue;
            };
            match lines.next_line() {
                Ok(None) => self.lines = None,
                Ok(Some(LedgerLine::TooLong)) => self.damaged += 1,
                Ok(Some(LedgerLine::Whole(line))) => match Record::from_line(&line) {
                    Some(record) if self.filter.wants(&record) => return Ok(Some(record)),
                    Some(_) => {}
                    None => self.damaged += 1,
                },
                Err(error) => {
                    // The rest of this file is unreadable; the other months are not.
                    self.lines = None;
                    return Err(error);
                }
            }
        }
    }
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

/// Opens a month; one that was removed meanwhile counts as missing.
fn open(path: &Path) -> io::Result<Option<ReverseLines>> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if !path.metadata().map_or(true, |metadata| metadata.is_file()) {
        return Err(named(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )));
    }
    match File::open(path) {
        Ok(file) => ReverseLines::new(file).map(Some).map_err(named),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(named(error)),
    }
}
