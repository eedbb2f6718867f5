//! The interceptor: its defaults on data, rules of the user's own, and that nothing runs.

use bashd::Request;
use bashd::guard::interceptor::{Interceptor, InterceptorRule, PatternScope};
use bashd::guard::{Gate, Judgement, Verdict};
use bashd::rewrite::Command;
use bashd_testkit::Home;
use serde::Deserialize;
use std::fs;
use std::path::Path;

const ALL: [&str; 5] = ["read", "search", "find", "edit", "write"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    allow: Vec<String>,
    deny: Vec<Blocked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocked {
    command: String,
    tool: String,
}

fn cases() -> Cases {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../bashd-script/tests/cases/guard/interceptor/defaults.toml");
    toml::from_str(&fs::read_to_string(path).expect("the cases")).expect("well-formed cases")
}

fn judged(rules: &[InterceptorRule], tools: &[&str], command: &str) -> Judgement {
    let gate = Gate {
        interceptor: Some(Interceptor::new(rules)),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        ..Gate::default()
    };
    gate.judge(&Command::as_given(command))
}

fn rule(pattern: &str, flags: &str) -> InterceptorRule {
    InterceptorRule {
        pattern: pattern.to_owned(),
        flags: flags.to_owned(),
        tool: "read".to_owned(),
        message: "use it".to_owned(),
        scope: PatternScope::Text,
    }
}

#[test]
fn the_defaults_judge_their_cases_right() {
    let cases = cases();
    let mut wrong = Vec::new();
    for Blocked { command, tool } in &cases.deny {
        let judgement = judged(&[], &ALL, command);
        if judgement.suggested_tool.as_ref() != Some(tool) {
            wrong.push(format!(
                "must go to {tool}, not {:?}: {command}",
                judgement.suggested_tool
            ));
        }
        let others: Vec<&str> = ALL.into_iter().filter(|known| known != tool).collect();
        let without = judged(&[], &others, command).suggested_tool;
        // A command may offend twice (`cat > f`), but never for a tool that the caller lacks.
        assert_ne!(without.as_ref(), Some(tool), "{command}");
    }
    for command in &cases.allow {
        if let Some(tool) = judged(&[], &ALL, command).suggested_tool {
            wrong.push(format!("must run, but goes to {tool}: {command}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(cases.allow.len() >= 50 && cases.deny.len() >= 50);
}

#[test]
fn without_tools_nothing_is_turned_back() {
    for Blocked { command, .. } in cases().deny {
        assert_eq!(
            judged(&[], &[], &command).verdict,
            Verdict::Allow,
            "{command}"
        );
    }
}

#[tokio::test]
async fn what_is_turned_back_does_not_run_and_names_the_tool() {
    let home = Home::new();
    fs::write(home.workspace().join("f"), "text").expect("a file");
    let engine = crate::engine_under_test::engine(&home);
    let command = "touch X && cat f";
    let reply = engine
        .run(Request::new(command).profile("voice").intercept_for(ALL))
        .await;
    let message = "Blocked: Use the `read` tool instead of cat/head/tail. It provides better context and handles binary files.\n\nOriginal command: touch X && cat f";
    assert_eq!(reply.text, format!("Error: {message}"));
    let denied = reply.denied.expect("a denial");
    assert_eq!(
        (denied.rule.as_str(), denied.message.as_str()),
        ("interceptor", message)
    );
    assert_eq!(denied.suggested_tool.as_deref(), Some("read"));
    assert!(!home.workspace().join("X").exists());
    let reply = engine
        .run(Request::new(command).intercept_for(["search"]))
        .await;
    assert_eq!(reply.output, "text");
    let reply = engine.run(Request::new(command)).await;
    assert_eq!(reply.output, "text", "it is off by default");
}

#[test]
fn rules_of_the_users_own_replace_the_defaults() {
    let own = [rule("^MAKE ", "i"), rule("a && b", "")];
    for (command, is_blocked) in [
        ("make all", true),
        ("cat f", false),
        ("x; make all", true),
        ("a && b", true),
        ("a; b", false),
        ("cd d && make x", true),
    ] {
        let judgement = judged(&own, &ALL, command);
        assert_eq!(judgement.verdict != Verdict::Allow, is_blocked, "{command}");
    }
}

#[test]
fn a_bad_rule_is_skipped_and_told() {
    let rules = [
        rule("(", ""),
        rule("x", "q"),
        rule("(?<!a", ""),
        rule("^make ", ""),
        // Valid in JavaScript, where such rules come from.
        rule("^(?!ok )run(?=.*--watch)", ""),
    ];
    let interceptor = Interceptor::new(&rules);
    let bad: Vec<&str> = interceptor
        .bad_rules()
        .iter()
        .map(|rule| rule.pattern.as_str())
        .collect();
    assert_eq!(bad, ["(", "x", "(?<!a"]);
    assert_eq!(interceptor.len(), 2);
    assert_ne!(judged(&rules, &ALL, "make all").verdict, Verdict::Allow);
    assert_ne!(
        judged(&rules, &ALL, "run x --watch").verdict,
        Verdict::Allow
    );
    assert_eq!(judged(&rules, &ALL, "run x").verdict, Verdict::Allow);
}
