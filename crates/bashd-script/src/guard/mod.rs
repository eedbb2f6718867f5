//! What may run: rules that decide before anything starts, based on the parsed script.
//!
//! A rule is a file here and a line in [`RULES`]; a profile says which are on, the configuration
//! adds to them, and users write their own ([`UserRule`]). Pure: a rule looks at a [`Script`] and
//! objects or not. The guard is a guardrail against slips, not a sandbox: it does not see what a
//! program does once it runs (`docs/guard.md` lists what it cannot see).

mod ancestors;
mod code_parts;
mod concern;
mod directory;
mod gate;
mod git;
mod git_settings;
pub mod interceptor;
mod listed;
mod listed_processes;
mod name_index;
mod no_blind_git_add;
mod no_broken_access;
mod no_cloud_loss;
mod no_container_loss;
mod no_dangerous_rm;
mod no_database_loss;
mod no_dd_to_device;
mod no_disk_filling;
mod no_find_delete;
mod no_force_push;
mod no_fork_bomb;
mod no_git_clean;
mod no_git_discard;
mod no_git_history_loss;
mod no_git_reset_hard;
mod no_hidden_script;
mod no_kill_all;
mod no_mkfs;
mod no_network_loss;
mod no_pipe_to_shell;
mod no_publishing;
mod no_recursive_chmod;
mod no_remote_shell;
mod no_secret_upload;
mod no_shutdown;
mod no_system_writes;
mod no_tree_replaced;
mod options;
mod paths;
mod pipelines;
pub mod safe_mode;
mod secrets;
mod tool_rows;
mod trees;
mod user_rule;

pub use ancestors::{Ancestor, Ancestors};
pub use gate::{Gate, Judgement, READABLE};
pub use user_rule::{AskBy, Decision, UserRule};

use crate::script::{Bound, Script, Span};
use ancestors::no_ancestors;
use concern::{Concern, Suspects, WholeConcern};

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
    /// The verdict that follows from objections, of which the first counts.
    pub(crate) fn of(objections: &[Objection]) -> Self {
        match objections.first() {
            None => Self::Allow,
            Some(first) if first.decision == Decision::Deny => Self::Deny(first.clone()),
            Some(first) => Self::Ask(first.clone()),
        }
    }
}

/// Which rule objects to a script, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Objection {
    /// The rule's name.
    pub rule: String,
    /// What it wants: to ask, or to deny.
    pub decision: Decision,
    /// If to ask: about what.
    #[serde(skip_serializing_if = "AskBy::is_text")]
    pub ask: AskBy,
    /// The rule's message, one line.
    pub message: String,
    /// What would be allowed instead, where the rule knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The offending command in the text; the whole text if no single command is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

impl Objection {
    /// The worst first. Who is asked before a command runs is asked before others.
    fn severity(&self) -> (std::cmp::Reverse<Decision>, AskBy) {
        (std::cmp::Reverse(self.decision), self.ask)
    }

    /// One that wants somebody to be asked, of the whole text.
    pub fn asking(rule: &str, message: String) -> Self {
        Self {
            rule: rule.to_owned(),
            decision: Decision::Ask,
            ask: AskBy::Text,
            message,
            instead: None,
            span: None,
        }
    }
}

/// A compiled-in rule.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The name that profiles and configuration use for it.
    pub name: &'static str,
    /// What it is about, in a few words for lists.
    pub denies: &'static str,
    /// What is wrong, without a full stop; a document's text as it is.
    pub message: &'static str,
    /// What would be allowed instead; empty where a document's text says it already.
    pub instead: &'static str,
    /// A script that it objects to.
    pub example: &'static str,
    /// Where the script offends, if it does.
    judge: RuleJudge,
}

/// How a rule judges.
#[derive(Debug)]
enum RuleJudge {
    /// By each command of its own that it is about.
    Each(&'static [Concern]),
    /// By the script as a whole.
    Whole(WholeConcern),
    /// By both.
    Both(&'static [Concern], WholeConcern),
}

impl RuleJudge {
    const fn concerns(&self) -> &'static [Concern] {
        match self {
            Self::Each(concerns) | Self::Both(concerns, _) => concerns,
            Self::Whole(_) => &[],
        }
    }

    const fn whole(&self) -> Option<&WholeConcern> {
        match self {
            Self::Whole(whole) | Self::Both(_, whole) => Some(whole),
            Self::Each(_) => None,
        }
    }
}

/// Every compiled-in rule, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    no_blind_git_add::RULE,
    no_force_push::RULE,
    no_dangerous_rm::RULE,
    no_git_reset_hard::RULE,
    no_git_clean::RULE,
    no_git_discard::RULE,
    no_git_history_loss::RULE,
    no_find_delete::RULE,
    no_tree_replaced::RULE,
    no_dd_to_device::RULE,
    no_mkfs::RULE,
    no_disk_filling::RULE,
    no_recursive_chmod::RULE,
    no_system_writes::RULE,
    no_broken_access::RULE,
    no_pipe_to_shell::RULE,
    no_hidden_script::RULE,
    no_remote_shell::RULE,
    no_secret_upload::RULE,
    no_kill_all::RULE,
    no_fork_bomb::RULE,
    no_shutdown::RULE,
    no_network_loss::RULE,
    no_container_loss::RULE,
    no_cloud_loss::RULE,
    no_database_loss::RULE,
    no_publishing::RULE,
];

/// The rules that a document states, to its letter: a profile that follows it has these instead of
/// the rules of the same name.
pub const DOCUMENTED: &[Rule] = &[
    no_blind_git_add::RULE,
    no_force_push::DOCUMENTED,
    no_dangerous_rm::DOCUMENTED,
];

/// Rules that are a matter of taste: on only where a document or the user asks for them.
const NOT_BY_DEFAULT: &[&str] = &["no_blind_git_add"];

/// The name that stands for all rules that are on by default, in profiles and in the configuration.
pub const DEFAULT_RULES: &str = "default";

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// The names of the rules that are on by default.
pub fn default_rules() -> impl Iterator<Item = &'static str> {
    let names = RULES.iter().map(|rule| rule.name);
    names.filter(|name| !NOT_BY_DEFAULT.contains(name))
}

/// The rule that denies what is too long or too deeply nested to check; on if any other is.
pub const WITHIN_BOUNDS: &str = "script_within_bounds";

/// Most objections of one rule that are told, unless a later one is stricter than all of them.
const MOST_OBJECTIONS: usize = 16;

/// How deep scripts that git runs may nest.
const MOST_INNER: usize = 3;

/// The enabled rules.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    rules: Vec<EnabledRule>,
    own: Vec<UserRule>,
}

/// A rule that is on.
#[derive(Debug, Clone, Copy)]
struct EnabledRule {
    rule: &'static Rule,
    /// Its bit: its place in [`RULES`].
    bit: u64,
    /// The number of the first of its concerns.
    first_concern: usize,
}

impl EnabledRule {
    /// The rule at this place of [`RULES`], or of [`DOCUMENTED`] behind them.
    fn at(place: usize) -> Option<Self> {
        let rule = match place.checked_sub(RULES.len()) {
            Some(place) => DOCUMENTED.get(place)?,
            None => RULES.get(place)?,
        };
        Some(Self {
            rule,
            bit: name_index::bit_of(rule),
            first_concern: name_index::concerns_before(place),
        })
    }
}

impl Guard {
    /// The compiled-in rules of these names, and the user's own. [`DEFAULT_RULES`] stands for all
    /// that are on by default. Unknown names are skipped: the code that reads them checks them.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, own: &[UserRule]) -> Self {
        let mut rules: Vec<EnabledRule> = Vec::new();
        let mut add = |name: &str| {
            let place = RULES.iter().position(|rule| rule.name == name);
            if !rules.iter().any(|known| known.rule.name == name) {
                rules.extend(place.and_then(EnabledRule::at));
            }
        };
        for name in names {
            if name == DEFAULT_RULES {
                default_rules().for_each(&mut add);
            } else {
                add(name);
            }
        }
        Self {
            rules,
            own: own.to_vec(),
        }
    }

    /// These rules, with those of the documents to the letter.
    #[must_use]
    pub fn to_the_letter(mut self) -> Self {
        for enabled in &mut self.rules {
            let name = enabled.rule.name;
            let place = DOCUMENTED.iter().position(|known| known.name == name);
            let documented = place.and_then(|place| EnabledRule::at(RULES.len() + place));
            *enabled = documented.unwrap_or(*enabled);
        }
        self
    }

    /// The rules without these.
    #[must_use]
    pub fn without(mut self, names: &[String]) -> Self {
        self.rules
            .retain(|enabled| !names.iter().any(|name| name == enabled.rule.name));
        self
    }

    /// Whether any rule is on.
    pub fn is_on(&self) -> bool {
        !self.rules.is_empty() || !self.own.is_empty()
    }

    /// The compiled-in rules that are on.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules.iter().map(|enabled| enabled.rule)
    }

    /// Judges a script; the strictest decision wins. `text` is what [`Script::parse`] was given.
    pub fn check(&self, script: &Script, text: &str) -> Verdict {
        Verdict::of(&self.objections(script, text, no_ancestors))
    }

    /// Everything that the rules have against a script, the worst first, within a bound.
    pub fn objections(&self, script: &Script, text: &str, ancestors: Ancestors) -> Vec<Objection> {
        if !self.is_on() {
            return Vec::new();
        }
        let mut found = Vec::new();
        self.judge(script, ancestors, MOST_INNER, &mut found);
        let own = self.own.iter();
        found.extend(own.filter_map(|rule| rule.objection(script, text)));
        // What was read speaks first: its message says more than the one about the limit.
        found.extend(script.bound.map(beyond_bounds));
        // Stable: of equally strict ones the first rule speaks first.
        found.sort_by_key(Objection::severity);
        found
    }

    /// Judges a script and those that git would run for it.
    fn judge(
        &self,
        script: &Script,
        ancestors: Ancestors,
        depth: usize,
        found: &mut Vec<Objection>,
    ) {
        let suspects = Suspects::of(script);
        // Most rules are about nothing that is there.
        let asked = |enabled: &&EnabledRule| suspects.has_any_of(enabled.bit);
        for enabled in self.rules.iter().filter(asked) {
            enabled.judge(script, &suspects, ancestors, found);
        }
        if depth == 0 {
            return;
        }
        let calls = suspects
            .iter()
            .filter_map(|suspect| Some((suspect.command, suspect.git.as_ref()?)));
        let (inner, is_too_much) = git::scripts(calls);
        for (span, inner) in inner {
            let before = found.len();
            self.judge(&inner, ancestors, depth - 1, found);
            for objection in found.iter_mut().skip(before) {
                objection.span = Some(span);
            }
        }
        if is_too_much {
            found.push(beyond_bounds(Bound::Size));
        }
    }
}

impl Rule {
    /// What the caller is told, one line: what is wrong, and what to do instead.
    pub fn line(&self) -> String {
        if self.instead.is_empty() {
            return self.message.to_owned();
        }
        format!("{}. {}", self.message, self.instead)
    }

    fn objection(&self, decision: Decision, span: Span) -> Objection {
        Objection {
            rule: self.name.to_owned(),
            decision,
            ask: AskBy::Text,
            message: self.line(),
            instead: (!self.instead.is_empty()).then(|| self.instead.to_owned()),
            span: Some(span),
        }
    }
}

impl EnabledRule {
    fn judge(
        self,
        script: &Script,
        suspects: &Suspects<'_>,
        ancestors: Ancestors,
        found: &mut Vec<Objection>,
    ) {
        let Self {
            rule,
            bit,
            first_concern,
        } = self;
        let concerns = rule.judge.concerns();
        let mut worst = Decision::Allow;
        let mut count = 0;
        for suspect in suspects.about(bit) {
            let decisions = concerns
                .iter()
                .enumerate()
                .map(|(number, about)| about.judge(suspect, first_concern + number, ancestors));
            let mut decision = decisions.max().unwrap_or(Decision::Allow);
            if suspect.command.is_guess {
                // What an unknown name may stand for is not known to be it.
                decision = decision.min(Decision::Ask);
            }
            if decision > worst || decision > Decision::Allow && count < MOST_OBJECTIONS {
                found.push(rule.objection(decision, suspect.command.span));
                worst = worst.max(decision);
                count += 1;
            }
        }
        let whole = rule.judge.whole().zip(suspects.sought_by(bit));
        let whole = whole.and_then(|(whole, sought)| (whole.judge)(script, sought));
        found.extend(whole.map(|(decision, span)| rule.objection(decision, span)));
    }
}

fn beyond_bounds(bound: Bound) -> Objection {
    let message = match bound {
        Bound::Size => "the script is too long to check; write it to a file and run the file",
        Bound::Depth => {
            "the script is nested too deeply to check; write it to a file and run the file"
        }
    };
    Objection {
        rule: WITHIN_BOUNDS.to_owned(),
        decision: Decision::Deny,
        ask: AskBy::Text,
        message: message.to_owned(),
        instead: None,
        span: None,
    }
}

#[cfg(test)]
mod tests;
