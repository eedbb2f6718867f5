//! Claude Code: a `PreToolUse` event on stdin, the decision as JSON on stdout.
//!
//! The agent runs the command unless it is told otherwise, even when a hook fails. So every failure
//! of ours becomes `ask`, or, if even that can't be written, status 2, which blocks. A command
//! without objection gets no decision: `allow` would skip the agent's own permissions.

use crate::args::ClaudeCode;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use crate::settings::ConfigInForce;
use bashd::Request;
use bashd::guard::{Judgement, Verdict};
use bashd::rewrite::Command;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, Read};

/// The only event that can be decided.
const EVENT: &str = "PreToolUse";

/// The agent's own shell tool: its command must be readable.
const SHELL_TOOL: &str = "Bash";

/// The part of an event that we read.
#[derive(Deserialize)]
struct HookInput {
    hook_event_name: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

/// What the agent is told.
#[derive(Debug, PartialEq, Eq)]
enum HookAnswer {
    /// No objection; the agent decides as it would without us.
    NoObjection,
    /// The user decides, for this reason.
    Ask(String),
    /// It does not run, for this reason.
    Deny(String),
    /// The command does not run, for this reason; said by the status, since the event takes no
    /// answer.
    Block(String),
}

/// Answers the event on stdin.
pub(crate) fn answer_event(
    arguments: &ClaudeCode,
    settings: &dyn Fn() -> Result<ConfigInForce, Failure>,
    printer: &Printer,
) -> ExitStatus {
    let mut event = String::new();
    let answer = match io::stdin().lock().read_to_string(&mut event) {
        Ok(_) => answer(&event, &|command| judge(command, arguments, settings)),
        Err(error) => HookAnswer::Ask(format!("bashd could not read the event: {error}")),
    };
    tell(&answer, printer)
}

fn answer(event: &str, judge: &dyn Fn(&str) -> Result<Judgement, Failure>) -> HookAnswer {
    let event: HookInput = match serde_json::from_str(event) {
        Ok(event) => event,
        Err(error) => return HookAnswer::Ask(format!("bashd could not read the event: {error}")),
    };
    if event
        .hook_event_name
        .as_deref()
        .is_some_and(|name| name != EVENT)
    {
        return HookAnswer::Block(format!(
            "bashd can only answer {EVENT} events: fix the hook's configuration"
        ));
    }
    let Some(command) = event.tool_input.get("command").and_then(Value::as_str) else {
        return if event.tool_name == SHELL_TOOL {
            HookAnswer::Ask("bashd found no command in the event".to_owned())
        } else {
            HookAnswer::NoObjection
        };
    };
    let judgement = match judge(command) {
        Ok(judgement) => judgement,
        Err(failure) => {
            return HookAnswer::Ask(format!("bashd could not judge the command: {failure}"));
        }
    };
    match judgement.verdict {
        Verdict::Allow => HookAnswer::NoObjection,
        Verdict::Ask(objection) => {
            HookAnswer::Ask(format!("{}: {}", objection.rule, objection.message))
        }
        Verdict::Deny(objection) => {
            HookAnswer::Deny(format!("{}: {}", objection.rule, objection.message))
        }
    }
}

fn judge(
    command: &str,
    arguments: &ClaudeCode,
    settings: &dyn Fn() -> Result<ConfigInForce, Failure>,
) -> Result<Judgement, Failure> {
    let settings = settings()?;
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    let profile = settings.profile(name)?;
    let mut request = Request::new(command);
    arguments.judging.apply_to(&mut request);
    Ok(settings
        .config
        .judge(&profile, &request, &Command::as_given(command)))
}

fn tell(answer: &HookAnswer, printer: &Printer) -> ExitStatus {
    let (decision, reason) = match answer {
        HookAnswer::NoObjection => return ExitStatus::Success,
        HookAnswer::Ask(reason) => ("ask", reason),
        HookAnswer::Deny(reason) => ("deny", reason),
        HookAnswer::Block(reason) => {
            Printer::err(&format!("{reason}\n"));
            return ExitStatus::Blocked;
        }
    };
    let decision = json!({
        "hookSpecificOutput": {
            "hookEventName": EVENT,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    });
    if printer.out(&format!("{decision}\n")).is_ok() {
        return ExitStatus::Success;
    }
    Printer::err(&format!("{reason}\n"));
    ExitStatus::Blocked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    const EVENT_OF_BASH: &str =
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"}}"#;

    #[test]
    fn a_failure_asks_with_its_reason() {
        let failing = |_: &str| Err(Failure::new(FailureKind::Config, "the file is broken"));
        let answer = answer(EVENT_OF_BASH, &failing);
        let HookAnswer::Ask(reason) = &answer else {
            panic!("{answer:?}")
        };
        assert!(reason.contains("the file is broken"), "{reason}");
    }
}
