//! `bashd check`: verdicts for people and for programs, and that nothing runs.

use crate::{bashd, shown};
use bashd_testkit::Home;
use serde_json::{Value, json};

fn answer(home: &Home, arguments: &[&str]) -> (Option<i32>, Value) {
    let transcript = shown(home, &[&["check", "--json"], arguments].concat());
    let answer = serde_json::from_slice(&transcript.stdout);
    (
        transcript.code(),
        answer.unwrap_or_else(|_| panic!("{}", transcript.block())),
    )
}

#[test]
fn people_see_verdict_rule_reason_and_what_is_to_blame() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["check", "make && git push --force"]).block(), @r#"
    --- stdout
    deny by rule no_force_push
    permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force

      make && git push --force
              ^^^^^^^^^^^^^^^^
    --- stderr
    --- status
    exit 126
    "#);
    insta::assert_snapshot!(shown(&home, &["check", "make"]).block(), @r#"
    --- stdout
    allow
    --- stderr
    --- status
    exit 0
    "#);
}

#[test]
fn programs_get_one_object() {
    let home = Home::new();
    let (code, verdict) = answer(&home, &["touch X; git push -f"]);
    assert_eq!(code, Some(126));
    assert_eq!(verdict["verdict"], "deny");
    assert_eq!(verdict["rule"], "no_force_push");
    assert_eq!(verdict["span"], json!({ "start": 9, "end": 20 }));
    assert_eq!(verdict["commands"], json!(["touch", "git"]));
    assert!(!home.workspace().join("X").exists());
    let (code, verdict) = answer(&home, &["ls | wc"]);
    let expected =
        json!({ "verdict": "allow", "rule": null, "message": null, "commands": ["ls", "wc"] });
    assert_eq!((code, verdict), (Some(0), expected));
}

#[test]
fn safe_mode_interceptor_and_profile_can_be_chosen() {
    let home = Home::new();
    for (arguments, status) in [
        (&["--profile", "voice", "git push -f"][..], 0),
        (
            &["--profile", "voice", "--safe-mode", "compat", "git push -f"],
            0,
        ),
        (
            &["--profile", "voice", "--safe-mode", "compat", "echo hi"],
            126,
        ),
        (&["--safe-mode", "strict", "git push"], 126),
        (&["--safe-mode", "strict", "git log | head"], 0),
        (&["--set", "safe_mode=strict", "echo hi"], 126),
        (
            &["--set", "safe_mode=strict", "--safe-mode", "off", "echo hi"],
            0,
        ),
        (&["--interceptor", "--tools", "read,search", "cat f"], 126),
        (&["--interceptor", "--tools", "search", "cat f"], 0),
        (&["--interceptor", "cat f"], 0),
        (
            &[
                "--set",
                "bashInterceptor.enabled=true",
                "--tools",
                "read",
                "cat f",
            ],
            126,
        ),
        (&["--profile", "pi", "--tools", "read", "cat f"], 126),
        (
            &[
                "--set",
                "bashInterceptor.enabled=false",
                "--profile",
                "pi",
                "--tools",
                "read",
                "cat f",
            ],
            0,
        ),
    ] {
        let (code, verdict) = answer(&home, arguments);
        assert_eq!(code, Some(status), "{arguments:?}: {verdict}");
    }
    let (_, verdict) = answer(&home, &["--interceptor", "--tools", "read", "cat f"]);
    assert_eq!(verdict["suggested_tool"], "read");
    assert_eq!(verdict["rule"], "interceptor");
}

#[test]
fn lines_are_answered_one_by_one() {
    let home = Home::new();
    let questions = concat!(
        "{\"id\":1,\"command\":\"ls\"}\n",
        "{\"id\":\"b\",\"command\":\"rm -rf /\"}\n\n",
        "{\"id\":3,\"command\":\"cat f\",\"tools\":[\"read\"]}\n",
        "nonsense\n",
        "{\"id\":5}",
    );
    let transcript = bashd(&home, &["check", "--interceptor", "-"])
        .stdin(questions)
        .run();
    let answers: Vec<Value> = transcript
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let short: Vec<(&Value, &str, &Value)> = answers
        .iter()
        .map(|answer| {
            (
                &answer["id"],
                answer["verdict"].as_str().unwrap(),
                &answer["rule"],
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            (&json!(1), "allow", &Value::Null),
            (&json!("b"), "deny", &json!("no_dangerous_rm")),
            (&json!(3), "deny", &json!("interceptor")),
            (&Value::Null, "deny", &json!("input")),
            (&Value::Null, "deny", &json!("input")),
        ]
    );
    assert_eq!(transcript.code(), Some(126));
    let fine = bashd(&home, &["check", "-"])
        .stdin("{\"id\":1,\"command\":\"ls\"}\n")
        .run();
    assert_eq!(fine.code(), Some(0));
}

#[test]
fn run_takes_the_same_flags() {
    let home = Home::new();
    let refused = shown(
        &home,
        &[
            "run",
            "--profile",
            "voice",
            "--safe-mode",
            "compat",
            "touch X",
        ],
    );
    assert_eq!(
        (refused.code(), refused.out().as_str()),
        (Some(126), "Error: Command not allowed in safe mode")
    );
    assert!(!home.workspace().join("X").exists());
    let ran = shown(&home, &["run", "--safe-mode", "strict", "ls / | wc -l"]);
    assert_eq!(ran.code(), Some(0), "{}", ran.block());
    let turned_back = shown(
        &home,
        &["run", "--json", "--interceptor", "--tools", "read", "cat f"],
    );
    let reply: Value = serde_json::from_slice(&turned_back.stdout).unwrap();
    assert_eq!(reply["denied"]["suggested_tool"], "read");
    assert_eq!(turned_back.code(), Some(126));
}

#[test]
fn a_bad_rule_is_reported_by_doctor_and_skipped() {
    let home = Home::new();
    let config = "[[bashInterceptor.patterns]]\npattern = \"(\"\ntool = \"read\"\nmessage = \"no\"\n\n[[bashInterceptor.patterns]]\npattern = \"^make\"\ntool = \"build\"\nmessage = \"Use build.\"\n";
    std::fs::write(home.config().join("config.toml"), config).unwrap();
    let report: Value =
        serde_json::from_slice(&shown(&home, &["doctor", "--json"]).stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["name"] == "interceptor rules")
        .unwrap();
    assert_eq!(check["verdict"], "limited");
    assert!(
        check["finding"].as_str().unwrap().contains("\"(\""),
        "{check}"
    );
    let (code, verdict) = answer(&home, &["--interceptor", "--tools", "build", "make all"]);
    assert_eq!(code, Some(126));
    assert_eq!(
        verdict["message"],
        "Blocked: Use build.\n\nOriginal command: make all"
    );
    std::fs::write(
        home.config().join("config.toml"),
        "[[bashInterceptor.patterns]]\ntool = \"x\"\n",
    )
    .unwrap();
    let broken = shown(&home, &["check", "ls"]);
    assert_eq!(broken.code(), Some(125), "{}", broken.block());
}
