//! From the text as given to the text to run: pure.
//!
//! A rewritten command must mean what was written,
//! but for the limits on its output: `tests/it/rewriting.rs` holds both against plain bash.

mod leading_cd;
mod line_limits;
mod trailing_limits;

pub use leading_cd::lift;
pub use line_limits::LineLimits;
pub use trailing_limits::take;

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
