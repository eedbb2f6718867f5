//! Tests of the layers as a whole: precedence, origins, complaints, and the reference itself.

use super::*;
use proptest::prelude::*;

fn sources() -> Sources {
    Sources {
        state_dir: "/state".into(),
        config_dir: Some("/etc/me".into()),
        home: Some("/home/me".into()),
        ..Sources::default()
    }
}

fn file(text: &str) -> ConfigFile {
    ConfigFile {
        path: "/etc/me/config.toml".into(),
        text: text.to_owned(),
    }
}

fn entry<'a>(report: &'a ConfigReport, name: &str) -> &'a ConfigEntry {
    report
        .entries
        .iter()
        .find(|entry| entry.key.name == name)
        .unwrap()
}

fn complaint(sources: &Sources) -> String {
    resolve(sources).unwrap_err().to_string()
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let config = Config::new("/state");
    assert_eq!(
        config.quota,
        Quota {
            head: 8 << 20,
            ring: 56 << 20
        }
    );
    assert_eq!(config.retention.total, Some(10 << 30));
    assert_eq!(config.retention.max_age, Some(Duration::from_hours(7 * 24)));
    assert_eq!(
        config.ledger.retention,
        Some(Duration::from_hours(180 * 24))
    );
    assert_eq!(config.ledger.max_command_bytes, 65_536);
    assert!(config.ledger.enabled);
    assert_eq!(config.profile, "default");
    assert_eq!(
        (config.shell, config.prefix, config.profiles_dir),
        (None, None, None)
    );
    assert_eq!(config.survivors, None);
    assert_eq!(config.state_dir, PathBuf::from("/state"));
}

#[test]
fn the_reference_has_every_key_in_the_order_of_the_table() {
    let (_, report) = resolve(&sources()).unwrap();
    let shown: Vec<&str> = report.entries.iter().map(|entry| entry.key.name).collect();
    let table: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(shown, table);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    assert!(
        report
            .entries
            .iter()
            .all(|entry| entry.origin == ValueOrigin::Default)
    );
}

#[test]
fn the_reference_shows_the_defaults() {
    let file = ConfigFile {
        path: "reference".into(),
        text: reference(),
    };
    let sources = Sources {
        file: Some(file),
        ..Sources::default()
    };
    let (_, shown) = resolve(&sources).unwrap();
    let (_, held) = resolve(&Sources::default()).unwrap();
    for (shown, held) in shown.entries.iter().zip(&held.entries) {
        assert_eq!(shown.value, held.value, "{}", held.key.name);
        assert_ne!(shown.origin, ValueOrigin::Default, "{}", held.key.name);
    }
}

#[test]
fn the_reference_comments_every_key() {
    let mut group = String::new();
    let mut comment = String::new();
    let mut seen = Vec::new();
    for line in reference().lines() {
        if let Some(said) = line.strip_prefix('#') {
            comment.push_str(said);
        } else if let Some(name) = line.strip_prefix('[') {
            group = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((name, _)) = line.split_once(" = ") {
            let key = find(&format!("{group}{name}")).unwrap();
            assert!(!comment.is_empty(), "{} has no comment", key.name);
            seen.push(key.name);
        } else {
            comment.clear();
        }
    }
    assert_eq!(seen.len(), KEYS.len());
}

/// A value that a key can take, and that is not its default.
fn other_value(key: &ConfigKey) -> String {
    let other = |words: &[&str]| {
        let mut words = words.iter().filter(|word| **word != key.default);
        words.next().unwrap().to_string()
    };
    match key.kind {
        ValueKind::Switch | ValueKind::ProfileOrSwitch => other(&["true", "false"]),
        ValueKind::Number { min, max } => other(&[&min.to_string(), &max.to_string()]),
        ValueKind::Size { max, .. } | ValueKind::ProfileOrSize { max } => max.to_string(),
        ValueKind::Text | ValueKind::Path => "elsewhere".to_owned(),
        ValueKind::Choice(words) => other(words),
        // The lists that name rules take no other word.
        ValueKind::List => "no_mkfs".to_owned(),
        ValueKind::Rules => r#"[{"pattern": "x", "tool": "y", "message": "z"}]"#.to_owned(),
    }
}

#[test]
fn every_key_has_an_effect() {
    // The other key of its group says nothing without this one.
    let base = "bash.auto_background.enabled=true";
    let configured = |flags: &[&str]| {
        let mut sources = sources();
        sources.flags = flags.iter().map(ToString::to_string).collect();
        format!("{:?}", resolve(&sources).unwrap().0)
    };
    for key in KEYS {
        let value = match key.name {
            "bash.auto_background.enabled" => "false".to_owned(),
            "confinement.network" => "example.org".to_owned(),
            "console.end_key" => "F12".to_owned(),
            "confinement.resolve" => "example.org=127.0.0.1".to_owned(),
            _ => other_value(key),
        };
        assert_ne!(
            configured(&[base]),
            configured(&[base, &format!("{}={value}", key.name)]),
            "`{}` lands nowhere in the configuration",
            key.name
        );
    }
}

#[test]
fn flags_win_over_variables_over_file_over_defaults() {
    let mut sources = sources();
    sources.file = Some(file("profile = 'file'\nshell = 'file'\nprefix = 'file'\n"));
    sources.variables = vec![
        ("BASHD_PROFILE".into(), "variable".into()),
        ("BASHD_SHELL".into(), "variable".into()),
    ];
    sources.flags = vec!["profile=first".into(), "profile=flag".into()];
    let (config, report) = resolve(&sources).unwrap();
    assert_eq!(config.profile, "flag");
    assert_eq!(config.shell.as_deref(), Some("variable"));
    assert_eq!(config.prefix.as_deref(), Some("file"));
    assert_eq!(entry(&report, "profile").origin, ValueOrigin::Flag);
    assert_eq!(
        entry(&report, "shell").origin,
        ValueOrigin::Variable("BASHD_SHELL".into())
    );
    assert_eq!(
        entry(&report, "prefix").origin.to_string(),
        "/etc/me/config.toml:3"
    );
    assert_eq!(entry(&report, "survivors").origin, ValueOrigin::Default);
}

#[test]
fn sizes_lists_and_switches_are_read_from_every_layer() {
    let mut sources = sources();
    sources.file = Some(file(
        "[spool]\nhead_bytes = '1MiB'\nring_bytes = 8192\n[shellMinimizer]\nonly=['a']",
    ));
    sources.variables = vec![
        ("BASHD_LEDGER_ENABLED".into(), "off".into()),
        ("BASHD_SHELL_MINIMIZER_EXCEPT".into(), "git, cargo".into()),
    ];
    sources.flags = vec!["spool.total_bytes=0".into(), "survivors=end".into()];
    let (config, report) = resolve(&sources).unwrap();
    assert_eq!(
        config.quota,
        Quota {
            head: 1 << 20,
            ring: 8192
        }
    );
    assert_eq!(config.retention.total, None);
    assert!(!config.ledger.enabled);
    assert_eq!(config.survivors, Some(Survivors::End));
    let except = &entry(&report, "shell_minimizer.except").value;
    assert_eq!(except, &Value::List(vec!["git".into(), "cargo".into()]));
    assert_eq!(except.to_string(), r#"["git", "cargo"]"#);
    assert_eq!(
        entry(&report, "spool.head_bytes").value.to_string(),
        r#""1MiB""#
    );
    assert_eq!(entry(&report, "spool.total_bytes").value.to_string(), "0");
}

#[test]
fn a_poll_waits_for_one_of_five_times() {
    for (word, seconds) in [("5s", 5), ("10s", 10), ("30s", 30), ("1m", 60), ("5m", 300)] {
        let mut sources = sources();
        sources.flags = vec![format!("async.pollWaitDuration={word}")];
        let (config, _) = resolve(&sources).unwrap();
        assert_eq!(config.jobs.poll_wait, Duration::from_secs(seconds));
    }
    assert_eq!(
        Config::new("/state").jobs.poll_wait,
        Duration::from_secs(30)
    );
    let mut sources = sources();
    sources.file = Some(file("[async]\npollWaitDuration = '7s'\n"));
    let expected = "`async.poll_wait_duration` must be one of \"5s\", \"10s\", \"30s\", \"1m\", \"5m\", \
         but /etc/me/config.toml:2 gives the string \"7s\"";
    assert_eq!(complaint(&sources), expected);
}

#[test]
fn unknown_keys_are_reported_with_what_was_probably_meant() {
    let mut sources = sources();
    sources.file = Some(file("[ledger]\nenable = false\n[colours]\nred = 1\n"));
    sources.variables = vec![
        ("BASHD_SPOOL_HEAD_BYTE".into(), "1".into()),
        ("BASHD_HOME".into(), "/x".into()),
        ("BASHD_RUN".into(), "1".into()),
        ("PATH".into(), "/bin".into()),
    ];
    sources.flags = vec!["ring_bytes=3".into()];
    let (config, report) = resolve(&sources).unwrap();
    assert!(config.ledger.enabled);
    let warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "unknown key `ledger.enable` (/etc/me/config.toml:2); did you mean ledger.enabled?",
            "unknown key `colours` (/etc/me/config.toml:3)",
            "unknown variable BASHD_SPOOL_HEAD_BYTE; did you mean BASHD_SPOOL_HEAD_BYTES?",
            "unknown key `ring_bytes` (--set); did you mean spool.ring_bytes?",
        ]
    );
}

#[test]
fn a_wrong_type_names_key_origin_and_expectation() {
    for (text, expected) in [
        (
            "\n[ledger]\nenabled = 'yes'",
            "`ledger.enabled` must be true or false, but /etc/me/config.toml:3 gives the string \"yes\"",
        ),
        (
            "[spool]\nhead_bytes = -1",
            "`spool.head_bytes` must be a size from 4KiB to 1TiB such as 1048576 or \"64MiB\", \
             but /etc/me/config.toml:2 gives the number -1",
        ),
        (
            "shell = 3",
            "`shell` must be a string, but /etc/me/config.toml:1 gives the number 3",
        ),
        (
            "[shell]\nx = 1",
            "`shell` must be a string, but /etc/me/config.toml:1 gives a table",
        ),
        (
            "spool = 1",
            "`spool` must be a table of keys, but /etc/me/config.toml:1 gives a single value",
        ),
        (
            "survivors = 'kill'",
            "`survivors` must be one of \"profile\", \"keep\", \"end\", \
             but /etc/me/config.toml:1 gives the string \"kill\"",
        ),
        (
            "shellMinimizer.only = [1]",
            "`shell_minimizer.only` must be a list of strings, but /etc/me/config.toml:1 gives a list",
        ),
    ] {
        assert_eq!(
            complaint(&Sources {
                file: Some(file(text)),
                ..sources()
            }),
            expected
        );
    }
}

#[test]
fn bad_variables_flags_and_files_are_named() {
    use std::os::unix::ffi::OsStringExt;
    let with_variable = |text: OsString| Sources {
        variables: vec![("BASHD_LEDGER_RETENTION_DAYS".into(), text)],
        ..sources()
    };
    let expectation = "`ledger.retention_days` must be a whole number from 0 to 36500, \
                       but BASHD_LEDGER_RETENTION_DAYS gives";
    assert_eq!(
        complaint(&with_variable("soon".into())),
        format!("{expectation} \"soon\"")
    );
    let bytes = OsString::from_vec(vec![0xff]);
    assert_eq!(
        complaint(&with_variable(bytes)),
        format!("{expectation} bytes that are not UTF-8")
    );
    assert!(
        resolve(&with_variable(OsString::new())).is_ok(),
        "empty counts as unset"
    );

    let with_flag = |flag: &str| Sources {
        flags: vec![flag.into()],
        ..sources()
    };
    assert_eq!(
        complaint(&with_flag("shell")),
        "expected KEY=VALUE after --set, found \"shell\""
    );
    assert_eq!(
        complaint(&with_flag("ledger.enabled=")),
        "`ledger.enabled` must be true or false, but --set gives \"\""
    );

    let broken = complaint(&Sources {
        file: Some(file("shell = 'a'\nshell = ")),
        ..sources()
    });
    assert!(
        broken.starts_with("not valid TOML at /etc/me/config.toml:2: "),
        "{broken}"
    );
}

#[test]
fn paths_are_made_independent_of_the_reader() {
    let profiles = |sources: Sources| resolve(&sources).unwrap().0.profiles_dir.unwrap();
    assert_eq!(profiles(sources()), PathBuf::from("/etc/me/profiles"));
    let in_file = |text: &str| {
        profiles(Sources {
            file: Some(file(text)),
            ..sources()
        })
    };
    assert_eq!(
        in_file("profiles_dir = 'mine'"),
        PathBuf::from("/etc/me/mine")
    );
    assert_eq!(
        in_file("profiles_dir = '~/mine'"),
        PathBuf::from("/home/me/mine")
    );
    assert_eq!(in_file("profiles_dir = '/mine'"), PathBuf::from("/mine"));
    let flag = Sources {
        flags: vec!["profiles_dir=mine".into()],
        ..sources()
    };
    assert_eq!(profiles(flag), PathBuf::from("mine"));
}

proptest! {
    #[test]
    fn no_text_whatever_breaks_the_resolver(text: String, flag: String, variable: String) {
        let mut sources = sources();
        sources.file = Some(file(&text));
        sources.flags = vec![flag];
        sources.variables = vec![(format!("BASHD_{variable}").into(), variable.into())];
        let _ = resolve(&sources);
    }
}

#[test]
fn both_spellings_of_a_key_in_one_file_are_refused() {
    let twice = "[bash]\nvirtualTerminal = 'on'\nvirtual_terminal = 'off'\n";
    let sources = Sources {
        file: Some(file(twice)),
        ..Sources::default()
    };
    let error = resolve(&sources).unwrap_err().to_string();
    assert!(
        error.contains("`bash.virtual_terminal` is given twice"),
        "{error}"
    );
    let sources = Sources {
        file: Some(file("[bash]\nvirtualTerminal = 'on'\n")),
        ..Sources::default()
    };
    assert!(resolve(&sources).unwrap().0.virtual_terminal);
}
