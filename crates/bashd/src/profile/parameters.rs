//! What a profile accepts: the tool's name and text, and its parameters.

use super::Profile;
use super::sets::Sets;
use crate::config::{Config, Preset, RefusalReport};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How the tool introduces itself to a model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Tool {
    /// The tool's name.
    pub name: String,
    /// Other names that it answers to.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The tool's description; `{pwd}` stands for the working directory.
    pub description: String,
    /// How its API wants a tool to be defined.
    #[serde(default)]
    pub form: ToolForm,
    /// The definition itself, where the API knows the tool by its type and takes no schema.
    #[serde(default)]
    pub definition: Option<Map<String, Value>>,
    /// What the schema says about parameters that it does not list.
    pub additional_properties: AdditionalProperties,
}

impl Tool {
    /// Whether a call by this name means it.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// How an API wants a tool to be defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolForm {
    /// `name`, `description`, `input_schema`.
    #[default]
    Messages,
    /// `type`, `name`, `description`, `strict`, `parameters`.
    Responses,
    /// `name`, `description`, `parametersJsonSchema`.
    Gemini,
}

/// What a schema says about parameters that it does not list. They are refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdditionalProperties {
    /// `additionalProperties: false`: a client can tell the model before it calls.
    Forbidden,
    /// Nothing, because the document's schema says nothing.
    Unstated,
}

/// How a JSON input is read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct InputRules {
    /// What happens to a value of the wrong type.
    pub types: Types,
    /// What a bare JSON string instead of an object means.
    pub bare_string: BareString,
    /// What a given directory may be besides a path.
    #[serde(default)]
    pub cwd: CwdSpelling,
    /// Whether a command that is given to `bashd run` reads bashd's own stdin, if that is a pipe or
    /// a file.
    #[serde(default)]
    pub own_stdin: bool,
    /// Future parameters: they are refused as not available rather than as unknown.
    #[serde(default)]
    pub reserved: Vec<String>,
}

/// What a given directory may be besides a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CwdSpelling {
    /// Nothing: it is a path, absolute or relative to the directory in which calls run.
    #[default]
    Path,
    /// `~` stands for the home directory, and `/` alone for the directory in which calls run.
    Shorthands,
}

/// What happens to a value of the wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Types {
    /// It counts as missing, and so does a blank string: the next alias is looked at.
    Lenient,
    /// It is refused with its name and what was expected.
    Strict,
}

/// What a bare JSON string instead of an object means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BareString {
    /// It is the command.
    Command,
    /// It is refused like any other input that is not an object.
    Refused,
}

/// One parameter of the tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in schema and input.
    pub name: String,
    /// Which part of the request it sets; its type follows from that.
    pub sets: Sets,
    /// Other names under which it is accepted, in order; the schema shows them only with a
    /// description.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Their description in the schema. The parameter is then not called required there: any of its
    /// names will do, which a schema can't say in a form that every client accepts.
    #[serde(default)]
    pub aliases_description: Option<String>,
    /// Whether a call must have it.
    #[serde(default)]
    pub required: bool,
    /// Its description in the schema.
    pub description: String,
    /// What the schema says of it besides, or instead of, what follows from what it sets.
    #[serde(default)]
    pub schema: Map<String, Value>,
    /// What must be enabled for the schema to show it. It is always read, so a call that uses it
    /// anyway is told what is disabled, not that it does not exist.
    #[serde(default)]
    pub needs: Option<Needs>,
}

/// What a parameter needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// The setting `async.enabled`.
    Async,
    /// A confinement in the configuration.
    Confinement,
    /// Likewise, with `confinement.report` being `retry`.
    Retry,
    /// Places in the configuration, and none at which everything runs.
    Places,
    /// A program that calls: models are not told of it.
    Program,
}

fn is_confined(config: &Config) -> bool {
    config.confinement.preset.unwrap_or_default() != Preset::Off
}

impl Parameter {
    /// Its type as JSON schema.
    pub(crate) fn property(&self, profile: &Profile) -> Value {
        let mut property = self.sets.schema(profile);
        for (key, value) in &self.schema {
            property[key] = value.clone();
        }
        property
    }

    /// Whether a schema shows it under this configuration.
    pub fn is_offered(&self, config: &Config) -> bool {
        match self.needs {
            Some(Needs::Async) => config.async_enabled,
            Some(Needs::Confinement) => is_confined(config),
            Some(Needs::Retry) => {
                is_confined(config) && config.confinement.report == RefusalReport::Retry
            }
            Some(Needs::Places) => !config.places.is_empty() && config.default_place.is_none(),
            Some(Needs::Program) => false,
            None => true,
        }
    }

    /// All names under which the parameter is accepted, the proper one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }
}
