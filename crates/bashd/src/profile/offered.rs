//! All tools of a profile as clients are told of them: its own, and those of profiles that it is
//! offered with.

use super::Profile;
use super::library::{Library, Missing};
use super::parameters::ToolForm;
use super::schema;
use crate::config::Config;
use serde_json::{Value, json};

/// A tool that a profile offers. The tool with which some profiles manage all jobs is none of them:
/// it has its own definition ([`schema::job_definition`]).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OfferedTool {
    /// `name`, `description`, `input_schema`.
    pub definition: Value,
    /// The definition as the contract's own API wants it.
    pub in_form: Value,
    /// The names that it answers to, its own first.
    pub names: Vec<String>,
    /// What it does.
    pub does: ToolWork,
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolWork {
    /// It runs commands.
    RunsCommands,
    /// It manages jobs.
    ManagesJobs,
}

/// The tools of a profile, the one that runs its commands first.
pub fn tools(
    library: &Library,
    profile: &Profile,
    pwd: &str,
    config: &Config,
) -> Result<Vec<OfferedTool>, Missing> {
    let mut offered = own(profile, pwd, config);
    for other in &profile.with {
        offered.extend(own(&*library.get(other)?, pwd, config));
    }
    Ok(offered)
}

fn own(profile: &Profile, pwd: &str, config: &Config) -> Vec<OfferedTool> {
    let definition = schema::definition(profile, pwd, config);
    let typed = profile.tool.definition.clone().map(Value::from);
    let run = OfferedTool {
        in_form: typed.unwrap_or_else(|| in_form(profile.tool.form, &definition)),
        definition,
        names: names(&profile.tool.name, &profile.tool.aliases),
        does: ToolWork::RunsCommands,
    };
    let further = profile.tools.iter().map(|tool| {
        let definition = json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema(profile),
        });
        OfferedTool {
            in_form: in_form(profile.tool.form, &definition),
            definition,
            names: names(&tool.name, &tool.aliases),
            does: ToolWork::ManagesJobs,
        }
    });
    std::iter::once(run).chain(further).collect()
}

fn names(name: &str, aliases: &[String]) -> Vec<String> {
    let own = std::iter::once(name.to_owned());
    own.chain(aliases.iter().cloned()).collect()
}

/// A definition as an API wants it.
fn in_form(form: ToolForm, definition: &Value) -> Value {
    let (name, description) = (&definition["name"], &definition["description"]);
    let schema = &definition["input_schema"];
    match form {
        ToolForm::Messages => definition.clone(),
        ToolForm::Responses => json!({
            "type": "function",
            "name": name,
            "description": description,
            "strict": false,
            "parameters": schema,
        }),
        ToolForm::Gemini => {
            json!({"name": name, "description": description, "parametersJsonSchema": schema})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(name: &str) -> Vec<OfferedTool> {
        let library = Library::new(None);
        let profile = library.get(name).unwrap();
        let config = Config::new(std::path::PathBuf::from("/nowhere"));
        tools(&library, &profile, "/work", &config).unwrap()
    }

    fn first_names(name: &str) -> Vec<String> {
        let tools = offered(name).into_iter();
        tools.map(|mut tool| tool.names.swap_remove(0)).collect()
    }

    #[test]
    fn a_profile_offers_its_tools_and_those_of_others() {
        assert_eq!(first_names("voice"), ["bash"]);
        assert_eq!(first_names("openai-shell"), ["shell", "local_shell"]);
        assert_eq!(first_names("codex"), ["exec_command", "write_stdin"]);
        assert_eq!(first_names("claude-code"), ["Bash", "TaskStop"]);
    }

    #[test]
    fn definitions_have_the_form_of_their_api() {
        let [bash] = offered("anthropic-bash").try_into().unwrap();
        let bash: OfferedTool = bash;
        assert_eq!(
            bash.in_form,
            json!({"type": "bash_20250124", "name": "bash"})
        );
        assert!(bash.definition["input_schema"].is_object());
        let codex = offered("codex");
        for tool in &codex {
            assert_eq!(tool.in_form["type"], "function");
            assert_eq!(tool.in_form["parameters"], tool.definition["input_schema"]);
        }
        for tool in offered("gemini") {
            assert!(tool.in_form["parametersJsonSchema"].is_object());
        }
        for tool in offered("claude-code") {
            assert_eq!(tool.in_form, tool.definition);
        }
    }

    #[test]
    fn every_schema_of_a_further_tool_is_valid_and_takes_what_it_requires() {
        for name in Profile::names() {
            for tool in offered(name) {
                let schema = &tool.definition["input_schema"];
                jsonschema::validator_for(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}
