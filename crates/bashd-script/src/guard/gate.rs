//! The whole judgement of one command: safe mode, the rules, the interceptor, in this order.

use super::ancestors::{Ancestors, no_ancestors};
use super::interceptor::Interceptor;
use super::safe_mode::{self, RunForm, SafeMode};
use super::{AskBy, Decision, Guard, Objection, Verdict};
use crate::rewrite::Command;
use crate::script::{Script, ScriptShape, Span};

/// The rule that denies what no shell gets as it is written.
pub const READABLE: &str = "script_readable";

/// Everything that decides before a command runs.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The enabled rules.
    pub guard: Guard,
    /// Whether only read-only commands may run.
    pub safe_mode: SafeMode,
    /// The rules that suggest another tool, if enabled.
    pub interceptor: Option<Interceptor>,
    /// The other tools that the caller has.
    pub tools: Vec<String>,
    /// Tells the processes above bashd.
    pub ancestors: Ancestors,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            guard: Guard::default(),
            safe_mode: SafeMode::Off,
            interceptor: None,
            tools: Vec::new(),
            ancestors: no_ancestors,
        }
    }
}

/// What was decided about one command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// Whether it may run. Of several objections the strictest counts; of equally strict ones, the
    /// first.
    pub verdict: Verdict,
    /// Everything that was objected to, the worst first.
    pub objections: Vec<Objection>,
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
        let mut objections: Vec<Objection> = unreadable(text).into_iter().collect();
        let form = match safe_mode::check(self.safe_mode, text, &script).and_then(|form| {
            variables.try_for_each(|name| safe_mode::check_variable(self.safe_mode, name))?;
            Ok(form)
        }) {
            Ok(form) => form,
            Err(objection) => {
                objections.push(objection);
                RunForm::AsWritten
            }
        };
        objections.extend(self.guard.objections(&script, text, self.ancestors));
        let is_denied = |objections: &[Objection]| {
            let mut all = objections.iter();
            all.any(|objection| objection.decision == Decision::Deny)
        };
        let is_denied = is_denied(&objections);
        let interceptor = self.interceptor.as_ref();
        let interception =
            interceptor.and_then(|interceptor| interceptor.check(&command.given, &self.tools));
        let mut suggested_tool = None;
        if let Some(interception) = interception {
            objections.push(interception.objection);
            suggested_tool = Some(interception.tool).filter(|_| !is_denied);
        }
        // Stable: of equally strict ones the first stays first.
        objections.sort_by_key(Objection::severity);
        Judgement {
            verdict: Verdict::of(&objections),
            objections,
            form,
            suggested_tool,
            shape: script.shape(text),
        }
    }
}

/// What a shell would not get as it is written: it ends its arguments at a NUL, or drops it.
fn unreadable(text: &str) -> Option<Objection> {
    let at = text.bytes().position(|byte| byte == 0)?;
    let instead = "Leave it out; printf '\\0' writes one";
    Some(Objection {
        rule: READABLE.to_owned(),
        decision: Decision::Deny,
        ask: AskBy::Text,
        message: format!(
            "the command has a NUL byte, which no shell reads as it is written. {instead}"
        ),
        instead: Some(instead.to_owned()),
        span: Some(Span {
            start: at,
            end: at + 1,
        }),
    })
}

impl Judgement {
    /// The objection to the command that counts, if any.
    pub fn objection(&self) -> Option<&Objection> {
        match &self.verdict {
            Verdict::Allow => None,
            Verdict::Ask(objection) | Verdict::Deny(objection) => Some(objection),
        }
    }

    /// The objection for which somebody is asked about what the command did.
    pub fn about_effects(&self) -> Option<&Objection> {
        let mut all = self.objections.iter();
        all.find(|objection| objection.decision == Decision::Ask && objection.ask == AskBy::Effects)
    }
}
