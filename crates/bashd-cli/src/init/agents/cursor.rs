//! Cursor: the server in `mcp.json`, the hook in `hooks.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::hook::HookedAgent;
use crate::init::edit::{ConfigEdit, ConfigFormat};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    signs: |places| vec![places.home.join(".cursor")],
    wishes,
};

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let of_user = context.places.home.join(".cursor");
    if wants.server {
        let entry = context.entry(json!({}));
        let edit = ConfigEdit::member(&["mcpServers", "bashd"], entry);
        let file = context.file(".cursor/mcp.json", of_user.join("mcp.json"));
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
        wishes.must_do("switch bashd on in Cursor's settings, under MCP");
    }
    if wants.hook {
        // Whatever is not an answer blocks.
        let hook = json!({
            "command": context.hook_line(HookedAgent::Cursor),
            "timeout": 60,
            "failClosed": true,
        });
        let place = ["hooks", "beforeShellExecution"];
        let edits = vec![
            ConfigEdit::member(&["version"], 1.into()),
            ConfigEdit::only_element(&place, "hook cursor", hook),
        ];
        let file = context.file(".cursor/hooks.json", of_user.join("hooks.json"));
        wishes.edit(file, ConfigFormat::Json, edits);
        wishes.must_do("restart Cursor; its settings list the hook, under Hooks");
    }
    if wants.no_own_shell {
        wishes.lack("its own shell can't be switched off: use --hook");
    }
    wishes
}
