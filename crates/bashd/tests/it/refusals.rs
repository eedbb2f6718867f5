//! Bad requests, as each profile words them: nothing runs, nothing breaks, and the next call works.

use crate::engine_under_test::engine;
use crate::profile_under_test::{Contract, records};
use bashd::ledger::RecordedOutcome;
use bashd::{Config, Engine, KeeperSource, NoKeeper, Reply, Request, Surroundings};
use bashd_testkit::Home;
use serde_json::{Value, json};

/// One bad request, and what each profile answers.
struct Bad {
    input: String,
    voice: &'static str,
    harness: &'static str,
    phoenix: &'static str,
    default: &'static str,
}

impl Bad {
    fn answers(&self) -> [(&'static str, String); 4] {
        let harness = json!({ "error": self.harness }).to_string();
        [
            ("voice", self.voice.to_owned()),
            ("harness", harness),
            ("phoenix", self.phoenix.to_owned()),
            ("default", self.default.to_owned()),
        ]
    }
}

/// Checks that a reply is an error in which nothing ran.
fn check_refused(reply: &Reply, text: &str) {
    assert_eq!(reply.text, text);
    assert!(reply.is_error && reply.error.is_some(), "{reply:?}");
    assert_eq!((reply.exit_code, reply.signal), (None, None));
    let keys: Vec<_> = reply.result.as_object().map_or(Vec::new(), |object| {
        object.keys().map(String::as_str).collect()
    });
    assert_eq!(keys, ["error"]);
}

/// Checks that nothing ran, and that the engine is as good as before.
async fn check_unharmed(home: &Home, engine: &Engine) {
    assert!(!home.workspace().join("ran").exists());
    for profile in ["voice", "harness", "phoenix", "default"] {
        let reply = Contract::on(engine, profile).run("echo fine").await;
        assert_eq!(reply.output, "fine\n", "{profile}");
    }
}

#[tokio::test]
async fn bad_json_is_refused_in_each_profiles_words() {
    let home = Home::new();
    let engine = engine(&home);
    let input = |value: Value| value.to_string();
    for bad in [
        Bad {
            input: input(json!({"command": "touch ran", "colour": "red"})),
            voice: "Error: Unknown parameter 'colour'",
            harness: "invalid input: unknown parameter \"colour\"",
            phoenix: "Invalid input: unknown parameter `colour`",
            default: "Error: there is no parameter `colour`; there are command, cwd, env, timeout, on_timeout, wait_max, background, until, stdin, pty, session, stdin_open, needs, repeatable, effects, on, record",
        },
        Bad {
            input: input(json!({"command": ["touch", "ran"]})),
            voice: "Error: Missing required parameter 'command'",
            harness: "invalid input: `command` must be a string, not an array",
            phoenix: "Invalid input: `command` must be a string, not an array",
            default: "Error: `command` must be a string, not an array",
        },
        Bad {
            input: input(json!({"command": "touch ran\0"})),
            voice: "Error: Invalid arguments: NUL byte in command",
            harness: "invalid input: NUL byte in command",
            phoenix: "Invalid input: NUL byte in command",
            default: "Error: NUL byte in command",
        },
        Bad {
            input: input(json!({"command": "\n\t "})),
            voice: "Error: Missing required parameter 'command'",
            harness: "command is required",
            phoenix: "Command cannot be empty",
            default: "Error: `command` is missing or blank",
        },
        Bad {
            input: input(json!(["touch ran"])),
            voice: "Error: Tool arguments must be a JSON object",
            harness: "invalid input: expected an object, not an array",
            phoenix: "Invalid input: expected an object, not an array",
            default: "Error: the input must be a JSON object: expected an object, not an array",
        },
    ] {
        for (profile, text) in bad.answers() {
            let reply = Contract::on(&engine, profile).json(&bad.input).await;
            check_refused(&reply, &text);
        }
    }
    check_unharmed(&home, &engine).await;
}

#[tokio::test]
async fn nul_bytes_and_bad_names_of_a_typed_request_are_refused() {
    let home = Home::new();
    let engine = engine(&home);
    for (profile, start) in [
        ("voice", "Error: Invalid arguments: "),
        ("harness", "invalid input: "),
        ("phoenix", "Invalid input: "),
        ("default", "Error: "),
    ] {
        let contract = Contract::on(&engine, profile);
        let request = || contract.request("touch ran");
        for (bad, detail) in [
            (contract.request("touch ran\0"), "NUL byte in command"),
            (request().cwd("a\0b"), "NUL byte in cwd"),
            (
                request().env("A", "b\0c"),
                "NUL byte in environment variable `A`",
            ),
            (
                request().env("A\0B", "c"),
                "NUL byte in the name of an environment variable",
            ),
            (
                request().env("A=B", "c"),
                "invalid environment variable name `A=B`",
            ),
            (
                request().env("", "c"),
                "invalid environment variable name ``",
            ),
        ] {
            let message = format!("{start}{detail}");
            let text = match profile {
                "harness" => json!({ "error": message }).to_string(),
                _ => message,
            };
            check_refused(&engine.run(bad).await, &text);
        }
    }
    check_unharmed(&home, &engine).await;
}

#[tokio::test]
async fn an_unknown_profile_is_refused_in_the_default_words() {
    let home = Home::new();
    let engine = engine(&home);
    for name in ["nope", "../voice", "Voice", "voice ", "a\0b"] {
        let unknown = Contract::on(&engine, name);
        let expected = format!("Error: there is no profile `{name}`");
        check_refused(&unknown.run("touch ran").await, &expected);
        let by_json = unknown.json(r#"{"command":"touch ran"}"#).await;
        check_refused(&by_json, &expected);
    }
    check_unharmed(&home, &engine).await;
}

#[tokio::test]
async fn wrong_types_of_the_default_parameters_are_refused() {
    let home = Home::new();
    let engine = engine(&home);
    let default = Contract::on(&engine, "default");
    for (name, value, wanted) in [
        ("cwd", json!(5), "`cwd` must be a string, not a number"),
        (
            "stdin",
            json!(true),
            "`stdin` must be a string, not a boolean",
        ),
        (
            "timeout",
            json!("5"),
            "`timeout` must be a number, not a string",
        ),
        (
            "env",
            json!(["A=b"]),
            "`env` must be an object, not an array",
        ),
        (
            "env",
            json!({"A": 1}),
            "`env.A` must be a string, not a number",
        ),
        (
            "env",
            json!({"A B": ""}),
            "invalid environment variable name `A B`",
        ),
    ] {
        let input = json!({"command": "touch ran", name: value}).to_string();
        check_refused(&default.json(&input).await, &format!("Error: {wanted}"));
    }
    check_unharmed(&home, &engine).await;
}

#[tokio::test]
async fn without_a_keeper_each_profile_still_answers_and_the_call_is_recorded() {
    let home = Home::new();
    for (profile, text) in [
        ("voice", "Error: Failed to launch process: no keeper today"),
        (
            "harness",
            r#"{"error":"failed to execute command: no keeper today"}"#,
        ),
        ("phoenix", "Failed to spawn process: no keeper today"),
        (
            "default",
            "Error: the command could not be started: no keeper today",
        ),
    ] {
        let surroundings = Surroundings {
            cwd: home.workspace(),
            env: home.env(),
        };
        let missing = KeeperSource::Unavailable(NoKeeper::because("no keeper today"));
        let engine = Engine::new(Config::new(home.state()), surroundings, missing).unwrap();
        let reply = engine.run(Request::new("touch ran").profile(profile)).await;
        check_refused(&reply, text);
    }
    let records = records(&home);
    assert_eq!(records.len(), 4);
    let all_failed = records
        .iter()
        .all(|record| record.outcome == RecordedOutcome::Failed);
    assert!(all_failed, "{records:?}");
    assert!(!home.workspace().join("ran").exists());
}
