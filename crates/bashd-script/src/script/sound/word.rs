//! Words: plain text, quotes, escapes, expansions.

use super::super::byte_set::{ByteSet, SPECIAL_IN_QUOTES};
use super::expansion::Around;
use super::{MaybeRead, SoundnessCheck, WORD_ENDS};

/// What has no meaning in an unquoted word, except as its first letter.
static PLAIN: ByteSet = ByteSet::of(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+,:@%^~=*?]{}!#\
    \x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8A\x8B\x8C\x8D\x8E\x8F\
    \x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9A\x9B\x9C\x9D\x9E\x9F\
    \xA0\xA1\xA2\xA3\xA4\xA5\xA6\xA7\xA8\xA9\xAA\xAB\xAC\xAD\xAE\xAF\
    \xB0\xB1\xB2\xB3\xB4\xB5\xB6\xB7\xB8\xB9\xBA\xBB\xBC\xBD\xBE\xBF\
    \xC0\xC1\xC2\xC3\xC4\xC5\xC6\xC7\xC8\xC9\xCA\xCB\xCC\xCD\xCE\xCF\
    \xD0\xD1\xD2\xD3\xD4\xD5\xD6\xD7\xD8\xD9\xDA\xDB\xDC\xDD\xDE\xDF\
    \xE0\xE1\xE2\xE3\xE4\xE5\xE6\xE7\xE8\xE9\xEA\xEB\xEC\xED\xEE\xEF\
    \xF0\xF1\xF2\xF3\xF4\xF5\xF6\xF7\xF8\xF9\xFA\xFB\xFC\xFD\xFE\xFF",
);

/// What may appear in an index or a set of letters.
static IN_BRACKETS: ByteSet =
    ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-+,:@%^~=*?!");

impl SoundnessCheck<'_> {
    /// Reads a word, up to what ends it.
    pub(super) fn word(&mut self) -> MaybeRead {
        if self.peek()? == b'#' {
            return None;
        }
        self.word_since(self.at)
    }

    /// Reads the rest of a word that began there.
    pub(super) fn word_since(&mut self, start: usize) -> MaybeRead {
        loop {
            self.at += PLAIN.run_in(self.rest());
            match self.peek() {
                Some(b'\'') => self.single_quotes()?,
                Some(b'"') => self.double_quotes()?,
                Some(b'$') => self.dollar(Around::Word)?,
                Some(b'\\') => self.escape()?,
                Some(b'[') if self.at == start => self.at += 1,
                Some(b'[') => self.subscript()?,
                Some(b'<' | b'>') if self.byte(1) == Some(b'(') => {
                    if self.at > start {
                        return None;
                    }
                    self.at += 2;
                    self.substitution()?;
                }
                // It might be a number or a name for what is redirected.
                Some(b'<' | b'>') if self.could_be_redirected(start) => return None,
                Some(byte) if !WORD_ENDS.contains(byte) => return None,
                _ => break,
            }
        }
        (self.at > start).then_some(())
    }

    fn could_be_redirected(&self, start: usize) -> bool {
        let first = self.text.get(start);
        first.is_some_and(|first| *first == b'{' || first.is_ascii_digit())
    }

    /// Whether the word since there could be an assignment.
    pub(super) fn could_assign(&self, start: usize) -> bool {
        let word = self.text.get(start..self.at).unwrap_or_default();
        let is_name = |byte: &u8| *byte == b'_' || byte.is_ascii_alphabetic();
        word.first().is_some_and(is_name) && word.contains(&b'=')
    }

    /// `[…]`: after a name, bash reads it to its end, whatever is in it.
    pub(super) fn subscript(&mut self) -> MaybeRead {
        self.at += 1;
        loop {
            self.at += IN_BRACKETS.run_in(self.rest());
            match self.peek()? {
                b']' => break,
                b'$' => self.dollar(Around::Braces)?,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    /// A backslash, and what it escapes.
    pub(super) fn escape(&mut self) -> MaybeRead {
        let escaped = self.byte(1)?;
        self.at += 2;
        (escaped == b' ' || escaped.is_ascii_graphic()).then_some(())
    }

    fn single_quotes(&mut self) -> MaybeRead {
        let inner = self.text.get(self.at + 1..)?;
        self.at += 2 + memchr::memchr(b'\'', inner)?;
        Some(())
    }

    fn double_quotes(&mut self) -> MaybeRead {
        self.at += 1;
        loop {
            self.at += SPECIAL_IN_QUOTES.first_in(self.rest());
            match self.peek()? {
                b'"' => break,
                b'$' => self.dollar(Around::Quotes)?,
                b'\\' => {
                    self.byte(1)?;
                    self.at += 2;
                }
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }
}
