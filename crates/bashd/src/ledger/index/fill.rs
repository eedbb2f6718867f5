//! Reading what is new in the ledger into its index.
//!
//! A transaction takes a few mebibytes, so that others are not kept waiting, and the newest month
//! comes first, since that is what people look for.

use super::super::month::{self, Month};
use super::super::record::Record;
use super::super::sums::{CallSum, CommandNames, SumKey};
use super::{LedgerIndex, parts_of, place, store};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the ledger that a transaction takes.
const STEP: u64 = 4 << 20;

/// A line longer than this is not ours and is skipped, so that it costs no memory.
const LONGEST_LINE: u64 = 16 << 20;

/// Bytes before the end of what was read by which a file is known again: the last records.
const TAIL: u64 = 4096;

/// How far the index has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexProgress {
    /// Bytes of the ledger that are in it.
    pub done: u64,
    /// Bytes of the ledger.
    pub of: u64,
    /// Lines that are not records.
    pub damaged: u64,
}

impl IndexProgress {
    /// Bytes that are missing.
    pub fn missing(self) -> u64 {
        self.of.saturating_sub(self.done)
    }
}

/// What is known of a month.
struct MonthState {
    inode: u64,
    done: u64,
    tail: Vec<u8>,
    damaged: u64,
}

/// A month's file as it is now.
struct MonthFile {
    month: Month,
    file: File,
    inode: u64,
    size: u64,
}

impl LedgerIndex {
    /// How far the index has come, without going on. Only the lines that are whole count.
    pub fn progress(&self) -> io::Result<IndexProgress> {
        self.check_name()?;
        let mut progress = IndexProgress::default();
        for file in month_files(&self.directory)? {
            let state = self.connection.query_row(
                "SELECT done, damaged FROM months WHERE month = ?1",
                [file.month.number()],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
            );
            let (done, damaged) = state.optional().map_err(store::failed)?.unwrap_or_default();
            progress.done += done.cast_unsigned().min(file.size);
            progress.damaged += damaged.cast_unsigned();
            progress.of += file.size;
        }
        Ok(progress)
    }

    /// Reads what is new, for about as long as this; says how far that went.
    pub fn catch_up(&mut self, for_at_most: Duration) -> io::Result<IndexProgress> {
        self.check_name()?;
        let begun = Instant::now();
        let mut names = CommandNames::default();
        while self.step(&mut names)? && begun.elapsed() < for_at_most {}
        self.progress()
    }

    /// One transaction; whether there was anything to do.
    fn step(&mut self, names: &mut CommandNames) -> io::Result<bool> {
        let files = month_files(&self.directory)?;
        if self.is_level(&files).map_err(store::failed)? {
            return Ok(false);
        }
        let window = |profile: &str| super::window_of(&self.library, profile);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(store::failed)?;
        forget(&transaction, &files).map_err(store::failed)?;
        let mut read = 0;
        for file in &files {
            if read >= STEP {
                break;
            }
            let mut filling = Filling {
                transaction: &transaction,
                names,
                window: &window,
                sums: BTreeMap::new(),
                ids: HashMap::new(),
                damaged: 0,
            };
            read += filling.read(file, STEP - read)?;
        }
        transaction.commit().map_err(store::failed)?;
        Ok(read > 0)
    }

    /// Whether nothing is new, without waiting for anybody.
    fn is_level(&self, files: &[MonthFile]) -> rusqlite::Result<bool> {
        let mut asked = self
            .connection
            .prepare_cached("SELECT month, inode, done FROM months")?;
        let rows = asked.query_map([], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, i64>(2)?,
            ))
        })?;
        let known: BTreeMap<i64, (i64, i64)> = rows
            .map(|row| row.map(|(month, inode, done)| (month, (inode, done))))
            .collect::<Result<_, _>>()?;
        let is_known = |file: &MonthFile| {
            known
                .get(&file.month.number())
                .is_some_and(|(inode, done)| {
                    inode.cast_unsigned() == file.inode && done.cast_unsigned() == file.size
                })
        };
        Ok(known.len() == files.len() && files.iter().all(is_known))
    }
}

/// The months, newest first. One that is removed meanwhile counts as missing.
fn month_files(directory: &Path) -> io::Result<Vec<MonthFile>> {
    let mut files = Vec::new();
    for (month, path) in month::files(directory)? {
        // Anything but a file is not ours, and might keep us waiting.
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let metadata = file.metadata()?;
        files.push(MonthFile {
            month,
            inode: metadata.ino(),
            size: metadata.len(),
            file,
        });
    }
    Ok(files)
}

/// Forgets months that are gone, and those whose file is another, or was cut or written anew.
fn forget(transaction: &Transaction<'_>, files: &[MonthFile]) -> rusqlite::Result<()> {
    let mut asked = transaction.prepare("SELECT month FROM months")?;
    let known: Vec<i64> = asked
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for month in known {
        let file = files.iter().find(|file| file.month.number() == month);
        let is_same = match (file, state_of(transaction, month)?) {
            (Some(file), Some(state)) => is_continued(file, &state),
            _ => false,
        };
        if !is_same {
            let (first, next) = (
                month << super::OFFSET_BITS,
                (month + 1) << super::OFFSET_BITS,
            );
            for table in [
                "DELETE FROM calls WHERE at >= ?1 AND at < ?2",
                "DELETE FROM texts WHERE rowid >= ?1 AND rowid < ?2",
            ] {
                transaction.execute(table, (first, next))?;
            }
            transaction.execute("DELETE FROM sums WHERE month = ?1", [month])?;
            transaction.execute("DELETE FROM months WHERE month = ?1", [month])?;
        }
    }
    Ok(())
}

fn state_of(transaction: &Transaction<'_>, month: i64) -> rusqlite::Result<Option<MonthState>> {
    let asked = transaction.query_row(
        "SELECT inode, done, tail, damaged FROM months WHERE month = ?1",
        [month],
        |row| {
            Ok(MonthState {
                inode: row.get::<_, i64>(0)?.cast_unsigned(),
                done: row.get::<_, i64>(1)?.cast_unsigned(),
                tail: row.get(2)?,
                damaged: row.get::<_, i64>(3)?.cast_unsigned(),
            })
        },
    );
    asked.optional()
}

/// Whether what was read of a file is still its beginning.
fn is_continued(file: &MonthFile, state: &MonthState) -> bool {
    file.inode == state.inode
        && file.size >= state.done
        && tail(&file.file, state.done).is_ok_and(|tail| tail == state.tail)
}

/// The bytes before a place.
fn tail(file: &File, end: u64) -> io::Result<Vec<u8>> {
    let mut tail = vec![0; end.min(TAIL) as usize];
    let begin = end - tail.len() as u64;
    file.read_exact_at(&mut tail, begin)?;
    Ok(tail)
}

/// What is read in one transaction, of one month.
struct Filling<'a> {
    transaction: &'a Transaction<'a>,
    names: &'a mut CommandNames,
    window: &'a dyn Fn(&str) -> u64,
    sums: BTreeMap<SumKey, CallSum>,
    /// Numbers of names.
    ids: HashMap<String, i64>,
    damaged: u64,
}

impl Filling<'_> {
    /// Reads on in a month; how many bytes that were.
    fn read(&mut self, file: &MonthFile, most: u64) -> io::Result<u64> {
        let month = file.month.number();
        let state = state_of(self.transaction, month).map_err(store::failed)?;
        let (done, damaged) = state.map_or((0, 0), |state| (state.done, state.damaged));
        if done >= file.size {
            return Ok(0);
        }
        let mut at = done;
        let mut lines = LedgerLines::new(&file.file, done, file.size);
        while at - done < most {
            let begun = at;
            match lines.next()? {
                None => break,
                Some(RecordLine::TooLong(bytes)) => {
                    at += bytes;
                    self.damaged += 1;
                }
                Some(RecordLine::Whole(line)) => {
                    at += line.len() as u64 + 1;
                    if !line.is_empty() {
                        self.add(place(file.month, begun), &line)
                            .map_err(store::failed)?;
                    }
                }
            }
        }
        self.close(file, at, damaged)?;
        Ok(at - done)
    }

    /// A line at a place.
    fn add(&mut self, place: i64, line: &[u8]) -> rusqlite::Result<()> {
        let Some(record) = Record::from_line(line) else {
            self.damaged += 1;
            return Ok(());
        };
        let owner = self.number(&record.owner)?;
        let session = record.session.as_deref();
        let session = session.map(|name| self.number(name)).transpose()?;
        let outcome = super::search::word_of(record.outcome);
        self.transaction
            .prepare_cached("INSERT INTO calls VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute(rusqlite::params![
                place,
                record.id.to_ascii_uppercase(),
                record.time.as_millisecond(),
                owner,
                session,
                outcome,
                record.failed(),
                record.wall_ms.cast_signed(),
                record.output_bytes.cast_signed(),
            ])?;
        self.transaction
            .prepare_cached("INSERT INTO texts(rowid, command) VALUES (?1, ?2)")?
            .execute((place, &record.command))?;
        let sum = CallSum::of(&record, (self.window)(&record.profile));
        let key = self.names.key(&record);
        self.sums.entry(key).or_default().add(sum);
        Ok(())
    }

    /// The number of a name.
    fn number(&mut self, name: &str) -> rusqlite::Result<i64> {
        if let Some(number) = self.ids.get(name) {
            return Ok(*number);
        }
        self.transaction
            .prepare_cached("INSERT INTO names(name) VALUES (?1) ON CONFLICT DO NOTHING")?
            .execute([name])?;
        let number = self
            .transaction
            .prepare_cached("SELECT id FROM names WHERE name = ?1")?
            .query_row([name], |row| row.get(0))?;
        self.ids.insert(name.to_owned(), number);
        Ok(number)
    }

    /// Notes how far it came.
    fn close(&mut self, file: &MonthFile, done: u64, damaged: u64) -> io::Result<()> {
        let month = file.month.number();
        for (key, sum) in std::mem::take(&mut self.sums) {
            self.sum(month, &key, sum).map_err(store::failed)?;
        }
        let damaged = damaged + self.damaged;
        let tail = tail(&file.file, done)?;
        let noted = self.transaction.execute(
            "INSERT OR REPLACE INTO months VALUES (?1, ?2, ?3, ?4, ?5)",
            rusqlite::params![
                month,
                file.inode.cast_signed(),
                done.cast_signed(),
                tail,
                damaged.cast_signed()
            ],
        );
        noted.map(drop).map_err(store::failed)
    }

    fn sum(&mut self, month: i64, key: &SumKey, sum: CallSum) -> rusqlite::Result<()> {
        let (owner, command) = (self.number(&key.owner)?, self.number(&key.command)?);
        self.transaction
            .prepare_cached(
                "INSERT INTO sums VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO UPDATE
                 SET calls = calls + excluded.calls, failed = failed + excluded.failed,
                 wall = wall + excluded.wall, bytes = bytes + excluded.bytes,
                 saved = saved + excluded.saved",
            )?
            .execute(rusqlite::params![
                month,
                key.hour,
                owner,
                command,
                sum.calls.cast_signed(),
                sum.failed.cast_signed(),
                sum.wall_ms.cast_signed(),
                sum.output_bytes.cast_signed(),
                sum.saved_bytes,
            ])?;
        Ok(())
    }
}

/// The whole lines of a file, from a place to its end.
struct LedgerLines<'a> {
    reader: BufReader<LedgerPart<'a>>,
}

/// A line, without its newline.
enum RecordLine {
    Whole(Vec<u8>),
    /// So many bytes, with its newline.
    TooLong(u64),
}

impl<'a> LedgerLines<'a> {
    fn new(file: &'a File, at: u64, end: u64) -> Self {
        let part = LedgerPart { file, at, end };
        Self {
            reader: BufReader::with_capacity(1 << 18, part),
        }
    }

    /// The next line; `None` at the end, or if the rest is not a whole line yet.
    fn next(&mut self) -> io::Result<Option<RecordLine>> {
        let mut line = Vec::new();
        let mut skipped = 0;
        loop {
            let count = (&mut self.reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)?;
            if count == 0 {
                return Ok(None);
            }
            if line.last() == Some(&b'\n') {
                line.pop();
                let is_whole = skipped == 0;
                let bytes = skipped + line.len() as u64 + 1;
                return Ok(Some(if is_whole {
                    RecordLine::Whole(line)
                } else {
                    RecordLine::TooLong(bytes)
                }));
            }
            if (count as u64) < LONGEST_LINE {
                return Ok(None);
            }
            skipped += line.len() as u64;
            line.clear();
        }
    }
}

/// A part of a file, read without moving its place.
struct LedgerPart<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for LedgerPart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = (self.end.saturating_sub(self.at)).min(buffer.len() as u64) as usize;
        let count = self
            .file
            .read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// The record at a place.
pub(super) fn record_at(files: &mut OpenMonths<'_>, place: i64) -> Option<Record> {
    let (month, offset) = parts_of(place);
    let file = files.get(month)?;
    let mut line = Vec::new();
    let size = file.metadata().ok()?.len();
    let part = LedgerPart {
        file,
        at: offset,
        end: size,
    };
    BufReader::with_capacity(2048, part)
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .ok()?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Record::from_line(&line)
}

/// Month files that were opened to read what was found.
#[derive(Debug)]
pub(super) struct OpenMonths<'a> {
    directory: &'a Path,
    files: BTreeMap<i64, Option<File>>,
}

impl<'a> OpenMonths<'a> {
    pub(super) fn of(directory: &'a Path) -> Self {
        Self {
            directory,
            files: BTreeMap::new(),
        }
    }

    fn get(&mut self, month: i64) -> Option<&File> {
        let directory = self.directory;
        let file = self.files.entry(month).or_insert_with(|| {
            let path = directory.join(Month::of_number(month)?.file_name());
            File::open(path).ok()
        });
        file.as_ref()
    }
}
