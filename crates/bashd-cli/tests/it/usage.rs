//! The command line as such: help, bad usage, colors, and a reader that stops reading.

use crate::{bashd, shown};
use bashd_testkit::Home;
use std::process::{Command, Stdio};

/// The subcommands, as the help lists them.
pub(crate) fn subcommands(help: &str) -> Vec<&str> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    // A long description goes on in a line that is indented further.
    let entries = lines.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
    });
    let names = entries.filter_map(|entry| entry.split(' ').next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn help_names_every_subcommand_and_is_no_failure() {
    let home = Home::new();
    let help = shown(&home, &["--help"]);
    assert_eq!((help.code(), help.err()), (Some(0), String::new()));
    let help = help.out();
    let subcommands = subcommands(&help);
    assert!(subcommands.len() >= 19, "{subcommands:?}");
    for subcommand in subcommands {
        let own = shown(&home, &[subcommand, "--help"]);
        assert_eq!(own.code(), Some(0));
        assert!(
            own.out().contains(&format!("Usage: bashd {subcommand}")),
            "{}",
            own.out()
        );
    }
    assert!(
        shown(&home, &["run", "--help"])
            .out()
            .contains("124 when it timed out")
    );
}

#[test]
fn an_option_that_needs_another_is_refused_without_it() {
    let home = Home::new();
    for words in [
        "map --retry lost true",
        "map --retry lost --list",
        "export 1 --svg --v3",
        "export 1 --html --v3",
        "export 1 --cast --animated",
        "log --from x",
        "mcp --token x",
        "rpc --tape-match",
        "try --effects now true",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = bashd(&home, &words).stdin("").run();
        assert_eq!(said.code(), Some(125), "{words:?}: {}", said.block());
        // Named by what it needs, or by what it can't be with.
        assert!(said.err().contains("--"), "{words:?}: {}", said.block());
    }
}

#[test]
fn a_name_that_is_not_there_is_wrong_usage_everywhere() {
    let home = Home::new().keeping_in_state(&["grants.lock"]);
    for words in [
        "jobs show bg_9",
        "log show 01abcdef",
        "artifact read 7",
        "artifact rm 7",
        "changes show zzz",
        "changes apply zzz",
        "changes discard zzz",
        "undo zzz",
        "map --resume zzz",
        "map --forget zzz",
        "replay zzz",
        "export zzz --svg",
        "grants rm 7",
        "places check zzz",
        "rules zzz",
        "schema --profile zzz",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = bashd(&home, &words).stdin("").run();
        assert_eq!(said.code(), Some(125), "{words:?}: {}", said.block());
        let text = said.err();
        assert!(text.starts_with("usage error: "), "{words:?}: {text}");
        let next = text.contains("hint: ") || text.contains('`') || text.contains("there are: ");
        assert!(next, "no next step: {words:?}: {text}");
    }
}

#[test]
fn what_is_empty_says_what_fills_it() {
    let home = Home::new();
    for (words, next) in [
        ("jobs", "bashd run --background"),
        ("log", "bashd run"),
        ("top --once", "bashd run"),
        ("artifact list", "a reply does not show in full"),
        ("stats", "bashd run"),
        ("changes", "bashd try"),
        ("grants", "`always`"),
        ("places", "bashd config edit"),
        ("map --list", "bashd map --name"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = bashd(&home, &words).stdin("").run();
        let text = said.err();
        assert_eq!(
            (said.code(), said.out()),
            (Some(0), String::new()),
            "{text}"
        );
        assert!(
            text.starts_with("bashd: ") && text.contains(next),
            "{words:?}: {text}"
        );
    }
}

#[test]
fn the_version_is_the_crates() {
    let home = Home::new();
    let version = shown(&home, &["--version"]);
    assert_eq!(
        version.out(),
        concat!("bashd ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(version.code(), Some(0));
}

#[test]
fn bad_usage_is_125_on_stderr() {
    let home = Home::new();
    for arguments in [
        &[][..],
        &["nonsense"],
        &["run"],
        &["run", "--nonsense", "true"],
        &["run", "--input", "{}", "true"],
        &["run", "--timeout", "-1", "true"],
        &["run", "--timeout", "soon", "true"],
        &["run", "--env", "NOVALUE", "true"],
        &["run", "--env", "=x", "true"],
        &["run", "--input", "-", "--stdin", "-"],
        &["run", "--stdin", "/nonexistent", "true"],
        &["mcp", "--cwd", "/nonexistent"],
        &["mcp", "--session", ""],
        &["mcp", "--profile", "nonsense"],
        &["mcp", "--http", "nonsense"],
        &["mcp", "--http", "0.0.0.0:0"],
        &["mcp", "--http", "0.0.0.0:0", "--token", "none"],
        &["mcp", "--http", "0", "--token", ""],
        &["mcp", "--token", "none"],
        &["rpc", "--cwd", "/nonexistent"],
        &["rpc", "--socket", "/nonexistent/socket"],
        &["acp", "--session", "two\nlines"],
        &["log", "--limit", "many"],
        &["log", "--since", "soon"],
        &["schema", "--profile", "nonsense"],
        &["completions", "nonsense"],
        &["man", "nonsense"],
        &["config"],
        &["--set", "shell", "config", "show"],
        &["--config", "/nonexistent", "config", "show"],
    ] {
        let transcript = shown(&home, arguments);
        assert_eq!(transcript.code(), Some(125), "{arguments:?}");
        assert_eq!(transcript.out(), "", "{arguments:?}");
        says_what_to_do(&transcript.err());
    }
}

/// Every message names the next step: a hint, how it is used, or the parser's help.
fn says_what_to_do(message: &str) {
    let next = ["hint: ", "try '--help'", "Usage: "];
    let says = next.iter().any(|next| message.contains(next));
    assert!(says, "no next step: {message}");
}

#[test]
fn whatever_is_wrong_the_message_names_the_next_step() {
    let home = Home::new();
    let broken = home.workspace().join("broken.toml");
    std::fs::write(&broken, "profile = \n").unwrap();
    shown(&home, &["run", "--background", "sleep 300"]);
    for (words, next) in [
        ("check ", "bashd check 'git push --force'"),
        ("check", "for example: bashd check"),
        ("run", "for example: bashd run"),
        ("map", "for example: "),
        ("jobs attach", "bashd jobs lists them"),
        ("jobs send", "for example: bashd jobs send"),
        ("artifact read", "bashd artifact list lists them"),
        ("changes apply", "bashd changes lists them"),
        ("grants rm", "bashd grants lists them"),
        ("run --stdin nothing cat", "bashd run --help"),
        ("jobs follow bg_9", "bashd jobs --all"),
        ("jobs send bg_1", "bashd jobs send --help"),
        ("jobs send bg_1 hello", "job bg_1: "),
        ("jobs send bg_1 --signal FOO", "kill -l"),
        ("jobs wait bg_1 --regex (", "a backslash before"),
        ("jobs wait bg_1 --http x", "such as http://"),
        ("jobs attach bg_1", "bashd jobs follow bg_1"),
        ("jobs screen bg_1", "bashd jobs output bg_1"),
        ("jobs rm bg_1", "bashd jobs kill bg_1"),
        ("artifact read 0 --grep (", "a backslash before"),
        ("log --follow --set feed.enabled=false", "feed.enabled=true"),
        ("top --set feed.enabled=false", "feed.enabled=true"),
        ("--config broken.toml log", "bashd config reference"),
        ("--config nothing.toml log", "bashd config path"),
        ("console", "bashd console --plain"),
        ("config edit", "set EDITOR"),
        ("rpc --socket /nonexistent/x", "choose a path"),
        ("run --session x true", "bashd mcp or bashd rpc"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = bashd(&home, &words).stdin("").run();
        assert_eq!(said.code(), Some(125), "{words:?}: {}", said.block());
        says_what_to_do(&said.err());
        assert!(said.err().contains(next), "{words:?}: {}", said.err());
    }
    // What is not known is passed over with a word of it, and where all that is known stands.
    let said = bashd(&home, &["--set", "zzzz=1", "log"]).stdin("").run();
    assert!(
        said.err().contains("bashd config reference"),
        "{}",
        said.err()
    );
    shown(&home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn help_says_where_the_pages_are_that_messages_name() {
    let help = shown(&Home::new(), &["--help"]).out();
    assert!(help.contains("/tree/main/docs"), "{help}");
}

#[test]
fn a_server_at_a_terminal_says_whom_it_waits_for() {
    let home = Home::new();
    for (server, page) in [
        ("mcp", "docs/mcp.md"),
        ("rpc", "docs/rpc.md"),
        ("acp", "docs/acp.md"),
    ] {
        // `script` gives it a terminal, and its own stdin's end is the end of the input there.
        let said = Command::new("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!("{} {server}", env!("CARGO_BIN_EXE_bashd")))
            .arg("/dev/null")
            .env_clear()
            .envs(home.env())
            .current_dir(home.workspace())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(
            text.contains("waiting for ") && text.contains(page),
            "{text}"
        );
        assert!(said.status.success(), "{server}: {}", said.status);
    }
}

#[test]
fn colors_are_for_terminals_and_for_those_who_ask() {
    let home = Home::new();
    let is_colored = |arguments: &[&str], variables: &[(&str, &str)]| {
        let run = variables
            .iter()
            .fold(bashd(&home, arguments), |run, (name, value)| {
                run.env(*name, *value)
            });
        run.run().out().contains('\u{1b}')
    };
    assert!(!is_colored(&["config", "show"], &[]));
    assert!(is_colored(&["config", "show"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_colored(
        &["config", "show"],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(is_colored(
        &["config", "show", "--color", "always"],
        &[("NO_COLOR", "1")]
    ));
    assert!(!is_colored(
        &["--color", "never", "config", "show"],
        &[("CLICOLOR_FORCE", "1")]
    ));
}

#[test]
fn completions_and_manual_pages_come_from_the_command_line() {
    let home = Home::new();
    for (shell, mark) in [
        ("bash", "_bashd()"),
        ("zsh", "#compdef bashd"),
        ("fish", "complete -c bashd"),
    ] {
        let script = shown(&home, &["completions", shell]);
        assert_eq!(script.code(), Some(0));
        assert!(script.out().contains(mark), "{shell}");
        assert!(script.out().contains("profile"), "{shell}");
    }
    let page = shown(&home, &["man"]);
    assert!(page.out().contains(".TH bashd 1"), "{}", page.out());
    let help = shown(&home, &["--help"]).out();
    for subcommand in subcommands(&help) {
        let page = shown(&home, &["man", subcommand]);
        assert!(
            page.out().contains(&format!(".TH bashd-{subcommand} 1")),
            "{}",
            page.out()
        );
    }
}

#[test]
fn the_bash_completions_are_valid_bash() {
    let home = Home::new();
    let script = home.workspace().join("completions.bash");
    std::fs::write(&script, shown(&home, &["completions", "bash"]).stdout).unwrap();
    let checked = Command::new("bash")
        .arg("-n")
        .arg(&script)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn a_reader_that_stops_reading_ends_us_quietly() {
    let home = Home::new();
    for arguments in [
        &["config", "show"][..],
        &["--help"],
        &["completions", "zsh"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Command::new(env!("CARGO_BIN_EXE_bashd"))
            .args(arguments)
            .env_clear()
            .envs(home.env())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_full_disk_behind_stdout_is_said() {
    let home = Home::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_bashd"))
        .args(["config", "show"])
        .env_clear()
        .envs(home.env())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(125));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        said.starts_with("error: stdout can't be written: No space left"),
        "{said}"
    );
}
