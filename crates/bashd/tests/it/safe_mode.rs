//! Safe mode end to end: the document's cases, and that strict runs what it allows and nothing
//! else.
//!
//! Programs are stubs in a search path of their own, which record how they were started.

use bashd::guard::safe_mode::{RunForm, SafeMode, StepWord};
use bashd::guard::{Gate, Verdict};
use bashd::rewrite::Command;
use bashd::{Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::Home;
use serde::Deserialize;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The document's examples, each with what its program gets in `compat`.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("git status", &["git", "status"]),
    ("git log", &["git", "log"]),
    ("git diff", &["git", "diff"]),
    ("git show", &["git", "show"]),
    (
        "grep -r \"pattern\" src/",
        &["grep", "-r", "pattern", "src/"],
    ),
    (
        "rg \"pattern\" --type ts",
        &["rg", "pattern", "--type", "ts"],
    ),
    ("find . -name \"*.ts\"", &["find", ".", "-name", "*.ts"]),
    ("ls -la", &["ls", "-la"]),
    ("cat file.txt", &["cat", "file.txt"]),
    ("head -n 10 log.txt", &["head", "-n", "10", "log.txt"]),
    ("tail -f app.log", &["tail", "-f", "app.log"]),
    ("wc -l *.ts", &["wc", "-l", "*.ts"]),
    ("swift test", &["swift", "test"]),
    (
        "xcodebuild test -scheme MyApp",
        &["xcodebuild", "test", "-scheme", "MyApp"],
    ),
    ("npm test", &["npm", "test"]),
    ("pytest tests/", &["pytest", "tests/"]),
];

/// Names that get a stub: everything that a case could start.
const STUBS: &[&str] = &[
    "git",
    "grep",
    "rg",
    "find",
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "swift",
    "xcodebuild",
    "npm",
    "pytest",
    "rm",
    "touch",
    "python",
    "sudo",
    "env",
    "sh",
    "xargs",
    "tee",
    "sed",
    "awk",
    "npx",
    "yarn",
    "make",
    "nohup",
    "gitk",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compat {
    deny: Vec<String>,
    invalid: Vec<String>,
    allow: Vec<Started>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Started {
    command: String,
    argv: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    deny: Vec<String>,
    allow: Vec<String>,
}

fn cases<T: serde::de::DeserializeOwned>(file: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../bashd-script/tests/cases/guard")
        .join(file);
    let text = fs::read_to_string(&path).expect("a case file");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn form(mode: SafeMode, command: &str) -> Result<RunForm, String> {
    let gate = Gate {
        safe_mode: mode,
        ..Gate::default()
    };
    let judgement = gate.judge(&Command::as_given(command));
    match judgement.verdict {
        Verdict::Allow => Ok(judgement.form),
        Verdict::Ask(objection) | Verdict::Deny(objection) => Err(objection.message),
    }
}

/// A home whose programs are stubs.
struct Stubbed {
    engine: Engine,
    record: PathBuf,
    home: Home,
}

impl Stubbed {
    fn new() -> Self {
        let home = Home::new();
        let programs = home.root().join("programs");
        let record = home.root().join("started");
        fs::create_dir(&programs).expect("a directory");
        for name in STUBS {
            let path = programs.join(name);
            // What asks for the configuration is ours, and no part of the command.
            let text = format!(
                "#!/bin/bash\n[ \"${{0##*/}} $1\" = 'git config' ] && exit 0\nprintf -v all '%s\\037' \"${{0##*/}}\" \"$@\"\nprintf '%s\\n' \"$all\" >> {0}\n",
                record.display()
            );
            fs::write(&path, text).expect("a stub");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        symlink("/bin/bash", programs.join("bash")).expect("a shell");
        let mut env = home.env();
        env.retain(|(name, _)| name != "PATH");
        env.push(("PATH".into(), programs.into()));
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env,
        };
        let engine = Engine::new(Config::new(home.state()), surroundings, KeeperSource::Hook);
        Self {
            engine: engine.expect("an engine"),
            record,
            home,
        }
    }

    async fn run(&self, profile: &str, mode: SafeMode, command: &str) -> Reply {
        let request = Request::new(command).profile(profile).safe_mode(mode);
        self.engine.run(request).await
    }

    /// What was started since the last look, one argument list each.
    fn started(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        let _ = fs::remove_file(&self.record);
        let arguments = |line: &str| {
            let line = line.strip_suffix('\u{1f}').unwrap_or(line);
            line.split('\u{1f}').map(str::to_owned).collect()
        };
        let mut lists: Vec<Vec<String>> = text
            .split("\u{1f}\n")
            .filter(|list| !list.is_empty())
            .map(arguments)
            .collect();
        lists.sort();
        lists
    }

    async fn is_denied(&self, mode: SafeMode, command: &str) -> Reply {
        let reply = self.run("voice", mode, command).await;
        assert!(reply.denied.is_some(), "{command}: {}", reply.text);
        assert_eq!(self.started(), Vec::<Vec<String>>::new(), "{command}");
        let left = fs::read_dir(self.home.workspace())
            .expect("the workspace")
            .count();
        assert_eq!(left, 0, "{command} left something");
        reply
    }
}

#[tokio::test]
async fn v_23_a_program_that_is_missing_is_a_failed_launch() {
    let stubbed = Stubbed::new();
    fs::remove_file(stubbed.home.root().join("programs/rg")).expect("a stub");
    let reply = stubbed.run("voice", SafeMode::Compat, "rg x").await;
    assert_eq!(
        reply.text,
        "Error: Failed to launch process: no such program: rg"
    );
    assert!(reply.is_error && reply.error.is_some());
    // A file that is there and can't be started is told by the system's word.
    fs::write(
        stubbed.home.root().join("programs/wc"),
        "\u{7f}ELF nonsense",
    )
    .expect("a broken program");
    let reply = stubbed.run("voice", SafeMode::Compat, "wc x").await;
    let beginning = "Error: Failed to launch process: ";
    assert!(
        reply.text.starts_with(beginning) && reply.text.contains("wc"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn v_24_other_commands_are_not_allowed_and_never_start() {
    let stubbed = Stubbed::new();
    let cases: Compat = cases("safe_mode/compat.toml");
    for command in &cases.deny {
        let reply = stubbed.is_denied(SafeMode::Compat, command).await;
        assert_eq!(
            reply.text, "Error: Command not allowed in safe mode",
            "{command}"
        );
        assert!(reply.is_error);
    }
    assert!(cases.deny.len() >= 35);
}

#[tokio::test]
async fn v_25_each_example_starts() {
    let stubbed = Stubbed::new();
    for (command, argv) in EXAMPLES {
        let reply = stubbed.run("voice", SafeMode::Compat, command).await;
        assert_eq!(reply.text, "\n[Exit code: 0]", "{command}");
        assert_eq!(stubbed.started(), [*argv], "{command}");
    }
}

#[tokio::test]
async fn v_25_each_example_starts_in_strict_too() {
    let stubbed = Stubbed::new();
    fs::write(stubbed.home.workspace().join("a.ts"), "").expect("a file");
    fs::write(stubbed.home.workspace().join("-b.ts"), "").expect("a file");
    for (command, argv) in EXAMPLES {
        let reply = stubbed.run("voice", SafeMode::Strict, command).await;
        assert_eq!(reply.text, "\n[Exit code: 0]", "{command}");
        let started = stubbed.started();
        let [started] = started.as_slice() else {
            panic!("{command}: {started:?}")
        };
        if command.starts_with("wc") {
            assert_eq!(
                *started,
                ["wc", "-l", "./-b.ts", "a.ts"],
                "patterns are matched"
            );
            continue;
        }
        let added = [
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
        ];
        let own: Vec<&str> = started
            .iter()
            .map(String::as_str)
            .filter(|word| !added.contains(word))
            .collect();
        assert_eq!(own, *argv, "{command}");
    }
}

#[tokio::test]
async fn v_26_two_word_prefixes_need_both_words() {
    let stubbed = Stubbed::new();
    for command in [
        "swift build",
        "npm install",
        "xcodebuild build",
        "swift testx",
        "\"swift test\"",
    ] {
        for mode in [SafeMode::Compat, SafeMode::Strict] {
            stubbed.is_denied(mode, command).await;
        }
    }
}

#[tokio::test]
async fn v_27_any_git_command_in_compat_only_reading_ones_in_strict() {
    let stubbed = Stubbed::new();
    stubbed.run("voice", SafeMode::Compat, "git push").await;
    assert_eq!(stubbed.started(), [["git", "push"]]);
    let reply = stubbed.is_denied(SafeMode::Strict, "git push").await;
    assert!(
        reply
            .text
            .starts_with("Error: Command not allowed in safe mode: git push"),
        "{}",
        reply.text
    );
    assert!(
        reply.text.contains("Accepted: git with status, log"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn v_27_what_strict_denies_never_starts() {
    let stubbed = Stubbed::new();
    let cases: Strict = cases("safe_mode/strict.toml");
    for command in &cases.deny {
        let reply = stubbed.is_denied(SafeMode::Strict, command).await;
        let says_more = [
            "Error: Command not allowed in safe mode: ",
            "Error: Invalid command syntax in safe mode: ",
        ];
        assert!(
            says_more
                .iter()
                .any(|beginning| reply.text.starts_with(beginning)),
            "{command}: {}",
            reply.text
        );
    }
}

#[test]
fn v_27_strict_allows_what_only_reads() {
    let cases: Strict = cases("safe_mode/strict.toml");
    let wrong: Vec<String> = cases
        .allow
        .iter()
        .filter_map(|command| {
            Some(format!(
                "{command}: {}",
                form(SafeMode::Strict, command).err()?
            ))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let (allow, deny) = (cases.allow.len(), cases.deny.len());
    assert!(
        allow >= 150 && deny >= 150,
        "{allow} allowed, {deny} denied"
    );
}

#[tokio::test]
async fn v_28_open_quotes_are_invalid_syntax() {
    let stubbed = Stubbed::new();
    let cases: Compat = cases("safe_mode/compat.toml");
    for command in &cases.invalid {
        let reply = stubbed.is_denied(SafeMode::Compat, command).await;
        assert_eq!(
            reply.text, "Error: Invalid command syntax in safe mode",
            "{command}"
        );
    }
}

#[test]
fn v_29_the_tokenizers_table() {
    let cases: Compat = cases("safe_mode/compat.toml");
    for Started { command, argv } in &cases.allow {
        let Ok(RunForm::Program { name, arguments }) = form(SafeMode::Compat, command) else {
            panic!("{command} is denied");
        };
        let words: Vec<String> = std::iter::once(name).chain(arguments).collect();
        assert_eq!(words, *argv, "{command}");
    }
}

#[tokio::test]
async fn v_30_no_shell_reads_the_command() {
    let stubbed = Stubbed::new();
    let cases = [
        "git status; touch X",
        "git status && touch X",
        "git log $(touch X)",
        "git log `touch X`",
        "ls > X",
        "git status\ntouch X",
    ];
    for command in cases {
        stubbed.run("voice", SafeMode::Compat, command).await;
        let started = stubbed.started();
        assert_eq!(started.len(), 1, "{command}: {started:?}");
        assert!(
            matches!(started[0][0].as_str(), "git" | "ls"),
            "{command}: {started:?}"
        );
        assert!(!stubbed.home.workspace().join("X").exists(), "{command}");
    }
}

#[tokio::test]
async fn strict_runs_lists_and_pipelines_with_quoted_words() {
    let stubbed = Stubbed::new();
    let command = "cat 'it'\\''s $HOME `x` \\' && ls \"a  b\" | wc -l; grep '' '*' 2>/dev/null";
    let reply = stubbed.run("voice", SafeMode::Strict, command).await;
    assert_eq!(reply.exit_code, Some(0), "{}", reply.text);
    assert_eq!(
        stubbed.started(),
        [
            vec!["cat", "it's $HOME `x` \\"],
            vec!["grep", "", "*"],
            vec!["ls", "a  b"],
            vec!["wc", "-l"]
        ]
    );
}

#[tokio::test]
async fn tail_follows_until_the_limit() {
    let home = Home::new();
    fs::write(home.workspace().join("app.log"), "one\n").expect("a log");
    let engine = crate::engine_under_test::engine(&home);
    for mode in [SafeMode::Compat, SafeMode::Strict] {
        let request = Request::new("tail -f app.log")
            .profile("voice")
            .safe_mode(mode);
        let reply = engine.run(request.timeout(Duration::from_secs(3))).await;
        assert!(reply.timed_out && reply.output.contains("one"), "{reply:?}");
    }
}

#[tokio::test]
async fn strict_refuses_variables_that_steer() {
    let stubbed = Stubbed::new();
    for (name, is_allowed) in [
        ("PATH", false),
        ("LD_PRELOAD", false),
        ("GIT_PAGER", false),
        ("LC_ALL", true),
        ("TZ", true),
    ] {
        let request = Request::new("ls")
            .safe_mode(SafeMode::Strict)
            .env(name, "x");
        let reply = stubbed.engine.run(request).await;
        assert_eq!(reply.denied.is_none(), is_allowed, "{name}: {}", reply.text);
        assert_eq!(stubbed.started().is_empty(), !is_allowed, "{name}");
    }
}

#[test]
fn strict_adds_its_options_behind_the_subcommand() {
    let words = |command| match form(SafeMode::Strict, command) {
        Ok(RunForm::Steps(steps)) => steps[0].words.clone(),
        other => panic!("{command}: {other:?}"),
    };
    let literal = |text: &&str| StepWord::Literal((*text).to_owned());
    let expected = [
        "git",
        "stash",
        "show",
        "--no-ext-diff",
        "--no-textconv",
        "-p",
    ];
    assert_eq!(
        words("git stash show -p"),
        expected.iter().map(literal).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn the_profile_the_configuration_and_the_call_can_switch_it() {
    let home = Home::new();
    let mut config = Config::new(home.state());
    config.safe_mode = Some(SafeMode::Strict);
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    assert!(engine.run(Request::new("echo hi")).await.denied.is_some());
    let reply = engine
        .run(Request::new("echo hi").safe_mode(SafeMode::Off))
        .await;
    assert_eq!(reply.output, "hi\n");
    crate::profile_under_test::copy_profile(
        &home,
        "voice",
        "careful",
        &[("[limits]", "[guard]\nsafe_mode = \"compat\"\n\n[limits]")],
    );
    let engine = crate::profile_under_test::engine_with_own_profiles(&home, home.workspace());
    let reply = engine.run(Request::new("echo hi").profile("careful")).await;
    assert_eq!(reply.text, "Error: Command not allowed in safe mode");
}
