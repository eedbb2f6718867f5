//! The binary without its cargo features: each can be left out, and who asks for what is missing is
//! told so. It is built for that, so only `./test --with features` does it.

use bashd_testkit::{Binary, Home, loudly};
use std::path::{Path, PathBuf};
use std::process::Command;

const FEATURES: &[&str] = &["index", "otlp", "web"];

/// Has cargo check or build the binary with these features alone, without a warning.
fn cargo(verb: &str, features: &[&str]) -> PathBuf {
    // Not beside the binary of the other tests, which it would replace.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("features");
    let output = Command::new(env!("CARGO"))
        .args([verb, "--locked", "-p", "bashd-cli", "--no-default-features"])
        .args(["--features", &features.join(",")])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let is_clean = output.status.success() && !told.contains("warning:");
    assert!(is_clean, "{verb} with {features:?} alone:\n{told}");
    target.join("debug/bashd")
}

#[test]
fn each_feature_can_be_left_out_and_what_is_missing_is_said() {
    if std::env::var_os("BASHD_TEST_FEATURES").is_none() {
        return loudly("builds without a feature: NOT tested here (./test --with features does)");
    }
    for missing in FEATURES {
        let others: Vec<&str> = FEATURES
            .iter()
            .copied()
            .filter(|it| it != missing)
            .collect();
        cargo("check", &others);
    }
    let program = cargo("build", &[]);
    let home = Home::new();
    let run = |words: &[&str]| Binary::new(&program, &home).args(words).run();
    for (words, missing) in [
        (&["web"][..], "web"),
        (&["web", "--open"], "web"),
        (
            &["--set", "otlp.endpoint=http://127.0.0.1:4318", "rpc"],
            "otlp",
        ),
        (
            &["--set", "otlp.endpoint=http://127.0.0.1:4318", "mcp"],
            "otlp",
        ),
    ] {
        let transcript = run(words);
        assert_eq!(transcript.code(), Some(125), "{}", transcript.err());
        let said = format!("feature `{missing}`");
        assert!(transcript.err().contains(&said), "{}", transcript.err());
    }
    assert!(!run(&["--help"]).out().contains("web"));
    // Without the index past calls are found by reading the ledger.
    run(&["run", "echo one"]);
    run(&["run", "echo other"]);
    let found = run(&["log", "OTHER", "--larger", "1", "--json"]).out();
    assert!(
        found.contains("echo other") && !found.contains("echo one"),
        "{found}"
    );
    assert!(!home.state().join("ledger/index.db").exists());
    home.finish();
}
