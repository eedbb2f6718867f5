//! The README's blocks that `snippets` does not run: the library's is in an example, and the gate
//! runs the two commands for a clone.

use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(page: &str, language: &str) -> Vec<Block> {
    let page = fs::read_to_string(repository().join(page)).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
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
    assert!(!blocks.is_empty(), "no {language} block");
    blocks
}

#[test]
fn the_library_snippet_is_in_the_example() {
    let example = repository().join("crates/bashd/examples/run_once.rs");
    let example = fs::read_to_string(example).unwrap();
    for page in ["README.md", "docs/start-library.md"] {
        for line in blocks(page, "rust").remove(0).text.lines() {
            let code = line.split(" //").next().unwrap().trim();
            assert!(example.contains(code), "{page}: not in the example: {code}");
        }
    }
}

#[test]
fn the_gate_runs_the_two_commands() {
    let commands = blocks("README.md", "console").remove(1).text;
    let gate = fs::read_to_string(repository().join(".ci/run")).unwrap();
    for command in commands.lines() {
        assert!(gate.contains(command), "the gate does not run: {command}");
    }
    assert_eq!(commands.lines().count(), 2);
}
