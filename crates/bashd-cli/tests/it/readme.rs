//! The README's snippets, executed: what it shows is what happens.

use bashd_testkit::Home;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fenced block of the README.
struct Block {
    language: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(language: &str) -> Vec<Block> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in readme.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(Block {
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks.retain(|block| block.language == language);
    assert!(!blocks.is_empty(), "no {language} block in the README");
    blocks
}

/// Runs a script with the built `bashd` first in `PATH`.
fn script(home: &Home, text: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_bashd"));
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        binary.parent().unwrap().display()
    );
    Command::new("bash")
        .args(["-c", text])
        .env_clear()
        .envs(home.env())
        .env("PATH", path)
        .current_dir(home.workspace())
        .output()
        .unwrap()
}

/// The text with a placeholder for the process id, which differs from run to run.
fn redacted(text: &str) -> String {
    let Some((before, after)) = text.split_once("process ") else {
        return text.to_owned();
    };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}process N{rest}")
}

#[test]
fn every_shell_snippet_runs() {
    let home = Home::new();
    for block in blocks("sh") {
        let output = script(&home, &format!("set -e\n{}", block.text));
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = if block.text.contains("exit 3") { 3 } else { 0 };
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{}\n{stderr}",
            block.text
        );
    }
}

#[test]
fn the_session_shows_what_happens() {
    // What the survivor logs stays.
    let home = Home::new().keeping_in_state(&["runs"]);
    let session = blocks("console").remove(0).text;
    for step in session.split("$ ").filter(|step| !step.is_empty()) {
        let (command, expected) = step.split_once('\n').unwrap();
        let output = script(&home, command);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let end = if shown.ends_with('\n') { "" } else { "\n" };
        assert_eq!(
            redacted(&format!("{shown}{end}")),
            redacted(expected),
            "{command}"
        );
    }
    end_survivors(&home);
}

/// The session leaves a `sleep` running on purpose; it is ended here, by its pid.
fn end_survivors(home: &Home) {
    let found = script(
        home,
        "pgrep -x sleep | while read -r pid; do \
        tr '\\0' '\\n' </proc/$pid/environ 2>/dev/null | grep -qx \"BASHD_TEST_MARK=$BASHD_TEST_MARK\" \
        && kill $pid; done; true",
    );
    assert!(found.status.success());
}

#[test]
fn the_configuration_is_accepted() {
    let home = Home::new();
    let file = home.workspace().join("config.toml");
    fs::write(&file, &blocks("toml").remove(0).text).unwrap();
    let output = script(&home, "bashd config show --config config.toml");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    fs::remove_file(file).unwrap();
}

#[test]
fn the_library_snippet_is_in_the_example() {
    let example = repository().join("crates/bashd/examples/run_once.rs");
    let example = fs::read_to_string(example).unwrap();
    for line in blocks("rust").remove(0).text.lines() {
        let code = line.split(" //").next().unwrap().trim();
        assert!(example.contains(code), "not in the example: {code}");
    }
}

#[test]
fn the_gate_runs_the_two_commands() {
    let commands = blocks("console").remove(1).text;
    let gate = fs::read_to_string(repository().join(".ci/run")).unwrap();
    for command in commands.lines() {
        assert!(gate.contains(command), "the gate does not run: {command}");
    }
    assert_eq!(commands.lines().count(), 2);
}
