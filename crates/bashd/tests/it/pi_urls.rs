//! Internal URLs on the real engine: what bash gets is a path, and what can't be used runs nothing.

use bashd::config::UrlDirectories;
use bashd::{Call, Config, Engine, KeeperSource, Reply, Request, Surroundings};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn engine(home: &Home) -> Engine {
    let root = home.home();
    for (file, text) in [
        ("skills/it's a skill/SKILL.md", "the skill\n"),
        ("skills/it's a skill/run me.sh", "echo \"ran $1\"\n"),
        ("rules/style.md", "the rule\n"),
    ] {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let mut config = Config::new(home.state());
    let mut places = UrlDirectories::default();
    places.local = Some(root.join("loc al"));
    places.skills = Some(root.join("skills"));
    places.rules = Some(root.join("rules"));
    config.urls = places;
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

async fn call(engine: &Engine, input: Value) -> Reply {
    let defaults = Request::new("").profile("pi");
    engine.run(Call::json(input.to_string(), defaults)).await
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

#[tokio::test]
async fn bash_reads_and_writes_what_addresses_name() {
    let home = Home::new();
    let engine = engine(&home);
    let skill = "skill://it%27s%20a%20skill";
    for (command, output) in [
        (format!("cat {skill}"), "the skill\n"),
        (format!("bash {skill}/run%20me.sh now"), "ran now\n"),
        (format!("bash '{skill}/run%20me.sh' then"), "ran then\n"),
        (
            "echo one > local://deep/er/f && cat \"local://deep/er/f\"".to_owned(),
            "one\n",
        ),
        (
            "x=$(cat local:/deep/er/f) && echo \"<$x> $(wc -l < local://deep/er/f)\"".to_owned(),
            "<one> 1\n",
        ),
        (
            "cat <<E local://deep/er/f -\nlocal://deep\nE".to_owned(),
            "one\nlocal://deep\n",
        ),
        ("seq 9 >local://n;tail -n 1 local://n".to_owned(), "9\n"),
        ("cat rule://style | tail -n 1".to_owned(), "the rule\n"),
        (
            "echo 'see skill://nobody for more'".to_owned(),
            "see skill://nobody for more\n",
        ),
    ] {
        let reply = call(&engine, json!({"command": command})).await;
        assert_eq!(
            (reply.output.as_str(), reply.exit_code),
            (output, Some(0)),
            "{command}"
        );
    }
}

#[tokio::test]
async fn variables_and_the_directory_get_plain_paths() {
    let home = Home::new();
    let engine = engine(&home);
    let local = home.home().join("loc al");
    let input = json!({
        "command": "printf '%s\\n' \"$A\" \"$B\" && echo hi > \"$A\"",
        "env": {"A": "local://made/for it's.txt", "B": "local://made/x"},
    });
    let reply = call(&engine, input).await;
    // A value is no script: the address ends at the blank.
    let expected = format!("{0}/made/for it's.txt\n{0}/made/x\n", local.display());
    assert_eq!(reply.output, expected);
    assert_eq!(entries(&local.join("made")), ["for it's.txt"]);
    let reply = call(&engine, json!({"command": "pwd", "cwd": "local://made"})).await;
    assert_eq!(reply.output, format!("{}/made\n", local.display()));
    for lifted in ["cd local://made && pwd", "cd 'local:/made' && pwd"] {
        let lifted = call(&engine, json!({"command": lifted})).await;
        assert_eq!(lifted.output, reply.output, "{lifted:?}");
    }
    let reply = call(&engine, json!({"command": "pwd", "cwd": "local://none"})).await;
    let text = format!("Working directory does not exist: {}/none", local.display());
    assert_eq!(reply.text, text);
    assert!(!local.join("none").exists(), "no directory is made for cwd");
}

#[tokio::test]
async fn an_address_that_cannot_be_used_runs_nothing_and_makes_nothing() {
    let home = Home::new();
    let engine = engine(&home);
    for (input, text) in [
        (
            json!({"command": "touch ran local://a/b; cat skill://nobody"}),
            "Unknown skill: nobody. Available: it's a skill",
        ),
        (
            json!({"command": "touch ran local://a/b ../x local://../x"}),
            "Path traversal (..) is not allowed in local:// URLs",
        ),
        (
            json!({"command": "touch ran", "env": {"A": "memory://root"}}),
            "Cannot resolve memory:// URL in bash command: memory://root\nInternal URL router is unavailable for this protocol in the current session.",
        ),
        (
            json!({"command": "touch ran", "cwd": "ftp://x"}),
            "Unsupported internal URL in bash command: ftp://x",
        ),
    ] {
        let reply = call(&engine, input).await;
        assert_eq!((reply.text.as_str(), reply.is_error), (text, true));
        assert_eq!(reply.error.as_deref(), Some(text));
    }
    assert_eq!(entries(&home.workspace()), [""; 0]);
    assert!(!home.home().join("loc al").exists());
}

#[tokio::test]
async fn other_tools_are_suggested_before_addresses_are_looked_at() {
    let home = Home::new();
    let engine = engine(&home);
    let mut request = Request::new("cat skill://nobody").profile("pi");
    request.tools = vec!["read".to_owned()];
    let reply = engine.run(request).await;
    assert!(
        reply.text.starts_with("Blocked: Use the `read` tool"),
        "{}",
        reply.text
    );
    assert!(
        reply
            .text
            .ends_with("\n\nOriginal command: cat skill://nobody")
    );
}

#[tokio::test]
async fn rules_judge_the_path_not_the_address() {
    let home = Home::new();
    let mut config = Config::new(home.state());
    config.guard_enable = vec!["no_system_writes".to_owned()];
    config.urls.local = Some("/etc".into());
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    let engine = Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine");
    let request = Request::new("echo x > local://passwd").profile("pi");
    let denied = engine.run(request).await.denied.expect("a denial");
    assert_eq!(denied.rule, "no_system_writes");
}

#[tokio::test]
async fn profiles_without_addresses_pass_them_on() {
    let home = Home::new();
    let engine = engine(&home);
    for profile in ["voice", "harness", "phoenix"] {
        let request = Request::new("echo local://x rule://style").profile(profile);
        let reply = engine.run(request).await;
        assert!(
            reply.text.contains("local://x rule://style"),
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn stored_output_is_read_by_its_address() {
    let home = Home::new();
    let engine = engine(&home);
    let stored = engine.run(Request::new("seq 100000")).await;
    let address = stored.artifact.expect("an artifact");
    for profile in ["default", "pi"] {
        let command = format!("wc -l < {address}; sed -n 50000p '{address}'");
        let reply = engine.run(Request::new(command).profile(profile)).await;
        assert_eq!(reply.output, "100000\n50000\n", "{profile}");
        let reply = engine
            .run(Request::new("cat artifact://987654").profile(profile))
            .await;
        let error = reply.error.expect("an error");
        let text = "Failed to resolve artifact:// URL in bash command: artifact://987654\nArtifact 987654 not found. Available: ";
        assert!(error.starts_with(text), "{error}");
    }
}
