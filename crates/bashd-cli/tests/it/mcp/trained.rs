//! The contracts that models were trained on, over every front end; and three of them in the
//! clients that they come from.

use super::agents::target_with;
use super::client::Client;
use super::peers::{in_home, output, scripts};
use crate::rpc_under_test::{Client as RpcClient, PATIENCE};
use crate::shown;
use bashd_testkit::{Home, loudly, repeat};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Contracts and all their tools.
const TOOLS: &[(&str, &[&str])] = &[
    ("anthropic-bash", &["bash"]),
    ("openai-shell", &["shell", "local_shell"]),
    ("claude-code", &["Bash", "TaskStop"]),
    ("claude-code-2.1", &["Bash", "TaskOutput", "TaskStop"]),
    ("claude-code-2.0", &["Bash", "BashOutput", "KillShell"]),
    (
        "gemini",
        &[
            "run_shell_command",
            "list_background_processes",
            "read_background_output",
        ],
    ),
    ("codex", &["exec_command", "write_stdin"]),
    ("codex-shell", &["shell", "shell_command"]),
    ("openhands", &["terminal"]),
];

fn home() -> Home {
    Home::new().keeping_in_state(&["runs", "artifacts"])
}

#[test]
fn every_contract_lists_all_its_tools_over_mcp_and_no_others() {
    for (profile, tools) in TOOLS {
        let home = home();
        let mut client = Client::connect(&home, &["--profile", profile]);
        let answer = client.ask("tools/list", &json!({}));
        let listed = answer["result"]["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = listed.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, *tools, "{profile}");
        client.finish();
    }
}

/// The text of a tool's result over MCP, and whether it is an error.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> (String, bool) {
    let answer = client.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
    (text, result["isError"] == true)
}

#[test]
fn a_command_of_the_call_before_is_typed_at_over_mcp() {
    let home = home();
    let mut client = Client::connect(&home, &["--profile", "openhands"]);
    let waits = json!({"command": "read -p 'name? ' x; echo \"got=$x\"", "timeout": 1});
    let (asked, _) = call(&mut client, "terminal", &waits);
    assert!(
        asked.contains("[The command timed out after 1.0 seconds."),
        "{asked}"
    );
    let typed = json!({"command": "Ada", "is_input": true, "timeout": 30});
    let (answered, is_error) = call(&mut client, "terminal", &typed);
    assert!(
        answered.starts_with("got=Ada\n[The command completed with exit code 0.]"),
        "{answered}"
    );
    assert!(!is_error);
    // What still runs ends with the client.
    let runs = json!({"command": "sleep 300", "timeout": 1});
    call(&mut client, "terminal", &runs);
    client.finish();
}

#[test]
fn tools_of_a_contract_work_together_over_mcp() {
    let home = home();
    let mut client = Client::connect(&home, &["--profile", "claude-code"]);
    let failed = call(&mut client, "Bash", &json!({"command": "echo a; exit 3"}));
    assert_eq!(failed, ("Exit code 3\na".to_owned(), true));
    let background = json!({"command": "sleep 300", "run_in_background": true});
    let (started, _) = call(&mut client, "Bash", &background);
    assert!(started.contains("with ID: bg_1."), "{started}");
    // Tools that were called otherwise answer to their old names.
    let (stopped, _) = call(&mut client, "KillShell", &json!({"shell_id": "bg_1"}));
    assert!(
        stopped.contains("Successfully stopped task: bg_1"),
        "{stopped}"
    );
    let soon = json!({"command": "exit 7", "run_in_background": true, "description": "Fails"});
    call(&mut client, "Bash", &soon);
    let notice = "<summary>Background command \"Fails\" failed with exit code 7</summary>";
    let (mut told, begun) = (String::new(), Instant::now());
    while !told.contains(notice) {
        assert!(begun.elapsed() < PATIENCE, "{told}");
        (told, _) = call(
            &mut client,
            "Bash",
            &json!({"command": "sleep 0.1; echo next"}),
        );
    }
    assert!(told.starts_with("<system-reminder>\n"), "{told}");
    assert!(told.ends_with("</system-reminder>\n\nnext"), "{told}");
    client.finish();
}

#[test]
fn tools_of_a_contract_are_called_by_name_over_rpc() {
    let home = home();
    let mut client = RpcClient::start(&home, &["--profile", "codex"]);
    let mut ask = |id: &str, rest: Value| {
        let mut message = json!({"id": id, "type": "call"});
        for (key, value) in rest.as_object().unwrap() {
            message[key] = value.clone();
        }
        let answer = client.ask(&message);
        answer["data"]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    };
    let arguments = json!({"cmd": "sleep 300", "yield_time_ms": 250});
    let running = ask("1", json!({"arguments": arguments}));
    assert!(
        running.contains("Process running with session ID 1\n"),
        "{running}"
    );
    let arguments = json!({"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000});
    let ended = ask("2", json!({"tool": "write_stdin", "arguments": arguments}));
    assert!(ended.contains("Process exited with code 130\n"), "{ended}");
    // A contract is also chosen for one call.
    let arguments = json!({"command": ["echo", "hi"]});
    let other = ask(
        "3",
        json!({"profile": "openai-shell", "tool": "local_shell", "arguments": arguments}),
    );
    assert!(other.starts_with("{\"output\":\"hi\\n\","), "{other}");
    let unknown = ask("4", json!({"tool": "dance", "arguments": {}}));
    assert_eq!(unknown, "unsupported call: dance");
    let all = client.ask(&json!({"id": "5", "type": "schema", "all": true}));
    let names = all["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["exec_command", "write_stdin"]);
    client.close();
}

#[test]
fn schema_prints_all_tools_in_the_form_of_their_api() {
    let home = Home::new();
    let of = |profile: &str| -> Value {
        let transcript = shown(&home, &["schema", "--profile", profile]);
        serde_json::from_slice(&transcript.stdout).unwrap()
    };
    let bash = json!({"type": "bash_20250124", "name": "bash"});
    assert_eq!(of("anthropic-bash"), bash);
    let shells = json!([
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "local_shell"},
    ]);
    assert_eq!(of("openai-shell"), shells);
    assert_eq!(of("codex")[1]["type"], "function");
    assert_eq!(
        of("codex")[1]["parameters"]["required"],
        json!(["session_id"])
    );
    assert!(of("gemini")[0]["parametersJsonSchema"].is_object());
    assert_eq!(
        of("claude-code")[0]["input_schema"]["required"],
        json!(["command"])
    );
}

#[test]
fn run_uses_the_first_tool_of_a_contract() {
    let home = Home::new();
    let ran = |profile: &str| shown(&home, &["run", "--profile", profile, "echo hi; exit 3"]);
    let claude = ran("claude-code");
    assert!(claude.out().contains("Exit code 3\nhi"), "{}", claude.out());
    assert_eq!(claude.code(), Some(3));
    let openai = ran("openai-shell");
    assert!(
        openai.out().contains("\"stdout\":\"hi\\n\""),
        "{}",
        openai.out()
    );
    assert_eq!(openai.code(), Some(3));
}

/// What a loop with a client of the contract printed, if that client is installed.
fn looped(script: &str, home: &Home) -> Option<Value> {
    let place: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers");
    if !place.join("contracts.installed").exists() {
        loudly(
            "the clients of the Anthropic and OpenAI contracts are not installed: NOT tested here",
        );
        return None;
    }
    let mut client = in_home(&place.join("contracts/bin/python"), home);
    client.env("PYTHONDONTWRITEBYTECODE", "1");
    client
        .arg(scripts().join(script))
        .arg(env!("CARGO_BIN_EXE_bashd"));
    Some(serde_json::from_str(&output(client)).unwrap())
}

#[test]
fn a_15_the_tool_runner_of_the_anthropic_sdk_works_with_it() {
    let home = home();
    let Some(seen) = looped("anthropic_loop.py", &home) else {
        return;
    };
    assert_eq!(
        seen["tools"],
        json!([{"type": "bash_20250124", "name": "bash"}])
    );
    assert_eq!(
        seen["results"],
        json!([
            ["", false],
            ["/\nkept", false],
            ["out\nerr", true],
            ["Bash session restarted", false],
            ["x=", false],
        ])
    );
    assert_eq!(seen["last"], "done");
}

/// What the model of `OpenHands` was sent in a case of the loop, without the line that is added.
fn in_openhands(home: &Home, case: &str) -> Option<Value> {
    let target = target_with("openhands")?;
    let mut client = in_home(&target.join("agents/openhands/bin/python"), home);
    client.env("PYTHONDONTWRITEBYTECODE", "1");
    client.env("PYTHONPATH", scripts());
    client
        .arg(scripts().join("openhands_loop.py"))
        .arg(env!("CARGO_BIN_EXE_bashd"))
        .arg(home.workspace())
        .arg(case);
    Some(serde_json::from_str(&output(client)).unwrap())
}

#[test]
fn o_26_the_agent_of_openhands_works_with_it() {
    let home = home();
    let Some(seen) = in_openhands(&home, "tools") else {
        return;
    };
    let ends = |number: usize, begin: &str, code: i32| {
        let text = seen["results"][number].as_str().unwrap_or_default();
        let text = text.strip_prefix("[Tool 'terminal' executed.]");
        let text = text.unwrap_or_else(|| panic!("{seen}"));
        assert!(text.starts_with(begin), "{number}: {seen}");
        let end = format!("[Command finished with exit code {code}]");
        assert!(code < 0 || text.ends_with(&end), "{number}: {seen}");
    };
    ends(0, "\n[The command completed with exit code 0.]", 0);
    ends(1, "/\nkept\n[The command completed", 3);
    ends(2, "name?\n[The command timed out after 1.0 seconds.", -1);
    ends(3, "got=Ada\n[The command completed", 0);
    ends(4, "\n[The command timed out after 1.0 seconds.", -1);
    let by_key = "^C\n[The command completed with exit code 130. CTRL+C was sent.]";
    ends(5, by_key, 130);
    ends(6, "Terminal session has been reset. ", 0);
}

/// The hook before the terminal of `OpenHands`, as docs/hook.md has it, and broken in three ways.
#[test]
fn the_hook_decides_in_openhands_and_blocks_if_it_can_not() {
    let whole = "timeout -k 1 30 bashd hook openhands || exit 2";
    let slow = "timeout -k 1 2 sleep 60 || exit 2";
    let cases = [
        (whole, vec![true, false, false]),
        (
            "timeout -k 1 30 bashd-is-missing hook openhands || exit 2",
            vec![false; 3],
        ),
        (
            "timeout -k 1 30 sh -c 'kill -9 $$' || exit 2",
            vec![false; 3],
        ),
        (slow, vec![false; 3]),
    ];
    let count = if repeat::is_soak() { cases.len() } else { 2 };
    let page = include_str!("../../../../../docs/hook.md");
    assert!(page.contains(whole), "docs/hook.md has another hook");
    for (hook, expected) in cases.into_iter().take(count) {
        let home = home();
        let rules = "[[rules]]\nname = 'deploys'\ndecision = 'deny'\nmessage = 'this deploys.'\ncommand = 'deploy'\n\
            [[rules]]\nname = 'releases'\ndecision = 'ask'\nmessage = 'this releases.'\ncommand = 'release'\n";
        fs::create_dir_all(home.config()).unwrap();
        fs::write(home.config().join("config.toml"), rules).unwrap();
        let folder = home.workspace().join(".openhands");
        fs::create_dir_all(&folder).unwrap();
        let hook = hook.replace("bashd hook", concat!(env!("CARGO_BIN_EXE_bashd"), " hook"));
        let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [{"type": "command", "command": hook}]}]}});
        fs::write(folder.join("hooks.json"), hooks.to_string()).unwrap();
        let Some(seen) = in_openhands(&home, "hook") else {
            return;
        };
        let ran = |number: usize| home.workspace().join(format!("ran-{number}")).exists();
        assert_eq!([1, 2, 3].map(ran), *expected, "{hook}: {seen}");
        if expected[0] {
            let text = |number: usize| seen["results"][number].to_string();
            assert!(text(1).contains("deploys: this deploys"), "{seen}");
            assert!(text(2).contains("releases: this releases"), "{seen}");
        }
    }
}

#[test]
fn s_12_the_executors_of_the_agents_sdk_work_with_it() {
    let home = home();
    let Some(seen) = looped("openai_shell_loop.py", &home) else {
        return;
    };
    let offered = seen["offered"].as_array().unwrap();
    let outputs = |of: &str| seen[of]["outputs"].clone();
    for (number, of) in ["shell", "local_shell"].into_iter().enumerate() {
        assert_eq!(seen[of]["tools"][0], offered[number], "{of}");
        assert_eq!(seen[of]["last"], "done");
    }
    let shell = outputs("shell");
    let here = format!("{}\n", home.workspace().display());
    let exit = |code: i32| json!({"type": "exit", "exit_code": code});
    assert_eq!(
        shell[0]["output"],
        json!([
            {"stdout": "out\n", "stderr": "err\n", "outcome": exit(3)},
            {"stdout": here, "stderr": "", "outcome": exit(0)},
        ])
    );
    let timeout = json!([{"stdout": "a\n", "stderr": "", "outcome": {"type": "timeout"}}]);
    assert_eq!(shell[1]["output"], timeout);
    assert_eq!(shell[2]["output"][0]["outcome"], exit(1));
    let local = outputs("local_shell")[0]["output"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        local.starts_with(r#"{"output":"a b","metadata":{"exit_code":0,"#),
        "{local}"
    );
}
