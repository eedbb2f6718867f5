//! Claude Code: the server in `.claude.json`, the hook and the shell in `settings.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::hook::HookedAgent;
use crate::init::edit::{ConfigEdit, ConfigFormat};
use crate::surroundings::AgentPlaces;
use serde_json::json;
use std::path::PathBuf;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    signs: |places| vec![settings(places), servers(places)],
    wishes,
};

fn settings(places: &AgentPlaces) -> PathBuf {
    let folder = places.claude.clone();
    folder.unwrap_or_else(|| places.home.join(".claude"))
}

fn servers(places: &AgentPlaces) -> PathBuf {
    let folder = places.claude.as_ref().unwrap_or(&places.home);
    folder.join(".claude.json")
}

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    if wants.server {
        // Without `alwaysLoad` the tools are hidden behind a search.
        let mut entry = json!({"type": "stdio"});
        let rest = context.entry(json!({"alwaysLoad": true}));
        if let (Some(entry), Some(rest)) = (entry.as_object_mut(), rest.as_object()) {
            entry.extend(rest.clone());
        }
        let file = context.file(".mcp.json", servers(context.places));
        let edit = ConfigEdit::member(&["mcpServers", "bashd"], entry);
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
        wishes.must_do("restart Claude Code; `/mcp` lists bashd then");
        let is_project = context.project.is_some();
        if is_project {
            wishes.must_do("Claude Code asks once whether to use .mcp.json");
        }
    }
    let mut edits = Vec::new();
    if wants.hook {
        let hook = json!({
            "type": "command",
            "command": context.hook_line(HookedAgent::ClaudeCode),
            "timeout": 60,
            "onFailure": "block",
        });
        let group = json!({"matcher": "Bash|Monitor", "hooks": [hook]});
        let place = ["hooks", "PreToolUse"];
        edits.push(ConfigEdit::only_element(&place, "hook claude-code", group));
    }
    if wants.no_own_shell {
        for tool in ["Bash", "Monitor"] {
            edits.push(ConfigEdit::element(&["permissions", "deny"], tool.into()));
        }
    }
    let of_user = settings(context.places).join("settings.json");
    let file = context.file(".claude/settings.json", of_user);
    wishes.edit(file, ConfigFormat::Json, edits);
    wishes
}
