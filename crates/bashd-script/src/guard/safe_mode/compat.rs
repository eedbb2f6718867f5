//! `compat`: follows the document to the letter.

use super::super::{AskBy, Decision, Objection};
use super::{INVALID_SYNTAX, NOT_ALLOWED, RULE, RunForm, tokens};

/// The prefixes that may run: one or two words, each compared as a whole.
pub const PREFIXES: [&[&str]; 13] = [
    &["git"],
    &["grep"],
    &["rg"],
    &["find"],
    &["ls"],
    &["cat"],
    &["head"],
    &["tail"],
    &["wc"],
    &["swift", "test"],
    &["xcodebuild", "test"],
    &["npm", "test"],
    &["pytest"],
];

/// The program to start, without a shell.
pub(super) fn check(text: &str) -> Result<RunForm, Objection> {
    let objection = |message: &str| Objection {
        rule: RULE.to_owned(),
        decision: Decision::Deny,
        ask: AskBy::Text,
        message: message.to_owned(),
        instead: None,
        span: None,
    };
    // No program gets an argument with a NUL in it.
    if text.contains('\0') {
        return Err(objection(INVALID_SYNTAX));
    }
    let mut tokens = tokens::tokens(text).map_err(|_| objection(INVALID_SYNTAX))?;
    let begins_with = |prefix: &&[&str]| {
        let first = tokens.get(..prefix.len());
        first.is_some_and(|first| first.iter().eq(prefix.iter()))
    };
    if !PREFIXES.iter().any(begins_with) {
        return Err(objection(NOT_ALLOWED));
    }
    let arguments = tokens.split_off(1);
    Ok(RunForm::Program {
        name: tokens.remove(0),
        arguments,
    })
}
