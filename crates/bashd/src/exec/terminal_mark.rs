//! How the shell of a terminal session says that a command has ended.
//!
//! It reports by the socket that it reads its commands from, where no command can write and nothing
//! is lost: the status, and where the shell is now. It also writes a mark to the terminal, which no
//! program can guess: what came before it is the command's output. A flood may push the mark out
//! of the spool; then the output ends where the report found it.

use super::reactor;
use crate::output::{Source, StreamPiece};
use bashd_keeper::quote::quote;
use bashd_keeper::spool::SpoolReader;
use rustix::io::Errno;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// How a mark begins: a terminal shows nothing of such a sequence.
const MARK: &str = "\u{1b}]bashd;";

/// How marks and reports end, and what is between the parts of a report.
const MARK_END: u8 = 0x07;
const SEPARATOR: u8 = 0x1f;

/// Bytes that are searched at once.
const STEP: u64 = 256 * 1024;

/// Pause before a full socket is tried again: the shell reads what it is sent.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// Bytes of reports that are held at most: a shell that writes more is not one of ours.
const MOST_HELD: usize = 64 * 1024;

/// A name for one command that nobody can guess.
pub(super) fn nonce() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

/// What of its commands a shell shows: its letters in `$-`. It is off between commands, so that
/// nothing that we have the shell do is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ShellTracing {
    /// `set -v`
    lines: bool,
    /// `set -x`
    commands: bool,
}

impl ShellTracing {
    fn of(flags: &str) -> Self {
        Self {
            lines: flags.contains('v'),
            commands: flags.contains('x'),
        }
    }

    /// The line that turns it on again.
    fn on(self) -> &'static str {
        match (self.lines, self.commands) {
            (false, false) => "",
            (true, false) => "\\builtin set -v\n",
            (false, true) => "\\builtin set -x\n",
            (true, true) => "\\builtin set -vx\n",
        }
    }
}

/// The lines by which the shell runs a command and reports.
pub(super) fn lines(text: &str, nonce: &str, tracing: ShellTracing) -> Vec<u8> {
    let mut lines = br"\builtin eval ".to_vec();
    quote(&mut lines, format!("{}{text}", tracing.on()).as_bytes());
    // On the line that the shell has read already: it shows those that it reads if the command
    // said so.
    lines.extend(br#" </dev/tty; { S7f="$? $-"; \builtin set +vx; } 2>/dev/null"#);
    // The last line is read even if the first was interrupted, and the empty one has the shell
    // forget an unfinished quote.
    lines.extend(b"\n\n");
    lines.extend(report_line(nonce).bytes());
    lines
}

/// The line by which the shell reports, and marks the end of the output. What traces it is not
/// shown.
fn report_line(nonce: &str) -> String {
    format!(
        "{{ \\builtin printf '%s;%s\\x1f%s\\x1f%s\\a' {nonce} \"${{S7f-$? $-}}\" \"$(\\builtin command -v python)\" \"${{PWD-}}\" >&0; \\builtin set +vx; \\builtin unset -v S7f; \\builtin printf '\\e]bashd;%s\\a' {nonce} >/dev/tty; }} 2>/dev/null\n"
    )
}

/// What the shell says of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToldReport {
    pub(super) status: i32,
    pub(super) tracing: ShellTracing,
    /// The program `python`, if there is one.
    pub(super) python: Option<String>,
    pub(super) directory: PathBuf,
}

impl ToldReport {
    /// Of a command whose report got lost.
    pub(super) fn unknown() -> Self {
        Self {
            status: -1,
            tracing: ShellTracing::default(),
            python: None,
            directory: PathBuf::new(),
        }
    }

    fn read(told: &[u8]) -> Self {
        let mut parts = told.splitn(3, |byte| *byte == SEPARATOR);
        let mut part = || parts.next().unwrap_or_default().to_vec();
        let status = String::from_utf8(part()).unwrap_or_default();
        let (status, flags) = status.split_once(' ').unwrap_or((&status, ""));
        let python = String::from_utf8(part()).ok();
        Self {
            status: status.parse().unwrap_or(-1),
            tracing: ShellTracing::of(flags),
            python: python.filter(|path| !path.is_empty()),
            directory: PathBuf::from(OsString::from_vec(part())),
        }
    }
}

/// Our end of the socket that the shell reads its commands from, and writes its reports to.
pub(super) struct ScriptSocket {
    socket: AsyncFd<OwnedFd>,
    held: Vec<u8>,
    is_open: bool,
}

impl ScriptSocket {
    /// Watches a socket; needs a running runtime.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            socket: reactor::register(socket)?,
            held: Vec::new(),
            is_open: true,
        })
    }

    /// Has the shell read these lines.
    pub(super) async fn say(&self, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            match rustix::io::write(self.socket.get_ref(), lines) {
                Ok(count) => lines = lines.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => tokio::time::sleep(FULL_PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Resolves when there is something to read; never, once the shell is gone.
    pub(super) async fn heard(&self) {
        let is_watched = self.is_open && self.socket.readable().await.is_ok();
        if !is_watched {
            std::future::pending::<()>().await;
        }
    }

    /// The report on the command of this name, if it is there.
    pub(super) fn report(&mut self, nonce: &str) -> Option<ToldReport> {
        self.read();
        let begin = format!("{nonce};").into_bytes();
        let at = memchr::memmem::find(&self.held, &begin)?;
        let told = self.held.get(at + begin.len()..)?;
        let length = memchr::memchr(MARK_END, told)?;
        let report = ToldReport::read(told.get(..length)?);
        self.held.clear();
        Some(report)
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        while self.is_open {
            match rustix::io::read(self.socket.get_ref(), &mut bytes) {
                Ok(0) => self.is_open = false,
                Ok(count) if self.held.len() < MOST_HELD => {
                    self.held.extend(bytes.get(..count).unwrap_or_default());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.forget_readiness();
                    return;
                }
                Err(_) => self.is_open = false,
            }
        }
    }

    /// Nothing is there to read: only what comes from now on is news.
    fn forget_readiness(&self) {
        let nothing = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
        let _ = self
            .socket
            .try_io(tokio::io::Interest::READABLE, |_| nothing());
    }
}

/// The search for the mark of one command.
pub(super) struct MarkSearch {
    mark: Vec<u8>,
    /// Up to where it was searched for.
    searched: u64,
}

impl MarkSearch {
    pub(super) fn new(nonce: &str, from: u64) -> Self {
        let mut mark = format!("{MARK}{nonce}").into_bytes();
        mark.push(MARK_END);
        Self {
            mark,
            searched: from,
        }
    }

    /// Where the mark is, if it is there.
    pub(super) fn find(&mut self, spool: &SpoolReader) -> io::Result<Option<Range<u64>>> {
        let end = spool.readable_end();
        // A mark may begin at the end of what is there.
        let held_back = self.mark.len() as u64 - 1;
        while self.searched < end {
            let from = self.searched;
            let upto = end.min(from + STEP);
            let Some(bytes) = read_kept(spool, from..upto)? else {
                let ring = spool.places().ring.map(|ring| ring.holds.start);
                self.searched = upto.max(ring.unwrap_or(upto).min(end));
                continue;
            };
            if let Some(at) = memchr::memmem::find(&bytes, &self.mark) {
                let begins = from + at as u64;
                return Ok(Some(begins..begins + self.mark.len() as u64));
            }
            self.searched = from.max(upto.saturating_sub(held_back));
            if upto == end {
                break;
            }
        }
        Ok(None)
    }
}

/// The bytes of a part of a stream, with zeros for what is gone, so that offsets stay what they
/// are; nothing if all of it is gone.
fn read_kept(spool: &SpoolReader, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut is_kept = false;
    for piece in spool.read(range)? {
        match piece {
            StreamPiece::Kept(kept) => {
                is_kept |= !kept.is_empty();
                bytes.extend(kept);
            }
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                bytes.resize(bytes.len() + count as usize, 0);
            }
        }
    }
    Ok(Some(bytes).filter(|_| is_kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_part_by_part() {
        let report = ToldReport::read(b"130\x1f/usr/bin/python\x1f/a b");
        assert_eq!(report.status, 130);
        assert_eq!(report.python.as_deref(), Some("/usr/bin/python"));
        assert_eq!(report.directory, PathBuf::from("/a b"));
        let report = ToldReport::read(b"0\x1f\x1f/");
        assert_eq!((report.status, report.python), (0, None));
    }
}
