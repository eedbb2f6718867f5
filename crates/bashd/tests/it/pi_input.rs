//! `pi`: its parameters, the order and the words of its refusals, its environment, its interceptor.

use crate::engine_under_test::engine;
use crate::profile_under_test::Contract;
use bashd::profile::schema;
use bashd::{Call, Config, Engine, KeeperSource, Profile, Reply, Request, Surroundings};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const TOOLS: [&str; 5] = ["read", "search", "find", "edit", "write"];

/// What every command of `pi` finds in its environment, as the documents list it.
const NON_INTERACTIVE: &str = "PAGER=cat GIT_PAGER=cat MANPAGER=cat SYSTEMD_PAGER=cat BAT_PAGER=cat \
    DELTA_PAGER=cat GH_PAGER=cat GLAB_PAGER=cat PSQL_PAGER=cat MYSQL_PAGER=cat AWS_PAGER= \
    HOMEBREW_PAGER=cat LESS=FRX TERM=dumb NO_COLOR=1 PYTHONUNBUFFERED=1 GIT_EDITOR=true \
    VISUAL=true EDITOR=true GIT_TERMINAL_PROMPT=0 CI=1 npm_config_yes=true \
    npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false \
    npm_config_progress=false PNPM_DISABLE_SELF_UPDATE_CHECK=true PNPM_UPDATE_NOTIFIER=false \
    YARN_ENABLE_TELEMETRY=0 YARN_ENABLE_PROGRESS_BARS=0 CARGO_TERM_PROGRESS_WHEN=never \
    DEBIAN_FRONTEND=noninteractive PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 TF_INPUT=0 \
    TF_IN_AUTOMATION=1 GH_PROMPT_DISABLED=1 COMPOSER_NO_INTERACTION=1 \
    CLOUDSDK_CORE_DISABLE_PROMPTS=1";

/// Variables that only a shell itself should say.
const SHELL_PRIVATE: &str = "BASH_ENV ENV HISTFILE HISTTIMEFORMAT HISTCMD PS0 PS1 PS2 PS4 \
    READLINE_LINE READLINE_POINT BASH BASHOPTS BASH_ALIASES BASH_ARGV0 BASH_CMDS BASH_SOURCE \
    BASH_SUBSHELL BASH_VERSINFO BASH_VERSION SHELLOPTS COMP_WORDBREAKS DIRSTACK EPOCHREALTIME \
    EPOCHSECONDS FUNCNAME GROUPS IFS LINENO MACHTYPE OSTYPE OPTERR OPTIND PIPESTATUS PPID OLDPWD \
    RANDOM SRANDOM SECONDS UID EUID HOSTNAME HOSTTYPE BASH_FUNC_ls%%";

fn pi(home: &Home) -> Contract {
    Contract::new(home, "pi")
}

/// An engine whose surroundings have these variables too.
fn engine_with(home: &Home, config: Config, more: &[(&str, &str)]) -> Engine {
    let more = more.iter().map(|(name, value)| (name.into(), value.into()));
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env().into_iter().chain(more).collect(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

async fn environment(engine: &Engine, profile: &str, request: Request) -> BTreeMap<String, String> {
    let reply = engine.run(request.profile(profile)).await;
    let pairs = reply.output.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn refused(reply: &Reply, text: &str) {
    assert_eq!((reply.text.as_str(), reply.is_error), (text, true));
    assert_eq!((reply.exit_code, reply.output.as_str()), (None, ""));
}

#[test]
fn pi_schema_is_strict_and_has_async_only_where_it_is_on() {
    let profile = Profile::builtin("pi").expect("it loads").expect("pi");
    let mut config = Config::new("/state");
    let names = |config: &Config| {
        let schema = schema::definition(&profile, "/w", config)["input_schema"].clone();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["required"], json!(["command"]));
        let timeout = &schema["properties"]["timeout"];
        assert_eq!(
            (&timeout["default"], timeout.get("maximum")),
            (&json!(300), None)
        );
        let properties = schema["properties"].as_object().expect("properties");
        properties.keys().cloned().collect::<Vec<_>>()
    };
    let without = ["command", "env", "timeout", "cwd", "pty", "head", "tail"];
    assert_eq!(names(&config), without);
    config.async_enabled = true;
    let with = [
        "command", "env", "timeout", "cwd", "pty", "async", "head", "tail",
    ];
    assert_eq!(names(&config), with);
}

#[tokio::test]
async fn pi_refuses_in_its_own_words_and_order() {
    let home = Home::new();
    let pi = pi(&home);
    fs::write(home.workspace().join("file"), "").expect("a file");
    let workspace = home.workspace().display().to_string();
    let disabled = "Async bash execution is disabled. Enable async.enabled to use async mode.";
    for (input, text) in [
        (
            json!({"command": "touch ran", "env": {"1A": "x"}, "async": true, "cwd": "no"}),
            "Invalid bash env name: 1A".to_owned(),
        ),
        (
            json!({"command": "touch ran", "env": {"A B": "x"}}),
            "Invalid bash env name: A B".to_owned(),
        ),
        (
            json!({"command": "touch ran", "async": true, "cwd": "no"}),
            disabled.to_owned(),
        ),
        (
            json!({"command": "touch ran", "cwd": "no/where"}),
            format!("Working directory does not exist: {workspace}/no/where"),
        ),
        (
            json!({"command": "touch ran", "cwd": "/no/where"}),
            "Working directory does not exist: /no/where".to_owned(),
        ),
        (
            json!({"command": "touch ran", "cwd": "file"}),
            format!("Working directory is not a directory: {workspace}/file"),
        ),
        (
            json!({"command": "touch ran", "colour": 1}),
            "Invalid input: unknown parameter `colour`".to_owned(),
        ),
        (
            json!({"command": "touch ran", "timeout": "5"}),
            "Invalid input: `timeout` must be a number, not a string".to_owned(),
        ),
        (
            json!({"command": "touch ran", "head": -1}),
            "Invalid input: `head` must be a whole number of lines, not -1".to_owned(),
        ),
        (
            json!({"command": "touch ran", "pty": "yes"}),
            "Invalid input: `pty` must be a boolean, not a string".to_owned(),
        ),
    ] {
        refused(&pi.json(&input.to_string()).await, &text);
    }
    assert!(!home.workspace().join("ran").exists());
    let input = json!({"command": "echo $A", "env": {}, "async": false, "cwd": "", "pty": false});
    assert_eq!(pi.json(&input.to_string()).await.output, "\n");
}

#[tokio::test]
async fn pi_interceptor_async_disabled_error_is_reached_before_it() {
    let home = Home::new();
    let engine = engine(&home);
    let mut defaults = Request::new("").profile("pi");
    defaults.tools = TOOLS.map(str::to_owned).to_vec();
    let call = |input: Value| Call::json(input.to_string(), defaults.clone());
    let disabled = "Async bash execution is disabled. Enable async.enabled to use async mode.";
    let reply = engine
        .run(call(json!({"command": "cat f", "async": true})))
        .await;
    refused(&reply, disabled);
    // It comes before the directory is looked at.
    let reply = engine
        .run(call(json!({"command": "cat f", "cwd": "/no/where"})))
        .await;
    let message = "Use the `read` tool instead of cat/head/tail. It provides better context and handles binary files.";
    let text = format!("Blocked: {message}\n\nOriginal command: cat f");
    refused(&reply, &text);
    let denied = reply.denied.expect("a denial");
    assert_eq!(denied.suggested_tool.as_deref(), Some("read"));
}

#[tokio::test]
async fn pi_interceptor_original_command_is_checked_and_the_one_without_its_cd_too() {
    let home = Home::new();
    let engine = engine(&home);
    let mut request = Request::new("").profile("pi");
    request.tools = TOOLS.map(str::to_owned).to_vec();
    for (command, tool) in [
        ("cat file | tail -n 3", Some("read")),
        ("cd /tmp && grep -r x .", Some("search")),
        ("cd 'a b' && sed -i s/a/b/ f", Some("edit")),
        ("echo hi > f", Some("write")),
        ("cd /tmp && echo x", None),
        ("seq 3 | tail -n 2", None),
        ("git log | grep x", None),
        ("echo hi > /dev/null", None),
    ] {
        let mut request = request.clone();
        request.command = command.to_owned();
        let reply = engine.run(request).await;
        let suggested = reply.denied.and_then(|denied| denied.suggested_tool);
        assert_eq!(suggested.as_deref(), tool, "{command}");
        if tool.is_some() {
            let original = format!("\n\nOriginal command: {command}");
            assert!(reply.text.starts_with("Blocked: Use the `"), "{command}");
            assert!(reply.text.ends_with(&original), "{command}");
        }
    }
    // Without tools of the caller's there is nothing to suggest.
    fs::write(home.workspace().join("f"), "text\n").expect("a file");
    assert_eq!(pi(&home).run("cat f").await.output, "text\n");
}

#[tokio::test]
async fn pi_clamps_the_timeout_and_says_so() {
    let home = Home::new();
    let pi = pi(&home);
    for (asked, notice) in [
        (
            json!(5000),
            Some("Timeout clamped to 3600s (requested 5000s; allowed range 1-3600s)."),
        ),
        (
            json!(0.5),
            Some("Timeout clamped to 1s (requested 0.5s; allowed range 1-3600s)."),
        ),
        (
            json!(0),
            Some("Timeout clamped to 1s (requested 0s; allowed range 1-3600s)."),
        ),
        (
            json!(-5),
            Some("Timeout clamped to 1s (requested -5s; allowed range 1-3600s)."),
        ),
        (
            json!(1e308),
            Some("Timeout clamped to 3600s (requested 1e308s; allowed range 1-3600s)."),
        ),
        (
            json!(-1e308),
            Some("Timeout clamped to 1s (requested -1e308s; allowed range 1-3600s)."),
        ),
        (
            json!(1e-320),
            Some("Timeout clamped to 1s (requested 1e-320s; allowed range 1-3600s)."),
        ),
        (
            json!(3_600.000_000_000_1),
            Some("(requested 3600.0000000001s; allowed"),
        ),
        (json!(-0.0), Some("(requested 0s; allowed")),
        (
            json!(u64::MAX),
            Some("(requested 18446744073709552000s; allowed"),
        ),
        (json!(1.5), None),
        (json!(1.000_000_000_000_1), None),
        (json!(3600), None),
    ] {
        let input = json!({"command": "echo hi", "timeout": asked});
        let reply = pi.json(&input.to_string()).await;
        assert_eq!(reply.output, "hi\n");
        match notice {
            Some(notice) => assert!(reply.text.contains(notice), "{}", reply.text),
            None => assert!(!reply.text.contains("clamped"), "{}", reply.text),
        }
        // The same number as data.
        let told = reply.result["details"]["requestedTimeoutSeconds"].as_f64();
        assert_eq!(told, notice.and(asked.as_f64()).map(|told| told + 0.0));
    }
}

#[tokio::test]
async fn pi_resolves_the_directory() {
    let home = Home::new();
    let pi = pi(&home);
    let workspace = home.workspace();
    fs::create_dir_all(workspace.join("a/b")).expect("directories");
    fs::create_dir_all(home.home().join("~x")).expect("a directory");
    let shown = |path: std::path::PathBuf| format!("{}\n", path.display());
    for (cwd, expected) in [
        ("a/b", workspace.join("a/b")),
        ("a/../a", workspace.join("a")),
        ("/", workspace.clone()),
        ("///", workspace.clone()),
        ("~", home.home()),
        ("~/~x", home.home().join("~x")),
        ("/tmp", "/tmp".into()),
    ] {
        let input = json!({"command": "pwd", "cwd": cwd});
        assert_eq!(
            pi.json(&input.to_string()).await.output,
            shown(expected),
            "{cwd}"
        );
    }
    // A command that says where it wants to be is taken at its word.
    assert_eq!(pi.run("cd / && pwd").await.output, "/\n");
    let input = json!({"command": "cd a && pwd", "cwd": "/"});
    assert_eq!(
        pi.json(&input.to_string()).await.output,
        shown(workspace.join("a"))
    );
}

#[tokio::test]
async fn pi_env_non_interactive_defaults_present() {
    let home = Home::new();
    let inherited = [
        ("PAGER", "less"),
        ("TERM", "xterm"),
        ("CI", "no"),
        ("KEPT", "1"),
    ];
    let engine = engine_with(&home, Config::new(home.state()), &inherited);
    let pi = environment(&engine, "pi", Request::new("env")).await;
    for (name, value) in NON_INTERACTIVE
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
    {
        assert_eq!(pi.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(pi["GPG_TTY"], "not a tty");
    assert_eq!(pi["KEPT"], "1");
    let asker = fs::metadata(&pi["SSH_ASKPASS"]).expect("a program that exists");
    assert!(asker.is_file() && pi["SSH_ASKPASS"].ends_with("/false"));
    let default = environment(&engine, "default", Request::new("env")).await;
    assert_eq!(
        (default["CI"].as_str(), default["PAGER"].as_str()),
        ("true", "cat")
    );
    let phoenix = environment(&engine, "phoenix", Request::new("env")).await;
    assert_eq!(
        (phoenix["CI"].as_str(), phoenix["PAGER"].as_str()),
        ("no", "less")
    );
}

#[tokio::test]
async fn pi_env_the_callers_variables_win() {
    let home = Home::new();
    let engine = engine(&home);
    let request = Request::new("env")
        .env("CI", "mine")
        .env("PAGER", "")
        .env("TERM", "xterm-256color")
        .env("HISTFILE", "asked for");
    let env = environment(&engine, "pi", request).await;
    assert_eq!(
        (
            &*env["CI"],
            &*env["PAGER"],
            &*env["TERM"],
            &*env["HISTFILE"]
        ),
        ("mine", "", "xterm-256color", "asked for")
    );
    let env = environment(&engine, "pi", Request::new("env")).await;
    assert_eq!(env["CI"], "1", "nothing stays for the next call");
}

#[tokio::test]
async fn pi_env_shell_private_variables_are_not_inherited() {
    let home = Home::new();
    let private: Vec<_> = SHELL_PRIVATE.split_whitespace().collect();
    let mut inherited: Vec<_> = private.iter().map(|name| (*name, "inherited")).collect();
    inherited.extend([("SHLVL", "7"), ("PWD", "/usr"), ("SHELL", "/bin/inherited")]);
    let engine = engine_with(&home, Config::new(home.state()), &inherited);
    for profile in ["pi", "default"] {
        let request = Request::new("cat /proc/self/environ | tr '\\0' '\\n'");
        let env = environment(&engine, profile, request).await;
        for name in &private {
            assert_eq!(env.get(*name), None, "{profile}: {name}");
        }
        assert_eq!(env["PWD"], home.workspace().display().to_string());
        assert!(env["SHELL"].ends_with("/bash"), "{}", env["SHELL"]);
        assert_ne!(env["SHLVL"], "8");
    }
}

#[tokio::test]
async fn pi_pty_falls_back_silently() {
    let home = Home::new();
    let input = json!({"command": "echo hi", "pty": true});
    let reply = pi(&home).json(&input.to_string()).await;
    assert_eq!((reply.output.as_str(), reply.exit_code), ("hi\n", Some(0)));
    assert!(!reply.text.contains("pty"), "{}", reply.text);
    // Only as data.
    assert_eq!(
        reply.result["details"]["ptyFallback"],
        "no user interface is attached"
    );
    let plain = pi(&home).run("echo hi").await;
    assert_eq!(plain.result["details"].get("ptyFallback"), None);
}

/// Runs `echo $0` where `SHELL` is this, and the profile's own list would find `bash`.
async fn shell_of(home: &Home, config: Config, shell: &str) -> Reply {
    let engine = engine_with(home, config, &[("SHELL", shell)]);
    Contract::on(&engine, "pi").run("echo $0").await
}

#[tokio::test]
async fn pi_shell_the_configured_one_then_the_users_own_then_bash() {
    let home = Home::new();
    let bin = home.workspace().join("my shells");
    fs::create_dir(&bin).expect("a directory");
    for name in ["bash", "zsh-5", "fish"] {
        let script = format!("#!/bin/sh\necho own {name}\n");
        fs::write(bin.join(name), script).expect("a file");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.join(name), executable).expect("an executable file");
    }
    let own = |name: &str| bin.join(name).display().to_string();
    let without_sessions = || {
        let mut config = Config::new(home.state());
        config.sessions.most = 0;
        config
    };
    for (shell, output) in [
        (own("bash"), "own bash\n"),
        (own("zsh-5"), "own zsh-5\n"),
        // No kin of bash, not there, not absolute: the list goes on.
        (own("fish"), "bash\n"),
        (own("no-bash"), "bash\n"),
        ("bash".to_owned(), "bash\n"),
        (String::new(), "bash\n"),
    ] {
        let reply = shell_of(&home, without_sessions(), &shell).await;
        assert_eq!(reply.output, output, "{shell}: {reply:?}");
    }
    // What is configured comes first, and must be there.
    let mut config = without_sessions();
    config.shell = Some(own("fish"));
    let reply = shell_of(&home, config, &own("bash")).await;
    assert_eq!(reply.output, "own fish\n", "{reply:?}");
    let mut config = without_sessions();
    config.shell = Some("/no/bash".to_owned());
    let reply = shell_of(&home, config, &own("bash")).await;
    refused(
        &reply,
        "Custom shell path not found: /no/bash\nPlease update shell in bashd's configuration",
    );
}

#[tokio::test]
async fn pi_shell_a_zsh_of_the_users_runs_without_a_session_and_says_so() {
    let home = Home::new();
    let zsh = home.workspace().join("zsh");
    std::os::unix::fs::symlink("/bin/bash", &zsh).expect("a link");
    let engine = engine_with(
        &home,
        Config::new(home.state()),
        &[("SHELL", &zsh.display().to_string())],
    );
    let pi = Contract::on(&engine, "pi");
    pi.run("x=1").await;
    let reply = pi.run("echo \"[$x]$SHELL\"").await;
    assert_eq!(reply.output, format!("[]{}\n", zsh.display()));
    assert!(reply.text.contains("sessions need bash"), "{}", reply.text);
}

#[tokio::test]
async fn pi_interceptor_can_be_switched_off() {
    let home = Home::new();
    fs::write(home.workspace().join("f"), "text\n").expect("a file");
    for (switch, output) in [(None, ""), (Some(true), ""), (Some(false), "text\n")] {
        let mut config = Config::new(home.state());
        config.interceptor = switch;
        let engine = engine_with(&home, config, &[]);
        let mut request = Request::new("cat f").profile("pi");
        request.tools = TOOLS.map(str::to_owned).to_vec();
        let reply = engine.run(request).await;
        assert_eq!(reply.output, output, "{switch:?}: {reply:?}");
        assert_eq!(reply.denied.is_some(), output.is_empty(), "{switch:?}");
    }
}
