//! A profile: one document's contract as data, and how it shapes replies.
//!
//! `profiles/*.toml` hold the values and literal texts; differences in kind are small enums here.
//! No code checks a profile's name: a new one is a file, and users write theirs in the same form
//! (`docs/profiles.md`).

pub mod arguments;
mod check;
mod detailed;
pub(crate) mod digest_lines;
pub(crate) mod facts;
pub(crate) mod finished;
pub mod library;
pub(crate) mod minimized;
pub mod offered;
pub mod parameters;
pub(crate) mod parts;
pub(crate) mod refusals;
pub mod reply;
pub mod rules;
pub mod schema;
pub mod sets;
mod shape;
pub mod texts;
pub mod tools;
pub(crate) mod views;

use crate::error::{Error, ErrorKind, Result};
use crate::request::OnTimeout;
use parameters::{InputRules, Parameter, Tool};
use rules::{
    AtTerminalRules, BackgroundRules, EnvironmentRules, GuardRules, JobToolRules, LimitRules, Mode,
    OutputRules, RewriteRules, SessionRules, ShellRules, TerminalRules,
};
use serde::Deserialize;
use sets::Sets;
use texts::{ErrorTexts, RefusalTexts, ReplyRules};
use tools::FurtherTool;

/// The profile for requests that name none.
pub const DEFAULT: &str = "default";

/// The compiled-in profiles by name, in the order in which lists show them; as JSON, which the
/// build generates from `profiles/NAME.toml`.
const BUILTIN: [(&str, &str); 16] = [
    (
        DEFAULT,
        include_str!(concat!(env!("OUT_DIR"), "/default.json")),
    ),
    (
        "voice",
        include_str!(concat!(env!("OUT_DIR"), "/voice.json")),
    ),
    (
        "harness",
        include_str!(concat!(env!("OUT_DIR"), "/harness.json")),
    ),
    (
        "phoenix",
        include_str!(concat!(env!("OUT_DIR"), "/phoenix.json")),
    ),
    ("pi", include_str!(concat!(env!("OUT_DIR"), "/pi.json"))),
    (
        "anthropic-bash",
        include_str!(concat!(env!("OUT_DIR"), "/anthropic-bash.json")),
    ),
    (
        "openai-shell",
        include_str!(concat!(env!("OUT_DIR"), "/openai-shell.json")),
    ),
    (
        "openai-local-shell",
        include_str!(concat!(env!("OUT_DIR"), "/openai-local-shell.json")),
    ),
    (
        "claude-code",
        include_str!(concat!(env!("OUT_DIR"), "/claude-code.json")),
    ),
    (
        "claude-code-2.1",
        include_str!(concat!(env!("OUT_DIR"), "/claude-code-2.1.json")),
    ),
    (
        "claude-code-2.0",
        include_str!(concat!(env!("OUT_DIR"), "/claude-code-2.0.json")),
    ),
    (
        "gemini",
        include_str!(concat!(env!("OUT_DIR"), "/gemini.json")),
    ),
    (
        "codex",
        include_str!(concat!(env!("OUT_DIR"), "/codex.json")),
    ),
    (
        "codex-shell",
        include_str!(concat!(env!("OUT_DIR"), "/codex-shell.json")),
    ),
    (
        "codex-shell-command",
        include_str!(concat!(env!("OUT_DIR"), "/codex-shell-command.json")),
    ),
    (
        "openhands",
        include_str!(concat!(env!("OUT_DIR"), "/openhands.json")),
    ),
];

/// One document's contract.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line for lists and docs.
    pub summary: String,
    /// Other profiles whose tools it offers after its own.
    #[serde(default)]
    pub with: Vec<String>,
    /// How the tool introduces itself to a model.
    pub tool: Tool,
    /// Further tools, which manage jobs.
    #[serde(default)]
    pub tools: Vec<FurtherTool>,
    /// How a JSON input is read.
    pub input: InputRules,
    /// The parameters of the tool, in the order in which its schema lists them.
    pub parameters: Vec<Parameter>,
    /// Named ways to run; the first applies to calls that name none.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// Which shell runs the command.
    pub shell: ShellRules,
    /// What is added to the environment.
    #[serde(default)]
    pub environment: EnvironmentRules,
    /// When a command gets a terminal.
    #[serde(default)]
    pub terminal: TerminalRules,
    /// How the text of a command is rewritten.
    #[serde(default)]
    pub rewrite: RewriteRules,
    /// Which rules decide before anything runs.
    #[serde(default)]
    pub guard: GuardRules,
    /// Which calls share a shell, and when.
    #[serde(default)]
    pub session: SessionRules,
    /// The terminal at which commands are typed, if that stays from call to call.
    #[serde(default)]
    pub at_terminal: Option<AtTerminalRules>,
    /// When and how runs are ended.
    pub limits: LimitRules,
    /// How a call answers whose command continues as a job.
    #[serde(default)]
    pub background: BackgroundRules,
    /// The tool with which a model manages its jobs, if it has one.
    #[serde(default)]
    pub job_tool: Option<JobToolRules>,
    /// How the output is captured and shown.
    pub output: OutputRules,
    /// How outcomes become replies.
    pub reply: ReplyRules,
    /// The texts for bad requests.
    pub refusals: RefusalTexts,
    /// The texts for failures of our own.
    pub errors: ErrorTexts,
}

impl Profile {
    /// The compiled-in profile of that name (empty: the default one), or `None`. Tests make sure
    /// that it is consistent.
    pub fn builtin(name: &str) -> Result<Option<Self>> {
        let name = if name.is_empty() { DEFAULT } else { name };
        BUILTIN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, json)| serde_json::from_str(json))
            .transpose()
            .map_err(|error| Error::new(ErrorKind::Config, format!("profile `{name}`: {error}")))
    }

    /// Whether a parameter sets this.
    pub(crate) fn has(&self, sets: Sets) -> bool {
        self.parameters
            .iter()
            .any(|parameter| parameter.sets == sets)
    }

    /// Whether replies tell of jobs that have ended meanwhile.
    pub fn tells_ends(&self) -> bool {
        self.job_tool.is_some() || self.background.notices.told
    }

    /// Whether a command may outlive the wait of its call by itself.
    pub fn continues_long_commands(&self) -> bool {
        let goes_on = self.limits.on_timeout == Some(OnTimeout::Background);
        self.has(Sets::OnTimeout) || goes_on || self.limits.wait_ms.is_some()
    }

    /// The names of the compiled-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Reads a profile file and checks that it is consistent.
    pub fn from_toml(toml: &str) -> Result<Self> {
        let profile: Self = toml::from_str(toml)
            .map_err(|error| Error::new(ErrorKind::Config, format!("profile: {error}")))?;
        check::check(&profile).map_err(|problem| {
            let name = &profile.name;
            Error::new(ErrorKind::Config, format!("profile `{name}`: {problem}"))
        })?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Streams, Survivors};

    #[test]
    fn every_builtin_is_its_file_and_holds_together() {
        for name in Profile::names() {
            let path = format!("{}/profiles/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let from_file = Profile::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
            let builtin = Profile::builtin(name).unwrap().unwrap();
            assert_eq!(format!("{builtin:?}"), format!("{from_file:?}"));
        }
    }

    #[test]
    fn every_builtin_loads_under_its_name() {
        let names: Vec<_> = Profile::names().collect();
        assert_eq!(
            names,
            [
                "default",
                "voice",
                "harness",
                "phoenix",
                "pi",
                "anthropic-bash",
                "openai-shell",
                "openai-local-shell",
                "claude-code",
                "claude-code-2.1",
                "claude-code-2.0",
                "gemini",
                "codex",
                "codex-shell",
                "codex-shell-command",
                "openhands",
            ]
        );
        for name in names {
            let profile = Profile::builtin(name).unwrap().unwrap();
            assert_eq!(profile.name, name);
            assert_eq!(profile.limits.survivors, Survivors::Keep);
            let waits = match name {
                "pi" => [75, 250, 2000, 2000],
                _ => [2000, 20, 100, 2000],
            };
            let limits = &profile.limits;
            assert_eq!(
                [
                    limits.grace_ms,
                    limits.drain_silence_ms,
                    limits.drain_total_ms,
                    limits.drain_finish_ms,
                ],
                waits,
                "{name}"
            );
        }
        assert_eq!(Profile::builtin("").unwrap().unwrap().name, "default");
        assert!(Profile::builtin("nope").unwrap().is_none());
    }

    #[test]
    fn m_14_the_three_documents_add_no_variables() {
        let adding = Profile::names().filter(|name| {
            let environment = Profile::builtin(name).unwrap().unwrap().environment;
            environment.run_variable || environment.shell_variable || !environment.set.is_empty()
        });
        let of_documents = adding.filter(|name| ["voice", "harness", "phoenix"].contains(name));
        assert_eq!(of_documents.count(), 0);
    }

    #[test]
    fn streams_are_apart_only_where_the_document_keeps_them_apart() {
        let streams = |name| Profile::builtin(name).unwrap().unwrap().output.streams;
        assert_eq!(streams("default"), Streams::Merged);
        assert_eq!(streams("phoenix"), Streams::Merged);
        assert_eq!(streams("pi"), Streams::Merged);
        assert_eq!(streams("voice"), Streams::Apart);
        assert_eq!(streams("harness"), Streams::Apart);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let toml = include_str!("../../profiles/voice.toml").replace("grace_ms", "grace_mss");
        let error = Profile::from_toml(&toml).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("grace_mss"), "{error}");
    }
    #[test]
    fn the_profile_in_the_docs_is_a_whole_one() {
        let page = include_str!("../../../../docs/profiles.md");
        let toml = page.split_once("```toml\n").unwrap().1;
        let toml = toml.split_once("```").unwrap().0;
        let profile = Profile::from_toml(toml).unwrap();
        assert_eq!(profile.name, "brief");
        for name in Profile::names() {
            let row = format!("| `{name}` |");
            assert!(page.contains(&row), "{row}");
        }
    }
}
