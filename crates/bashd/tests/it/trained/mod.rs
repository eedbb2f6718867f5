//! The contracts that models were trained on, case by case on the real engine.
//!
//! | file | shows |
//! |---|---|
//! | `anthropic_bash` | `bash_20250124` of the Anthropic API |
//! | `openai_shell` | `shell` and `local_shell` of the Responses API |
//! | `claude_code` | `Bash` and `TaskStop` of Claude Code |
//! | `claude_code_earlier` | the tools of its earlier generations |
//! | `gemini` | the shell tools of Gemini CLI |
//! | `codex` | `exec_command` and `write_stdin` of Codex |
//! | `codex_shell` | its earlier `shell` and `shell_command` |
//! | `openhands`, `openhands_going_on`, `openhands_tracing` | `terminal` of `OpenHands`; commands that outlast calls; what `set -v` shows |

mod anthropic_bash;
mod claude_code;
mod claude_code_earlier;
mod codex;
mod codex_shell;
mod gemini;
mod openai_shell;
mod openhands;
mod openhands_going_on;
mod openhands_tracing;

use crate::engine_under_test::engine_of;
use crate::profile_under_test::Contract;
use bashd::Reply;
use bashd::config::{Config, Surroundings};
use bashd_testkit::Home;
use serde_json::{Value, json};

/// A home in which jobs and stored output may stay.
fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

/// What a model's call of the first tool is answered with.
async fn call(contract: &Contract, input: Value) -> Reply {
    contract.json(&input.to_string()).await
}

/// The same for a tool that is called by its name.
async fn tool(contract: &Contract, name: &str, input: Value) -> Reply {
    contract.tool(name, &input).await
}

/// Text and error flag of a command.
async fn seen(contract: &Contract, command: &str) -> (String, bool) {
    let reply = call(contract, json!({ "command": command })).await;
    (reply.text, reply.is_error)
}

/// A profile on an engine whose environment has a variable more.
fn with_variable(home: &Home, profile: &str, name: &str) -> Contract {
    let mut env = home.env();
    env.push((name.into(), "secret".into()));
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env,
    };
    let config = Config::new(home.state());
    let engine = engine_of(config, surroundings);
    Contract::on(&engine, profile)
}

/// The file that a text names after this mark.
fn named_file(text: &str, mark: &str) -> String {
    let (_, after) = text
        .split_once(mark)
        .unwrap_or_else(|| panic!("{mark}: {text}"));
    let end = after.find([']', ')', '\n', '…', ' ']);
    let path = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
    std::fs::read_to_string(path.trim_end_matches('.'))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What `seq 1 20000` prints.
fn numbers() -> String {
    let numbers: Vec<String> = (1..=20_000).map(|number: u32| number.to_string()).collect();
    numbers.join("\n") + "\n"
}
