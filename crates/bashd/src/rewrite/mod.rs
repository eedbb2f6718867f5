//! From the text as given to the text to run: pure.
//!
//! A profile says which stages there are (`[rewrite]`). A rewritten command must mean what was
//! written, except for the limits on its output: `tests/it/rewriting.rs` compares both with plain
//! bash.

mod leading_cd;
mod trailing_limits;

use crate::output::line_limits::LineLimits;
use crate::profile::rules::{LeadingCdRule, RewriteRules, TrailingLimitsRule};
use crate::request::Request;

/// A command before and after rewriting.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// As the caller wrote it.
    pub given: String,
    /// As the shell gets it.
    pub to_run: String,
    /// The leading `cd DIR &&` that is the working directory now.
    pub leading_cd: Option<LeadingCd>,
    /// Which lines of the whole output are shown.
    pub lines: LineLimits,
}

/// A `cd DIR &&` that was removed from a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeadingCd {
    /// The directory, quotes removed; a leading `~` stands for the home directory.
    pub directory: String,
    /// What was removed, as it was written. A shell that lives on runs it, to stay in that
    /// directory.
    pub text: String,
}

impl Command {
    /// A command that is run as it was given.
    pub fn as_given(text: &str) -> Self {
        Self {
            given: text.to_owned(),
            to_run: text.to_owned(),
            leading_cd: None,
            lines: LineLimits::default(),
        }
    }
}

/// Applies the stages that `rules` enable.
pub fn apply(rules: &RewriteRules, request: &Request) -> Command {
    let mut command = Command::as_given(&request.command);
    command.lines = LineLimits::new(request.head, request.tail);
    if request.by.is_typed() {
        return command;
    }
    if rules.leading_cd == LeadingCdRule::Lift && request.cwd.is_none() {
        leading_cd::lift(&mut command);
    }
    if rules.trailing_limits == TrailingLimitsRule::Take {
        trailing_limits::take(&mut command);
    }
    command
}
