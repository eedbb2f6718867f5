//! Cline: the server in its settings, the hook as an executable file of ours.

use super::{AgentSetup, AgentWishes, NO_VERDICT, PATIENCE_S, SetupContext, shell_word};
use crate::init::edit::{ConfigEdit, ConfigFormat, FileUse, FileWish, WishedContent};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    signs: |places| vec![places.home.join(".cline")],
    wishes,
};

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    let of_user = context.places.home.join(".cline");
    if wants.server && context.project.is_none() {
        let entry = context.entry(json!({"disabled": false, "timeout": 3600}));
        let edit = ConfigEdit::member(&["mcpServers", "bashd"], entry);
        let file = of_user.join("data/settings/cline_mcp_settings.json");
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
    }
    if wants.server && context.project.is_some() {
        wishes.lack("servers of Cline are only set up for all projects (without --project)");
    }
    if wants.hook {
        wishes.files.push(FileWish {
            path: context.file(".cline/hooks/PreToolUse", of_user.join("hooks/PreToolUse")),
            content: WishedContent::Whole(script(context.program), FileUse::Executed),
        });
    }
    if wants.no_own_shell {
        wishes.lack("its own shell can't be switched off: use --hook");
    }
    wishes
}

/// The hook: Cline looks at no status, only at what is printed.
fn script(program: &str) -> String {
    let blocked = json!({"cancel": true, "errorMessage": NO_VERDICT});
    let program = shell_word(program);
    format!(
        "#!/bin/sh\n\
         # Written by `bashd init --hook`; `bashd init --uninstall` removes it.\n\
         answer=$(timeout -k 1 {PATIENCE_S} {program} hook cline) || answer='{blocked}'\n\
         printf '%s\\n' \"$answer\"\n"
    )
}
