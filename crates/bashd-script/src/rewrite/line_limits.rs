//! Which lines of a whole output a caller wants to see.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Which lines of the whole output are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineLimits {
    /// The first so many.
    pub head: Option<NonZeroU64>,
    /// Of those the last so many.
    pub tail: Option<NonZeroU64>,
}

impl LineLimits {
    /// Limits as a request has them: 0 is none.
    pub fn new(head: Option<u64>, tail: Option<u64>) -> Self {
        Self {
            head: head.and_then(NonZeroU64::new),
            tail: tail.and_then(NonZeroU64::new),
        }
    }

    /// Whether everything is shown.
    pub fn is_none(&self) -> bool {
        self.head.is_none() && self.tail.is_none()
    }
}
