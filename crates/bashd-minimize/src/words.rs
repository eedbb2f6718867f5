//! Lists of words as strings: short to write and to read.

/// Whether a list has a word.
pub(super) fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}
