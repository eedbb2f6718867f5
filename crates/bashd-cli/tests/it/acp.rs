//! `bashd acp` with clients that nobody here wrote: npm's `acpx`, and one on the official
//! TypeScript SDK.

use crate::mcp::{node, packages, scripts};
use bashd_testkit::Home;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// What the client on the official SDK saw.
struct Seen {
    result: Value,
    log: Vec<String>,
    /// The fields of the tool call, each as told last.
    tool_call: Value,
    message: String,
    /// What its user was asked.
    asked: Value,
}

/// What the client on the official SDK prints in a scenario; none without its packages.
fn told_by_sdk(home: &Home, scenario: &str, command: &str, arguments: &[&str]) -> Option<Value> {
    let mut client = node(&packages()?, home);
    client.arg(scripts().join("acp_client.mts")).arg(scenario);
    client.arg(home.workspace()).args([command, BASHD, "acp"]);
    let output = client.args(arguments).output().unwrap();
    if scenario == "lost" {
        return Some(json!({"updates": [], "log": []}));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let seen: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{scenario}: {output:?}\n{stderr}"));
    assert!(output.status.success(), "{scenario}: {stderr}");
    Some(seen)
}

/// Runs a scenario of the client on the official SDK; none without its packages.
fn sdk(home: &Home, scenario: &str, command: &str, arguments: &[&str]) -> Option<Seen> {
    let seen = told_by_sdk(home, scenario, command, arguments)?;
    let mut tool_call = json!({});
    let mut message = String::new();
    for update in seen["updates"].as_array().unwrap() {
        match update["sessionUpdate"].as_str().unwrap() {
            "tool_call" | "tool_call_update" => {
                for (name, value) in update.as_object().unwrap() {
                    tool_call[name] = value.clone();
                }
            }
            "agent_message_chunk" => message.push_str(update["content"]["text"].as_str().unwrap()),
            other => panic!("{other}"),
        }
    }
    let log = seen["log"].as_array().unwrap();
    let mut log: Vec<String> = log
        .iter()
        .map(|what| what.as_str().unwrap().to_owned())
        .collect();
    log.dedup();
    Some(Seen {
        result: seen["result"].clone(),
        log,
        tool_call,
        message,
        asked: seen["asked"].clone(),
    })
}

#[test]
fn a_prompt_runs_in_the_clients_terminal() {
    let home = Home::new();
    let Some(seen) = sdk(&home, "run", "echo \"hi; $PWD\"; echo err >&2; exit 3", &[]) else {
        return;
    };
    assert_eq!(seen.result["stopReason"], "end_turn");
    assert_eq!(seen.log.first().map(String::as_str), Some("create"));
    assert_eq!(seen.log.last().map(String::as_str), Some("release"));
    let expected = json!([{"type": "terminal", "terminalId": "t1"}]);
    assert_eq!(seen.tool_call["content"], expected);
    assert_eq!(seen.tool_call["status"], "failed");
    let reply = &seen.tool_call["rawOutput"];
    assert_eq!(
        (&reply["exit_code"], &reply["terminal"]),
        (&json!(3), &json!("t1"))
    );
    let pwd = home.workspace();
    assert!(
        seen.message.contains(&format!("hi; {}\n", pwd.display())),
        "{}",
        seen.message
    );
    assert!(seen.message.contains("err\n"));
    assert!(seen.message.ends_with("[exit code 3]"), "{}", seen.message);
}

#[test]
fn without_terminals_of_the_client_it_runs_here() {
    let home = Home::new();
    let Some(seen) = sdk(&home, "local", "echo here; exit 4", &[]) else {
        return;
    };
    assert!(seen.log.is_empty());
    assert_eq!(seen.tool_call["content"][0]["content"]["text"], "here\n");
    assert_eq!(seen.tool_call["rawOutput"]["exit_code"], 4);
    let seen = sdk(&home, "abort_local", "echo before; sleep 300", &[]).unwrap();
    assert_eq!(seen.result["stopReason"], "cancelled");
}

#[test]
fn at_the_deadline_the_client_kills_before_the_last_look() {
    let home = Home::new();
    let Some(seen) = sdk(
        &home,
        "timeout",
        "echo before; sleep 300",
        &["--timeout", "3"],
    ) else {
        return;
    };
    let reply = &seen.tool_call["rawOutput"];
    assert_eq!(
        (&reply["timed_out"], &reply["output"]),
        (&json!(true), &json!("before\n"))
    );
    assert_eq!(reply["exit_code"], 137);
    assert_eq!(
        seen.log[seen.log.len() - 3..],
        ["kill", "output", "release"]
    );
}

#[test]
fn cancelling_the_turn_kills_and_releases() {
    let home = Home::new();
    let Some(seen) = sdk(&home, "abort", "echo before; sleep 300", &[]) else {
        return;
    };
    assert_eq!(seen.result["stopReason"], "cancelled");
    assert_eq!(seen.tool_call["rawOutput"]["cancelled"], true);
    assert_eq!(
        seen.log[seen.log.len() - 3..],
        ["kill", "output", "release"]
    );
}

#[test]
fn a_terminal_that_is_denied_and_a_command_that_is_denied_are_said() {
    let home = Home::new();
    let Some(seen) = sdk(&home, "denied", "touch X", &[]) else {
        return;
    };
    assert!(
        seen.message.contains("the user said no"),
        "{}",
        seen.message
    );
    assert_eq!(seen.tool_call["status"], "failed");
    let seen = sdk(&home, "run", "touch X; mkfs.ext4 /dev/bashd-none", &[]).unwrap();
    assert_eq!(seen.tool_call["rawOutput"]["denied"]["rule"], "no_mkfs");
    assert!(seen.log.is_empty());
    assert!(!home.workspace().join("X").exists());
}

/// A rule that wants to be asked about one program.
const ASKING: &str = "[[rules]]\nname = 'ask-touch'\ncommand = 'touch'\ndecision = 'ask'\nmessage = 'May it touch?'\n";

#[test]
fn a_kept_shell_goes_on_and_links_are_paths() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let begin = "mkdir -p sub; cd sub; kept=here";
    let Some(seen) = sdk(&home, "session", begin, &["--session", "s"]) else {
        return;
    };
    let workspace = home.workspace();
    let workspace = workspace.display();
    let output = seen.tool_call["rawOutput"]["output"].as_str().unwrap();
    assert_eq!(output, format!("here {workspace}/sub {workspace}/a b\n"));
    assert!(
        seen.log.last().unwrap().contains("an image can't be run"),
        "{:?}",
        seen.log
    );
}

/// The last state of a tool call, and the texts of the agent's messages.
fn told(updates: &Value) -> (Value, Vec<&str>) {
    let updates = updates.as_array().unwrap();
    let texts = updates.iter().filter_map(|update| {
        let is_message = update["sessionUpdate"] == "agent_message_chunk";
        is_message.then(|| update["content"]["text"].as_str().unwrap())
    });
    let last = updates
        .iter()
        .rfind(|update| !update["rawOutput"].is_null());
    (last.cloned().unwrap_or_default(), texts.collect())
}

#[test]
fn another_process_goes_on_with_a_session_and_says_that_its_shell_is_new() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let begin = "mkdir -p sub; cd sub; kept=here; API_TOKEN=hunter2hunter2; echo begun";
    let Some(told_all) = told_by_sdk(&home, "resumed", begin, &["--session", "s"]) else {
        return;
    };
    let workspace = home.workspace();
    let workspace = workspace.display();
    let loaded = &told_all["loaded"];
    assert_eq!(loaded["capabilities"]["loadSession"], true, "{loaded}");
    assert!(
        loaded["capabilities"]["sessionCapabilities"]["resume"].is_object(),
        "{loaded}"
    );
    // What was said is told again, without the secret.
    let again = &loaded["again"];
    let kinds = again.as_array().unwrap().iter();
    let kinds: Vec<_> = kinds
        .map(|update| update["sessionUpdate"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["user_message_chunk", "tool_call", "agent_message_chunk"]
    );
    assert_eq!(told(again).1, ["begun\n"]);
    assert_eq!(again[1]["status"], "completed", "{again}");
    assert!(!again.to_string().contains("hunter2"), "{again}");
    // The directory is kept, the variables are not, and that is said.
    let (call, texts) = told(&loaded["updates"]);
    assert_eq!(
        call["rawOutput"]["output"],
        format!("gone {workspace}/sub\n")
    );
    let reset = "another bashd process had its shell";
    assert_eq!(call["rawOutput"]["session_reset"], reset);
    assert!(texts[0].contains(reset), "{texts:?}");
    let reason = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert!(reason(&loaded["elsewhere"]).contains("this session is in"));
    assert!(reason(&loaded["unknown"]).contains("there is no session"));
    assert!(reason(&loaded["path"]).contains("there is no session"));
    // The next one goes on from there, without being told again.
    let resumed = &told_all["resumed"];
    assert_eq!(resumed["again"], json!([]));
    let (call, _) = told(&resumed["updates"]);
    assert_eq!(call["rawOutput"]["output"], "gone /\n");
}

#[test]
fn what_a_rule_asks_the_clients_user_decides() {
    let home = Home::new();
    fs::write(home.config().join("config.toml"), ASKING).unwrap();
    let Some(seen) = sdk(&home, "permit", "touch permitted", &[]) else {
        return;
    };
    let [asked] = seen.asked.as_array().unwrap().as_slice() else {
        panic!("{}", seen.asked)
    };
    let question = asked["toolCall"]["content"][0]["content"]["text"].as_str();
    let question = question.unwrap();
    assert!(
        question.starts_with("May it touch? (ask-touch)\n\n"),
        "{question}"
    );
    assert!(question.ends_with("touch permitted"), "{question}");
    assert_eq!(
        asked["toolCall"]["toolCallId"],
        seen.tool_call["toolCallId"]
    );
    let kinds = asked["options"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|option| option["kind"].clone()).collect();
    let expected = ["allow_once", "allow_always", "allow_always", "reject_once"];
    assert_eq!(kinds, expected);
    assert_eq!(seen.tool_call["status"], "completed");
    assert!(home.workspace().join("permitted").exists());
    // A no, a client that asks nobody, and one that cancels meanwhile.
    for scenario in ["forbid", "no_permission"] {
        let seen = sdk(&home, scenario, "touch refused", &[]).unwrap();
        assert_eq!(
            seen.tool_call["rawOutput"]["denied"]["rule"], "ask-touch",
            "{scenario}"
        );
        assert_eq!(seen.tool_call["status"], "failed");
        assert_eq!(seen.log, ["permission"], "no terminal: {scenario}");
    }
    let seen = sdk(&home, "abort_permission", "touch refused", &[]).unwrap();
    assert_eq!(seen.log, ["permission"]);
    assert!(!home.workspace().join("refused").exists());
}

#[test]
fn what_a_prompt_did_is_real_when_the_clients_user_allows_it() {
    let home = crate::effects::held_home();
    let command = "echo new >made";
    let arguments = ["--effects", "ask"];
    let Some(seen) = sdk(&home, "forbid", command, &arguments) else {
        return;
    };
    assert_eq!(seen.tool_call["rawOutput"]["denied"]["rule"], "effects");
    assert_eq!(seen.tool_call["rawOutput"]["changes"]["state"], "discarded");
    assert_eq!(seen.tool_call["status"], "failed");
    assert!(!home.workspace().join("made").exists());
    let seen = sdk(&home, "permit", command, &arguments).unwrap();
    let question = seen.asked[0]["toolCall"]["content"][0]["content"]["text"].as_str();
    let question = question.unwrap();
    for part in ["become real?", command, "A made", "+new"] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let kinds = seen.asked[0]["options"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|option| option["kind"].clone()).collect();
    assert_eq!(kinds, ["allow_once", "reject_once"]);
    assert_eq!(seen.tool_call["status"], "completed");
    assert_eq!(seen.tool_call["rawOutput"]["changes"]["state"], "applied");
    assert!(home.workspace().join("made").exists());
    let seen = sdk(&home, "abort_permission", "rm made", &arguments).unwrap();
    assert_eq!(seen.log, ["permission"]);
    assert!(home.workspace().join("made").exists());
}

#[test]
fn what_a_prompt_needs_the_clients_user_grants() {
    let home = Home::new();
    let outside = home.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let configuration = "[confinement]\npreset = \"workspace\"\n";
    fs::write(home.config().join("config.toml"), configuration).unwrap();
    let command = "touch ../outside/made";
    let Some(seen) = sdk(&home, "needs", command, &[]) else {
        return;
    };
    let question = seen.asked[0]["toolCall"]["content"][0]["content"]["text"].as_str();
    let question = question.unwrap();
    let thing = format!("write {}", outside.display());
    for part in [&thing, command, "it is asked for"] {
        assert!(question.contains(part), "{question}");
    }
    assert_eq!(seen.tool_call["status"], "completed", "{}", seen.tool_call);
    assert!(outside.join("made").exists());
    // Without a reason nobody is asked; without being asked for, nothing is there to write.
    let seen = sdk(&home, "needs_unsaid", "touch ../outside/unsaid", &[]).unwrap();
    let told = seen.result["data"].to_string();
    assert!(told.contains("reason is missing"), "{}", seen.result);
    let seen = sdk(&home, "permit", "touch ../outside/unasked", &[]).unwrap();
    assert_eq!(seen.tool_call["status"], "failed", "{}", seen.tool_call);
    let made = ["unsaid", "unasked"].map(|name| outside.join(name).exists());
    assert_eq!(made, [false, false]);
}

#[test]
fn a_hung_client_is_not_waited_for_without_end() {
    let home = Home::new();
    let Some(seen) = sdk(&home, "hung", "sleep 300", &["--timeout", "1"]) else {
        return;
    };
    assert_eq!(seen.tool_call["rawOutput"]["timed_out"], true);
    assert!(seen.log.contains(&"kill".to_owned()) && seen.log.contains(&"release".to_owned()));
}

#[test]
fn a_lost_client_leaves_nothing_of_ours_behind() {
    let home = Home::new();
    // What its own terminal runs is the client's, and must not outlive the test.
    sdk(
        &home,
        "lost",
        "echo seen; for i in 1 2 3 4 5; do sleep 0.2; done",
        &[],
    );
}

#[test]
fn acpx_gets_the_reply_with_its_terminal_and_without() {
    let home = Home::new();
    let Some(packages) = packages() else { return };
    let acpx = |options: &[&str], command: &str| {
        let mut acpx = node(&packages, &home);
        acpx.arg(packages.join(".bin/acpx")).args(options);
        acpx.args(["--agent", &format!("{BASHD} acp"), "exec", command]);
        let output = acpx.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (text, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (raw, errors) = acpx(&["--approve-all", "--format", "json"], "echo hi; exit 3");
    assert!(raw.contains("terminal/create"), "{raw}\n{errors}");
    assert!(raw.contains("terminal/release"), "{raw}");
    assert!(raw.contains("\"exit_code\":3"), "{raw}");
    let (text, _) = acpx(&["--approve-all"], "echo hi; exit 3");
    assert!(text.contains("hi\n[exit code 3]"), "{text}");
    let (raw, _) = acpx(&["--no-terminal", "--format", "json"], "echo here; exit 3");
    assert!(!raw.contains("terminal/create"), "{raw}");
    assert!(raw.contains("here\\n[exit code 3]"), "{raw}");
    let (raw, _) = acpx(&["--deny-all", "--format", "json"], "touch X");
    assert!(raw.contains("could not be created"), "{raw}");
    assert!(!home.workspace().join("X").exists());
}

#[test]
fn a_line_that_is_no_text_runs_nothing_and_the_next_is_answered() {
    let home = Home::new();
    let prompt = |session: &str, id: u8, text: &[u8]| {
        let head = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":{session},"prompt":[{{"type":"text","text":""#
        );
        [head.as_bytes(), text, b"\"}]}}\n"].concat()
    };
    let open = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"session/new","params":{{"cwd":"{}","mcpServers":[]}}}}"#,
        home.workspace().display()
    );
    let greet = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    let mut agent = crate::bashd(&home, &["acp"]).stdin("").spawn();
    let mut input = agent.stdin.take().unwrap();
    let mut answers = BufReader::new(agent.stdout.take().unwrap()).lines();
    let mut answer = || {
        let mut lines = answers.by_ref().map(Result::unwrap);
        lines.find(|line| line.contains("\"id\":")).unwrap()
    };
    writeln!(input, "{greet}").unwrap();
    answer();
    writeln!(input, "{open}").unwrap();
    let opened: Value = serde_json::from_str(&answer()).unwrap();
    let session = opened["result"]["sessionId"].to_string();
    input
        .write_all(&prompt(&session, 2, b": > made-\xff"))
        .unwrap();
    assert!(answer().contains("-32700"));
    input.write_all(&prompt(&session, 3, b"ls")).unwrap();
    assert!(answer().contains("\"id\":3"));
    drop(input);
    assert!(agent.wait().unwrap().success());
    assert_eq!(fs::read_dir(home.workspace()).unwrap().count(), 0);
}
