//! What the limits of a window count: bytes, characters, or the units of UTF-16 in which
//! JavaScript counts.

use super::Source;
use serde::Deserialize;
use std::io;
use std::ops::Range;

/// Bytes that are read at once to count them.
const STEP: u64 = 1024 * 1024;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextUnit {
    /// Bytes of UTF-8.
    #[default]
    Bytes,
    /// Characters, as Python counts them.
    Characters,
    /// Units of UTF-16, as JavaScript counts them: a character beyond the first 65,536 is two.
    Utf16,
}

impl TextUnit {
    /// How many a character counts.
    fn of(self, character: char) -> usize {
        match self {
            Self::Bytes => character.len_utf8(),
            Self::Characters => 1,
            Self::Utf16 => character.len_utf16(),
        }
    }

    /// How many a text has.
    pub(super) fn count(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Characters | Self::Utf16 => {
                text.chars().map(|character| self.of(character)).sum()
            }
        }
    }

    /// Bytes that this many units take at most.
    pub(super) fn most_bytes(self, units: usize) -> usize {
        match self {
            Self::Bytes => units,
            Self::Characters | Self::Utf16 => units.saturating_mul(4),
        }
    }

    /// Bytes of the longest start of a text that has at most this many units.
    pub(super) fn start(self, text: &str, units: usize) -> usize {
        self.bytes_of(text.chars(), units)
    }

    /// Bytes of the longest end of a text that has at most this many units.
    pub(super) fn end(self, text: &str, units: usize) -> usize {
        self.bytes_of(text.chars().rev(), units)
    }

    fn bytes_of(self, characters: impl Iterator<Item = char>, units: usize) -> usize {
        let (mut room, mut bytes) = (units, 0);
        for character in characters {
            let Some(left) = room.checked_sub(self.of(character)) else {
                break;
            };
            (room, bytes) = (left, bytes + character.len_utf8());
        }
        bytes
    }

    /// How many a part of a stream has, as far as it is there; what is no text counts by its bytes.
    pub(super) fn in_stream(self, source: &dyn Source, range: Range<u64>) -> io::Result<u64> {
        if self == Self::Bytes {
            return Ok(range.end.saturating_sub(range.start));
        }
        let (mut count, mut at) = (0, range.start);
        while at < range.end {
            let upto = range.end.min(at + STEP);
            for piece in source.read(at..upto)? {
                if let Some(bytes) = piece.shown() {
                    let units = bytes.iter().map(|byte| self.begun_by(*byte));
                    count += units.sum::<u64>();
                }
            }
            at = upto;
        }
        Ok(count)
    }

    /// The units of the character that a byte begins.
    fn begun_by(self, byte: u8) -> u64 {
        match byte {
            0x80..=0xbf => 0,
            0xf0.. if self == Self::Utf16 => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::in_memory::InMemory;

    #[test]
    fn the_same_text_has_three_lengths() {
        let text = "aä日🙂";
        let units = [TextUnit::Bytes, TextUnit::Characters, TextUnit::Utf16];
        assert_eq!(units.map(|unit| unit.count(text)), [10, 4, 5]);
        let in_stream = units.map(|unit| unit.in_stream(&InMemory(text), 0..10).unwrap());
        assert_eq!(in_stream, [10, 4, 5]);
    }

    #[test]
    fn a_cut_never_falls_into_a_character() {
        let text = "🙂ä🙂";
        assert_eq!(TextUnit::Characters.start(text, 2), 6);
        assert_eq!(TextUnit::Utf16.start(text, 2), 4);
        assert_eq!(TextUnit::Utf16.start(text, 1), 0);
        assert_eq!(TextUnit::Utf16.end(text, 3), 6);
        assert_eq!(TextUnit::Bytes.end(text, 5), 4);
    }
}
