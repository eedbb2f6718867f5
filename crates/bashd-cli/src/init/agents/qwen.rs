//! Qwen Code: everything in `settings.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::hook::HookedAgent;
use crate::init::edit::{ConfigEdit, ConfigFormat};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "qwen",
    title: "Qwen Code",
    programs: &["qwen"],
    signs: |places| vec![places.home.join(".qwen")],
    wishes,
};

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let mut edits = Vec::new();
    if wants.server {
        // In milliseconds.
        let entry = context.entry(json!({"timeout": 3_600_000}));
        edits.push(ConfigEdit::member(&["mcpServers", "bashd"], entry));
        wishes.must_do("restart Qwen Code; `/mcp` lists bashd then");
    }
    if wants.hook {
        let hook = json!({
            "type": "command",
            "name": "bashd",
            "command": context.closed_hook_line(HookedAgent::Qwen),
            "timeout": 60_000,
        });
        let group = json!({"matcher": "^(run_shell_command|monitor)$", "hooks": [hook]});
        let place = ["hooks", "PreToolUse"];
        edits.push(ConfigEdit::only_element(&place, "hook qwen", group));
    }
    if wants.no_own_shell {
        for tool in ["run_shell_command", "monitor"] {
            edits.push(ConfigEdit::element(&["tools", "exclude"], tool.into()));
        }
    }
    let of_user = context.places.home.join(".qwen/settings.json");
    let file = context.file(".qwen/settings.json", of_user);
    wishes.edit(file, ConfigFormat::Json, edits);
    wishes
}
