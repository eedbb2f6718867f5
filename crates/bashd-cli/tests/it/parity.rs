//! One engine behind every front end: the same requests through all of them give equal replies.

use crate::mcp::{Client as McpClient, HttpServer};
use crate::rpc_under_test::Client as RpcClient;
use crate::shown;
use bashd::{Call, Config, Engine, KeeperSource, Request, Surroundings};
use bashd_testkit::Home;
use serde_json::{Value, json};

/// Requests of every profile, in its spelling.
const EVERYWHERE: &[&str] = &[
    r#"{"command": "echo out; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"}"#,
    r#"{"command": "echo out; echo err >&2; exit 3"}"#,
    r#"{"command": "true"}"#,
    r#"{"command": "printf 'no newline'"}"#,
    r#"{"command": "printf 'größe 日本 🎉\\n'; printf 'bad \\377\\376 bytes\\n'"}"#,
    r#"{"command": "seq 200000"}"#,
    r#"{"command": "kill -9 $$"}"#,
    r#"{"command": "git push --force"}"#,
    r#"{"command": "   "}"#,
    r#"{"nonsense": 1}"#,
];

/// What only one of them has.
const OF_ONE: &[(&str, &str)] = &[
    (
        "default",
        r#"{"command": "cat; echo $A; pwd", "stdin": "in", "env": {"A": "1 2"}, "cwd": "/"}"#,
    ),
    ("default", r#"{"command": "true", "cwd": "/nonexistent"}"#),
    (
        "default",
        r#"{"command": "echo before; sleep 60", "timeout": 3, "on_timeout": "kill"}"#,
    ),
    ("default", r#"{"command": "true", "timeout": 999999}"#),
    ("default", r#"{"command": 7}"#),
    ("voice", r#"{"cmd": "echo by its other name"}"#),
    ("phoenix", r#"{"command": "echo slow", "mode": "slow"}"#),
    ("phoenix", r#"{"command": "echo", "mode": "nonsense"}"#),
    ("pi", r#"{"command": "cd / && pwd"}"#),
    (
        "pi",
        r#"{"command": "echo $A", "env": {"A": "b"}, "timeout": 0.5}"#,
    ),
];

const PROFILES: &[&str] = &["default", "voice", "harness", "phoenix", "pi"];

fn requests() -> Vec<(&'static str, &'static str)> {
    let everywhere = PROFILES.iter().flat_map(|profile| {
        let requests = EVERYWHERE.iter();
        requests.map(|request| (*profile, *request))
    });
    everywhere.chain(OF_ONE.iter().copied()).collect()
}

/// A reply as lines, without what differs from run to run; what is null is not there.
fn comparable(reply: &Value) -> Vec<String> {
    let fields = reply.as_object().unwrap().iter();
    let fields = fields.filter(|(name, value)| *name != "wall_ms" && !value.is_null());
    let mut lines: Vec<String> = fields
        .map(|(name, value)| {
            let numbered = without_numbers(&format!("{name}: {value}"), "artifact://");
            let timed = without_numbers(&numbered, "Wall time: ");
            let ids = without_numbers(&timed, "artifactId\":\"");
            without_numbers(&ids, "wallTimeMs\":")
        })
        .collect();
    lines.sort();
    lines
}

/// The text with a placeholder for the numbers after each `mark`.
fn without_numbers(text: &str, mark: &str) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |so_far, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        format!("{so_far}{mark}N{rest}")
    })
}

fn engine(home: &Home) -> Engine {
    let mut env = home.env();
    env.push(("TZ".into(), "UTC".into()));
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env,
    };
    let mut config = Config::new(home.state());
    config.sessions.most = 0;
    Engine::new(config, surroundings, KeeperSource::Hook).unwrap()
}

fn replies_of_the_library(home: &Home) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = engine(home);
        let mut replies = Vec::new();
        for (profile, request) in requests() {
            let reply = engine
                .run(Call::json(request, Request::new("").profile(profile)))
                .await;
            replies.push(serde_json::to_value(&reply).unwrap());
        }
        replies
    })
}

fn replies_of_run(home: &Home) -> Vec<Value> {
    let ask = |(profile, request)| {
        let printed = shown(
            home,
            &["run", "--json", "--profile", profile, "--input", request],
        );
        serde_json::from_slice(&printed.stdout).unwrap_or_else(|_| panic!("{}", printed.block()))
    };
    requests().into_iter().map(ask).collect()
}

fn replies_of_rpc(home: &Home) -> Vec<Value> {
    let mut client = RpcClient::start(home, &[]);
    let requests = requests();
    // All at once: each reply must find its own way back.
    for (id, (profile, request)) in requests.iter().enumerate() {
        let arguments: Value = serde_json::from_str(request).unwrap();
        client.say(&json!({"id": id, "type": "call", "profile": profile, "arguments": arguments}));
    }
    let mut replies = vec![Value::Null; requests.len()];
    for _ in &requests {
        let mut response = client.next();
        let id = response["id"].as_u64().unwrap() as usize;
        replies[id] = response["data"].take();
    }
    client.close();
    replies
}

/// A tool's result, as the reply that it was made of.
fn from_mcp(result: &Value) -> Value {
    let mut reply = result["_meta"]["bashd/reply"].clone();
    reply["text"] = result["content"][0]["text"].clone();
    reply["is_error"] = result["isError"].as_bool().unwrap_or(false).into();
    reply
}

/// A reply without what MCP does not repeat: nothing that says nothing, and of an error only what
/// its text does not say.
fn as_told_by_mcp(reply: &Value) -> Value {
    let mut reply = reply.clone();
    let fields = reply.as_object_mut().unwrap();
    fields.retain(|name, value| {
        let is_kept = ["is_error", "text", "exit_code", "stderr_bytes", "result"];
        let says_nothing = *value == 0 || *value == false || *value == "" || *value == json!([]);
        is_kept.contains(&name.as_str()) || !says_nothing
    });
    if fields["is_error"] == true {
        for said in ["output", "error", "result"] {
            fields.remove(said);
        }
        if let Some(denied) = fields.get_mut("denied").and_then(Value::as_object_mut) {
            denied.remove("message");
        }
    }
    reply
}

fn replies_of_mcp(home: &Home) -> Vec<Value> {
    let mut clients: Vec<(&str, McpClient)> = PROFILES
        .iter()
        .map(|profile| (*profile, McpClient::connect(home, &["--profile", profile])))
        .collect();
    let ask = |(profile, request): (&str, &str)| {
        let (_, client) = clients
            .iter_mut()
            .find(|(name, _)| *name == profile)
            .unwrap();
        from_mcp(&client.bash(&serde_json::from_str(request).unwrap()))
    };
    let replies = requests().into_iter().map(ask).collect();
    for (_, client) in clients {
        client.finish();
    }
    replies
}

fn replies_of_mcp_over_http(home: &Home) -> Vec<Value> {
    let servers: Vec<(&str, HttpServer)> = PROFILES
        .iter()
        .map(|profile| {
            (
                *profile,
                HttpServer::start(home, &["--profile", profile, "--token", "none"]),
            )
        })
        .collect();
    let ask = |(profile, request): (&str, &str)| {
        let (_, server) = servers.iter().find(|(name, _)| *name == profile).unwrap();
        from_mcp(&server.bash(&serde_json::from_str(request).unwrap()))
    };
    requests().into_iter().map(ask).collect()
}

#[test]
fn sixty_requests_have_equal_replies_through_every_front_end() {
    let home = Home::new();
    // A session would carry what one request leaves over to the next.
    std::fs::write(home.config().join("config.toml"), "[sessions]\nlimit = 0\n").unwrap();
    assert_eq!(requests().len(), 60);
    let expected = replies_of_the_library(&home);
    for (way, replies) in [
        ("run", replies_of_run(&home)),
        ("rpc", replies_of_rpc(&home)),
        ("mcp on stdio", replies_of_mcp(&home)),
        ("mcp over HTTP", replies_of_mcp_over_http(&home)),
    ] {
        for ((request, expected), reply) in requests().iter().zip(&expected).zip(replies) {
            let expected = if way.starts_with("mcp") {
                as_told_by_mcp(expected)
            } else {
                expected.clone()
            };
            let (expected, reply) = (comparable(&expected), comparable(&reply));
            let differing = expected
                .iter()
                .zip(&reply)
                .find(|(one, other)| one != other);
            assert_eq!(differing, None, "{way}: {request:?}");
            assert_eq!(reply.len(), expected.len(), "{way}: {request:?}");
        }
    }
}
