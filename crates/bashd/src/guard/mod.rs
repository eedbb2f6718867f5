//! What may run: the seam for rules that decide before anything is started.
//!
//! A rule is a file here and a line in [`RULES`]. There is none yet, so that everything is allowed.

use crate::reply::Denied;
use crate::rewrite::Command;

/// What the rules say about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may not, by this rule.
    Deny(Denied),
}

/// A rule looks at a command and has something against it, or not.
pub type Rule = fn(&Command) -> Option<Denied>;

/// Every rule, in the order in which they are asked.
pub const RULES: &[Rule] = &[];

/// Asks every rule; the first that objects decides.
pub fn check(command: &Command) -> Verdict {
    RULES
        .iter()
        .find_map(|rule| rule(command))
        .map_or(Verdict::Allow, Verdict::Deny)
}
