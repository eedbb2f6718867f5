//! opencode: the server and the shell in `opencode.json`, the guard as a plugin file of ours.

use super::{AgentSetup, AgentWishes, NO_VERDICT, PATIENCE_S, SetupContext};
use crate::init::edit::{ConfigEdit, ConfigFormat, FileUse, FileWish, WishedContent};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "opencode",
    title: "opencode",
    programs: &["opencode"],
    signs: |places| vec![places.config.join("opencode")],
    wishes,
};

/// The plugin: whatever goes wrong in it blocks the command.
const PLUGIN: &str = include_str!("opencode_plugin.js");

/// The configuration that is there, with comments or without.
fn configuration(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    if with_comments.exists() {
        with_comments
    } else {
        folder.join("opencode.json")
    }
}

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let of_user = context.places.config.join("opencode");
    let mut edits = Vec::new();
    if wants.server {
        let words = [&[context.program.to_owned()], &*context.server].concat();
        let entry = json!({
            "type": "local",
            "command": words,
            "enabled": true,
        });
        edits.push(ConfigEdit::member(&["mcp", "bashd"], entry));
        wishes.must_do("restart opencode; `opencode mcp list` lists bashd");
    }
    if wants.no_own_shell {
        // The last one that fits counts, and ours comes last.
        edits.push(ConfigEdit::member(&["permission", "bash"], "deny".into()));
    }
    let file = configuration(context.project.as_deref().unwrap_or(&of_user));
    wishes.edit(file, ConfigFormat::Json, edits);
    if wants.hook {
        let plugin = PLUGIN
            .replace("PROGRAM_AS_JSON", &Value::from(context.program).to_string())
            .replace("PATIENCE_S", &PATIENCE_S.to_string())
            .replace("NO_VERDICT", &Value::from(NO_VERDICT).to_string());
        wishes.files.push(FileWish {
            path: context.file(".opencode/plugin/bashd.js", of_user.join("plugin/bashd.js")),
            content: WishedContent::Whole(plugin, FileUse::Read),
        });
    }
    wishes
}
