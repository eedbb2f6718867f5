//! Regular expressions that callers name. A long one takes as long to compile as the caller likes,
//! so its length is bounded; one that needs much memory is compiled by an errand, or refused where
//! nobody can wait for that.

use crate::errand;
use regex::{Regex, RegexBuilder};

/// Characters that one may have.
pub(crate) const MOST_CHARACTERS: usize = 4096;

/// Bytes that one may need, compiled, where others wait meanwhile: some milliseconds.
const MOST_AT_ONCE: usize = 1024 * 1024;

/// A pattern that is compiled here and now.
pub(crate) fn at_once(pattern: &str) -> Result<Regex, String> {
    check(pattern)?;
    let compiled = RegexBuilder::new(pattern).size_limit(MOST_AT_ONCE).build();
    compiled.map_err(|error| error.to_string())
}

/// Any pattern, compiled by an errand if that may take a while.
pub(crate) async fn aside(pattern: &str) -> Result<Regex, String> {
    if let Ok(compiled) = at_once(pattern) {
        return Ok(compiled);
    }
    check(pattern)?;
    let pattern = pattern.to_owned();
    let compiling = errand::read(move |_| Regex::new(&pattern).map_err(|error| error.to_string()));
    compiling.await.map_err(|failure| failure.to_string())?
}

/// Whether it has no more characters than that.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if pattern.chars().count() > MOST_CHARACTERS {
        return Err(format!(
            "the regular expression is too long: at most {MOST_CHARACTERS} characters"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_takes_long_to_compile_is_bounded_where_others_wait() {
        let (plain, large) = (r"listening on port \d+", r"\w{64}");
        assert!(at_once(plain).is_ok());
        assert!(at_once(large).unwrap_err().contains("size limit"));
        assert!(aside(large).await.is_ok());
        assert!(aside("(").await.unwrap_err().contains("unclosed"));
        let long = "a".repeat(MOST_CHARACTERS + 1);
        for refused in [at_once(&long), aside(&long).await] {
            assert!(refused.unwrap_err().contains("at most 4096 characters"));
        }
    }
}
