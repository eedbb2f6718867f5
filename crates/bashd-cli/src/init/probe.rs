//! Starts the server exactly as an agent will, and calls its tool over MCP.

use super::agents::shell_word;
use crate::run::fork_keeper;
use crate::runtime;
use crate::surroundings;
use bashd::plan::Survivors;
use bashd::{Config, Engine, Event, Request, Stream};
use rustix::pipe::PipeFlags;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

/// How long a server may take to start, answer and end.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the tool must say.
const ECHO: &str = "bashd answers";

/// The number of the request that calls the tool.
const CALL: u64 = 2;

/// Starts a server by these words and has it run `echo`; else says why that failed.
pub(super) fn probe(words: &[String], config: Config) -> Result<(), String> {
    let answer = converse(words, config).map_err(|error| error.to_string())?;
    let said = answer.heard.lines().find_map(answer_to_call);
    match said {
        Some(text) if text.trim_end() == ECHO => Ok(()),
        Some(text) => Err(format!("`echo` was answered: {}", text.trim())),
        None => Err(format!("it did not answer. {}", answer.last_words.trim())),
    }
}

/// What a server said, and how its process ended.
struct ProbeTalk {
    heard: String,
    last_words: String,
}

/// Talks to a server until it has answered, then lets it end. A keeper holds it, so that nothing of
/// it outlives us.
fn converse(words: &[String], mut config: Config) -> io::Result<ProbeTalk> {
    let keeper = fork_keeper();
    let runtime = runtime::build()?;
    // As an agent would start it: no rule, no rewriting, no words before it.
    config.prefix = None;
    // A server's helpers take a moment to leave: nothing of the probe is to be found as a job.
    config.survivors = Some(Survivors::End);
    let engine = Engine::new(config, surroundings::for_one_command(), keeper);
    let engine = engine.map_err(io::Error::other)?;
    let (input, output) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    let request = Request::new(format!("exec {}", words.join(" ")))
        .profile("harness")
        .stdin_from(input)
        .timeout(PATIENCE);
    let mut output = Some(File::from(output));
    if let Some(output) = &mut output {
        // It fits into the pipe.
        output.write_all(requests().as_bytes())?;
    }
    runtime.block_on(async {
        let mut conversation = ProbeTalk {
            heard: String::new(),
            last_words: String::new(),
        };
        let mut running = engine.stream(request);
        while let Some(event) = running.next().await {
            match event {
                Event::Output {
                    stream: Stream::Err,
                    text,
                    ..
                } => conversation.last_words.push_str(&text),
                Event::Output { text, .. } => {
                    conversation.heard.push_str(&text);
                    if conversation
                        .heard
                        .lines()
                        .any(|line| answer_to_call(line).is_some())
                    {
                        // The end of its input ends it.
                        output = None;
                    }
                }
                Event::Finished(reply) if conversation.last_words.is_empty() => {
                    conversation.last_words.push_str(&reply.text);
                }
                _ => {}
            }
        }
        Ok(conversation)
    })
}

/// What a client says first, and a call.
fn requests() -> String {
    let hello = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bashd init", "version": env!("CARGO_PKG_VERSION")},
        },
    });
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({
        "jsonrpc": "2.0",
        "id": CALL,
        "method": "tools/call",
        "params": {"name": "bash", "arguments": {"command": format!("echo '{ECHO}'")}},
    });
    format!("{hello}\n{ready}\n{call}\n")
}

/// The text that a line answers to the call with, or the error.
fn answer_to_call(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message.get("id")?.as_u64() != Some(CALL) {
        return None;
    }
    let text = message.pointer("/result/content/0/text");
    Some(match text.and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => message.to_string(),
    })
}
