//! Options as programs read them: clusters of letters, abbreviated long names.

use crate::script::Word;

/// Whether a word is a cluster of short options (`-rf`) with one of these letters in it.
///
/// `values` are letters that take a value: what follows them in the cluster is not letters.
pub(super) fn has_short(word: &Word, letters: &str, values: &str) -> bool {
    let text = word.known_beginning();
    let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    let cluster = cluster.chars();
    let mut until_value = cluster.take_while(|letter| !values.contains(*letter));
    until_value.any(|letter| letters.contains(letter))
}

/// Whether a word is a long option (`--recursive`), or a sufficient prefix of it.
///
/// `least` is the number of letters that distinguish it from the program's other options. A value
/// (`=…`) makes it another word: none of the options in question takes one.
pub(super) fn is_long(word: &Word, name: &str, least: usize) -> bool {
    let given = word.known().and_then(|text| text.strip_prefix("--"));
    given.is_some_and(|given| given.len() >= least && name.starts_with(given))
}

/// The words that are not options: everything after `--`, and before it what has no dash.
pub(super) fn operands(words: &[Word]) -> impl Iterator<Item = &Word> {
    let end = words.iter().position(|word| word.is("--"));
    words.iter().enumerate().filter_map(move |(index, word)| {
        let is_after = end.is_some_and(|end| index > end);
        let is_option = word.known_beginning().starts_with('-') && !word.is("-");
        (is_after || !is_option).then_some(word)
    })
}

/// Whether an option is on, where the last of it and its negation counts.
pub(super) fn last_of(
    words: &[Word],
    is_on: impl Fn(&Word) -> bool,
    is_off: impl Fn(&Word) -> bool,
) -> bool {
    let last = words.iter().rev().find(|word| is_on(word) || is_off(word));
    last.is_some_and(is_on)
}
