//! Cursor: `beforeShellExecution`, and the shell calls of `preToolUse`. With `failClosed` silence
//! blocks, so consent is said, too; it skips none of Cursor's own permissions.

use super::event::{HeardEvent, text};
use super::{HookAnswer, HookProtocol, HookSpeech};
use serde_json::{Value, json};

pub(super) const PROTOCOL: HookProtocol = HookProtocol { hear, say };

fn hear(event: &Value) -> HeardEvent {
    match text(event, "hook_event_name") {
        // Events without a name were those of the shell.
        Some("beforeShellExecution") | None => {
            HeardEvent::call(Some("Shell"), &["Shell"], Some(event))
        }
        Some("preToolUse") => {
            let tool = text(event, "tool_name");
            HeardEvent::call(tool, &["Shell"], event.get("tool_input"))
        }
        Some(_) => HeardEvent::Wrong(
            "bashd can only answer beforeShellExecution and preToolUse: fix the hook's configuration"
                .to_owned(),
        ),
    }
}

fn say(answer: &HookAnswer) -> HookSpeech {
    let permission = |word: &str, reason: &str| {
        HookSpeech::Json(json!({
            "permission": word,
            "user_message": reason,
            "agent_message": reason,
        }))
    };
    match answer {
        HookAnswer::NoObjection => HookSpeech::Json(json!({"permission": "allow"})),
        HookAnswer::Ask(question) => permission("ask", &question.reason()),
        HookAnswer::Deny(reason) | HookAnswer::Unjudged(reason) => permission("deny", reason),
        HookAnswer::WrongEvent(reason) => HookSpeech::Blocked(reason.clone()),
    }
}
