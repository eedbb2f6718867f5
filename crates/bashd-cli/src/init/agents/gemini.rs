//! Gemini CLI: server and hook in `settings.json`, the shell by a policy file of ours.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::hook::HookedAgent;
use crate::init::edit::{ConfigEdit, ConfigFormat, FileUse, FileWish, WishedContent};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    signs: |places| vec![places.home.join(".gemini")],
    wishes,
};

const POLICY: &str = "\
# Written by `bashd init --replace-shell`; `bashd init --uninstall` removes it.
[[rule]]
toolName = \"run_shell_command\"
decision = \"deny\"
priority = 500
";

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let folder = context.places.home.join(".gemini");
    let mut edits = Vec::new();
    if wants.server {
        // In milliseconds; a call may be held open for longer than its ten minutes.
        let entry = context.entry(json!({"timeout": 3_600_000}));
        edits.push(ConfigEdit::member(&["mcpServers", "bashd"], entry));
        wishes.must_do("restart Gemini CLI; `/mcp` lists bashd then");
    }
    if wants.hook {
        let hook = json!({
            "type": "command",
            "name": "bashd",
            "command": context.closed_hook_line(HookedAgent::Gemini),
            "timeout": 60_000,
        });
        let group = json!({"matcher": "run_shell_command", "hooks": [hook]});
        let place = ["hooks", "BeforeTool"];
        edits.push(ConfigEdit::only_element(&place, "hook gemini", group));
    }
    let file = context.file(".gemini/settings.json", folder.join("settings.json"));
    wishes.edit(file, ConfigFormat::Json, edits);
    if wants.no_own_shell && context.project.is_none() {
        wishes.files.push(FileWish {
            path: folder.join("policies/bashd.toml"),
            content: WishedContent::Whole(POLICY.to_owned(), FileUse::Read),
        });
    }
    let is_project = context.project.is_some();
    if wants.no_own_shell && is_project {
        wishes.lack("its own shell can only be switched off for all projects (without --project)");
    }
    if is_project {
        wishes.must_do("Gemini CLI reads .gemini only in folders that you trust");
    }
    wishes
}
