//! The one lossy decoding: bytes to text, the same however the bytes arrive.
//!
//! The result equals [`String::from_utf8_lossy`] on the whole: every maximal invalid part becomes
//! one U+FFFD. This file adds that bytes may come in pieces ([`Decoder`]), and that a cut by
//! decoded length knows how many raw bytes it took (`prefix`, `suffix`).

use std::borrow::Cow;

/// Replaces an invalid part: three bytes, never shorter than what it replaces.
const REPLACEMENT: &str = "\u{FFFD}";

/// Decodes a stream piece by piece.
///
/// Between two pieces it holds back at most three bytes of an incomplete character.
#[derive(Debug, Default, Clone)]
pub struct Decoder {
    held: Vec<u8>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the text that is certain so far.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let pending: Cow<'_, [u8]> = if self.held.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            Cow::Owned(joined)
        };
        let (certain, incomplete) = split_incomplete(&pending);
        self.held = incomplete.to_vec();
        decode(certain)
    }

    /// Bytes at the end that may still become a character.
    pub fn held_back(&self) -> usize {
        self.held.len()
    }

    /// Ends the stream; what was held back will never be a character.
    pub fn finish(&mut self) -> String {
        decode(&std::mem::take(&mut self.held))
    }
}

/// Decodes bytes that are complete.
pub fn decode(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The unfinished last line, or the last finished one if there is none.
pub fn last_line(bytes: &[u8]) -> String {
    let unfinished = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let from = memchr::memrchr(b'\n', unfinished).map_or(0, |newline| newline + 1);
    let line = decode(unfinished.get(from..).unwrap_or_default());
    line.trim_end_matches('\r').to_owned()
}

/// Length of the decoded text in bytes, without creating it.
pub fn decoded_len(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().len() + replacement_of(chunk.invalid()).len())
        .sum()
}

/// Splits off the start of a character at the end, which later bytes could still complete.
pub fn split_incomplete(bytes: &[u8]) -> (&[u8], &[u8]) {
    // Only the last three bytes can begin an incomplete character.
    let from = bytes.len().saturating_sub(3);
    let start = (from..bytes.len()).find(|&at| {
        let end = bytes.get(at..).unwrap_or_default();
        std::str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    });
    bytes.split_at(start.unwrap_or(bytes.len()))
}

/// Whether a byte can only be the continuation of a character that began before it.
pub fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// A part of a byte slice as text, and how many raw bytes it came from.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DecodedPart {
    /// The text.
    pub text: String,
    /// How many bytes of the slice became it.
    pub raw: usize,
}

/// The longest prefix of `bytes` whose text has at most `limit` bytes.
pub fn prefix(bytes: &[u8], limit: usize) -> DecodedPart {
    let mut cut = DecodedPart::default();
    for chunk in bytes.utf8_chunks() {
        let room = limit - cut.text.len();
        let fitting = chunk.valid().floor_char_boundary(room);
        cut.text
            .push_str(chunk.valid().get(..fitting).unwrap_or_default());
        cut.raw += fitting;
        let replacement = replacement_of(chunk.invalid());
        if fitting < chunk.valid().len() || cut.text.len() + replacement.len() > limit {
            break;
        }
        cut.text.push_str(replacement);
        cut.raw += chunk.invalid().len();
    }
    cut
}

/// The longest suffix of `bytes` whose text has at most `limit` bytes.
///
/// `bytes` must begin at a character, or be more than `limit`. Then what is left of a character
/// that began before them is never in the result: it is at most three bytes, each decodes to three,
/// and so the first of them that could fit is the one behind. From there on the characters are
/// where they are in the whole stream.
pub fn suffix(bytes: &[u8], limit: usize) -> DecodedPart {
    let mut at = 0;
    let mut length = decoded_len(bytes);
    'chunks: for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if length <= limit {
                break 'chunks;
            }
            at += character.len_utf8();
            length -= character.len_utf8();
        }
        if length <= limit {
            break;
        }
        at += chunk.invalid().len();
        length -= replacement_of(chunk.invalid()).len();
    }
    let shown = bytes.get(at..).unwrap_or_default();
    DecodedPart {
        text: decode(shown),
        raw: shown.len(),
    }
}

fn replacement_of(invalid: &[u8]) -> &'static str {
    if invalid.is_empty() { "" } else { REPLACEMENT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that are mostly edge cases: pieces of characters, ASCII, plain garbage.
    fn awkward_bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just("é".as_bytes().to_vec()),
            Just("€".as_bytes().to_vec()),
            Just("😀".as_bytes().to_vec()),
            Just(vec![0xE2, 0x82]),
            Just(vec![0xF0, 0x9F, 0x98]),
            Just(vec![0xED, 0xA0, 0x80]),
            Just(b"a\n".to_vec()),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_chunking_decodes_like_the_whole(bytes in awkward_bytes(), size in 1_usize..6) {
            let mut decoder = Decoder::new();
            let mut text = String::new();
            for piece in bytes.chunks(size) {
                text.push_str(&decoder.push(piece));
                prop_assert!(decoder.held.len() <= 3);
            }
            text.push_str(&decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
        }

        #[test]
        fn decoding_never_shortens(bytes in awkward_bytes()) {
            prop_assert_eq!(decoded_len(&bytes), decode(&bytes).len());
            prop_assert!(decoded_len(&bytes) >= bytes.len());
        }

        #[test]
        fn prefix_and_rest_are_the_whole(bytes in awkward_bytes(), limit in 0_usize..40) {
            let cut = prefix(&bytes, limit);
            prop_assert!(cut.text.len() <= limit);
            let rest = decode(&bytes[cut.raw..]);
            prop_assert_eq!(cut.text.clone() + &rest, decode(&bytes));
            if let Some(next) = rest.chars().next() {
                prop_assert!(cut.text.len() + next.len_utf8() > limit, "not the longest");
            }
        }

        #[test]
        fn suffix_from_anywhere_is_an_end_of_the_whole(
            bytes in awkward_bytes(), limit in 0_usize..40, more in 1_usize..9,
        ) {
            let cut = suffix(&bytes, limit);
            prop_assert!(cut.text.len() <= limit);
            let (before, shown) = bytes.split_at(bytes.len() - cut.raw);
            prop_assert_eq!(&cut.text, &decode(shown));
            prop_assert_eq!(decode(before) + &cut.text, decode(&bytes));
            if let Some(previous) = decode(before).chars().last() {
                prop_assert!(cut.text.len() + previous.len_utf8() > limit, "not the longest");
            }
            // Likewise when only the end is known.
            let known = bytes.len().saturating_sub(limit + more);
            prop_assert_eq!(suffix(&bytes[known..], limit), cut);
        }
    }

    #[test]
    fn a_split_character_arrives_whole() {
        let mut decoder = Decoder::new();
        assert_eq!(decoder.push(&[b'a', 0xE2, 0x82]), "a");
        assert_eq!(decoder.push(&[0xAC, b'b']), "€b");
        assert_eq!(decoder.push(&[0xF0, 0x9F]), "");
        assert_eq!(decoder.finish(), "\u{FFFD}");
        assert_eq!(decoder.finish(), "");
    }
}
