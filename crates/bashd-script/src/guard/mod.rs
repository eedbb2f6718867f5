//! What may run: rules that decide before anything starts, based on the parsed script.
//!
//! A rule is a file here and a line in [`RULES`]; a profile says which are on, the configuration
//! adds to them, and users write their own ([`UserRule`]). Pure: a rule looks at a [`Script`] and
//! objects or not. The guard is a guardrail against slips, not a sandbox: it does not see what a
//! program does once it runs (`docs/guard.md` lists what it cannot see).

mod concern;
mod gate;
mod git;
pub mod interceptor;
mod no_blind_git_add;
mod no_dangerous_rm;
mod no_dd_to_device;
mod no_find_delete;
mod no_force_push;
mod no_fork_bomb;
mod no_git_clean;
mod no_git_reset_hard;
mod no_kill_all;
mod no_mkfs;
mod no_pipe_to_shell;
mod no_recursive_chmod;
mod no_system_writes;
mod options;
mod paths;
pub mod safe_mode;
mod user_rule;

pub use gate::{Gate, Judgement};
pub use user_rule::{Decision, UserRule};

use crate::script::{Bound, Script, Span};
use concern::{Concern, Suspect};

/// What the rules say about a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It may run if the approver agrees.
    Ask(Objection),
    /// It may not run.
    Deny(Objection),
}

impl Verdict {
    /// The stricter of the two; the first if they are equally strict.
    #[must_use]
    fn or_stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() {
            other
        } else {
            self
        }
    }

    fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}

/// Which rule objects to a script, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objection {
    /// The rule's name.
    pub rule: String,
    /// The rule's message, one line.
    pub message: String,
    /// The offending command in the text; the whole text if no single command is to blame.
    pub span: Option<Span>,
}

/// A compiled-in rule.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The name that profiles and configuration use for it.
    pub name: &'static str,
    /// What it denies, in a few words for lists.
    pub denies: &'static str,
    /// What the caller is told, one line.
    pub message: &'static str,
    /// Where the script offends, if it does.
    judge: RuleJudge,
}

/// How a rule judges.
#[derive(Debug)]
enum RuleJudge {
    /// By each command of its own that it is about: the first that offends is to blame.
    Each(&'static [Concern]),
    /// By the script as a whole.
    Whole(fn(&Script) -> Option<Span>),
}

/// Every compiled-in rule, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    no_blind_git_add::RULE,
    no_force_push::RULE,
    no_dangerous_rm::RULE,
    no_git_reset_hard::RULE,
    no_git_clean::RULE,
    no_find_delete::RULE,
    no_dd_to_device::RULE,
    no_mkfs::RULE,
    no_recursive_chmod::RULE,
    no_pipe_to_shell::RULE,
    no_kill_all::RULE,
    no_fork_bomb::RULE,
    no_system_writes::RULE,
];

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// The rule that denies what is too long or too deeply nested to check; on if any other is.
pub const WITHIN_BOUNDS: &str = "script_within_bounds";

/// The enabled rules.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    rules: Vec<&'static Rule>,
    own: Vec<UserRule>,
}

impl Guard {
    /// The compiled-in rules of these names, and the user's own. Unknown names are skipped: whoever
    /// reads the names checks them.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, own: &[UserRule]) -> Self {
        let mut rules: Vec<&'static Rule> = Vec::new();
        for rule in names.into_iter().filter_map(rule) {
            if !rules.iter().any(|known| known.name == rule.name) {
                rules.push(rule);
            }
        }
        Self {
            rules,
            own: own.to_vec(),
        }
    }

    /// Whether any rule is on.
    pub fn is_on(&self) -> bool {
        !self.rules.is_empty() || !self.own.is_empty()
    }

    /// Judges a script; the strictest decision wins. `text` is what [`Script::parse`] was given.
    pub fn check(&self, script: &Script, text: &str) -> Verdict {
        if !self.is_on() {
            return Verdict::Allow;
        }
        let suspects: Vec<Suspect<'_>> = concern::suspects(script).collect();
        let rules = self.rules.iter();
        let verdicts = rules.filter_map(|rule| rule.verdict(script, &suspects));
        let own = self
            .own
            .iter()
            .filter_map(|rule| rule.verdict(script, text));
        let bound = script.bound.map(beyond_bounds);
        // What was read speaks first: its message says more than the one about the limit.
        let verdicts = verdicts.chain(own).chain(bound);
        verdicts.fold(Verdict::Allow, Verdict::or_stricter)
    }
}

impl Rule {
    fn verdict(&self, script: &Script, suspects: &[Suspect<'_>]) -> Option<Verdict> {
        let span = match self.judge {
            RuleJudge::Each(concerns) => {
                let offends =
                    |suspect: &Suspect<'_>| concerns.iter().any(|about| about.offends(suspect));
                let mut suspects = suspects.iter();
                suspects.find(|suspect| offends(suspect))?.command.span
            }
            RuleJudge::Whole(judge) => judge(script)?,
        };
        Some(Verdict::Deny(Objection {
            rule: self.name.to_owned(),
            message: self.message.to_owned(),
            span: Some(span),
        }))
    }
}

fn beyond_bounds(bound: Bound) -> Verdict {
    let message = match bound {
        Bound::Size => "the script is too long to check; write it to a file and run the file",
        Bound::Depth => {
            "the script is nested too deeply to check; write it to a file and run the file"
        }
    };
    Verdict::Deny(Objection {
        rule: WITHIN_BOUNDS.to_owned(),
        message: message.to_owned(),
        span: None,
    })
}

#[cfg(test)]
mod tests;
