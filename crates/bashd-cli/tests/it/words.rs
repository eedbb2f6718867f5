//! `bashd run` with words and with its own stdin, and the small subcommands that fingers expect.

use crate::{bashd, shown};
use bashd_testkit::Home;
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};

#[test]
fn several_words_are_a_program_and_its_arguments_quoted_again_exactly() {
    let home = Home::new();
    let odd = ["it's", "", "$HOME", "a b", "*", "~", "x\ny", "-n", "--json"];
    let words = [&["run", "printf", "<%s>"][..], &odd].concat();
    let expected = format!("<{}>", odd.join("><"));
    assert_eq!(shown(&home, &words).out(), expected);
    insta::assert_snapshot!(shown(&home, &["run", "--", "echo", "it's", "me"]).block(), @r"
    --- stdout
    it's me
    --- stderr
    --- status
    exit 0
    ");
    // One word is a script, whatever it looks like.
    assert_eq!(shown(&home, &["run", "echo $((6*7))"]).out(), "42\n");
}

#[test]
fn an_option_behind_a_script_is_not_taken_and_that_is_said() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["run", "echo hi", "--timeout", "3"]).block(), @r"
    --- stdout
    bash: line 1: echo hi: command not found
    [exit code 127][no newline]
    --- stderr
    hint: several words are a program and its arguments, so 'echo hi' is a program's name here; options of bashd come before the command: bashd run --timeout … 'echo hi'
    --- status
    exit 127
    ");
}

/// What `bashd run` with these options says of this stdin.
fn with_stdin(home: &Home, options: &[&str], stdin: impl Into<Stdio>) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_bashd"))
        .arg("run")
        .args(options)
        .arg("wc -c; readlink /proc/self/fd/0 | head -c 4")
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .stdin(stdin)
        .output()
        .unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_pipe_or_a_file_on_stdin_is_the_commands_in_default_only() {
    let home = Home::new();
    let file = home.workspace().join("file");
    std::fs::write(&file, "12345").unwrap();
    let open = || File::open(&file).unwrap();
    assert!(with_stdin(&home, &[], open()).starts_with("5\n"));
    let piped = bashd(&home, &["run", "cat"]).stdin("from a pipe").run();
    assert_eq!(piped.out(), "from a pipe");
    for options in [
        &["--stdin", "none"][..],
        &["--stdin-open", "--timeout", "1"],
        &["--profile", "phoenix"],
        &["--profile", "pi"],
    ] {
        let said = with_stdin(&home, options, open());
        assert!(!said.contains('5'), "{options:?}: {said}");
    }
    assert_eq!(with_stdin(&home, &[], Stdio::null()), "0\n/dev");
}

#[test]
fn the_deadline_holds_for_a_pipe_that_nobody_closes() {
    let home = Home::new();
    let (read, _write) = rustix::pipe::pipe().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_bashd"))
        .args(["run", "--json", "--timeout", "1", "cat"])
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .stdin(read)
        .output()
        .unwrap();
    let reply: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(reply["timed_out"], true, "{reply}");
}

#[test]
fn lists_and_pages_have_the_names_that_fingers_expect() {
    let home = Home::new();
    shown(&home, &["run", "echo first"]);
    shown(&home, &["run", "seq 1 20000; exit 3"]);
    let jobs = shown(&home, &["jobs", "list"]);
    assert_eq!(
        jobs.err(),
        "bashd: there are no jobs · start one: bashd run --background COMMAND\n"
    );
    let stored = shown(&home, &["artifact", "list"]).out();
    assert!(stored.contains("COMMAND"), "{stored}");
    assert!(stored.contains("seq 1 20000; exit 3"), "{stored}");
    let stored: Value =
        serde_json::from_str(&shown(&home, &["artifact", "list", "--json"]).out()).unwrap();
    assert_eq!(stored["command"], "seq 1 20000; exit 3");

    let newest: Value =
        serde_json::from_str(&shown(&home, &["log", "show", "--json"]).out()).unwrap();
    assert_eq!(newest["exit_code"], 3);
    let log = shown(&home, &["log", "--json", "first"]).out();
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let page = shown(&home, &["log", "show", id]).out();
    for part in [id, "exit 0", "cli:", "\n\necho first\n"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let unknown = shown(&home, &["log", "show", "zzzzzz"]);
    assert_eq!(
        unknown.err(),
        "usage error: there is no recorded call `zzzzzz`\nhint: bashd log lists calls with their ids\n"
    );

    let profiles = shown(&home, &["profiles"]).out();
    assert!(profiles.starts_with("* default "), "{profiles}");
    assert!(profiles.contains("\n  voice "), "{profiles}");
}

#[test]
fn a_profile_of_ones_own_is_listed_and_a_broken_one_says_why() {
    let home = Home::new();
    let configured = shown(&home, &["config", "show", "--json"]).out();
    let configured: Value = serde_json::from_str(&configured).unwrap();
    let folder = configured["profiles_dir"].as_str().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(format!("{folder}/mine.toml"), "name = 'mine'\n").unwrap();
    let listed = shown(&home, &["profiles", "--json"]).out();
    let mine = listed.lines().last().unwrap();
    let mine: Value = serde_json::from_str(mine).unwrap();
    assert_eq!(mine["profile"], "mine");
    assert!(
        mine["error"].as_str().unwrap().contains("summary"),
        "{mine}"
    );
}

#[test]
fn the_configuration_is_edited_and_checked() {
    let home = Home::new();
    let path = shown(&home, &["config", "path"]).out();
    let path = path.trim_end();
    let edited = |editor: &str| {
        let edited = bashd(&home, &["config", "edit"]).env("EDITOR", editor);
        edited.run()
    };
    let fine = edited("printf 'profile = \"voice\"\\n' >");
    assert_eq!(fine.code(), Some(0), "{}", fine.block());
    assert!(fine.err().contains("is right"), "{}", fine.err());
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "profile = \"voice\"\n"
    );
    let wrong = edited("printf 'profile = 3\\n' >");
    assert_eq!(wrong.code(), Some(125), "{}", wrong.block());
    assert!(
        wrong.err().contains("mend it: bashd config edit"),
        "{}",
        wrong.err()
    );
    std::fs::remove_file(path).unwrap();
    let given_up = edited("false");
    assert_eq!(given_up.code(), Some(125), "{}", given_up.block());
    assert!(!std::path::Path::new(path).exists(), "nothing is left");
}
