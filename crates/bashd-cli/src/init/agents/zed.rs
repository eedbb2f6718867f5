//! Zed: the server in `settings.json`.

use super::{AgentSetup, AgentWishes, SetupContext};
use crate::init::edit::{ConfigEdit, ConfigFormat};
use serde_json::json;

pub(super) const SETUP: AgentSetup = AgentSetup {
    name: "zed",
    title: "Zed",
    programs: &["zed", "zeditor"],
    signs: |places| vec![places.config.join("zed")],
    wishes,
};

fn wishes(context: &SetupContext<'_>) -> AgentWishes {
    let mut wishes = AgentWishes::default();
    let wants = context.wants;
    if wants.server && context.project.is_none() {
        let edit = ConfigEdit::member(&["context_servers", "bashd"], context.entry(json!({})));
        let file = context.places.config.join("zed/settings.json");
        wishes.edit(file, ConfigFormat::Json, vec![edit]);
    }
    if context.project.is_some() {
        wishes.lack("Zed is only set up for all projects (without --project)");
    }
    if wants.hook {
        wishes.lack("Zed has no hooks");
    }
    if wants.no_own_shell {
        wishes.lack("its own shell is switched off in the agent's profile (tool `terminal`)");
    }
    wishes
}
