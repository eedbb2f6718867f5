//! `bashd config`: where values come from, what is not understood, and where files are.

use crate::{bashd, shown};
use bashd::config::KEYS;
use bashd_testkit::Home;
use std::fs;

fn configured(text: &str) -> Home {
    let home = Home::new();
    fs::write(home.config().join("config.toml"), text).unwrap();
    home
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let home = configured("prefix = 'nice'\n\n[spool]\nhead_bytes = 1048576\n");
    let arguments = [
        "--set",
        "shell=/bin/bash",
        "config",
        "show",
        "--set",
        "profile=voice",
    ];
    let shown = bashd(&home, &arguments)
        .env("BASHD_LEDGER_ENABLED", "no")
        .run();
    let block = shown.block();
    let names = block.lines().filter_map(|line| line.split_once(" = "));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names, keys);
    // The defaults are the table's; `documents` holds them.
    let told = block.lines().filter(|line| !line.ends_with("  # default"));
    let told: Vec<&str> = told.collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    --- stdout
    # configuration file: [TEMP]/home/.config/bashd/config.toml
    # state directory: [TEMP]/home/.local/state/bashd
    profile = "voice"                           # --set
    shell = "/bin/bash"                         # --set
    prefix = "nice"                             # [TEMP]/home/.config/bashd/config.toml:1
    spool.head_bytes = "1MiB"                   # [TEMP]/home/.config/bashd/config.toml:4
    ledger.enabled = false                      # BASHD_LEDGER_ENABLED
    --- stderr
    --- status
    exit 0
    "#);
}

#[test]
fn what_is_shown_is_itself_a_configuration() {
    let home = Home::new();
    let first = shown(&home, &["config", "show"]);
    fs::write(home.config().join("config.toml"), &first.stdout).unwrap();
    let second = shown(&home, &["config", "show"]);
    assert_eq!((second.code(), second.err()), (Some(0), String::new()));
    let values = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| {
                line.split("  #")
                    .next()
                    .unwrap_or(line)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(values(first.out()), values(second.out()));
    assert!(second.out().contains("config.toml:3"));
}

#[test]
fn programs_get_json() {
    let home = configured("[ledger]\nenable = true\n");
    let shown = shown(
        &home,
        &["config", "show", "--json", "--set", "spool.ring_bytes=1MiB"],
    );
    let json: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let values = json["values"].as_array().unwrap();
    let ring = values
        .iter()
        .find(|value| value["key"] == "spool.ring_bytes")
        .unwrap();
    insta::assert_snapshot!(ring, @r#"{"key":"spool.ring_bytes","value":1048576,"layer":"flag","origin":"--set","variable":"BASHD_SPOOL_RING_BYTES"}"#);
    insta::assert_snapshot!(json["warnings"][0]["nearest"], @r#""ledger.enabled""#);
    assert_eq!(json["state_dir"], home.state().to_str().unwrap());
}

#[test]
fn unknown_keys_are_reported_and_the_rest_holds() {
    let home = configured("[ledger]\nenable = false\nretention_days = 3\n");
    let run = bashd(&home, &["config", "show", "--set", "colour=red"]).env("BASHD_SHEL", "x");
    let transcript = run.run();
    assert!(transcript.out().contains("ledger.retention_days = 3 "));
    insta::assert_snapshot!(transcript.err().replace(home.root().to_str().unwrap(), "[TEMP]"), @r#"
    warning: unknown key `ledger.enable` ([TEMP]/home/.config/bashd/config.toml:2); did you mean ledger.enabled?
    warning: unknown variable BASHD_SHEL; did you mean BASHD_SHELL?
    warning: unknown key `colour` (--set); bashd config reference lists those that there are
    "#);
}

#[test]
fn a_wrong_type_is_an_error_with_a_hint() {
    let home = configured("[spool]\nhead_bytes = 'lots'\n");
    insta::assert_snapshot!(shown(&home, &["config", "show"]).block(), @r#"
    --- stdout
    --- stderr
    configuration error: `spool.head_bytes` must be a size from 4KiB to 1TiB such as 1048576 or "64MiB", but [TEMP]/home/.config/bashd/config.toml:2 gives the string "lots"
    hint: `bashd config reference` explains every key
    --- status
    exit 125
    "#);
}

#[test]
fn a_file_that_is_not_toml_is_an_error() {
    let home = configured("[spool\n");
    insta::assert_snapshot!(shown(&home, &["log"]).block(), @r#"
    --- stdout
    --- stderr
    configuration error: not valid TOML at [TEMP]/home/.config/bashd/config.toml:1: unclosed table, expected `]`
    hint: `bashd config reference` explains every key
    --- status
    exit 125
    "#);
}

#[test]
fn a_named_file_replaces_the_users_and_must_exist() {
    let home = configured("prefix = 'user'\n");
    let named = home.workspace().join("named.toml");
    fs::write(&named, "prefix = 'named'\n").unwrap();
    let named = named.to_str().unwrap();
    assert!(
        shown(&home, &["--config", named, "config", "show"])
            .out()
            .contains("prefix = \"named\"")
    );
    let by_variable = bashd(&home, &["config", "show"])
        .env("BASHD_CONFIG", named)
        .run();
    assert!(by_variable.out().contains("prefix = \"named\""));
    insta::assert_snapshot!(shown(&home, &["config", "show", "--config", "none.toml"]).block(), @r#"
    --- stdout
    --- stderr
    configuration error: none.toml can't be read: No such file or directory (os error 2)
    hint: --config FILE or BASHD_CONFIG names a file that can be read; without them it is that of `bashd config path`
    --- status
    exit 125
    "#);
}

#[test]
fn places_follow_bashd_home_then_xdg_then_home() {
    let home = Home::new();
    let state = |variables: &[(&str, &str)]| {
        let run = variables.iter().fold(
            bashd(&home, &["config", "show", "--json"]),
            |run, (name, value)| run.env(*name, *value),
        );
        let json: serde_json::Value = serde_json::from_slice(&run.run().stdout).unwrap();
        let [state, profiles] = [&json["state_dir"], &json["profiles_dir"]];
        [state, profiles].map(|path| path.as_str().unwrap().to_owned())
    };
    let usual = [home.state(), home.config().join("profiles")]
        .map(|path| path.to_str().unwrap().to_owned());
    assert_eq!(state(&[]), usual);
    assert_eq!(
        state(&[("BASHD_HOME", ""), ("XDG_STATE_HOME", "relative")]),
        usual
    );
    let xdg = [("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")];
    assert_eq!(state(&xdg), ["/s/bashd", "/c/bashd/profiles"]);
    assert_eq!(
        state(&[xdg[0], xdg[1], ("BASHD_HOME", "/b")]),
        ["/b/state", "/b/profiles"]
    );
}

#[test]
fn the_reference_is_that_of_the_library() {
    let home = Home::new();
    assert_eq!(
        shown(&home, &["config", "reference"]).out(),
        bashd::config::reference()
    );
}

#[test]
fn a_wrong_key_of_the_console_is_found_by_doctor_and_says_what_is_right() {
    let home = Home::new();
    for (value, is_right) in [
        ("x", false),
        ("Up Down", false),
        ("F12", true),
        ("C-] C-]", true),
    ] {
        let set = format!("console.end_key={value}");
        let doctor = bashd(&home, &["--set", &set, "doctor"]).run();
        let says = doctor.block().contains("as in C-] C-]");
        assert_eq!(says, !is_right, "{}", doctor.block());
        if says {
            assert_eq!(doctor.code(), Some(1), "{}", doctor.block());
        }
    }
}

#[test]
fn without_a_terminal_and_an_editor_nothing_is_started() {
    let home = Home::new();
    let edit = bashd(&home, &["config", "edit"]).run();
    assert_eq!(edit.code(), Some(125), "{}", edit.block());
    assert!(edit.err().contains("set EDITOR"), "{}", edit.err());
}

#[test]
fn messages_name_the_next_step() {
    let home = Home::new();
    for (arguments, step) in [
        (&["undo", "zzz"][..], "bashd changes lists them"),
        (&["changes", "apply", "zzz"], "bashd changes lists them"),
        (&["run", "--on", "zzz", "true"], "docs/places.md"),
        (&["log", "show", "zz"], "`zz` is too short"),
    ] {
        let shown = bashd(&home, arguments).run();
        assert!(shown.block().contains(step), "{}", shown.block());
    }
    let man = bashd(&home, &["man", "zzz"]).run().err();
    assert!(man.contains("one of:") && !man.contains("outpost"), "{man}");
}
