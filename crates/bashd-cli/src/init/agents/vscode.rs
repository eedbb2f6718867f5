//! VS Code (GitHub Copilot): the server in `mcp.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::init::edit::{ConfigEdit, ConfigFormat};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "vscode",
    title: "VS Code",
    programs: &["code"],
    signs: |places| vec![places.config.join("Code/User")],
    wishes,
};

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    if wants.server {
        let entry = context.entry(json!({"type": "stdio"}));
        let edit = ConfigEdit::member(&["servers", "bashd"], entry);
        let of_user = context.places.config.join("Code/User/mcp.json");
        let file = context.file(".vscode/mcp.json", of_user);
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
        wishes.must_do("VS Code asks once whether to start bashd");
    }
    if wants.hook {
        wishes.lack("bashd has no hook for VS Code");
    }
    if wants.no_own_shell {
        wishes.lack("its own shell is switched off in the chat's list of tools (runInTerminal)");
    }
    wishes
}
