//! Texts that code is searched for: most code has none of them, and that is answered in one go
//! through it, whatever their number.

use crate::script::{Beginnings, SimpleCommand, Word};

/// Texts of three letters or more.
pub(super) struct CodeParts {
    parts: &'static [&'static str],
    /// How they begin, and their second and third letters: two alone are in most code.
    beginnings: Beginnings,
    go_on: Beginnings,
}

impl CodeParts {
    pub(super) const fn new(parts: &'static [&'static str]) -> Self {
        let mut rest = parts;
        while let [part, after @ ..] = rest {
            // Fails the build: the search would pass over a shorter one.
            assert!(part.len() > 2, "a part of code needs three letters");
            rest = after;
        }
        Self {
            parts,
            beginnings: Beginnings::NONE.and(parts),
            go_on: Beginnings::NONE.and_after(1, parts),
        }
    }

    /// Whether one of them is in a code.
    pub(super) fn are_in(&self, code: &str) -> bool {
        let mut threes = code.as_bytes().array_windows().enumerate();
        threes.any(|(at, [first, second, third])| {
            self.beginnings.may_begin_with(*first, *second)
                && self.go_on.may_begin_with(*second, *third)
                && code.get(at..).is_some_and(|rest| self.begin(rest))
        })
    }

    fn begin(&self, code: &str) -> bool {
        self.parts.iter().any(|part| code.starts_with(part))
    }
}

/// Whether a word of a call has one of these texts in it.
pub(super) fn code_has(command: &SimpleCommand, parts: &CodeParts) -> bool {
    let mut words = command.arguments().iter().filter_map(Word::known);
    words.any(|text| parts.are_in(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARTS: &[&str] = &["abc", "bca(", "(a", "日本"];
    const LONG: &[&str] = &["abc", "bca(", "(ab", "日本"];

    #[test]
    fn they_are_found_wherever_they_stand() {
        let parts = const { CodeParts::new(LONG) };
        for code in ["abc", "xabc", "ab abc", "aabbca(", "日日本", "é(ab"] {
            assert!(parts.are_in(code), "{code}");
        }
        for code in ["", "a", "ab", "ab c", "bca", "(a", "日", "本日"] {
            assert!(!parts.are_in(code), "{code}");
        }
    }

    proptest! {
        #[test]
        fn it_says_what_a_search_for_each_says(code in "[abc(日本é]{0,12}") {
            let parts = const { CodeParts::new(LONG) };
            let is_in = LONG.iter().any(|part| code.contains(part));
            prop_assert_eq!(parts.are_in(&code), is_in);
        }
    }

    #[test]
    #[should_panic(expected = "three letters")]
    fn a_short_one_would_be_passed_over() {
        let _ = CodeParts::new(PARTS);
    }
}
