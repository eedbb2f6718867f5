//! Real agents, set up by `bashd init`: their files before and after, that their models reach
//! bashd, and that no hook of theirs fails open.
//!
//! `tests/agents/setups.py` drives them, with a scripted model on loopback. An agent that is not
//! installed (`./test --with agents`) is said, and not tested.

use super::agents::target_with;
use super::peers::{in_home, output};
use bashd_testkit::{Home, repeat};
use serde_json::Value;
use std::path::Path;

/// What the cases of an agent showed.
fn seen(agent: &str, cases: &[&str]) -> Option<Value> {
    let target = target_with(agent)?;
    let home = Home::new().keeping_in_state(&["init", "runs", "artifacts"]);
    // Agents leave files where they like.
    let scratch = home.workspace().join("tmp");
    std::fs::create_dir_all(&scratch).unwrap();
    let mut driver = in_home(Path::new("python3"), &home);
    driver.env("AGENTS_TARGET", target);
    driver.env("PYTHONDONTWRITEBYTECODE", "1");
    driver.env("TMPDIR", scratch);
    driver.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/setups.py"));
    driver
        .args([agent, env!("CARGO_BIN_EXE_bashd")])
        .args(cases);
    driver.arg("--").arg(home.workspace());
    let told = output(driver);
    Some(serde_json::from_str(&told).unwrap_or_else(|_| panic!("{agent}: {told}")))
}

/// Asserts that the agent's model reaches bashd, that its hook decides, and that it blocks if it
/// can't.
fn assert_set_up(agent: &str) {
    let broken: &[&str] = if repeat::is_soak() {
        &["missing", "killed", "slow"]
    } else {
        &["missing"]
    };
    let cases = [&["both"], broken].concat();
    let Some(seen) = seen(agent, &cases) else {
        return;
    };
    let reads = |at: usize| seen["both"]["results"][at]["text"].to_string();
    let ran = |case: &str| seen[case]["ran"].clone();
    // The driver compares the files.
    let expected = Value::from(vec![true, true, false, false]);
    assert_eq!(ran("both"), expected, "{agent}: {seen}");
    for (at, text) in [
        (0, "by bashd"),
        (2, "deploys: this deploys"),
        (3, "releases: this releases"),
    ] {
        assert!(reads(at).contains(text), "{agent}: {seen}");
    }
    for case in broken {
        assert_eq!(
            ran(case),
            Value::from(vec![false]),
            "{agent}, {case}: {seen}"
        );
    }
}

/// Cline gives a task up when a hook cancels one of its calls, so nothing comes after a denial.
#[test]
fn cline_is_set_up_and_as_before() {
    let Some(seen) = seen("cline", &["both", "asks", "missing"]) else {
        return;
    };
    let ran = |case: &str| seen[case]["ran"].clone();
    assert_eq!(ran("both"), Value::from(vec![true, true, false]), "{seen}");
    let first = seen["both"]["results"][0]["text"].to_string();
    assert!(first.contains("by bashd"), "{seen}");
    for case in ["asks", "missing"] {
        assert_eq!(ran(case), Value::from(vec![false]), "{case}: {seen}");
    }
}

#[test]
fn claude_code_is_set_up_and_as_before() {
    assert_set_up("claude-code");
}

#[test]
fn codex_is_set_up_and_as_before() {
    assert_set_up("codex");
}

#[test]
fn gemini_is_set_up_and_as_before() {
    assert_set_up("gemini");
}

#[test]
fn opencode_is_set_up_and_as_before() {
    assert_set_up("opencode");
}

#[test]
fn qwen_is_set_up_and_as_before() {
    assert_set_up("qwen");
}
