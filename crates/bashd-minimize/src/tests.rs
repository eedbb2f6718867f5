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
        "running 60 tests\n{}\ntest result: ok. 60 passed; 0 failed\n",
        passed_tests(60)
    );
    let digest = minimize(subject("cargo test", 0, &text), &FilterSettings::default()).unwrap();
    assert_eq!(
        digest.text,
        "running 60 tests\n\ntest result: ok. 60 passed; 0 failed\n[minimized: left out 60 passed; raw text has 63 lines]\n"
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
            rebuild(&digest.text).contains(&format!("test suite::case_{number} ... ok")),
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
        let lines = rebuild(&digest.text);
        assert!(
            lines.contains(&"test suite::case_59 ... ok".to_owned()),
            "{command}"
        );
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
    let lines = (0..100_u64).map(|number| {
        let one = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{one:x} is followed by {:x}\n", one.rotate_left(17))
    });
    let text = lines.collect::<Vec<_>>().concat();
    assert_eq!(
        minimize(subject("cargo run", 0, &text), &FilterSettings::default()),
        Err(Unchanged::NothingToSave)
    );
}

#[test]
fn the_exact_tier_alone_leaves_nothing_out() {
    let settings = FilterSettings {
        reach: Reach::Lossless,
        ..FilterSettings::default()
    };
    let text = format!("\x1b[32m{}\x1b[0m", passed_tests(60));
    let digest = minimize(subject("cargo test", 0, &text), &settings).unwrap();
    assert_eq!(digest.left_out, 0);
    assert!(digest.text.contains("59") && !digest.text.contains('\x1b'));
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
        "test suite::case_7 ... ok\n[minimized: left out 59 lines; raw text has 60 lines]\n"
    );
    assert_eq!(digest.filter, "mine");
}

#[test]
fn a_filter_that_panics_leaves_the_text_as_it_is() {
    let text = passed_tests(60);
    assert_eq!(
        minimize(
            subject("panicking-filter", 0, &text),
            &FilterSettings::default()
        ),
        Err(Unchanged::Panicked)
    );
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

/// A line with a name that is always kept stands in the text, whatever tool it is of and wherever
/// it stands.
#[test]
fn names_that_are_always_kept_pass_every_filter() {
    let commands = [
        "cargo build",
        "cargo test",
        "pytest -v",
        "go test -v ./...",
        "npx jest --verbose",
        "cmake --build out",
        "make",
        "terraform apply",
        "apt-get install -y x",
        "pip install x",
        "wget x",
        "curl -v -o x y",
        "journalctl -u x",
        "npm run x",
        "git push",
        "unknown",
    ];
    for command in commands {
        for name in names::cases() {
            let text = format!(
                "running 60 tests\n{}{name}\n{}\ntest result: ok. 60 passed; 0 failed\n",
                passed_tests(30),
                passed_tests(30)
            );
            let digest = minimize(subject(command, 0, &text), &FilterSettings::default()).unwrap();
            assert!(
                rebuild(&digest.text).contains(&name.to_owned()),
                "{command}: {name}"
            );
        }
    }
}
