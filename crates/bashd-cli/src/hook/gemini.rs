//! Gemini CLI: `BeforeTool`. It can ask, but without a person it then waits forever, so what would
//! be asked is denied.

use super::event::{HeardEvent, text};
use super::{HookAnswer, HookProtocol, HookSpeech};
use serde_json::{Value, json};

pub(super) const PROTOCOL: HookProtocol = HookProtocol { hear, say };

const EVENT: &str = "BeforeTool";

fn hear(event: &Value) -> HeardEvent {
    if text(event, "hook_event_name").is_some_and(|name| name != EVENT) {
        return HeardEvent::Wrong(format!(
            "bashd can only answer {EVENT} events: fix the hook's configuration"
        ));
    }
    let shells = ["run_shell_command"];
    HeardEvent::call(text(event, "tool_name"), &shells, event.get("tool_input"))
}

fn say(answer: &HookAnswer) -> HookSpeech {
    let denied = |reason: &str| HookSpeech::Json(json!({"decision": "deny", "reason": reason}));
    match answer {
        HookAnswer::NoObjection => HookSpeech::Silence,
        HookAnswer::Ask(question) => denied(&question.denial()),
        HookAnswer::Deny(reason) | HookAnswer::Unjudged(reason) => denied(reason),
        HookAnswer::WrongEvent(reason) => HookSpeech::Blocked(reason.clone()),
    }
}
