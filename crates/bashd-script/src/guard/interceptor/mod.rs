//! The interceptor: refuses commands for which the caller has a better tool, and names the tool.
//!
//! Rules are data: a pattern, the tool, a message. A rule applies only if the caller has its tool.
//! The defaults look at the parsed command instead of their patterns (`parsed`).
//! This is routing, not security: a command that no pattern matches simply runs.

mod candidates;
mod defaults;
mod parsed;
mod pattern;

pub use defaults::defaults;

use super::{AskBy, Decision, Objection};
use crate::script::{Script, Span};
use defaults::DefaultRule;
use pattern::JsPattern;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The name under which the interceptor denies.
pub const RULE: &str = "interceptor";

/// One rule, as it is written in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterceptorRule {
    /// A regular expression over the command.
    pub pattern: String,
    /// Its flags: `i`, `m`, `s`, `u`, `g`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// The tool to use instead; without it the rule does not apply.
    pub tool: String,
    /// What the caller is told.
    pub message: String,
    /// What the pattern looks at.
    #[serde(default, skip_serializing_if = "PatternScope::is_text")]
    pub scope: PatternScope,
}

/// What a pattern looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternScope {
    /// The whole text, and each command of a list.
    #[default]
    Text,
    /// Each command of a list; the whole text only if it is not a plain list.
    Command,
    /// Each command of a list, and only if it writes a file by a redirect.
    CommandThatWrites,
}

impl PatternScope {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// A rule that is skipped because it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadRule {
    /// Its pattern.
    pub pattern: String,
    /// What is wrong with it, in one line.
    pub problem: String,
}

/// The rules, each compiled once.
#[derive(Debug, Clone)]
pub struct Interceptor {
    /// The given rules; `None` for the defaults, which are not compiled before a caller with tools
    /// asks.
    given: Option<Arc<Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    rules: Vec<(JsPattern, InterceptorRule)>,
    bad: Vec<BadRule>,
}

/// The interceptor's objection to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interception {
    pub(crate) tool: String,
    pub(crate) objection: Objection,
}

impl Interceptor {
    /// The given rules, or the defaults if there are none. Bad ones are skipped and kept for a
    /// report.
    pub fn new(rules: &[InterceptorRule]) -> Self {
        let are_given = !rules.is_empty();
        Self {
            given: are_given.then(|| Compiled::shared(rules)),
        }
    }

    fn compiled(&self) -> &Compiled {
        static DEFAULTS: OnceLock<Compiled> = OnceLock::new();
        match &self.given {
            Some(given) => given,
            None => DEFAULTS.get_or_init(|| Compiled::of(defaults())),
        }
    }

    /// The rules that were skipped.
    pub fn bad_rules(&self) -> &[BadRule] {
        &self.compiled().bad
    }

    /// How many rules apply.
    pub fn len(&self) -> usize {
        self.compiled().rules.len()
    }

    /// Whether no rule applies.
    pub fn is_empty(&self) -> bool {
        self.compiled().rules.is_empty()
    }

    /// Whether one of the caller's tools is better. The first match wins.
    pub(crate) fn check(&self, given: &str, tools: &[String]) -> Option<Interception> {
        if tools.is_empty() {
            return None;
        }
        if self.given.is_none() {
            let rules = defaults();
            let rule_of = |rule: DefaultRule| rules.get(rule as usize);
            let has_tool =
                |rule: DefaultRule| rule_of(rule).is_some_and(|rule| tools.contains(&rule.tool));
            let (rule, span) = parsed::find(&Script::parse(given), has_tool)?;
            return Some(interception(rule_of(rule)?, given, Some(span)));
        }
        let rules = self.compiled().rules.iter();
        let mut rules = rules
            .filter(|(_, rule)| tools.contains(&rule.tool))
            .peekable();
        rules.peek()?;
        let script = Script::parse(given);
        let candidates = candidates::of(given, &script);
        let rules: Vec<_> = rules.collect();
        candidates.iter().find_map(|candidate| {
            let (_, rule) = rules.iter().find(|(pattern, rule)| {
                candidate.is_for(rule.scope) && pattern.is_match(candidate.text)
            })?;
            Some(interception(rule, given, candidate.span))
        })
    }
}

impl Compiled {
    /// The rules of the last call, if they are the same: those of a configuration are the same in
    /// every call, and compiling them takes longer than a short call.
    fn shared(rules: &[InterceptorRule]) -> Arc<Self> {
        type Last = Option<(Vec<InterceptorRule>, Arc<Compiled>)>;
        static LAST: Mutex<Last> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((given, compiled)) if given == rules => Arc::clone(compiled),
            _ => {
                let compiled = Arc::new(Self::of(rules.to_vec()));
                *last = Some((rules.to_vec(), Arc::clone(&compiled)));
                compiled
            }
        }
    }

    fn of(given: Vec<InterceptorRule>) -> Self {
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for rule in given {
            match JsPattern::new(&rule.pattern, &rule.flags) {
                Ok(pattern) => rules.push((pattern, rule)),
                Err(problem) => bad.push(BadRule {
                    pattern: rule.pattern,
                    problem,
                }),
            }
        }
        Self { rules, bad }
    }
}

fn interception(rule: &InterceptorRule, given: &str, span: Option<Span>) -> Interception {
    let message = &rule.message;
    Interception {
        tool: rule.tool.clone(),
        objection: Objection {
            rule: RULE.to_owned(),
            decision: Decision::Deny,
            ask: AskBy::Text,
            instead: Some(format!("Use the `{}` tool", rule.tool)),
            message: format!("Blocked: {message}\n\nOriginal command: {given}"),
            span,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: &str) -> InterceptorRule {
        InterceptorRule {
            pattern: pattern.to_owned(),
            flags: String::new(),
            tool: "read".to_owned(),
            message: "Use it.".to_owned(),
            scope: PatternScope::Text,
        }
    }

    #[test]
    fn the_same_rules_are_compiled_once_and_others_are_never_taken_for_them() {
        let (ours, others) = ([rule("^cat ")], [rule("^less ")]);
        let tools = ["read".to_owned()];
        let first = Compiled::shared(&ours);
        assert!(Arc::ptr_eq(&first, &Compiled::shared(&ours)));
        for (rules, command) in [(&ours, "cat x"), (&others, "less x"), (&ours, "cat x")] {
            let interceptor = Interceptor::new(rules);
            assert!(interceptor.check(command, &tools).is_some(), "{command}");
            assert!(interceptor.check("more x", &tools).is_none());
        }
        assert!(Interceptor::new(&others).check("cat x", &tools).is_none());
    }
}
