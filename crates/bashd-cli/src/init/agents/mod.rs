//! The agents that can be set up: one file each, one line in the table.

mod claude_code;
mod cline;
mod codex;
mod cursor;
mod gemini;
mod opencode;
mod qwen;
mod vscode;
mod zed;

use super::edit::{ConfigEdit, ConfigFormat, FileWish, WishedContent};
use crate::hook::HookedAgent;
use crate::surroundings::AgentPlaces;
use serde_json::{Value, json};
use std::path::PathBuf;

/// All agents, in the order in which they are listed.
pub(super) const AGENTS: [&AgentSetup; 9] = [
    &claude_code::SETUP,
    &codex::SETUP,
    &gemini::SETUP,
    &opencode::SETUP,
    &cursor::SETUP,
    &vscode::SETUP,
    &zed::SETUP,
    &qwen::SETUP,
    &cline::SETUP,
];

/// How an agent is found and set up.
pub(super) struct AgentSetup {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Its programs, one of which is in `PATH` if it is installed.
    pub(super) programs: &'static [&'static str],
    /// Files and folders that it makes for itself.
    pub(super) signs: fn(&AgentPlaces) -> Vec<PathBuf>,
    /// What to write for it.
    pub(super) wishes: fn(&SetupContext<'_>) -> AgentWishes,
}

/// For what an agent is set up, and where.
pub(super) struct SetupContext<'a> {
    pub(super) places: &'a AgentPlaces,
    /// How the agent starts bashd.
    pub(super) program: &'a str,
    /// The arguments by which it starts the server.
    pub(super) server: Vec<String>,
    pub(super) wants: SetupWants,
    /// The folder of the project whose files are written; `None` for the user's.
    pub(super) project: Option<PathBuf>,
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SetupWants {
    /// An entry that starts the server.
    pub(super) server: bool,
    /// The guard before the agent's own shell tool.
    pub(super) hook: bool,
    /// The agent's own shell tool switched off.
    pub(super) no_own_shell: bool,
}

/// What to write for an agent, and what to tell.
#[derive(Debug, Default)]
pub(super) struct AgentWishes {
    pub(super) files: Vec<FileWish>,
    /// What was wanted and can't be had.
    pub(super) missing: Vec<&'static str>,
    /// What the user must still do.
    pub(super) still_to_do: Vec<&'static str>,
}

impl AgentWishes {
    /// Edits of one file, if there are any.
    fn edit(&mut self, path: PathBuf, format: ConfigFormat, edits: Vec<ConfigEdit>) {
        if !edits.is_empty() {
            let content = WishedContent::Edits(format, edits);
            self.files.push(FileWish { path, content });
        }
    }

    /// Tells what can't be had.
    fn lack(&mut self, what: &'static str) {
        self.missing.push(what);
    }

    /// Tells what the user must do.
    fn must_do(&mut self, what: &'static str) {
        self.still_to_do.push(what);
    }
}

impl SetupContext<'_> {
    /// A file of the project, or else one of the user's.
    fn file(&self, in_project: &str, of_user: PathBuf) -> PathBuf {
        match &self.project {
            Some(project) => project.join(in_project),
            None => of_user,
        }
    }

    /// The server's entry as most agents have it, with more of their own keys.
    fn entry(&self, more: Value) -> Value {
        let mut entry = json!({"command": self.program, "args": self.server});
        if let (Some(entry), Value::Object(more)) = (entry.as_object_mut(), more) {
            entry.extend(more);
        }
        entry
    }

    /// The hook as a line for a shell.
    fn hook_line(&self, agent: HookedAgent) -> String {
        format!("{} hook {}", shell_word(self.program), agent.name())
    }

    /// The hook as a line for a shell, for agents that run a command if its hook fails: a shell
    /// blocks if bashd is missing, is killed or takes too long.
    fn closed_hook_line(&self, agent: HookedAgent) -> String {
        let agent = agent.name();
        let program = shell_word(self.program);
        format!(
            "sh -c 'timeout -k 1 {PATIENCE_S} \"$0\" hook {agent} || {{ echo \"{NO_VERDICT}\" >&2; exit 2; }}' {program}"
        )
    }
}

/// Seconds that a hook may take; an agent's own limit must be longer.
pub(super) const PATIENCE_S: u32 = 30;

/// What is said in place of a hook that did not answer.
pub(super) const NO_VERDICT: &str = "bashd gave no verdict, so the command is blocked";

/// A word as it is written for a shell.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
