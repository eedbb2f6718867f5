//! The table of wrappers against what the programs say of themselves: every option that `--help`
//! shows with a value, and that a wrapper's line lacks, would make its value look like the command.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

const TABLE: &str = include_str!("../../src/script/wrappers.tsv");

/// Programs whose `--help` is in the form that is read here, and tells everything.
const ASKED: [&str; 17] = [
    "env",
    "nice",
    "ionice",
    "timeout",
    "stdbuf",
    "chroot",
    "flock",
    "unshare",
    "nsenter",
    "setpriv",
    "choom",
    "uclampset",
    "xargs",
    "runuser",
    "script",
    "watch",
    "systemd-run",
];

/// Options with a value after which no command is run, or that take it only attached.
const OTHER: [(&str, &str); 9] = [
    ("flock", "-c"),
    ("ionice", "-p"),
    ("ionice", "-P"),
    ("ionice", "-u"),
    ("choom", "-p"),
    ("uclampset", "-p"),
    ("runuser", "-c"),
    ("script", "-c"),
    ("script", "-t"),
];

/// The line of a program.
fn line(name: &str) -> Vec<&'static str> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let is_named = |line: &&str| {
        let names = line.split('\t').next().unwrap_or_default();
        names.split(',').any(|own| own == name)
    };
    let line = lines
        .find(is_named)
        .unwrap_or_else(|| panic!("{name} has no line"));
    line.split('\t').collect()
}

/// Short options that the program's own help shows with a value that must be there.
fn short_options_with_value(help: &str) -> BTreeSet<char> {
    let mut found = BTreeSet::new();
    for text in help.lines().map(str::trim_start) {
        let Some(rest) = text.strip_prefix('-') else {
            continue;
        };
        let mut characters = rest.chars();
        let Some(letter) = characters.next().filter(char::is_ascii_alphabetic) else {
            continue;
        };
        // `-u, --user <user>`, `-u, --user=USER`, `-n N`; a description stands behind two blanks.
        let head = rest.split("  ").next().unwrap_or_default();
        let has_value = |head: &str| {
            let value = head.split([' ', ',']).skip(1);
            let by_word = value.clone().any(|word| {
                word.starts_with('<')
                    || word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase())
            });
            let by_sign = head
                .split_once("--")
                .is_some_and(|(_, long)| long.contains('='));
            by_word || by_sign
        };
        if has_value(head) && !head.contains('[') {
            found.insert(letter);
        }
    }
    found
}

#[test]
fn every_option_with_a_value_that_help_shows_is_in_the_table() {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for name in ASKED {
        let run = Command::new(name)
            .arg("--help")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = run else { continue };
        asked += 1;
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        let cells = line(name);
        for letter in short_options_with_value(&help) {
            let option = format!("-{letter}");
            let is_other = OTHER.contains(&(name, option.as_str()));
            if !cells[1].contains(letter) && !is_other {
                wrong.push(format!("{name} {option}"));
            }
        }
    }
    assert!(asked >= 5, "only {asked} programs are here");
    assert!(
        wrong.is_empty(),
        "options with a value that the table lacks: {wrong:?}"
    );
}

#[test]
fn every_line_of_the_table_is_whole_and_no_name_is_there_twice() {
    let mut names = BTreeSet::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 8, "{line}");
        assert!(cells[3].parse::<usize>().is_ok(), "{line}");
        assert!(
            [
                "command", "script", "scripts", "either", "option", "shell", "none"
            ]
            .contains(&cells[6]),
            "{line}"
        );
        assert!(!cells[7].is_empty(), "{line}");
        for name in cells[0].split(',') {
            assert!(names.insert(name), "{name} is there twice");
        }
    }
    assert!(names.len() > 100, "{}", names.len());
}
