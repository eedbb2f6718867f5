//! Claude Code: a `PreToolUse` event on stdin, the decision as JSON on stdout.
//!
//! The agent runs the command unless it is told otherwise, also when a hook fails. So every failure
//! of ours becomes `ask`, and where not even that can be said, status 2, which blocks. A command
//! that nothing speaks against gets no decision: `allow` would skip the agent's own permissions.

use crate::args::ClaudeCode;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use crate::settings::Settings;
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

/// What is read of an event.
#[derive(Deserialize)]
struct Event {
    hook_event_name: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

/// What the agent is told.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing speaks against it; the agent decides as it would without us.
    NoObjection,
    /// The user decides, for this reason.
    Ask(String),
    /// It does not run, for this reason.
    Deny(String),
    /// The same, by the status, where the event is not one that takes an answer.
    Block(String),
}

/// Answers the event on stdin.
pub(crate) fn answer_event(
    arguments: &ClaudeCode,
    settings: &dyn Fn() -> Result<Settings, Failure>,
    printer: &Printer,
) -> ExitStatus {
    let mut event = String::new();
    let answer = match io::stdin().lock().read_to_string(&mut event) {
        Ok(_) => answer(&event, &|command| judge(command, arguments, settings)),
        Err(error) => Answer::Ask(format!("bashd could not read the event: {error}")),
    };
    tell(&answer, printer)
}

fn answer(event: &str, judge: &dyn Fn(&str) -> Result<Judgement, Failure>) -> Answer {
    let event: Event = match serde_json::from_str(event) {
        Ok(event) => event,
        Err(error) => return Answer::Ask(format!("bashd could not read the event: {error}")),
    };
    if event
        .hook_event_name
        .as_deref()
        .is_some_and(|name| name != EVENT)
    {
        return Answer::Block(format!(
            "bashd can only answer {EVENT} events: mend the hook's configuration"
        ));
    }
    let Some(command) = event.tool_input.get("command").and_then(Value::as_str) else {
        return if event.tool_name == SHELL_TOOL {
            Answer::Ask("bashd found no command in the event".to_owned())
        } else {
            Answer::NoObjection
        };
    };
    let judgement = match judge(command) {
        Ok(judgement) => judgement,
        Err(failure) => {
            return Answer::Ask(format!("bashd could not judge the command: {failure}"));
        }
    };
    match judgement.verdict {
        Verdict::Allow => Answer::NoObjection,
        Verdict::Ask(objection) => {
            Answer::Ask(format!("{}: {}", objection.rule, objection.message))
        }
        Verdict::Deny(objection) => {
            Answer::Deny(format!("{}: {}", objection.rule, objection.message))
        }
    }
}

fn judge(
    command: &str,
    arguments: &ClaudeCode,
    settings: &dyn Fn() -> Result<Settings, Failure>,
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

fn tell(answer: &Answer, printer: &Printer) -> ExitStatus {
    let (decision, reason) = match answer {
        Answer::NoObjection => return ExitStatus::Success,
        Answer::Ask(reason) => ("ask", reason),
        Answer::Deny(reason) => ("deny", reason),
        Answer::Block(reason) => {
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
    use crate::failure::Kind;

    const EVENT_OF_BASH: &str =
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"}}"#;

    #[test]
    fn a_failure_asks_with_its_reason() {
        let failing = |_: &str| Err(Failure::new(Kind::Config, "the file is broken"));
        let answer = answer(EVENT_OF_BASH, &failing);
        let Answer::Ask(reason) = &answer else {
            panic!("{answer:?}")
        };
        assert!(reason.contains("the file is broken"), "{reason}");
    }
}
