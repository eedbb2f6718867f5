//! The database: its tables, its version, and its end.

use crate::appending;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Raised when a table, or what is in it, changes.
pub(super) const VERSION: i64 = 2;

/// Its file, beside the ledger's.
const FILE: &str = "index.db";

/// How long another process may hold the database.
const PATIENCE: Duration = Duration::from_secs(10);

/// Places are month and offset (`super::place`); times are milliseconds since 1970. The texts are
/// not stored, only where their parts of three letters are.
const TABLES: &str = "
CREATE TABLE months(month INTEGER PRIMARY KEY, inode INTEGER NOT NULL, done INTEGER NOT NULL,
  tail BLOB NOT NULL, damaged INTEGER NOT NULL);
CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE calls(at INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL,
  owner INTEGER NOT NULL, session INTEGER, outcome TEXT NOT NULL, failed INTEGER NOT NULL,
  wall INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE INDEX calls_by_id ON calls(id);
CREATE TABLE sums(month INTEGER NOT NULL, hour INTEGER NOT NULL, owner INTEGER NOT NULL,
  command INTEGER NOT NULL, calls INTEGER NOT NULL, failed INTEGER NOT NULL, wall INTEGER NOT NULL,
  bytes INTEGER NOT NULL, saved INTEGER NOT NULL,
  PRIMARY KEY(month, hour, owner, command)) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(command, content='', contentless_delete=1, tokenize='trigram');
";

/// Opens the index of a directory; one that can't be used is removed first.
pub(super) fn open(directory: &Path) -> io::Result<Connection> {
    let path = directory.join(FILE);
    match try_open(&path) {
        Ok(connection) => Ok(connection),
        Err(error) if is_unusable(&error) => {
            remove(&path)?;
            try_open(&path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

fn try_open(path: &Path) -> rusqlite::Result<Connection> {
    // It has the mode of the ledger's files, and SQLite gives its other files the same.
    appending::open(path).map_err(|error| Error::ToSqlConversionFailure(error.into()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    // A search reads no more than it finds; filling likes some room.
    connection.pragma_update(None, "cache_size", -16_384)?;
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    if version(&connection)? == 0 {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have made them meanwhile.
        if version(&connection)? == 0 {
            connection.execute_batch(TABLES)?;
            connection.pragma_update(None, "user_version", VERSION)?;
        }
        connection.execute_batch("COMMIT")?;
    }
    if version(&connection)? != VERSION {
        return Err(Error::InvalidQuery);
    }
    Ok(connection)
}

/// Whether making it again helps.
pub(super) fn is_unusable(error: &Error) -> bool {
    match error {
        Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown
        ),
        // Another version, or tables that are not ours.
        Error::InvalidQuery => true,
        _ => false,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    for name in names(path) {
        match fs::remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The database's files.
fn names(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        name.into()
    })
}

/// Which file the index of a directory is.
pub(super) fn inode(directory: &Path) -> io::Result<u64> {
    Ok(fs::metadata(directory.join(FILE))?.ino())
}

/// As every failure is told here.
pub(super) fn failed(error: Error) -> io::Error {
    match error {
        Error::ToSqlConversionFailure(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(format!("the index of the ledger: {error}")),
    }
}
