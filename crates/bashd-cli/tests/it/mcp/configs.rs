//! The configurations of `docs/mcp.md`: each starts a server by exactly the command line that it
//! holds.

use super::client::Client;
use super::peers::{in_home, output, python};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../../../docs/mcp.md");

/// The clients that the page has a file for, and where in it a client looks for its servers.
const FILES: [(&str, &str); 6] = [
    ("Claude Code", "mcpServers"),
    ("Codex", "mcp_servers"),
    ("Cursor", "mcpServers"),
    ("VS Code", "servers"),
    ("Zed", "context_servers"),
    ("Gemini CLI", "mcpServers"),
];

/// The clients that add a server by themselves, and what stands between its name and its command
/// line.
const COMMANDS: [(&str, &str); 3] = [
    ("claude mcp add bashd", " -- "),
    ("codex mcp add bashd", " -- "),
    ("gemini mcp add bashd", " "),
];

/// What the page says about a client: from its name up to the next.
fn section(client: &str) -> &'static str {
    let title = format!("\n**{client}**");
    let (_, after) = PAGE.split_once(&title).unwrap_or_else(|| panic!("{title}"));
    after.split("\n**").next().unwrap_or(after)
}

/// The language and the text of a section's block.
fn block(section: &'static str) -> (&'static str, &'static str) {
    let (_, after) = section.split_once("\n```").unwrap();
    let (language, after) = after.split_once('\n').unwrap();
    (language, after.split_once("```").unwrap().0)
}

/// A command in a home, with the built `bashd` first in `PATH`.
fn with_bashd_in_path(program: &Path, home: &Home) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_bashd")).parent().unwrap();
    let mut command = in_home(program, home);
    command.env("PATH", format!("{}:/usr/bin:/bin", binary.display()));
    command
}

/// Starts the server of these words, and lists its tools.
fn lists_tools(client: &str, words: &[&str]) {
    let home = Home::new();
    assert_eq!(words.first(), Some(&"bashd"), "{client}");
    let program = with_bashd_in_path(Path::new("sh"), &home)
        .args(["-c", "command -v bashd"])
        .output();
    let program = String::from_utf8(program.unwrap().stdout).unwrap();
    let server = with_bashd_in_path(&PathBuf::from(program.trim_end()), &home)
        .args(words.iter().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut server = Client::of(server.unwrap());
    server.initialize(&json!({}));
    let listed = server.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["bash", "job", "artifact"], "{client}");
    assert!(server.finish().1.success(), "{client}");
}

#[test]
fn every_documented_file_starts_a_server() {
    for (client, place) in FILES {
        let (language, text) = block(section(client));
        let file: Value = match language {
            "json" => serde_json::from_str(text).unwrap(),
            "toml" => toml::from_str(text).unwrap(),
            other => panic!("{client}: {other}"),
        };
        let server = &file[place]["bashd"];
        let arguments = server["args"].as_array().unwrap();
        let words: Vec<&str> = [&server["command"]]
            .into_iter()
            .chain(arguments)
            .map(|word| word.as_str().unwrap())
            .collect();
        lists_tools(client, &words);
    }
}

#[test]
fn every_documented_command_adds_what_starts_a_server() {
    for (start, separator) in COMMANDS {
        let (_, after) = PAGE
            .split_once(&format!("`{start}{separator}"))
            .unwrap_or_else(|| panic!("docs/mcp.md has no `{start}{separator}…`"));
        let (line, _) = after.split_once('`').unwrap();
        lists_tools(start, &line.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn the_documented_python_client_runs_a_command() {
    let Some(python) = python() else { return };
    let home = Home::new();
    let (language, text) = block(section("A plain Python client"));
    assert_eq!(language, "python");
    let file = home.workspace().join("client.py");
    fs::write(&file, text).unwrap();
    let mut client = with_bashd_in_path(&python, &home);
    client.arg(&file);
    assert_eq!(output(client), "hi\n 3\n");
}
