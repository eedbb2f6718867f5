//! `bashd check`: verdicts for people and for programs, and that nothing runs.

use crate::{bashd, shown};
use bashd_testkit::{Home, sources};
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
    ask by rule no_force_push
    this push overwrites or deletes branches that others may have. Use git push --force-with-lease, or push without force

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
    let (code, verdict) = answer(
        &home,
        &["touch X; git push -f; cd /; f() { ls; }; f; mkfs /dev/sdz"],
    );
    assert_eq!(code, Some(126));
    assert_eq!(verdict["verdict"], "deny");
    assert_eq!(verdict["rule"], "no_mkfs");
    assert_eq!(verdict["span"], json!({ "start": 44, "end": 57 }));
    assert!(
        verdict["instead"]
            .as_str()
            .unwrap()
            .starts_with("Use an image"),
        "{verdict}"
    );
    // Every objection, the worst first; programs only.
    let short: Vec<(&str, &str, &Value)> = verdict["objections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["rule"].as_str().unwrap(),
                it["decision"].as_str().unwrap(),
                &it["span"]["start"],
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            ("no_mkfs", "deny", &json!(44)),
            ("no_force_push", "ask", &json!(9))
        ]
    );
    assert_eq!(verdict["commands"], json!(["touch", "git", "ls", "mkfs"]));
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
        "{\"id\":5}\n",
        "{\"id\":6,\"command\":\"ls\\u0000\"}\n",
        "{\"id\":7,\"command\":\" \\u00a0\"}",
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
            (&json!(6), "deny", &json!("script_readable")),
            (&json!(7), "deny", &json!("input")),
        ]
    );
    assert_eq!(transcript.code(), Some(126));
    let fine = bashd(&home, &["check", "-"])
        .stdin("{\"id\":1,\"command\":\"ls\"}\n")
        .run();
    assert_eq!(fine.code(), Some(0));
}

#[test]
fn rules_are_listed_with_what_is_on_why_and_an_example() {
    let home = Home::new();
    let list = |arguments: &[&str]| -> Vec<Value> {
        let transcript = shown(&home, &[&["rules", "--json"], arguments].concat());
        serde_json::from_slice(&transcript.stdout)
            .unwrap_or_else(|_| panic!("{}", transcript.block()))
    };
    let find = |rules: &[Value], name: &str| {
        let rule = rules.iter().find(|rule| rule["rule"] == name);
        rule.cloned().unwrap_or_else(|| panic!("no {name}"))
    };
    let rules = list(&[]);
    let add = find(&rules, "no_blind_git_add");
    assert_eq!(add["on"], false);
    assert!(
        add["why"].as_str().unwrap().contains("guard.enable"),
        "{add}"
    );
    assert!(rules.iter().filter(|rule| rule["on"] == true).count() > 20);
    for rule in &rules {
        // Its own example shows what it objects to.
        let example = rule["example"].as_str().unwrap();
        let enable = format!("guard.enable={}", rule["rule"].as_str().unwrap());
        let (code, verdict) = answer(&home, &["--profile", "voice", "--set", &enable, example]);
        assert_eq!(
            (code, &verdict["rule"]),
            (Some(126), &rule["rule"]),
            "{example}"
        );
    }
    let phoenix = list(&["--profile", "phoenix"]);
    let on: Vec<&Value> = phoenix
        .iter()
        .filter(|rule| rule["on"] == true)
        .map(|rule| &rule["rule"])
        .collect();
    assert_eq!(on, ["no_blind_git_add", "no_force_push", "no_dangerous_rm"]);
    assert!(
        find(&phoenix, "no_force_push")["message"]
            .as_str()
            .unwrap()
            .starts_with("permission denied: git push --force")
    );
    let voice = list(&["--profile", "voice", "--set", "guard.rules=default"]);
    assert_eq!(find(&voice, "no_mkfs")["why"], "guard.rules = \"default\"");
    let page = shown(&home, &["rules"]).out();
    assert!(
        page.contains("on  no_dangerous_rm") && page.contains("example: rm -rf ~"),
        "{page}"
    );
}

/// The page's table is what `bashd rules` prints: the same rules in the same order, what each is
/// about, and where it is on.
#[test]
fn the_page_about_the_guard_says_of_each_rule_what_bashd_rules_prints() {
    let home = Home::new();
    let list = |profile: &str| -> Vec<Value> {
        let transcript = shown(&home, &["rules", "--json", "--profile", profile]);
        serde_json::from_slice(&transcript.stdout)
            .unwrap_or_else(|_| panic!("{}", transcript.block()))
    };
    let of_profiles = ["default", "phoenix"].map(|profile| (profile, list(profile)));
    let [(_, of_default), _] = &of_profiles;
    let expected: Vec<String> = of_default
        .iter()
        .enumerate()
        .map(|(place, rule)| {
            let about = rule["about"].as_str().unwrap().replace('|', "\\|");
            let is_on = |rules: &[Value]| rules[place]["on"] == true;
            let on = of_profiles.iter().filter(|(_, rules)| is_on(rules));
            let on: Vec<String> = on.map(|(profile, _)| format!("`{profile}`")).collect();
            let name = rule["rule"].as_str().unwrap();
            format!("| `{name}` | {about} | {} |", on.join(", "))
        })
        .collect();
    let page = sources::text("docs/guard.md").unwrap();
    let told: Vec<&str> = page.lines().filter(|it| it.starts_with("| `no_")).collect();
    assert_eq!(told, expected);
    for profile in ["claude-code", "codex", "gemini", "openhands"] {
        let on = |rules: &[Value]| rules.iter().map(|it| it["on"].clone()).collect::<Vec<_>>();
        assert_eq!(on(&list(profile)), on(of_default), "{profile}");
    }
}

#[test]
fn a_profile_without_rules_says_so_once() {
    let home = Home::new();
    let run = |arguments: &[&str]| shown(&home, &[&["run"], arguments, &["true"]].concat()).err();
    let first = run(&["--profile", "voice"]);
    assert!(
        first.contains("has no rules of its own") && first.contains("guard.rules = \"default\""),
        "{first}"
    );
    assert_eq!(run(&["--profile", "voice"]), "", "it is said once");
    assert!(run(&["--profile", "harness"]).contains("the profile harness"));
    assert_eq!(
        run(&["--profile", "pi", "--set", "guard.rules=default"]),
        ""
    );
    assert_eq!(run(&["--profile", "phoenix"]) + &run(&[]), "");
}

/// Each server on a state of its own, with a client that is gone at once.
#[test]
fn servers_say_once_that_a_profile_has_no_rules() {
    for server in ["mcp", "rpc", "acp"] {
        let home = Home::new();
        let serve = |profile: &str| {
            let transcript = bashd(&home, &[server, "--profile", profile])
                .stdin("")
                .run();
            transcript.err().matches("has no rules of its own").count()
        };
        assert_eq!([serve("voice"), serve("voice")], [1, 0], "{server}");
        assert_eq!([serve("default"), serve("phoenix")], [0, 0], "{server}");
        assert_eq!(serve("harness"), 1, "{server}: each profile has its own");
    }
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

/// Odd blanks, a project elsewhere, what a shell would read otherwise than it is written.
#[test]
fn check_refuses_in_safe_mode_what_run_refuses() {
    let home = Home::new();
    let odd = [
        "ls\u{a0}-la",
        "git\u{b}status",
        "ls \u{2028}x",
        "ls\0 -la",
        "xcodebuild test -project /other/A.xcodeproj -scheme A",
    ];
    for command in odd {
        let question = json!({ "id": 1, "command": command }).to_string();
        let input = json!({ "command": command }).to_string();
        let asked = bashd(&home, &["check", "--safe-mode", "strict", "-"]).stdin(question + "\n");
        let ran = bashd(&home, &["run", "--safe-mode", "strict", "--input", "-"]).stdin(input);
        let asked = asked.run();
        assert_eq!(asked.code(), Some(126), "{command:?}: {}", asked.block());
        let ran = ran.run();
        let is_refused = matches!(ran.code(), Some(125 | 126));
        assert!(is_refused, "{command:?}: {}", ran.block());
    }
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
