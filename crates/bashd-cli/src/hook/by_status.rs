//! Agents that are answered by the status: 0 is no objection, 2 a denial with its reason on stderr.
//!
//! opencode has plugins instead of hooks: ours (`bashd init --hook` writes it) calls this and takes
//! everything but status 0 for a denial. crush and `OpenHands` know status 2, too.

use super::event::{HeardEvent, text};
use super::{HookAnswer, HookProtocol, HookSpeech};

pub(super) const OPENCODE: HookProtocol = HookProtocol {
    hear: |event| HeardEvent::call(text(event, "tool"), &["bash"], event.get("args")),
    say,
};

pub(super) const TOOL_EVENTS: HookProtocol = HookProtocol {
    hear: |event| {
        let shells = ["bash", "terminal", "execute_bash"];
        HeardEvent::call(text(event, "tool_name"), &shells, event.get("tool_input"))
    },
    say,
};

fn say(answer: &HookAnswer) -> HookSpeech {
    HookSpeech::Blocked(match answer {
        HookAnswer::NoObjection => return HookSpeech::Silence,
        HookAnswer::Ask(question) => question.denial(),
        HookAnswer::Deny(reason)
        | HookAnswer::Unjudged(reason)
        | HookAnswer::WrongEvent(reason) => reason.clone(),
    })
}
