//! The further tools of a profile: each is data that maps its parameters and texts onto what can be
//! done with a job.

use super::Profile;
use super::arguments;
use super::parameters::AdditionalProperties;
use super::parts::{self, ReplyPart};
use super::rules::JobNaming;
use crate::output::window::Window;
use crate::patterns;
use crate::request::{Refusal, RefusalKind};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A tool that manages jobs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FurtherTool {
    /// What it does.
    pub verb: Verb,
    /// Its name.
    pub name: String,
    /// Other names that it answers to.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its description.
    pub description: String,
    /// What its schema says about parameters that it does not list.
    pub additional_properties: AdditionalProperties,
    /// Its parameters, in the order of the schema.
    #[serde(default)]
    pub parameters: Vec<ToolParameter>,
    /// Which part of the output it shows.
    #[serde(default)]
    pub shows: ShownPartRule,
    /// How many last lines that is, where a call does not say.
    #[serde(default)]
    pub lines: Option<u64>,
    /// How much of it, if that is not the profile's window.
    #[serde(default)]
    pub window: Option<Window>,
    /// How long it waits for the end.
    #[serde(default)]
    pub wait: WaitRule,
    /// Likewise for a call that sends nothing, if that is different.
    #[serde(default)]
    pub poll: Option<WaitRule>,
    /// What it answers; the reply's own parts if there are none. For a list, the line of each job.
    #[serde(default)]
    pub parts: Vec<ReplyPart>,
    /// Whether a job whose end was told does not exist any more.
    #[serde(default)]
    pub forgets_ended: bool,
    /// What a list says if there is no job.
    #[serde(default)]
    pub none: String,
    /// The texts for bad calls.
    #[serde(default)]
    pub texts: ToolTexts,
}

/// What can be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Shows output.
    Read,
    /// Waits for the end, then shows output.
    Wait,
    /// Sends input, waits, and shows output.
    Send,
    /// Ends it.
    End,
    /// Lists the jobs.
    List,
}

/// Which part of a job's output a tool shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownPartRule {
    /// All of it.
    #[default]
    All,
    /// What came since the last call that showed some.
    New,
    /// Its last lines.
    Tail,
}

/// How long a tool waits.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct WaitRule {
    /// If a call does not say.
    pub default_ms: u64,
    /// At least.
    pub least_ms: u64,
    /// At most; 0: an hour.
    pub most_ms: u64,
}

impl WaitRule {
    const LONGEST_MS: u64 = 3_600_000;

    /// How long a call waits that asks for this.
    pub(crate) fn of(self, asked: Option<u64>) -> Duration {
        let most = match self.most_ms {
            0 => Self::LONGEST_MS,
            most => most.min(Self::LONGEST_MS),
        };
        let wanted = asked.unwrap_or(self.default_ms);
        Duration::from_millis(wanted.max(self.least_ms).min(most))
    }
}

/// A parameter of such a tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolParameter {
    /// Its name.
    pub name: String,
    /// What it sets.
    pub sets: ToolSets,
    /// Whether a call must have it.
    #[serde(default)]
    pub required: bool,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// What the schema says of it besides its type.
    #[serde(default)]
    pub schema: Map<String, Value>,
}

/// What a parameter of such a tool sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolSets {
    /// Which job is meant.
    Job,
    /// What is sent to it: a string.
    Input,
    /// How long to wait: milliseconds.
    WaitMs,
    /// Whether to wait at all: a boolean.
    Block,
    /// How many last lines are shown: a number.
    Lines,
    /// Only lines that match this regular expression: a string.
    Filter,
    /// How many tokens are shown at most: a number.
    MaxTokens,
    /// Nothing; it is accepted.
    Nothing,
}

/// The texts for bad calls of a tool: `{job}`, `{state}`, `{detail}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ToolTexts {
    /// There is no such job.
    pub no_job: String,
    /// It has ended, so it can't be ended or sent to.
    pub not_running: String,
    /// It takes no input.
    pub no_input: String,
    /// The filter is no regular expression: `{detail}`, `{filter}`.
    pub bad_filter: String,
    /// No job is named; empty: as for any missing parameter.
    pub missing_job: String,
}

impl Default for ToolTexts {
    fn default() -> Self {
        Self {
            no_job: "there is no job {job}".to_owned(),
            not_running: "job {job} is {state}".to_owned(),
            no_input: "{detail}".to_owned(),
            bad_filter: "{detail}".to_owned(),
            missing_job: String::new(),
        }
    }
}

/// What a call of such a tool asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolRequest {
    pub(crate) job: Option<String>,
    pub(crate) input: Option<String>,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) block: Option<bool>,
    pub(crate) lines: Option<u64>,
    pub(crate) filter: Option<Regex>,
    pub(crate) max_bytes: Option<usize>,
}

impl FurtherTool {
    /// Whether a call by this name means it.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Its JSON schema.
    pub(crate) fn input_schema(&self, profile: &Profile) -> Value {
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required);
        let required: Vec<_> = required.map(|parameter| &parameter.name).collect();
        let properties = self.parameters.iter().map(|parameter| {
            let property = parameter.property(profile.background.called);
            (parameter.name.clone(), property)
        });
        let mut schema = json!({"type": "object"});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["properties"] = properties.collect::<Map<_, _>>().into();
        if self.additional_properties == AdditionalProperties::Forbidden {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }

    /// Reads the arguments of a call.
    pub(crate) fn read(&self, profile: &Profile, input: &str) -> Result<ToolRequest, Refusal> {
        let invalid = |kind| move |error: serde_json::Error| Refusal::new(kind, error.to_string());
        let values: Value =
            serde_json::from_str(input).map_err(invalid(RefusalKind::InvalidJson))?;
        let Value::Object(values) = values else {
            let detail = "expected an object";
            return Err(Refusal::new(RefusalKind::NotAnObject, detail));
        };
        let issues = self.issues(profile, &values);
        if let Some(refusal) = Refusal::of_issues(issues) {
            return Err(refusal);
        }
        let mut request = ToolRequest::default();
        for parameter in &self.parameters {
            if let Some(value) = values.get(&parameter.name).filter(|value| !value.is_null()) {
                self.set(parameter.sets, value, &mut request)?;
            }
        }
        Ok(request)
    }

    /// What is wrong with the arguments.
    fn issues(&self, profile: &Profile, values: &Map<String, Value>) -> Vec<arguments::Issue> {
        let naming = profile.background.called;
        let properties = self.parameters.iter().map(|parameter| {
            let property = parameter.property(naming);
            let is_required = parameter.required
                && (parameter.sets != ToolSets::Job || self.texts.missing_job.is_empty());
            (parameter.name.as_str(), property, is_required)
        });
        arguments::issues(properties, values)
    }

    fn set(&self, sets: ToolSets, value: &Value, request: &mut ToolRequest) -> Result<(), Refusal> {
        let text = || value.as_str().map(str::to_owned);
        let number = || value.as_f64().map(|number| number.max(0.0) as u64);
        match sets {
            ToolSets::Job => request.job = text().or_else(|| Some(value.to_string())),
            ToolSets::Input => request.input = text(),
            ToolSets::WaitMs => request.wait_ms = number(),
            ToolSets::Block => request.block = value.as_bool(),
            ToolSets::Lines => request.lines = number(),
            ToolSets::MaxTokens => {
                request.max_bytes = number().and_then(|tokens| usize::try_from(tokens * 4).ok());
            }
            ToolSets::Filter => {
                let pattern = value.as_str().unwrap_or_default();
                let filter = patterns::at_once(pattern).map_err(|error| {
                    let values = [("detail", &*error), ("filter", pattern)];
                    let detail = bashd_keeper::template::fill(&self.texts.bad_filter, &values);
                    Refusal::new(RefusalKind::OfTool, detail)
                })?;
                request.filter = Some(filter);
            }
            ToolSets::Nothing => {}
        }
        Ok(())
    }

    /// Says what does not fit together.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        parts::check(&format!("tools.{name}.parts"), &self.parts)?;
        let sets = |sets| {
            self.parameters
                .iter()
                .filter(|one| one.sets == sets)
                .count()
        };
        match (self.verb, sets(ToolSets::Job), sets(ToolSets::Input)) {
            (Verb::List, 0, 0)
            | (Verb::Read | Verb::Wait | Verb::End, 1.., 0)
            | (Verb::Send, 1, 1) => Ok(()),
            (Verb::List, ..) => Err(format!("tools.{name}: a list takes no job")),
            (Verb::Send, ..) => Err(format!("tools.{name}: it needs a job and an input")),
            (_, 0, _) => Err(format!(
                "tools.{name}: no parameter says which job is meant"
            )),
            _ => Err(format!("tools.{name}: only `send` has input")),
        }
    }
}

impl ToolParameter {
    fn property(&self, naming: JobNaming) -> Value {
        let mut property = json!({"type": self.sets.kind(naming)});
        for (key, value) in &self.schema {
            property[key] = value.clone();
        }
        if !self.description.is_empty() {
            property["description"] = json!(self.description);
        }
        property
    }
}

impl ToolSets {
    fn kind(self, naming: JobNaming) -> &'static str {
        match (self, naming) {
            (Self::Job, JobNaming::Pid) => "integer",
            (Self::Job, JobNaming::Alias) | (Self::Input | Self::Filter | Self::Nothing, _) => {
                "string"
            }
            (Self::Job, JobNaming::Number) | (Self::WaitMs | Self::Lines | Self::MaxTokens, _) => {
                "number"
            }
            (Self::Block, _) => "boolean",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = include_str!("../../profiles/claude-code.toml");

    fn refused(from: &str, to: &str) -> String {
        assert!(CLAUDE.contains(from), "{from}");
        let error = Profile::from_toml(&CLAUDE.replace(from, to)).unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_tool_that_does_not_fit_together_is_refused_with_its_name() {
        for (from, to, why) in [
            (
                "{\"message\":\"Successfully",
                "{nonsense}",
                "tools.TaskStop.parts: there is no placeholder {nonsense} here",
            ),
            (
                "verb = \"end\"",
                "verb = \"list\"",
                "tools.TaskStop: a list takes no job",
            ),
            (
                "verb = \"end\"",
                "verb = \"send\"",
                "tools.TaskStop: it needs a job and an input",
            ),
            ("\"KillBash\"", "\"Bash\"", "tool name `Bash` is used twice"),
            ("verb = \"end\"", "verb = \"dance\"", "dance"),
            ("shape = \"parts\"", "shape = \"annotated\"", "reply.parts"),
        ] {
            let error = refused(from, to);
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_tool_in_the_docs_is_one() {
        let page = include_str!("../../../../docs/profiles.md");
        let block = |number: usize| {
            let from = page.split("```toml\n").nth(number).unwrap();
            from.split_once("```").unwrap().0
        };
        let whole = format!("{}\n{}", block(1), block(2));
        let profile = Profile::from_toml(&whole).unwrap();
        assert_eq!(profile.tools.len(), 1);
    }

    #[test]
    fn a_wait_stays_within_its_rule() {
        let rule = WaitRule {
            default_ms: 250,
            least_ms: 200,
            most_ms: 30_000,
        };
        let ms = |asked| rule.of(asked).as_millis();
        assert_eq!(
            [ms(None), ms(Some(0)), ms(Some(99_999))],
            [250, 200, 30_000]
        );
        let hour = WaitRule::default().of(Some(u64::MAX));
        assert_eq!(hour, Duration::from_hours(1));
    }
}
