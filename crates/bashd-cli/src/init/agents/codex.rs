//! Codex: the server and the shell in `config.toml`, the hook in `hooks.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::hook::HookedAgent;
use crate::init::edit::{ConfigEdit, ConfigFormat};
use crate::surroundings::AgentPlaces;
use serde_json::json;
use std::path::PathBuf;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    signs: |places| vec![folder(places)],
    wishes,
};

fn folder(places: &AgentPlaces) -> PathBuf {
    let folder = places.codex.clone();
    folder.unwrap_or_else(|| places.home.join(".codex"))
}

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let mut edits = Vec::new();
    if wants.server {
        // A call may be held open for longer than its five minutes.
        let entry = context.entry(json!({"tool_timeout_sec": 3600}));
        edits.push(ConfigEdit::member(&["mcp_servers", "bashd"], entry));
        wishes.must_do("restart Codex; `/mcp` lists bashd then");
    }
    if wants.no_own_shell {
        let edit = ConfigEdit::member(&["features", "shell_tool"], false.into());
        edits.push(edit);
    }
    let of_user = folder(context.places);
    let file = context.file(".codex/config.toml", of_user.join("config.toml"));
    wishes.edit(file, ConfigFormat::Toml, edits);
    if wants.hook {
        let hook = json!({
            "type": "command",
            "command": context.closed_hook_line(HookedAgent::Codex),
            "timeout": 60,
        });
        let group = json!({"matcher": "^Bash$", "hooks": [hook]});
        let place = ["hooks", "PreToolUse"];
        let edit = ConfigEdit::only_element(&place, "hook codex", group);
        let file = context.file(".codex/hooks.json", of_user.join("hooks.json"));
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
        wishes.must_do(
            "trust the hook: start Codex, type `/hooks`, review it and allow it. Until then, and whenever the hook changes, Codex skips it without a word",
        );
    }
    let is_project = context.project.is_some();
    if is_project {
        wishes.must_do("Codex reads .codex only in projects that you trust");
    }
    wishes
}
