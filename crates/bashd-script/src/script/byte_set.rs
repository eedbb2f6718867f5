//! Sets of bytes, for loops that check every byte of a text against a few.

/// What has a meaning in double quotes.
pub(super) static SPECIAL_IN_QUOTES: ByteSet = ByteSet::of(b"\"\\$`");

/// What names of variables are made of.
pub(super) static NAME: ByteSet =
    ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

/// A set of bytes: a table lookup, where searching a list would be a call for each byte.
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    /// These bytes.
    pub(super) const fn of(bytes: &[u8]) -> Self {
        let mut set = [false; 256];
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            set[*byte as usize] = true;
            rest = after;
        }
        Self(set)
    }

    /// The bytes with which these words begin, and those of another set.
    pub(super) const fn starts_of(words: &[&str], others: &[u8]) -> Self {
        let Self(mut set) = Self::of(others);
        let mut rest = words;
        while let [word, after @ ..] = rest {
            if let [first, ..] = word.as_bytes() {
                set[*first as usize] = true;
            }
            rest = after;
        }
        Self(set)
    }

    /// Whether it is one of them.
    pub(super) const fn contains(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }

    /// How many leading bytes of a text are in the set.
    pub(super) fn run_in(&self, text: &[u8]) -> usize {
        let first = text.iter().position(|byte| !self.contains(*byte));
        first.unwrap_or(text.len())
    }

    /// Where the first of them is; the length of the text if there is none.
    pub(super) fn first_in(&self, text: &[u8]) -> usize {
        let first = text.iter().position(|byte| self.contains(*byte));
        first.unwrap_or(text.len())
    }
}
