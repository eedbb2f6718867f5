//! Why there is no keeper.

use std::fmt;
use std::io;

/// Why no keeper could be started: hook not called, program missing, protocol mismatch.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct NoKeeper {
    message: String,
    #[source]
    source: Option<io::Error>,
}

impl NoKeeper {
    /// For a reason of our own.
    pub fn because(reason: impl fmt::Display) -> Self {
        Self {
            message: reason.to_string(),
            source: None,
        }
    }

    /// Because of what the operating system said while we did `doing`.
    pub fn io(doing: impl fmt::Display, source: io::Error) -> Self {
        Self {
            message: format!("{doing}: {source}"),
            source: Some(source),
        }
    }

    /// What the operating system said, if it was asked.
    pub fn into_source(self) -> Option<io::Error> {
        self.source
    }
}
