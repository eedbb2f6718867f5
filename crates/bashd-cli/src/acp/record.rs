//! What is written down of a session, so that another bashd process can go on with it: its
//! directory, and what was said in it. The shell itself ends with its process.
//!
//! A record is a file of lines below the state directory's `acp`, for its user alone: one line a
//! turn, each complete in itself. Secrets are left out as in the ledger. A failure to write never
//! fails a turn: then the session can't be loaded elsewhere.

use crate::look_room::LookRoom;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionId, SessionUpdate, ToolCall, ToolCallStatus, ToolKind,
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many sessions are written down; those that were used longest ago are forgotten.
pub(super) const MOST_RECORDS: usize = 200;

/// The most bytes of a record; beyond, the older half of its turns is forgotten.
const MOST_BYTES: u64 = 1024 * 1024;

/// The most bytes of a command, and of a reply.
const MOST_TEXT: usize = 32 * 1024;

/// What every id begins with.
const PREFIX: &str = "session-";

/// Bytes of randomness in an id.
const RANDOM_BYTES: usize = 10;

/// An id that no other session has, of whichever process.
pub(super) fn new_id() -> SessionId {
    let mut bytes = [0; RANDOM_BYTES];
    // Without a random source, sessions can still be told apart within this process.
    let _ = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    let mut id = PREFIX.to_owned();
    for byte in bytes {
        let _ = write!(id, "{byte:02x}");
    }
    SessionId::new(id)
}

/// One turn, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedTurn {
    /// The directory of the session.
    pub(super) cwd: PathBuf,
    /// Where its shell was afterwards, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<PathBuf>,
    pub(super) command: String,
    /// The reply's text.
    pub(super) text: String,
    pub(super) has_failed: bool,
}

impl RecordedTurn {
    /// The turn with texts that are not too long.
    pub(super) fn bounded(mut self) -> Self {
        for text in [&mut self.command, &mut self.text] {
            if text.len() > MOST_TEXT {
                text.truncate(text.floor_char_boundary(MOST_TEXT));
                text.push('…');
            }
        }
        self
    }

    /// What the client is told of it again; `number` is its place.
    pub(super) fn updates(&self, number: usize) -> [SessionUpdate; 3] {
        let chunk = |text: &str| ContentChunk::new(ContentBlock::from(text.to_owned()));
        let status = if self.has_failed {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        };
        let id = format!("earlier-{number}");
        let call = ToolCall::new(id, super::prompt::title(&self.command))
            .kind(ToolKind::Execute)
            .status(status)
            .raw_input(json!({ "command": self.command }))
            .content(vec![self.text.clone().into()]);
        [
            SessionUpdate::UserMessageChunk(chunk(&self.command)),
            SessionUpdate::ToolCall(call),
            SessionUpdate::AgentMessageChunk(chunk(&self.text)),
        ]
    }
}

/// All records of a state directory.
#[derive(Debug, Clone)]
pub(super) struct SessionRecords {
    directory: PathBuf,
}

/// Who reads and writes them: what does not answer costs the session that wants it, and no other.
static RECORDS: LookRoom = LookRoom::of(4);

impl SessionRecords {
    pub(super) fn below(state: &Path) -> Self {
        Self {
            directory: state.join("acp"),
        }
    }

    /// The turns of a session; `None` if nothing is written down of it, or it can't be read for a
    /// while.
    pub(super) async fn turns(&self, id: &SessionId) -> Option<Vec<RecordedTurn>> {
        let (records, id) = (self.clone(), id.clone());
        RECORDS.look(move || records.read(&id)).await?
    }

    /// Writes a turn down, if that can be done for now: what can't be written can't be loaded
    /// elsewhere, and the load says so.
    pub(super) async fn add(&self, id: &SessionId, turn: RecordedTurn) {
        let (records, id) = (self.clone(), id.clone());
        RECORDS.look(move || records.append(&id, &turn)).await;
    }

    fn read(&self, id: &SessionId) -> Option<Vec<RecordedTurn>> {
        let mut text = Vec::new();
        let mut open = opened(OpenOptions::new().read(true), &self.file(id)?).ok()?;
        open.read_to_end(&mut text).ok()?;
        let lines = text.split(|byte| *byte == b'\n');
        // What is torn is skipped: a process may be killed while it writes.
        let turns = lines.filter_map(|line| serde_json::from_slice(line).ok());
        let turns: Vec<_> = turns.collect();
        (!turns.is_empty()).then_some(turns)
    }

    fn append(&self, id: &SessionId, turn: &RecordedTurn) -> io::Result<()> {
        let Some(file) = self.file(id) else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(turn)?;
        line.push(b'\n');
        let is_new = !file.exists();
        if is_new {
            let mut builder = DirBuilder::new();
            builder
                .recursive(true)
                .mode(0o700)
                .create(&self.directory)?;
        }
        let mut options = OpenOptions::new();
        let mut open = opened(options.append(true).create(true).mode(0o600), &file)?;
        open.write_all(&line)?;
        if open.metadata()?.len() > MOST_BYTES {
            shorten(&file)?;
        }
        if is_new {
            self.forget_the_oldest();
        }
        Ok(())
    }

    /// The file of a session, if this is an id of ours: it comes from the client.
    fn file(&self, id: &SessionId) -> Option<PathBuf> {
        let digits = id.0.strip_prefix(PREFIX)?;
        let is_ours =
            digits.len() == 2 * RANDOM_BYTES && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| self.directory.join(&*id.0))
    }

    fn forget_the_oldest(&self) {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let excess = files.len().saturating_sub(MOST_RECORDS);
        for (_, file) in files.iter().take(excess) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Opens a file of ours. Something else in its place, for which somebody may have to be waited, is
/// none.
fn opened(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let open = options.custom_flags(flags).open(file)?;
    if !open.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(open)
}

/// Forgets the older half of a record.
fn shorten(file: &Path) -> io::Result<()> {
    let text = fs::read(file)?;
    let half = text.len() / 2;
    let line_end = text.iter().skip(half).position(|byte| *byte == b'\n');
    let rest = text.get(half + line_end.map_or(0, |end| end + 1)..);
    let new = file.with_extension("new");
    let mut options = OpenOptions::new();
    let mut open = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    open.write_all(rest.unwrap_or_default())?;
    fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str) -> RecordedTurn {
        RecordedTurn {
            cwd: "/project".into(),
            directory: Some("/project/sub".into()),
            command: format!("echo {text}"),
            text: text.to_owned(),
            has_failed: false,
        }
    }

    #[test]
    fn what_was_written_is_read_and_what_is_torn_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let records = SessionRecords::below(place.path());
        let id = new_id();
        assert_eq!(records.read(&id), None);
        records.append(&id, &turn("one")).unwrap();
        let file = place.path().join("acp").join(&*id.0);
        let mut open = OpenOptions::new().append(true).open(&file).unwrap();
        open.write_all(b"{\"cwd\":\"/wo\n").unwrap();
        records.append(&id, &turn("two")).unwrap();
        assert_eq!(records.read(&id), Some(vec![turn("one"), turn("two")]));
    }

    #[test]
    fn records_are_bounded_in_size_and_number() {
        let place = tempfile::tempdir().unwrap();
        let records = SessionRecords::below(place.path());
        let id = new_id();
        let long = turn(&"x".repeat(100_000)).bounded();
        for _ in 0..100 {
            records.append(&id, &long).unwrap();
        }
        let file = place.path().join("acp").join(&*id.0);
        assert!(fs::metadata(file).unwrap().len() <= MOST_BYTES);
        assert!(records.read(&id).unwrap().iter().all(|turn| *turn == long));
        for _ in 0..MOST_RECORDS + 10 {
            records.append(&new_id(), &turn("x")).unwrap();
        }
        let count = fs::read_dir(place.path().join("acp")).unwrap().count();
        assert_eq!(count, MOST_RECORDS);
    }

    #[test]
    fn an_id_is_no_path() {
        let place = tempfile::tempdir().unwrap();
        let records = SessionRecords::below(place.path());
        fs::write(place.path().join("else"), "{}").unwrap();
        for id in ["session-../else", "../else", "session-", "session-1", ""] {
            let id = SessionId::new(id);
            assert_eq!(records.read(&id), None);
            records.append(&id, &turn("x")).unwrap();
        }
        assert!(!place.path().join("acp").exists());
    }

    #[tokio::test]
    async fn something_else_in_the_place_of_a_record_hangs_nobody() {
        let place = tempfile::tempdir().unwrap();
        let (records, id) = (SessionRecords::below(place.path()), new_id());
        fs::create_dir(place.path().join("acp")).unwrap();
        let fifo = records.file(&id).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
        let begun = std::time::Instant::now();
        assert_eq!(records.turns(&id).await, None);
        records.add(&id, turn("one")).await;
        // Of the room that there is, nothing is taken by those who wait for ever.
        assert!(begun.elapsed() < std::time::Duration::from_secs(1));
        let other = new_id();
        records.add(&other, turn("two")).await;
        assert_eq!(records.turns(&other).await, Some(vec![turn("two")]));
    }
}
