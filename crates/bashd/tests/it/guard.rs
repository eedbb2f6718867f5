//! The guard in front of a real engine: what it denies never runs, and the reply says which rule.
//!
//! `rm`, `git` and `sudo` are fakes here that leave a sentinel: a guard that fails fails this test,
//! not the machine.

use crate::documented::{denied_by, documented, documented_rows};
use bashd::KeeperSource;
use bashd::approval::{Approval, ApprovalAnswer, AskingCalls};
use bashd::config::{ConfigFile, Sources, Surroundings};
use bashd::guard::RULES;
use bashd::{Call, CancellationToken, Engine, Reply, Request};
use bashd_testkit::Home;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SENTINEL: &str = "it-ran";

/// A home whose programs are fakes, and an engine in it.
struct Guarded {
    home: Home,
    engine: Engine,
}

impl Guarded {
    fn new() -> Self {
        Self::with_config("", &[])
    }

    fn with_config(config: &str, env: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let fakes = home.root().join("fakes");
        fs::create_dir(&fakes).expect("a directory for fakes");
        for name in ["rm", "git", "sudo", "mkfs.ext4"] {
            let fake = fakes.join(name);
            let sentinel = home.workspace().join(SENTINEL);
            fs::write(&fake, format!("#!/bin/sh\n: > {}\n", sentinel.display())).expect("a fake");
            fs::set_permissions(&fake, fs::Permissions::from_mode(0o755))
                .expect("an executable fake");
        }
        let sources = Sources {
            state_dir: home.state(),
            file: Some(ConfigFile {
                path: home.config().join("config.toml"),
                text: config.to_owned(),
            }),
            ..Sources::default()
        };
        let (config, _) = bashd::config::resolve(&sources).expect("a configuration");
        let mut variables: Vec<(OsString, OsString)> = home.env();
        for (name, value) in &mut variables {
            if name == "PATH" {
                let mut path = fakes.clone().into_os_string();
                path.push(":");
                path.push(&*value);
                *value = path;
            }
        }
        variables.extend(
            env.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env: variables,
        };
        let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
        Self { home, engine }
    }

    /// Checks that nothing is left of the engine.
    fn finish(self) {
        drop(self.engine);
        self.home.finish();
    }

    fn sentinel(&self) -> PathBuf {
        self.home.workspace().join(SENTINEL)
    }

    async fn run(&self, call: impl Into<Call>) -> Reply {
        self.engine.run(call).await
    }

    async fn phoenix(&self, script: &str) -> Reply {
        self.run(Request::new(script).profile("phoenix")).await
    }

    /// Asserts that a script is denied by a rule, with the sentinel untouched.
    async fn assert_denied(&self, request: Request, rule: &str) -> Reply {
        let script = request.command.clone();
        let reply = self.run(request).await;
        let denied = reply
            .denied
            .clone()
            .unwrap_or_else(|| panic!("{script}: {}", reply.text));
        assert_eq!(denied.rule, rule, "{script}");
        assert!(
            reply.is_error && reply.exit_code.is_none(),
            "{script}: {reply:?}"
        );
        assert!(!self.sentinel().exists(), "{script} ran");
        reply
    }
}

/// A script that leaves the sentinel before it does what a rule denies.
fn after_sentinel(script: &str) -> String {
    format!(": > {SENTINEL}; {script}")
}

const DENIED: [(&str, &str); 3] = [
    ("git add -A", "no_blind_git_add"),
    ("git push --force", "no_force_push"),
    ("rm -rf /", "no_dangerous_rm"),
];

#[tokio::test]
async fn p_28_checks_come_before_execution_in_every_mode() {
    let guarded = Guarded::new();
    for (script, rule) in DENIED {
        for mode in ["default", "slow"] {
            let request = Request::new(after_sentinel(script))
                .profile("phoenix")
                .mode(mode);
            guarded.assert_denied(request, rule).await;
        }
        let background = Request::new(after_sentinel(script))
            .profile("phoenix")
            .mode("background");
        let reply = guarded.run(background).await;
        assert!(
            reply.is_error && !guarded.sentinel().exists(),
            "{script}: {reply:?}"
        );
        let json = format!(r#"{{"command": "{script}", "mode": "slow"}}"#);
        let call = Call::json(json, Request::new("").profile("phoenix"));
        assert!(guarded.run(call).await.denied.is_some(), "{script}");
        // In `default` everything may be added.
        if rule != "no_blind_git_add" {
            guarded
                .assert_denied(Request::new(after_sentinel(script)), rule)
                .await;
        }
    }
    assert!(!guarded.sentinel().exists());
    guarded.finish();
}

#[tokio::test]
async fn p_29_what_the_table_denies_never_runs() {
    let guarded = Guarded::new();
    // Fakes stand only for what is found by name, so nothing else of the table is tried for real.
    let by_name = |script: &str| !script.contains("/bin/") && !script.contains("busybox");
    for (id, script, is_denied) in documented_rows() {
        if is_denied && by_name(&script) {
            let reply = guarded.phoenix(&script).await;
            assert!(reply.denied.is_some(), "{id}: {script}");
            assert!(!guarded.sentinel().exists(), "{id} ran: {script}");
        }
    }
    guarded.finish();
}

#[test]
fn p_30_sudo_is_seen_through() {
    for script in [
        "sudo git add -A",
        "sudo git push --force",
        "sudo rm -rf /",
        "sudo -n -u x -- rm -rf /",
    ] {
        assert!(denied_by(&documented(), script).is_some(), "{script}");
    }
    for script in [
        "sudo git add a.rs",
        "sudo git push",
        "sudo rm -rf build",
        "sudo -l rm",
    ] {
        assert_eq!(denied_by(&documented(), script), None, "{script}");
    }
}

#[test]
fn p_31_pipelines_and_compounds_are_walked() {
    for around in [
        "a | %",
        "a && %",
        "a || %",
        "a; %",
        "(%)",
        "{ %; }",
        "if a; then %; fi",
        "f() { %; }",
        "x=$(%)",
    ] {
        for (script, rule) in DENIED {
            let script = around.replace('%', script);
            assert_eq!(
                denied_by(&documented(), &script).as_deref(),
                Some(rule),
                "{script}"
            );
        }
    }
}

#[tokio::test]
async fn p_32_the_three_messages_are_one_line_each_and_the_whole_reply() {
    let guarded = Guarded::new();
    let add = "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, specify files explicitly";
    let push = "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force";
    let rm = "permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the full path explicitly (no wildcards, ~, or $HOME)";
    for ((script, rule), message) in DENIED.into_iter().zip([add, push, rm]) {
        let request = Request::new(script).profile("phoenix");
        let reply = guarded.assert_denied(request, rule).await;
        assert_eq!(reply.text, message);
    }
    assert!(RULES.iter().all(|rule| !rule.line().contains('\n')));
    let reply = guarded
        .assert_denied(Request::new("rm -rf /"), "no_dangerous_rm")
        .await;
    assert_eq!(
        reply.text,
        "Error: denied by rule no_dangerous_rm: this would delete part of the system, a home, a repository or everything here. Delete one file or directory by its path, below the project or the home"
    );
    guarded.finish();
}

#[tokio::test]
async fn p_33_the_allowed_neighbours_run() {
    let guarded = Guarded::new();
    for script in [
        "git add file.rs",
        "git push --force-with-lease",
        "rm -rf node_modules",
    ] {
        let reply = guarded.phoenix(script).await;
        assert_eq!((reply.denied, reply.exit_code), (None, Some(0)), "{script}");
        assert!(guarded.sentinel().exists(), "{script} did not run");
        fs::remove_file(guarded.sentinel()).expect("the sentinel");
    }
    guarded.finish();
}

#[test]
fn p_34_an_empty_script_and_a_comment_pass() {
    for script in ["", " \n\t", "# this is a comment", "# git add -A"] {
        assert_eq!(denied_by(&documented(), script), None, "{script:?}");
    }
}

#[tokio::test]
async fn test_blocked_git_add() {
    let guarded = Guarded::new();
    let reply = guarded.phoenix(&after_sentinel("git add -A")).await;
    assert!(
        reply.is_error && reply.text.contains("blind git add"),
        "{}",
        reply.text
    );
    assert!(!guarded.sentinel().exists());
    guarded.finish();
}

#[tokio::test]
async fn test_blocked_rm_rf_root() {
    let guarded = Guarded::new();
    let reply = guarded.phoenix(&after_sentinel("rm -rf /")).await;
    assert!(
        reply.is_error && reply.text.contains("critical data"),
        "{}",
        reply.text
    );
    assert!(!guarded.sentinel().exists());
    guarded.finish();
}

#[tokio::test]
async fn test_blocked_git_push_force() {
    let guarded = Guarded::new();
    let reply = guarded.phoenix(&after_sentinel("git push --force")).await;
    assert!(
        reply.is_error && reply.text.contains("--force is not allowed"),
        "{}",
        reply.text
    );
    assert!(!guarded.sentinel().exists());
    guarded.finish();
}

#[tokio::test]
async fn test_allowed_command_runs() {
    let guarded = Guarded::new();
    let reply = guarded.phoenix("echo hello").await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("hello\n", false));
    guarded.finish();
}

#[tokio::test]
async fn the_environment_slips_no_code_past_the_guard() {
    let variables = [
        ("BASH_ENV", "/dev/stdin"),
        ("ENV", "/dev/stdin"),
        ("SHELLOPTS", "noexec"),
        ("BASH_FUNC_echo%%", "() { printf function; }"),
    ];
    let guarded = Guarded::with_config("", &variables);
    let script = "echo plain; env | grep -E '^(BASH_ENV|ENV|BASH_FUNC_)' || echo gone";
    for profile in ["phoenix", "default"] {
        let request = Request::new(script)
            .profile(profile)
            .env("BASH_ENV", "/dev/stdin");
        let reply = guarded.run(request.stdin("printf slipped")).await;
        assert_eq!(reply.output, "plain\ngone\n", "{profile}");
    }
    // Where no guard is on, the environment is the caller's.
    let request = Request::new("echo plain").profile("harness");
    let reply = guarded.run(request.env("SHELLOPTS", "braceexpand")).await;
    assert_eq!(reply.output, "function");
    guarded.finish();
}

#[tokio::test]
async fn by_default_what_loses_work_asks_and_says_how_to_allow_it() {
    let guarded = Guarded::new();
    for (script, rule) in [
        ("git push --force", "no_force_push"),
        ("git reset --hard", "no_git_reset_hard"),
        ("git checkout -- .", "no_git_discard"),
        ("git clean -f", "no_git_clean"),
        ("git stash clear", "no_git_discard"),
    ] {
        let reply = guarded
            .assert_denied(Request::new(after_sentinel(script)), rule)
            .await;
        let how = format!(
            "Nobody can be asked here; guard.disable = [\"{rule}\"] in config.toml allows it"
        );
        assert!(
            reply.text.ends_with(&how) && !reply.text.contains('\n'),
            "{}",
            reply.text
        );
    }
    for script in ["git add -A", "rm -rf node_modules", "rm -rf ~/.cache/pip"] {
        let reply = guarded.run(Request::new(script)).await;
        assert_eq!((reply.denied, reply.exit_code), (None, Some(0)), "{script}");
        fs::remove_file(guarded.sentinel()).expect("the sentinel");
    }
    guarded.finish();
}

#[tokio::test]
async fn profiles_without_rules_get_them_by_a_setting() {
    let script = "mkfs.ext4 /dev/bashd-none";
    let guarded = Guarded::new();
    for profile in ["voice", "harness", "pi"] {
        let reply = guarded.run(Request::new(script).profile(profile)).await;
        assert_eq!(reply.denied, None, "{profile}");
        fs::remove_file(guarded.sentinel()).expect("the sentinel");
    }
    guarded.finish();
    let guarded = Guarded::with_config("guard.rules = 'default'", &[]);
    for profile in ["voice", "harness", "pi"] {
        let request = Request::new(after_sentinel(script)).profile(profile);
        guarded.assert_denied(request, "no_mkfs").await;
    }
    guarded.finish();
}

#[tokio::test]
async fn what_ends_the_processes_above_asks() {
    let guarded = Guarded::new();
    let own = std::process::id();
    let above = std::os::unix::process::parent_id();
    // A signal that would do nothing to them.
    for script in [format!("kill -CONT {own}"), format!("kill -s CONT {above}")] {
        guarded
            .assert_denied(Request::new(script), "no_kill_all")
            .await;
    }
    let reply = guarded.run(Request::new(format!("kill -0 {own}"))).await;
    assert_eq!((reply.denied, reply.exit_code), (None, Some(0)));
    guarded.finish();
}

const ASKING: &str = "guard.enable = ['no_mkfs']\nguard.disable = ['no_force_push']\n\
    [[rules]]\nname = 'ask-before-rm'\ndecision = 'ask'\nmessage = 'really?'\ncommand = 'rm'\n\
    examples.deny = ['rm x']\nexamples.allow = ['echo rm']\n";

#[tokio::test]
async fn rules_are_switched_by_the_configuration() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let request = Request::new(after_sentinel("mkfs.ext4 /dev/sdz"));
    guarded.assert_denied(request, "no_mkfs").await;
    let reply = guarded.phoenix("git push -f").await;
    assert_eq!((reply.denied, reply.exit_code), (None, Some(0)));
    guarded.finish();
}

#[tokio::test]
async fn who_watches_keeps_no_call_beyond_its_time() {
    let guarded = Guarded::new();
    // As an open `bashd top` does.
    let asking = AskingCalls::of(guarded.engine.config());
    let watching = asking.watch().expect("a watcher");
    let begun = Instant::now();
    let request = Request::new("git push --force").timeout(Duration::from_secs(1));
    let reply = guarded.engine.run(request).await;
    assert!(reply.denied.is_some(), "{}", reply.text);
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(1),
        "it was asked about: {took:?}"
    );
    assert!(took < Duration::from_secs(30), "{took:?}");
    drop(watching);
    guarded.finish();
}

#[tokio::test]
async fn where_nobody_can_answer_asking_is_a_denial() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let reply = guarded
        .assert_denied(Request::new("rm x"), "ask-before-rm")
        .await;
    assert!(reply.text.contains("really?"), "{}", reply.text);
    guarded.finish();
}

#[tokio::test]
async fn an_approver_decides_and_a_denial_is_stricter() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let approve = |approval: Approval| {
        let answer = match approval.command.as_str() {
            "rm x" => ApprovalAnswer::Once,
            _ => ApprovalAnswer::Refused,
        };
        Box::pin(async move { answer })
            as std::pin::Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>
    };
    guarded.engine.ask(Arc::new(approve));
    guarded
        .assert_denied(Request::new("rm y"), "ask-before-rm")
        .await;
    guarded
        .assert_denied(Request::new("rm -rf /"), "no_dangerous_rm")
        .await;
    let reply = guarded.run(Request::new("rm x")).await;
    assert_eq!((reply.denied, reply.exit_code), (None, Some(0)));
    assert!(guarded.sentinel().exists());
    guarded.finish();
}

#[tokio::test]
async fn a_call_asks_its_own_approver_first() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let answering = |answer: ApprovalAnswer| {
        Arc::new(move |_: Approval| {
            Box::pin(async move { answer })
                as std::pin::Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>
        })
    };
    guarded.engine.ask(answering(ApprovalAnswer::Once));
    let refused = Call::from(Request::new("rm x")).approved_by(answering(ApprovalAnswer::Refused));
    let reply = guarded.run(refused).await;
    assert_eq!(reply.denied.unwrap().rule, "ask-before-rm");
    let reply = guarded.run(Request::new("rm x")).await;
    assert_eq!((reply.denied, reply.exit_code), (None, Some(0)));
    guarded.finish();
}

#[tokio::test]
async fn everybody_is_asked_the_first_answer_counts_and_the_others_see_it() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    // One who does not answer, and watches.
    guarded.engine.ask(Arc::new(move |approval: Approval| {
        let tell = tell.clone();
        tokio::spawn(async move { tell.send(approval.answered().await) });
        Box::pin(std::future::pending())
    }));
    let nobody = |_: Approval| {
        Box::pin(async { ApprovalAnswer::Nobody })
            as std::pin::Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>
    };
    guarded.engine.ask(Arc::new(nobody));
    guarded.engine.ask(Arc::new(|_| {
        Box::pin(async {
            tokio::task::yield_now().await;
            ApprovalAnswer::Session
        })
    }));
    let call = Call::from(Request::new("rm x")).approved_by(Arc::new(nobody));
    let reply = guarded.run(call).await;
    assert_eq!((reply.denied, reply.exit_code), (None, Some(0)));
    assert_eq!(told.recv().await, Some(ApprovalAnswer::Session));
    // For the session means that nobody is asked again, for this command alone.
    let reply = guarded.run(Request::new("rm x")).await;
    assert_eq!((reply.denied, told.try_recv().ok()), (None, None));
    guarded.run(Request::new("rm  x")).await;
    assert_eq!(told.recv().await, Some(ApprovalAnswer::Session));
    guarded.finish();
}

#[tokio::test]
async fn a_call_that_waits_for_an_answer_can_be_cancelled() {
    let guarded = Guarded::with_config(ASKING, &[]);
    let never = |_: Approval| {
        Box::pin(std::future::pending())
            as std::pin::Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>
    };
    guarded.engine.ask(Arc::new(never));
    let token = CancellationToken::new();
    token.cancel();
    let reply = guarded
        .run(Call::from(Request::new("rm x")).cancel_by(token))
        .await;
    assert!(reply.cancelled && !guarded.sentinel().exists());
    guarded.finish();
}
