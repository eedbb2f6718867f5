//! The stage that turns the text as given into the text to run, as the profile says (`[rewrite]`).

use crate::profile::rules::{LeadingCdRule, RewriteRules, TrailingLimitsRule};
use crate::request::Request;
pub use bashd_script::rewrite::{Command, LeadingCd, LineLimits};
use bashd_script::rewrite::{lift, take};

/// Applies the stages that `rules` switch on.
pub fn apply(rules: &RewriteRules, request: &Request) -> Command {
    let mut command = Command::as_given(&request.command);
    command.lines = LineLimits::new(request.head, request.tail);
    if request.by.is_typed() {
        return command;
    }
    if rules.leading_cd == LeadingCdRule::Lift && request.cwd.is_none() {
        lift(&mut command);
    }
    if rules.trailing_limits == TrailingLimitsRule::Take {
        take(&mut command);
    }
    command
}
