//! The whole judgement of one command: safe mode, the rules, the interceptor, in this order.

use super::interceptor::Interceptor;
use super::safe_mode::{self, RunForm, SafeMode};
use super::{Guard, Objection, Verdict};
use crate::rewrite::Command;
use crate::script::{Script, ScriptShape};

/// Everything that decides before a command runs.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    /// The enabled rules.
    pub guard: Guard,
    /// Whether only read-only commands may run.
    pub safe_mode: SafeMode,
    /// The rules that suggest another tool, if enabled.
    pub interceptor: Option<Interceptor>,
    /// The other tools that the caller has.
    pub tools: Vec<String>,
}

/// What was decided about one command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// Whether it may run. Of several objections the strictest counts; of equally strict ones, the
    /// first.
    pub verdict: Verdict,
    /// How to run it, if it may run.
    pub form: RunForm,
    /// The tool to use instead, if the interceptor objected.
    pub suggested_tool: Option<String>,
    /// What kind of script it is.
    pub shape: ScriptShape,
}

impl Gate {
    /// Whether anything is judged at all.
    pub fn is_on(&self) -> bool {
        self.guard.is_on() || self.safe_mode != SafeMode::Off || self.interceptor.is_some()
    }

    /// Judges a command. The interceptor looks at the text as it was given, everything else at the
    /// text to run.
    pub fn judge(&self, command: &Command) -> Judgement {
        self.judge_with(command, std::iter::empty())
    }

    /// Judges a command of a call that sets these variables.
    pub fn judge_with<'a>(
        &self,
        command: &Command,
        mut variables: impl Iterator<Item = &'a str>,
    ) -> Judgement {
        let text = &command.to_run;
        let script = Script::parse(text);
        let (by_safe_mode, form) =
            match safe_mode::check(self.safe_mode, text, &script).and_then(|form| {
                variables.try_for_each(|name| safe_mode::check_variable(self.safe_mode, name))?;
                Ok(form)
            }) {
                Ok(form) => (Verdict::Allow, form),
                Err(objection) => (Verdict::Deny(objection), RunForm::AsWritten),
            };
        let by_rules = self.guard.check(&script, text);
        let interception = self
            .interceptor
            .as_ref()
            .and_then(|interceptor| interceptor.check(&command.given, &self.tools));
        let (by_interceptor, suggested_tool) = match interception {
            Some(it) => (Verdict::Deny(it.objection), Some(it.tool)),
            None => (Verdict::Allow, None),
        };
        let others = by_safe_mode.or_stricter(by_rules);
        let suggested_tool = suggested_tool.filter(|_| !matches!(others, Verdict::Deny(_)));
        Judgement {
            verdict: others.or_stricter(by_interceptor),
            form,
            suggested_tool,
            shape: script.shape(text),
        }
    }
}

impl Judgement {
    /// The objection to the command, if any.
    pub fn objection(&self) -> Option<&Objection> {
        match &self.verdict {
            Verdict::Allow => None,
            Verdict::Ask(objection) | Verdict::Deny(objection) => Some(objection),
        }
    }
}
