//! The lines of a file from the last to the first, in bounded memory.
//!
//! This finds the newest records at once in a ledger of any size.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes read at a time: many records, and still small.
const CHUNK: u64 = 64 << 10;

/// A line longer than this is not ours and is skipped, so that it costs no memory.
const MAX_LINE: usize = 16 << 20;

/// A line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LedgerLine {
    /// The bytes.
    Whole(Vec<u8>),
    /// More bytes than any record has.
    TooLong,
}

/// Lines from the last to the first; empty ones are left out.
#[derive(Debug)]
pub(super) struct ReverseLines {
    file: File,
    /// Everything from here on has been read.
    read_from: u64,
    /// Bytes that were read and not returned yet; they end where the last returned line began.
    pending: Vec<u8>,
    /// Whether the line being read is too long.
    too_long: bool,
}

impl ReverseLines {
    /// Lines of `file` as long as it is now; what is appended later is not seen.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let read_from = file.metadata()?.len();
        Ok(Self {
            file,
            read_from,
            pending: Vec::new(),
            too_long: false,
        })
    }

    /// The line before the last one given.
    pub(super) fn next_line(&mut self) -> io::Result<Option<LedgerLine>> {
        loop {
            if let Some(at) = memchr::memrchr(b'\n', &self.pending) {
                let line = self.pending.split_off(at + 1);
                self.pending.pop();
                if let Some(line) = self.finish(line) {
                    return Ok(Some(line));
                }
            } else if self.read_from == 0 {
                let line = std::mem::take(&mut self.pending);
                return Ok(self.finish(line));
            } else {
                self.read_more()?;
            }
        }
    }

    fn finish(&mut self, line: Vec<u8>) -> Option<LedgerLine> {
        if std::mem::take(&mut self.too_long) {
            Some(LedgerLine::TooLong)
        } else if line.is_empty() {
            None
        } else {
            Some(LedgerLine::Whole(line))
        }
    }

    /// Reads the chunk before the part already read, and puts it in front of what is pending.
    fn read_more(&mut self) -> io::Result<()> {
        if self.pending.len() > MAX_LINE {
            self.too_long = true;
            self.pending.clear();
        }
        // Long lines are read in ever larger steps, or moving them would take quadratic time.
        let step = CHUNK.max(self.pending.len() as u64).min(self.read_from);
        let start = self.read_from - step;
        let mut chunk = vec![0; step as usize];
        self.file.read_exact_at(&mut chunk, start)?;
        chunk.append(&mut self.pending);
        self.pending = chunk;
        self.read_from = start;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn reversed(bytes: &[u8]) -> Vec<LedgerLine> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = ReverseLines::new(file).unwrap();
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    fn expected(bytes: &[u8]) -> Vec<LedgerLine> {
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .rev()
            .filter(|line| !line.is_empty());
        lines.map(|line| LedgerLine::Whole(line.to_vec())).collect()
    }

    #[test]
    fn lines_longer_than_a_chunk_come_whole() {
        let mut bytes = vec![b'a'; 3 * CHUNK as usize + 7];
        bytes.extend_from_slice(b"\n\nb\n");
        bytes.extend(vec![b'c'; CHUNK as usize]);
        assert_eq!(reversed(&bytes), expected(&bytes));
    }

    #[test]
    fn a_line_without_end_costs_no_memory_and_hides_no_other() {
        let mut bytes = b"first\n".to_vec();
        bytes.resize(bytes.len() + 2 * MAX_LINE + 1, b'x');
        bytes.extend_from_slice(b"\nlast\n");
        let whole = |text: &str| LedgerLine::Whole(text.as_bytes().to_vec());
        assert_eq!(
            reversed(&bytes),
            [whole("last"), LedgerLine::TooLong, whole("first")]
        );
    }

    proptest! {
        #[test]
        fn lines_are_those_of_a_forward_reader(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), any::<u8>()], 0..400)) {
            prop_assert_eq!(reversed(&bytes), expected(&bytes));
        }
    }
}
