//! The tool definition that an LLM API wants: name, description, JSON schema.

use super::Profile;
use super::parameters::{AdditionalProperties, Parameter};
use super::sets::Sets;
use crate::config::Config;
use crate::engine::HERE;
use crate::jobs::tool;
use bashd_keeper::template::fill;
use serde_json::{Map, Value, json};

/// The tool definition of a profile for calls that run in `pwd`, with what is enabled.
pub fn definition(profile: &Profile, pwd: &str, config: &Config) -> Value {
    json!({
        "name": profile.tool.name,
        "description": fill(&profile.tool.description, &[("pwd", pwd)]),
        "input_schema": input_schema(profile, config),
    })
}

/// The definition of the tool with which a model manages its jobs, if the profile has one and what
/// it needs is enabled.
pub fn job_definition(profile: &Profile, config: &Config) -> Option<Value> {
    tool::definition(profile, config)
}

fn input_schema(profile: &Profile, config: &Config) -> Value {
    let required = profile
        .parameters
        .iter()
        .filter(|parameter| parameter.required && parameter.aliases_description.is_none());
    let required: Vec<_> = required.map(|parameter| parameter.name.as_str()).collect();
    let properties: Map<String, Value> = profile
        .parameters
        .iter()
        .filter(|parameter| parameter.is_offered(config))
        .flat_map(|parameter| {
            let mut properties = properties(profile, parameter);
            if parameter.sets == Sets::On {
                let places = config.places.iter().map(|place| place.name.as_str());
                let names: Vec<&str> = std::iter::once(HERE).chain(places).collect();
                for (_, property) in &mut properties {
                    property["enum"] = json!(names);
                }
            }
            properties
        })
        .collect();
    let mut schema = json!({"type": "object"});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(properties);
    match profile.tool.additional_properties {
        AdditionalProperties::Forbidden => schema["additionalProperties"] = json!(false),
        AdditionalProperties::Unstated => {}
    }
    schema
}

/// A parameter under its name, and under its other names if they are described.
fn properties(profile: &Profile, parameter: &Parameter) -> Vec<(String, Value)> {
    let own = property(profile, parameter);
    let mut properties = vec![(parameter.name.clone(), own.clone())];
    if let Some(description) = &parameter.aliases_description {
        for alias in &parameter.aliases {
            let mut other = own.clone();
            other["description"] = json!(description);
            properties.push((alias.clone(), other));
        }
    }
    properties
}

fn property(profile: &Profile, parameter: &Parameter) -> Value {
    let mut property = parameter.property(profile);
    property["description"] = json!(parameter.description);
    property
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(name: &str) -> Value {
        definition(
            &Profile::builtin(name).unwrap().unwrap(),
            "/some place",
            &Config::new("/state"),
        )
    }

    #[test]
    fn m_01_name_and_description() {
        let definition = defined("harness");
        assert_eq!(definition["name"], "bash");
        assert_eq!(
            definition["description"],
            "Execute a bash command and return stdout/stderr"
        );
    }

    #[test]
    fn m_02_one_required_string() {
        let expected = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The bash command to execute"},
            },
            "required": ["command"],
        });
        assert_eq!(defined("harness")["input_schema"], expected);
    }

    #[test]
    fn p_01_the_schema_of_the_document() {
        let expected = r#"{
          "type": "object",
          "required": ["command"],
          "properties": {
            "command": {
              "type": "string",
              "description": "Shell command to execute via bash -c"
            },
            "mode": {
              "type": "string",
              "enum": ["default", "slow", "background"],
              "description": "Execution mode: default (30s timeout), slow (15min timeout), background (detached)"
            }
          }
        }"#;
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(defined("phoenix")["input_schema"], expected);
    }

    #[test]
    fn p_07_the_description_with_the_working_directory() {
        let expected = "\
Executes shell commands via bash -c, returning combined stdout/stderr.
Bash state changes (working dir, variables, aliases) don't persist between calls.

With mode=\"background\", returns immediately with output redirected to a file.
Use background for servers/demos that need to stay running.

Use mode=\"slow\" for potentially slow commands: builds, downloads,
installs, tests, or any other substantive operation.

IMPORTANT: Keep commands concise. The command input must be less than 60k tokens.
For complex scripts, write them to a file first and then execute the file.

<pwd>/some place</pwd>";
        assert_eq!(defined("phoenix")["description"], expected);
    }

    #[test]
    fn v_08_the_schema_describes_both_keys_and_refuses_neither() {
        let expected = json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "description": "Shell command to execute. Accepts alternative key: cmd. The command runs in the workspace root directory.",
                },
                "cmd": {"type": "string", "description": "Alternative key for command."},
            },
        });
        assert_eq!(defined("voice")["input_schema"], expected);
    }

    #[test]
    fn the_default_schema_has_what_exists_and_nothing_reserved() {
        let schema = &defined("default")["input_schema"];
        let properties = schema["properties"].as_object().unwrap();
        let names: Vec<_> = properties.keys().collect();
        let expected = [
            "command",
            "cwd",
            "env",
            "timeout",
            "on_timeout",
            "wait_max",
            "background",
            "until",
            "stdin",
            "pty",
            "session",
            "stdin_open",
        ];
        assert_eq!(names, expected);
        let timeout = &properties["timeout"];
        assert_eq!(
            (
                &timeout["default"],
                &timeout["minimum"],
                &timeout["maximum"]
            ),
            (&json!(120), &json!(1), &json!(3600))
        );
        assert_eq!(properties["on_timeout"]["default"], "background");
    }

    #[test]
    fn the_job_tool_of_the_default_profile_takes_what_it_says() {
        let profile = Profile::builtin("default").unwrap().unwrap();
        let mut config = Config::new(std::path::PathBuf::from("/nowhere"));
        let definition = job_definition(&profile, &config).unwrap();
        assert_eq!(definition["name"], "job");
        let validator = jsonschema::validator_for(&definition["input_schema"]).unwrap();
        assert!(validator.is_valid(&json!({"action": "list"})));
        assert!(validator.is_valid(&json!({"action": "wait", "jobs": ["bg_1"], "port": 80})));
        assert!(!validator.is_valid(&json!({"action": "dance"})));
        assert!(!validator.is_valid(&json!({"job": "bg_1"})));
        let harness = Profile::builtin("harness").unwrap().unwrap();
        assert!(job_definition(&harness, &config).is_none());
        // There is nothing to manage if nothing becomes a job.
        let pi = Profile::builtin("pi").unwrap().unwrap();
        assert!(job_definition(&pi, &config).is_none());
        config.async_enabled = true;
        assert_eq!(job_definition(&pi, &config).unwrap()["name"], "job");
    }

    #[test]
    fn every_schema_is_valid_and_accepts_a_command() {
        for name in ["default", "voice", "harness", "phoenix", "pi"] {
            let schema = &defined(name)["input_schema"];
            let validator = jsonschema::validator_for(schema).unwrap();
            assert!(validator.is_valid(&json!({"command": "ls"})), "{name}");
            // `voice` takes either of two keys.
            assert_eq!(validator.is_valid(&json!({})), name == "voice", "{name}");
            let other = json!({"cmd": "ls"});
            assert!(name != "voice" || validator.is_valid(&other));
            assert!(!validator.is_valid(&json!({"command": 5})), "{name}");
        }
    }
}
