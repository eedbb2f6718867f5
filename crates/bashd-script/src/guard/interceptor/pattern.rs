//! A pattern of a rule, in the words of JavaScript, where these rules come from.
//!
//! Most patterns need no more than time linear in the text. Those that look around or back are
//! matched by backtracking, with a bound: a pattern that reaches it does not match, since routing
//! is not worth more time than that.

use std::fmt::Display;

/// Steps that one match may take.
const MOST_STEPS: usize = 100_000;

/// A pattern that can be matched.
#[derive(Debug)]
pub(super) enum JsPattern {
    /// In linear time.
    Linear(regex::Regex),
    /// By backtracking: it looks around, or refers to a group.
    Backtracking(Box<fancy_regex::Regex>),
}

impl JsPattern {
    /// Reads a pattern and its flags, some of which have no effect here; an error is one line.
    pub(super) fn new(pattern: &str, flags: &str) -> Result<Self, String> {
        if let Some(other) = flags.chars().find(|flag| !"imsugydv".contains(*flag)) {
            return Err(format!("there is no flag `{other}`"));
        }
        let has = |flag: char| flags.contains(flag);
        let pattern = any_character(pattern);
        let linear = regex::RegexBuilder::new(&pattern)
            .case_insensitive(has('i'))
            .multi_line(has('m'))
            .dot_matches_new_line(has('s'))
            .build();
        if let Ok(regex) = linear {
            return Ok(Self::Linear(regex));
        }
        let backtracking = fancy_regex::RegexBuilder::new(&pattern)
            .case_insensitive(has('i'))
            .multi_line(has('m'))
            .dot_matches_new_line(has('s'))
            .backtrack_limit(MOST_STEPS)
            .build();
        match backtracking {
            Ok(regex) => Ok(Self::Backtracking(Box::new(regex))),
            Err(error) => Err(last_line(&error)),
        }
    }

    /// Whether it is somewhere in the text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Linear(regex) => regex.is_match(text),
            Self::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        }
    }
}

/// JavaScript's `[^]` is any character, which elsewhere is not a class.
fn any_character(pattern: &str) -> String {
    pattern.replace("[^]", r"[\s\S]")
}

fn last_line(error: &impl Display) -> String {
    let text = error.to_string();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("not a regular expression").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, flags: &str, text: &str) -> bool {
        JsPattern::new(pattern, flags).unwrap().is_match(text)
    }

    #[test]
    fn what_javascript_looks_around_for_is_found() {
        assert!(is_match(r"^(?!cat\b)\w+", "", "less x"));
        assert!(!is_match(r"^(?!cat\b)\w+", "", "cat x"));
        assert!(is_match(r"(?<!&)&\s*$", "", "sleep 1 &"));
        assert!(!is_match(r"(?<!&)&\s*$", "", "true &&"));
        assert!(is_match(r"^(?=.*--watch)npm", "i", "NPM test --watch"));
        assert!(is_match(r"^(['`]).*\1$", "", "'a'"));
        assert!(is_match(r"(?<tool>cat|less) \k<tool>", "", "cat cat"));
        assert!(is_match("a[^]b", "", "a\nb"));
    }

    #[test]
    fn what_is_no_pattern_says_why_in_one_line() {
        for (pattern, flags) in [("(", ""), ("(?<!a", ""), ("a", "q"), ("[z-a]", "")] {
            let told = JsPattern::new(pattern, flags).unwrap_err();
            assert!(!told.is_empty() && !told.contains('\n'), "{told}");
            // A reader who may look around is not told that nobody can.
            assert!(!told.contains("not supported"), "{told}");
        }
    }

    #[test]
    fn a_pattern_that_backtracks_without_end_does_not_match() {
        let text = "a".repeat(200);
        assert!(!is_match(r"^(?=((a+)+)+b)a", "", &text));
    }
}
