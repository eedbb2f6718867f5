//! From the text as given to the text to run: pure.
//!
//! Nothing is rewritten yet; stages that lift a leading `cd`, take over a trailing `head` or resolve
//! internal addresses belong here, one file each.

/// A command before and after rewriting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// As the caller wrote it.
    pub given: String,
    /// As the shell gets it.
    pub to_run: String,
}

/// Applies every rewriting stage.
pub fn apply(given: &str) -> Command {
    Command {
        given: given.to_owned(),
        to_run: given.to_owned(),
    }
}
