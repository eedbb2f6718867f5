//! Which lines tell of trouble. They are never left out of a failed run's output, whatever the
//! filter thinks of them.

use regex::Regex;
use std::sync::LazyLock;

/// Words and signs of trouble in the output of common tools. Better one line too many than one too
/// few.
///
/// Letters and their boundaries are ASCII: others would make it many times slower on every line
/// with an accent.
pub(crate) const PATTERN: &str = r"(?ix)
    (?-u:\b)( errors? | err | warnings? | warn | fatal | fail(ed|s|ure|ures|ing)? | panic(ked)? | [a-z0-9_]*exception | traceback
      | abort(ed|ing)? | denied | forbidden | unauthorized | cannot | can't | could\ not | couldn't | unable\ to
      | not\ found | no\ such | missing | undefined | unresolved | unknown | unexpected | unsupported | invalid | illegal
      | conflicts? | refused | reject(ed)? | time[d-]?\ ?out | segmentation | killed | core\ dumped | out\ of\ memory
      | assert[a-z0-9_]* | mismatch(ed)? | deprecated | vulnerabilit(y|ies) | broken | corrupt(ed)? | critical | severe
      | emerg(ency)? | alert )(?-u:\b)
    | [a-z0-9_]+(Error|Exception|Warning)(?-u:\b) | ^E\ {3} | [✗✘✖❌⚠●] | ^\s*(×|\^+|~+\^)\s";

static TROUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PATTERN).ok());

/// Whether a line tells of an error, a warning or a failure, as far as words show. A count of zero
/// (`0 failed`, `Errors: 0`) tells of
/// none, and neither does the name of an option (`--error-format`).
pub(crate) fn is_trouble(line: &str) -> bool {
    let Some(pattern) = TROUBLE.as_ref() else {
        return true;
    };
    pattern.find_iter(line).any(|found| {
        let before = line.get(..found.start()).unwrap_or_default();
        let after = line.get(found.end()..).unwrap_or_default();
        !ends_with_zero(before) && !begins_with_zero(after) && !is_part_of_a_name(before, after)
    })
}

/// `--error-format`, `x86_64-unknown-linux-gnu`, `--cap-lints warn`
fn is_part_of_a_name(before: &str, after: &str) -> bool {
    before.ends_with("--")
        || before.ends_with("--cap-lints ")
        || before.ends_with('-') && after.starts_with("-linux-")
}

/// `… 0 `
fn ends_with_zero(before: &str) -> bool {
    let Some(before) = before.strip_suffix("0 ") else {
        return false;
    };
    !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '-' | '_'))
}

/// `: 0 …`
fn begins_with_zero(after: &str) -> bool {
    let Some(after) = after.strip_prefix(": 0") else {
        return false;
    };
    !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
        || after.starts_with(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_known_by_its_words() {
        assert!(TROUBLE.is_some(), "the pattern is right");
        for line in [
            "error[E0308]: mismatched types",
            "src/a.c:3:1: warning: unused variable",
            "FAILED tests/test_a.py::test_b - AssertionError",
            "E   ValueError: no",
            "npm ERR! code E404",
            "thread 'main' panicked at src/main.rs:1:1",
            "bash: foo: command not found",
            "CONFLICT (content): Merge conflict in a",
            "java.lang.NullPointerException: null",
            "  ✗ adds",
            "10 failed",
            "1,0 failed",
            "Errors: 07",
            "0 failed, then an error",
        ] {
            assert!(is_trouble(line), "{line}");
        }
    }

    #[test]
    fn plain_progress_is_no_trouble() {
        for line in [
            "   Compiling serde v1.0.0",
            "test parse::numbers ... ok",
            "tests/test_error_handling.py::test_ok PASSED [ 10%]",
            "Collecting requests",
            "added 312 packages in 4s",
            "test result: ok. 60 passed; 0 failed",
            "Tests run: 2, Failures: 0, Errors: 0",
            "rustc --error-format=json --cap-lints warn",
            "HOST=x86_64-unknown-linux-gnu",
        ] {
            assert!(!is_trouble(line), "{line}");
        }
    }
}
