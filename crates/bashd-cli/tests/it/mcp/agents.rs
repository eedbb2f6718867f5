//! What the models of real agents read: the exact text that each agent sends back for a call of
//! bashd's tools.
//!
//! The agents are those of npm, with a scripted model on loopback (`tests/agents/`). They are
//! large, so `./test --with agents` installs them, which is also what CI runs. Each that is missing
//! is said, and not tested.

use super::peers::{in_home, output};
use bashd_testkit::{Home, loudly, repeat};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// What `deploy now` is answered, which a rule of the user's own denies.
const DENIED: &str = "Error: denied by rule deploys: this deploys";

const RULE: &str = "[[rules]]\nname = 'deploys'\ndecision = 'deny'\nmessage = 'this deploys'\n\
    command = 'deploy'\nexamples.deny = ['deploy now']\nexamples.allow = ['true']\n";

/// What a background start is answered, after its first output.
const STARTED: &str = "[started as job bg_1, which is ended after 24 h; next: job wait bg_1, job output bg_1 or job kill bg_1]";

/// The target directory, if this agent is installed there.
pub(super) fn target_with(agent: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    if !target.join(format!("agents/{agent}.installed")).exists() {
        loudly(&format!(
            "{agent} is not installed (./test --with agents): what its model reads is NOT tested here"
        ));
        return None;
    }
    // Two of them are scripts, which the peers' node runs.
    if ["gemini", "qwen"].contains(&agent) {
        super::peers::packages()?;
    }
    Some(target)
}

/// A call, and what the model reads of it.
fn cases() -> Vec<Value> {
    vec![
        json!({"tool": "bash", "arguments": {"command": "echo hello; exit 3"}}),
        json!({"tool": "bash", "arguments": {"command": "deploy now"}}),
        json!({"tool": "bash", "arguments": {"command": "echo a; sleep 60", "timeout": 2, "on_timeout": "kill"}}),
        json!({"tool": "bash", "arguments": {"command": "echo first; sleep 2; echo more", "background": true}}),
        json!({"tool": "job", "arguments": {"action": "wait", "job": "bg_1"}}),
    ]
}

/// What the model of an agent was sent back, with a placeholder for every time.
fn texts_of(agent: &str) -> Option<Vec<String>> {
    let texts = sent_back(agent, &cases())?;
    Some(texts.iter().map(|text| without_times(text)).collect())
}

/// What the model of an agent was sent back for each call.
fn sent_back(agent: &str, given: &[Value]) -> Option<Vec<String>> {
    sent_back_by(agent, None, given)
}

/// The same with the tools of a profile, and without the agent's own shell.
fn sent_back_by(agent: &str, profile: Option<&str>, given: &[Value]) -> Option<Vec<String>> {
    let target = target_with(agent)?;
    let home = Home::new().keeping_in_state(&["runs", "artifacts"]);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
    let count = given.len();
    let steps = home.workspace().join("steps.json");
    std::fs::write(&steps, Value::from(given.to_vec()).to_string()).unwrap();
    std::fs::write(home.config().join("config.toml"), RULE).unwrap();
    // Agents leave files where they like.
    let scratch = home.workspace().join("tmp");
    std::fs::create_dir_all(&scratch).unwrap();
    let mut driver = in_home(Path::new("python3"), &home);
    driver.env("AGENTS_TARGET", target);
    driver.env("PYTHONDONTWRITEBYTECODE", "1");
    driver.env("TMPDIR", scratch);
    driver.envs(profile.map(|profile| ("AGENTS_PROFILE", profile)));
    driver.arg(scripts.join("agents.py"));
    driver.args([agent, BASHD, "--"]).arg(home.workspace());
    driver.stdin(std::fs::File::open(steps).unwrap());
    let told = output(driver);
    let seen: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{agent}: {told}"));
    let results = seen["results"].as_array().unwrap();
    let texts = results
        .iter()
        .map(|result| result["text"].as_str().unwrap());
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    assert_eq!(texts.len(), count, "{agent}: {seen}");
    Some(texts)
}

/// The text with `N` for how long something took.
fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    for mark in ["Wall time: ", "\"wall_ms\":", "exited with code 0 after "] {
        let Some((before, after)) = text.split_once(mark) else {
            continue;
        };
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        text = format!("{before}{mark}N{rest}");
    }
    // A denial may take less than a millisecond, and then says nothing of its time.
    text.replace("\"wall_ms\":N,\"denied\"", "\"denied\"")
}

/// Asserts that the model read exactly this; a busy machine may not have come to a job's first
/// output.
fn assert_reads(agent: &str, expected: [String; 5]) {
    let Some(texts) = texts_of(agent) else { return };
    for (text, expected) in texts.iter().zip(expected) {
        let without_first = expected.replace("first\n[started", "[started");
        assert!(
            *text == expected || *text == without_first,
            "{agent} reads\n{text}\ninstead of\n{expected}"
        );
    }
}

/// The texts as bashd sends them.
fn sent() -> [String; 5] {
    [
        "hello\n[exit code 3]".to_owned(),
        DENIED.to_owned(),
        "a\n[timed out after 2 s and was ended]".to_owned(),
        format!("first\n{STARTED}"),
        "bg_1: exited with code 0 after N s\nfirst\nmore\n".to_owned(),
    ]
}

#[test]
fn claude_code_reads_the_text() {
    assert_reads("claude-code", sent());
}

#[test]
fn codex_reads_the_text_after_its_own_two_lines() {
    let framed = sent().map(|text| format!("Wall time: N seconds\nOutput:\n{text}"));
    assert_reads("codex", framed);
}

#[test]
fn opencode_reads_the_text() {
    assert_reads("opencode", sent());
}

#[test]
fn claude_code_reads_its_own_contract_from_bashd() {
    let steps = [
        json!({"tool": "Bash", "arguments": {"command": "echo hello", "description": "says hello"}}),
        json!({"tool": "Bash", "arguments": {"command": "echo out; exit 3"}}),
        json!({"tool": "Bash", "arguments": {"command": "sleep 60", "run_in_background": true}}),
        json!({"tool": "TaskStop", "arguments": {"task_id": "bg_1"}}),
    ];
    let Some(texts) = sent_back_by("claude-code", Some("claude-code"), &steps) else {
        return;
    };
    assert_eq!(texts[..2], ["hello", "Exit code 3\nout"]);
    let started = "Command running in background with ID: bg_1. Output is being written to: ";
    assert!(texts[2].starts_with(started), "{}", texts[2]);
    let stopped = r#"{"message":"Successfully stopped task: bg_1 (sleep 60)","task_id":"bg_1","task_type":"local_bash","command":"sleep 60"}"#;
    assert_eq!(texts[3], stopped);
}

#[test]
fn codex_reads_its_own_contract_from_bashd() {
    let steps = [
        json!({"tool": "exec_command", "arguments": {"cmd": "echo hello; exit 3"}}),
        json!({"tool": "exec_command", "arguments": {"cmd": "echo a; sleep 60", "yield_time_ms": 3000}}),
        json!({"tool": "write_stdin", "arguments": {"session_id": 1, "chars": "\u{3}", "yield_time_ms": 30_000}}),
    ];
    let Some(texts) = sent_back_by("codex", Some("codex"), &steps) else {
        return;
    };
    let said = [
        "\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nhello\n",
        "\nProcess running with session ID 1\nOriginal token count: 1\nOutput:\na\n",
        "\nProcess exited with code 130\nOriginal token count: 0\nOutput:\n",
    ];
    for (text, said) in texts.iter().zip(said) {
        // Codex puts two lines of its own before every server's text.
        assert!(
            text.contains("\nOutput:\nChunk ID: ") && text.ends_with(said),
            "{text}"
        );
    }
}

#[test]
fn gemini_reads_its_own_contract_from_bashd() {
    let steps = [
        json!({"tool": "run_shell_command", "arguments": {"command": "echo hello"}}),
        json!({"tool": "list_background_processes", "arguments": {}}),
    ];
    let Some(texts) = sent_back_by("gemini", Some("gemini"), &steps) else {
        return;
    };
    let ran = "Output: hello\nProcess Group PGID: ";
    assert!(texts[0].contains(ran), "{}", texts[0]);
    assert!(
        texts[1].contains("No background processes found."),
        "{}",
        texts[1]
    );
}

/// The two errors as agents show them that give their model the call and the whole result: the
/// denial and the timeout. `of_result` makes the result from its content and the rest of it.
fn errors_with_their_calls(of_result: impl Fn(&str, &Value) -> String) -> [String; 2] {
    let calls = cases();
    let [_, denied, timed_out, ..] = sent();
    let denied = (1, denied, r#"{"denied":{"rule":"deploys"}}"#);
    let meta = r#"{"signal":15,"timed_out":true,"output_bytes":2,"output_lines":1,"wall_ms":N}"#;
    let timed_out = (2, timed_out, meta);
    [denied, timed_out].map(|(at, text, meta): (usize, String, &str)| {
        let arguments = &calls[at]["arguments"];
        let content = json!([{"type": "text", "text": text}]);
        let result =
            format!(r#"{{"_meta":{{"bashd/reply":{meta}}},"content":{content},"isError":true}}"#);
        let response = of_result(&result, &content);
        format!(
            "MCP tool 'bash' reported tool error for function call: {{\"name\":\"bash\",\"args\":{arguments}}} with response: \
             [{{\"functionResponse\":{{\"name\":\"bash\",\"response\":{response}}}}}]"
        )
    })
}

#[test]
fn gemini_reads_the_text_in_its_wrapping_and_an_error_once() {
    let [failed, _, _, started, waited] =
        sent().map(|text| format!("<untrusted_context>\n{text}\n</untrusted_context>"));
    let [denied, timed_out] = errors_with_their_calls(|result, _| result.to_owned());
    assert_reads("gemini", [failed, denied, timed_out, started, waited]);
}

#[test]
fn qwen_reads_the_text_and_an_error_twice() {
    let [failed, _, _, started, waited] = sent();
    // It repeats the content of the result.
    let [denied, timed_out] = errors_with_their_calls(|result, content| {
        format!(r#"{{"error":{result},"content":{content}}}"#)
    });
    assert_reads("qwen", [failed, denied, timed_out, started, waited]);
}

/// Thirty commands of an ordinary session. None of them has what an agent's own tool refuses.
const SESSION: [&str; 30] = [
    "ls -la",
    "git init -q . && git add steps.json && git -c user.email=a@b -c user.name=c commit -qm first && echo committed",
    "git status",
    "git log --stat",
    "printf 'one\\ntwo\\nthree hello\\n' > a.txt",
    "cat a.txt",
    "seq 1 400",
    "seq 1 30000",
    "false",
    "ls nonexistent",
    "grep -rn hello a.txt",
    "python3 -c 'print(1/0)'",
    "python3 -c 'print(\"x \" * 2000)'",
    "pwd",
    "whoami",
    "date +%Y",
    "wc -l a.txt",
    "cat /etc/passwd",
    "find /etc -maxdepth 1 -name '*.conf'",
    "du -sh a.txt",
    "echo out; echo err >&2; exit 3",
    "true",
    "diff a.txt steps.json",
    "head -n 40 /etc/group",
    "tar --help | head -60",
    "git diff HEAD",
    "git show --stat HEAD",
    "nosuchcommand",
    "cat nonexistent",
    "echo done",
];

/// The one command of the session whose output is too long to be shown whole.
const FLOOD: &str = "seq 1 30000";

/// The agents, their own shell tools, and what these call the command.
const OWN: [(&str, &str, &str, &str); 5] = [
    ("claude-code", "Claude Code", "own:Bash", "command"),
    ("codex", "Codex", "own:exec_command", "cmd"),
    ("opencode", "opencode", "own:bash", "command"),
    ("gemini", "Gemini CLI", "own:run_shell_command", "command"),
    ("qwen", "Qwen Code", "own:run_shell_command", "command"),
];

/// Counts what a model reads of the same session by bashd and by the agent's own tool; with
/// `BASHD_BLESS=1` the table of `docs/agents.md` is written.
#[test]
fn tokens_of_a_session_beside_the_agents_own_tool() {
    let blesses = std::env::var_os("BASHD_BLESS").is_some();
    if OWN.iter().any(|(agent, ..)| target_with(agent).is_none()) {
        return;
    }
    if !blesses && !repeat::is_soak() {
        loudly("the tokens of a session in each agent are only counted by ./soak --with agents");
        return;
    }
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    // The tokens of the flood, and of all others.
    let count = |texts: &[String]| -> [usize; 2] {
        let mut counted = [0, 0];
        for (command, text) in SESSION.iter().zip(texts) {
            let tokens = tokenizer.encode_ordinary(text).len();
            eprintln!("{tokens:6} {command}");
            counted[usize::from(*command != FLOOD)] += tokens;
        }
        counted
    };
    let mut table = format!(
        "| agent | all 30: bashd | own tool | bashd / own | `{FLOOD}`: bashd | own tool | the other 29: bashd | own tool | bashd / own |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for (agent, name, tool, key) in OWN {
        let ours =
            SESSION.map(|command| json!({"tool": "bash", "arguments": {"command": command}}));
        let theirs = SESSION.map(|command| {
            let mut arguments = json!({ key: command });
            match agent {
                "opencode" => arguments["description"] = "runs it".into(),
                "qwen" => arguments["is_background"] = false.into(),
                _ => {}
            }
            json!({"tool": tool, "arguments": arguments})
        });
        eprintln!("{name}: by bashd");
        let [flood, others] = count(&sent_back(agent, &ours).unwrap());
        eprintln!("{name}: by its own tool");
        let [own_flood, own_others] = count(&sent_back(agent, &theirs).unwrap());
        let (all, own_all) = (flood + others, own_flood + own_others);
        let ratio = |ours: usize, theirs: usize| ours as f64 / theirs as f64;
        let _ = writeln!(
            table,
            "| {name} | {all} | {own_all} | {:.2} | {flood} | {own_flood} | {others} | {own_others} | {:.2} |",
            ratio(all, own_all),
            ratio(others, own_others)
        );
    }
    eprintln!("{table}");
    if blesses {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
        let text = std::fs::read_to_string(&page).unwrap();
        let (before, rest) = text.split_once("<!-- tokens -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end of tokens -->").unwrap();
        let text = format!("{before}<!-- tokens -->\n{table}<!-- end of tokens -->{after}");
        std::fs::write(page, text).unwrap();
    }
}
