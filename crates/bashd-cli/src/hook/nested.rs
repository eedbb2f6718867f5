//! Claude Code, and who took its protocol over: `PreToolUse`, the decision nested in the answer.
//!
//! A command without objection gets no answer: `allow` would skip the agent's own permissions. Of
//! these agents only Claude Code can ask: Codex runs what it is asked about.

use super::event::{HeardEvent, text};
use super::{HookAnswer, HookProtocol, HookSpeech};
use serde_json::{Value, json};

/// The only event that can be decided.
const EVENT: &str = "PreToolUse";

pub(super) const CLAUDE_CODE: HookProtocol = HookProtocol {
    hear: |event| hear(event, &["Bash", "Monitor"]),
    say: say_or_ask,
};

pub(super) const CODEX: HookProtocol = HookProtocol {
    hear: |event| match text(event, "tool_name") {
        // The text of a patch is called a command, too.
        Some("apply_patch") => HeardEvent::OtherTool,
        _ => hear(event, &["Bash"]),
    },
    say,
};

pub(super) const QWEN: HookProtocol = HookProtocol {
    hear: |event| hear(event, &["run_shell_command", "monitor"]),
    say,
};

fn hear(event: &Value, shells: &[&str]) -> HeardEvent {
    if text(event, "hook_event_name").is_some_and(|name| name != EVENT) {
        return HeardEvent::Wrong(format!(
            "bashd can only answer {EVENT} events: fix the hook's configuration"
        ));
    }
    HeardEvent::call(text(event, "tool_name"), shells, event.get("tool_input"))
}

fn say_or_ask(answer: &HookAnswer) -> HookSpeech {
    match answer {
        HookAnswer::Ask(question) => decision("ask", &question.reason()),
        // A person may know better than a hook that is broken.
        HookAnswer::Unjudged(reason) => decision("ask", reason),
        other => say(other),
    }
}

fn say(answer: &HookAnswer) -> HookSpeech {
    match answer {
        HookAnswer::NoObjection => HookSpeech::Silence,
        HookAnswer::Ask(question) => decision("deny", &question.denial()),
        HookAnswer::Deny(reason) | HookAnswer::Unjudged(reason) => decision("deny", reason),
        HookAnswer::WrongEvent(reason) => HookSpeech::Blocked(reason.clone()),
    }
}

fn decision(decision: &str, reason: &str) -> HookSpeech {
    HookSpeech::Json(json!({
        "hookSpecificOutput": {
            "hookEventName": EVENT,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }))
}
