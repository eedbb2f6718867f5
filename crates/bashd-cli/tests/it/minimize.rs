//! `bashd minimize`: a pipe, JSON, the tests of filters.

use crate::{bashd, shown};
use bashd_testkit::Home;
use std::fs;

fn passed_tests() -> String {
    let lines = (0..60).map(|number| format!("test suite::case_{number} ... ok\n"));
    ["running 60 tests\n".to_owned()]
        .into_iter()
        .chain(lines)
        .chain(["test result: ok. 60 passed; 0 failed\n".to_owned()])
        .collect()
}

#[test]
fn noise_of_a_success_is_counted() {
    let home = Home::new();
    let run = bashd(
        &home,
        &["minimize", "--command", "cargo test", "--exit", "0"],
    )
    .stdin(passed_tests())
    .run();
    let expected = "running 60 tests\ntest result: ok. 60 passed; 0 failed\n[minimized: left out 60 passed; raw text has 62 lines]\n";
    assert_eq!((run.out().as_str(), run.code()), (expected, Some(0)));
}

#[test]
fn without_a_command_or_a_status_nothing_is_left_out() {
    let home = Home::new();
    for arguments in [
        &["minimize"][..],
        &["minimize", "--command", "cargo test"],
        &[
            "minimize",
            "--command",
            "cargo test",
            "--exit",
            "0",
            "--lossless",
        ],
    ] {
        let run = bashd(&home, arguments).stdin(passed_tests()).run();
        assert!(
            run.out().len() < passed_tests().len() && run.out().contains("59\n"),
            "{}",
            run.out()
        );
    }
}

#[test]
fn what_stays_as_it_is_stays_so_to_the_byte() {
    let home = Home::new();
    let bytes: Vec<u8> = (0..4000_u32)
        .map(|number| (number * 7919 % 251) as u8)
        .collect();
    let run = bashd(&home, &["minimize", "--command", "cat image.png"])
        .stdin(bytes.clone())
        .run();
    assert!(run.stdout == bytes, "{} bytes came out", run.stdout.len());
}

#[test]
fn json_says_why_a_text_stays() {
    let home = Home::new();
    let run = bashd(
        &home,
        &["minimize", "--json", "--command", "git status --porcelain"],
    )
    .stdin(passed_tests())
    .run();
    let object: serde_json::Value = serde_json::from_str(&run.out()).unwrap();
    assert_eq!(
        object["unchanged"],
        "the command was asked for machine-readable output"
    );
    assert_eq!(object["text"], passed_tests());
}

#[test]
fn filters_of_the_user_are_tested_and_used() {
    let home = Home::new();
    let path = home.root().join("filters.toml");
    let good = "schema_version = 1\n[filters.mine]\nmatch_command = \"^deploy$\"\nstrip_lines_matching = [\"^wait\"]\n\n[[tests.mine]]\nname = \"waits go\"\ninput = \"wait\\ndone\\n\"\nexpected = \"done\"\n";
    fs::write(&path, good).unwrap();
    let file = path.to_str().unwrap();
    let tested = shown(&home, &["minimize", "test", file]);
    assert_eq!(
        (tested.out().as_str(), tested.code()),
        ("tests: 1, problems: 0, filters usable: 1\n", Some(0))
    );

    let text = format!(
        "{}done\n",
        "wait a little longer\nfor number {}\n".repeat(60)
    );
    let setting = format!("shellMinimizer.settingsPath={file}");
    let run = bashd(
        &home,
        &[
            "minimize",
            "--set",
            &setting,
            "--command",
            "deploy up",
            "--exit",
            "0",
        ],
    )
    .stdin(text)
    .run();
    assert!(
        run.out()
            .ends_with("done\n[minimized: left out 60 lines; raw text has 121 lines]\n"),
        "{}",
        run.block()
    );

    fs::write(&path, good.replace("\"done\"", "\"other\"")).unwrap();
    let failed = shown(&home, &["minimize", "test", file]);
    assert_eq!(failed.code(), Some(1));
    assert!(failed.err().contains("waits go"), "{}", failed.block());
    assert_eq!(shown(&home, &["minimize", "test"]).code(), Some(125));
}
