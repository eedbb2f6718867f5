//! What may run: the seam for rules that decide before anything is started.
//!
//! No rule exists yet; the table is empty and everything is allowed.

use crate::reply::Denied;

/// What the rules say about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not, by this rule.
    Deny(Denied),
}
