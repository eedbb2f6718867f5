//! Cline: `PreToolUse`, which looks only at the JSON on stdout, and at no status.

use super::event::{HeardEvent, text};
use super::{HookAnswer, HookProtocol, HookSpeech};
use serde_json::{Value, json};

pub(super) const PROTOCOL: HookProtocol = HookProtocol { hear, say };

/// Its shell tools: the first runs several commands at once.
const SHELLS: [&str; 3] = ["run_commands", "execute_command", "bash"];

fn hear(event: &Value) -> HeardEvent {
    let call = event.get("tool_call");
    let former = event.get("preToolUse");
    let (tool, input) = match (call, former) {
        (Some(call), _) => (text(call, "name"), call.get("input")),
        (None, Some(former)) => (text(former, "toolName"), former.get("parameters")),
        (None, None) => return HeardEvent::NoCommand,
    };
    let Some(tool) = tool else {
        return HeardEvent::NoCommand;
    };
    let is_shell = SHELLS.contains(&tool);
    match input.and_then(commands) {
        Some(commands) if is_shell && commands.is_empty() => HeardEvent::NoCommand,
        Some(commands) => HeardEvent::Commands(commands),
        None if is_shell => HeardEvent::NoCommand,
        None => HeardEvent::OtherTool,
    }
}

/// The commands of an input, in any of the forms that the tool takes; `None` if one of them can't
/// be read.
fn commands(input: &Value) -> Option<Vec<String>> {
    match input {
        // The parameters of older versions are texts, which may hold a list.
        Value::String(command) => match serde_json::from_str(command) {
            Ok(list @ Value::Array(_)) => commands(&list),
            _ => Some(vec![command.clone()]),
        },
        Value::Array(items) => {
            let all: Option<Vec<Vec<String>>> = items.iter().map(commands).collect();
            all.map(|all| all.concat())
        }
        Value::Object(fields) => {
            let command = ["commands", "command", "cmd"]
                .iter()
                .find_map(|key| fields.get(*key))?;
            let mut found = commands(command)?;
            if let (Some(Value::Array(words)), Some(last)) = (fields.get("args"), found.last_mut())
            {
                for word in words {
                    last.push(' ');
                    last.push_str(word.as_str()?);
                }
            }
            Some(found)
        }
        _ => None,
    }
}

pub(super) fn say(answer: &HookAnswer) -> HookSpeech {
    let cancelled =
        |reason: &str| HookSpeech::Json(json!({"cancel": true, "errorMessage": reason}));
    match answer {
        HookAnswer::NoObjection => HookSpeech::Json(json!({"cancel": false})),
        HookAnswer::Ask(question) => cancelled(&question.denial()),
        HookAnswer::Deny(reason)
        | HookAnswer::Unjudged(reason)
        | HookAnswer::WrongEvent(reason) => cancelled(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_call_is_heard() {
        for (input, expected) in [
            (json!({"commands": ["a b", "c"]}), &["a b", "c"][..]),
            (json!({"commands": "a"}), &["a"]),
            (json!({"commands": "[\"a\", \"b\"]"}), &["a", "b"]),
            (json!({"command": "a"}), &["a"]),
            (json!({"cmd": "a"}), &["a"]),
            (json!({"command": "a", "args": ["b", "c"]}), &["a b c"]),
            (json!({"commands": [{"command": "a"}, "b"]}), &["a", "b"]),
            (json!(["a"]), &["a"]),
            (json!("a"), &["a"]),
        ] {
            let event = json!({"tool_call": {"name": "run_commands", "input": input}});
            let expected = expected.iter().map(|&command| command.to_owned()).collect();
            assert_eq!(hear(&event), HeardEvent::Commands(expected), "{event}");
        }
        let former = json!({"toolName": "execute_command", "parameters": {"command": "a"}});
        let former = json!({ "preToolUse": former });
        assert_eq!(hear(&former), HeardEvent::Commands(vec!["a".to_owned()]));
    }

    #[test]
    fn what_is_not_understood_is_not_passed() {
        for input in [
            json!({"commands": [1]}),
            json!({"commands": []}),
            json!({}),
            json!(null),
        ] {
            let event = json!({"tool_call": {"name": "run_commands", "input": input}});
            assert_eq!(hear(&event), HeardEvent::NoCommand, "{event}");
        }
        let other = json!({"tool_call": {"name": "read_files", "input": {"paths": ["x"]}}});
        assert_eq!(hear(&other), HeardEvent::OtherTool);
        assert_eq!(hear(&json!({})), HeardEvent::NoCommand);
    }
}
