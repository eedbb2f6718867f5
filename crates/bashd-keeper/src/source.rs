//! Streams that are read by absolute offset, whatever was dropped from them.

/// Where bytes are read by absolute offset: a spool, or several one after the other.
///
/// Offsets are those of the original stream, whatever was dropped from it meanwhile.
pub trait Source {
    /// Bytes the stream had so far, kept or not.
    fn len(&self) -> u64;

    /// Newlines the stream had so far, kept or not.
    fn lines(&self) -> u64;

    /// Reads what is kept of `range`, in order; missing bytes are reported as a gap, never as
    /// zeros.
    fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Vec<StreamPiece>>;

    /// The part of `range` that is between streams, and that no command wrote.
    fn between(&self, _range: std::ops::Range<u64>) -> Omitted {
        Omitted::default()
    }

    /// Offset at which the line with this number (from 0) begins, if it is still there.
    fn offset_of_line(&self, line: u64) -> std::io::Result<Option<u64>> {
        scan_for_line(self, line)
    }

    /// Whether there is something behind the last newline.
    fn has_open_end(&self) -> std::io::Result<bool> {
        let length = self.len();
        let last = self.read(length.saturating_sub(1)..length)?.pop();
        Ok(match last {
            Some(StreamPiece::Kept(byte)) => byte != b"\n",
            Some(StreamPiece::Dropped(_) | StreamPiece::Replaced { .. }) => true,
            None => false,
        })
    }

    /// Whether the stream had no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Looks for the start of a line from the start of the stream.
fn scan_for_line<S: Source + ?Sized>(source: &S, line: u64) -> std::io::Result<Option<u64>> {
    const STEP: u64 = 1024 * 1024;
    let (mut offset, mut seen) = (0, 0);
    while seen < line && offset < source.len() {
        for piece in source.read(offset..(offset + STEP).min(source.len()))? {
            let bytes = match piece {
                StreamPiece::Kept(bytes) => bytes,
                StreamPiece::Replaced { bytes, .. } => {
                    offset += bytes;
                    continue;
                }
                StreamPiece::Dropped(_) => return Ok(None),
            };
            for newline in memchr::memchr_iter(b'\n', &bytes) {
                seen += 1;
                if seen == line {
                    return Ok(Some(offset + newline as u64 + 1));
                }
            }
            offset += bytes.len() as u64;
        }
    }
    Ok((line == 0).then_some(0))
}

/// A part of a stream that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamPiece {
    /// Bytes that are still there.
    Kept(Vec<u8>),
    /// This many bytes were dropped here.
    Dropped(u64),
    /// These are there and must not be shown. No line break is among them.
    Replaced {
        /// How many they are.
        bytes: u64,
        /// What is shown instead; nothing, if they go on with what an earlier piece stands for.
        by: String,
    },
}

impl StreamPiece {
    /// Bytes of the stream that it stands for.
    pub fn span(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::Dropped(bytes) | Self::Replaced { bytes, .. } => *bytes,
        }
    }

    /// What is shown of it; `None` if it was dropped.
    pub fn shown(self) -> Option<Vec<u8>> {
        match self {
            Self::Kept(bytes) => Some(bytes),
            Self::Replaced { by, .. } => Some(by.into_bytes()),
            Self::Dropped(_) => None,
        }
    }
}

/// What a window left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Bytes of the original stream that are not in the text.
    pub bytes: u64,
    /// Newlines of the original stream that are not in the text.
    pub lines: u64,
}
