//! The rules of trust on texts of our own; recorded texts are in the integration tests.

use super::*;

fn subject<'a>(command: &'a str, exit: i32, text: &'a str) -> Subject<'a> {
    Subject {
        command,
        exit: Some(exit),
        text,
    }
}

fn passed_tests(count: usize) -> String {
    let lines = (0..count).map(|number| format!("test suite::case_{number} ... ok\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn success_counts_noise_and_says_so() {
    let text = format!(
        "{}\ntest result: ok. 60 passed; 0 failed\n",
        passed_tests(60)
    );
    let digest = minimize(subject("cargo test", 0, &text), &FilterSettings::default()).unwrap();
    assert_eq!(
        digest.text,
        "test result: ok. 60 passed; 0 failed\n[minimized: left out 60 passed; layout removed]\n"
    );
    assert_eq!((digest.left_out, digest.filter.as_str()), (60, "cargo"));
}

#[test]
fn failure_lists_what_success_counts() {
    let text = format!(
        "{}test b ... FAILED\nerror: x\n1\n2\n3\n4\n5\n6\n",
        passed_tests(60)
    );
    let digest = minimize(
        subject("cargo test", 101, &text),
        &FilterSettings::default(),
    )
    .unwrap();
    for number in 0..60 {
        assert!(
            digest.text.contains(&format!("case_{number}")),
            "{}",
            digest.text
        );
    }
    assert!(
        digest
            .text
            .contains("test b ... FAILED\nerror: x\n1\n2\n3\n4\n5\n6\n")
    );
    assert_eq!(digest.left_out, 0);
}

#[test]
fn a_masked_status_is_no_success() {
    let text = passed_tests(60);
    for command in [
        "cargo test | tail -n 100",
        "cargo test; echo $?",
        "cargo test || true",
    ] {
        let digest = minimize(subject(command, 0, &text), &FilterSettings::default()).unwrap();
        assert_eq!(digest.left_out, 0, "{command}");
        assert!(digest.text.contains("case_59"), "{command}");
    }
}

#[test]
fn short_long_and_minimized_texts_stay() {
    let settings = FilterSettings {
        max_bytes: 2000,
        ..FilterSettings::default()
    };
    let text = passed_tests(40);
    assert_eq!(
        minimize(subject("cargo test", 0, "x"), &settings),
        Err(Unchanged::Short)
    );
    assert_eq!(
        minimize(subject("cargo test", 0, &passed_tests(100)), &settings),
        Err(Unchanged::Long)
    );
    let again = format!("{text}[minimized: x]\n");
    assert_eq!(
        minimize(subject("cargo test", 0, &again), &settings),
        Err(Unchanged::Minimized)
    );
}

#[test]
fn only_and_except_are_kept_to() {
    let text = passed_tests(60);
    let with = |only: &[&str], except: &[&str]| FilterSettings {
        only: only.iter().map(|&name| name.to_owned()).collect(),
        except: except.iter().map(|&name| name.to_owned()).collect(),
        ..FilterSettings::default()
    };
    let run = |settings: &FilterSettings| minimize(subject("cargo test", 0, &text), settings);
    assert!(run(&with(&["cargo"], &[])).is_ok());
    assert_eq!(run(&with(&["git"], &[])), Err(Unchanged::Excluded));
    assert_eq!(run(&with(&["cargo"], &["Cargo"])), Err(Unchanged::Excluded));
}

#[test]
fn nothing_is_saved_on_text_without_noise() {
    let lines = (0..100).map(|number| format!("{number} is a number of its own kind\n"));
    let text = lines.collect::<Vec<_>>().concat();
    assert_eq!(
        minimize(subject("cargo run", 0, &text), &FilterSettings::default()),
        Err(Unchanged::NothingToSave)
    );
}

#[test]
fn the_lossless_tier_alone_leaves_nothing_out() {
    let settings = FilterSettings {
        reach: Reach::Lossless,
        ..FilterSettings::default()
    };
    let text = format!("\x1b[32m{}\x1b[0m", passed_tests(60));
    let digest = minimize(subject("cargo test", 0, &text), &settings).unwrap();
    assert_eq!(digest.left_out, 0);
    assert!(digest.text.contains("case_59") && !digest.text.contains('\x1b'));
}

#[test]
fn a_user_filter_comes_first() {
    let toml = "schema_version = 1\n[filters.mine]\nmatch_command = \"^cargo$\"\nkeep_lines_matching = [\"case_7 \"]\n";
    let settings = FilterSettings {
        user_filters: user::UserFilters::load(toml).filters,
        ..FilterSettings::default()
    };
    let text = passed_tests(60);
    let digest = minimize(subject("cargo test", 0, &text), &settings).unwrap();
    assert_eq!(
        digest.text,
        "test suite::case_7 ... ok\n[minimized: left out 59 lines]\n"
    );
    assert_eq!(digest.filter, "mine");
}

#[test]
fn a_filter_that_panics_leaves_the_text_as_it_is() {
    let text = passed_tests(60);
    for exit in [0, 1] {
        assert_eq!(
            minimize(
                subject("panicking-filter", exit, &text),
                &FilterSettings::default()
            ),
            Err(Unchanged::Panicked)
        );
    }
    // And the next text is unaffected.
    assert!(minimize(subject("cargo test", 0, &text), &FilterSettings::default()).is_ok());
}

#[test]
fn a_filter_that_works_too_long_leaves_the_text_as_it_is() {
    for count in [60, 20_000] {
        let text = passed_tests(count);
        assert_eq!(
            minimize(
                subject("endless-filter", 0, &text),
                &FilterSettings::default()
            ),
            Err(Unchanged::TooMuchWork)
        );
    }
}
