//! The examples of `docs/rpc.md`, executed: what the page shows is what happens.

use crate::mcp::{node, packages};
use bashd_testkit::Home;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Lines that an example may have.
const MOST_LINES: usize = 40;

fn example(language: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once(&format!("```{language}\n")).unwrap();
    let (example, _) = after.split_once("```").unwrap();
    assert!(
        example.lines().count() < MOST_LINES,
        "{language} is too long"
    );
    example.to_owned()
}

/// What a program prints that runs the example, with the built `bashd` first in `PATH`.
fn printed(home: &Home, mut program: Command, file: &str, example: &str) -> String {
    let file = home.workspace().join(file);
    fs::write(&file, example).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_bashd")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = program
        .arg(&file)
        .env_clear()
        .envs(home.env())
        .env("PATH", format!("{}:{path}", binary.display()))
        .current_dir(home.workspace())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_python_example_does_what_it_says() {
    let home = Home::new();
    let python = Command::new("python3");
    let printed = printed(&home, python, "example.py", &example("python"));
    let expected = "line 1\nline 2\nline 3\nexit code 3\ntimed out True\nbashd exits with 0\n";
    assert_eq!(printed, expected);
}

#[test]
fn the_typescript_example_does_what_it_says() {
    let home = Home::new();
    let Some(packages) = packages() else { return };
    let node = node(&packages, &home);
    let printed = printed(&home, node, "example.mts", &example("typescript"));
    let expected = "quick 3\ncancelled true\nbashd exits with 0\n";
    assert_eq!(printed, expected);
}
