//! Safe mode: only read-only commands and the test runners may run.
//!
//! Two readings of one document. `compat` follows its letter: thirteen prefixes, compared token by
//! token, and the tokens are started as they are, without a shell. `strict` follows its stated
//! intent, read-only: every command of a list or pipeline must pass its own policy, and the script
//! that runs is rebuilt from what was judged, so the shell reads nothing that the guard has not
//! read.
//!
//! Pure: the answer is the [`RunForm`] in which the command may run; `plan` carries it out.

mod compat;
pub mod environment;
mod find;
mod git;
mod git_options;
mod git_table;
mod options;
mod policy;
mod runner_tables;
mod runners;
mod strict;
mod tokens;

pub use compat::PREFIXES;
pub use tokens::{Unterminated, tokens};

use super::{AskBy, Decision, Objection};
use crate::script::{Joint, Script, Span, WordPart};

/// The name under which safe mode denies.
pub const RULE: &str = "safe_mode";

/// The message: alone in `compat`, before the reason in `strict`.
const NOT_ALLOWED: &str = "Command not allowed in safe mode";

/// The message about a script that cannot be read.
const INVALID_SYNTAX: &str = "Invalid command syntax in safe mode";

/// Whether only read-only commands may run, and by which reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SafeMode {
    /// Any command may run.
    #[default]
    Off,
    /// Thirteen prefixes, to the letter of the document.
    Compat,
    /// What is read-only, checked option by option.
    Strict,
}

impl SafeMode {
    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "compat" => Some(Self::Compat),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// How to run a command that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunForm {
    /// The shell gets the text.
    AsWritten,
    /// This program, and no shell.
    Program {
        /// Its name, looked up in `PATH`.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A script written from these steps.
    Steps(Vec<Step>),
}

/// One command of a strict list or pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// How it is joined to the step before it.
    pub joint: Joint,
    /// Program and arguments.
    pub words: Vec<StepWord>,
    /// Its harmless redirects.
    pub redirects: Vec<StepRedirect>,
}

/// A word of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWord {
    /// This text.
    Literal(String),
    /// The files that match; text and pattern characters only.
    Pattern(Vec<WordPart>),
}

/// A redirect that changes no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRedirect {
    /// stdin comes from this file.
    Read(String),
    /// A descriptor goes where another goes: `2>&1`.
    Duplicate(u8, u8),
    /// A descriptor goes to `/dev/null`.
    Discard(u8),
}

/// Judges a command; `script` is the parsed `text`.
pub(crate) fn check(mode: SafeMode, text: &str, script: &Script) -> Result<RunForm, Objection> {
    match mode {
        SafeMode::Off => Ok(RunForm::AsWritten),
        SafeMode::Compat => compat::check(text),
        SafeMode::Strict => strict::check(text, script).map(RunForm::Steps),
    }
}

/// The refusal of a call that sets variables that could control an allowed program.
pub(crate) fn check_variable(mode: SafeMode, name: &str) -> Result<(), Objection> {
    if mode != SafeMode::Strict || environment::may_be_set(name) {
        return Ok(());
    }
    let why = format!("the variable {name} could change what an allowed program does");
    Err(refusal(&why, "leave it out", None))
}

/// An objection with the reason, and with what would be accepted instead.
fn refusal(why: &str, accepted: &str, span: Option<Span>) -> Objection {
    Objection {
        rule: RULE.to_owned(),
        decision: Decision::Deny,
        ask: AskBy::Text,
        message: format!("{NOT_ALLOWED}: {why}. Accepted: {accepted}"),
        instead: Some(accepted.to_owned()),
        span,
    }
}

fn invalid_syntax(why: &str) -> Objection {
    Objection {
        rule: RULE.to_owned(),
        decision: Decision::Deny,
        ask: AskBy::Text,
        message: format!("{INVALID_SYNTAX}: {why}"),
        instead: None,
        span: None,
    }
}
