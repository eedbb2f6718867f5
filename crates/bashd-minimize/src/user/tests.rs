//! User filters: their stages in order, their tests, and what is refused.

use super::*;

const GOOD: &str = r#"
schema_version = 1
except = ["git"]

[filters.deploy]
description = "our deployment tool"
match_command = "^deploy$"
match_subcommand = "^(up|down)$"
replace = [{ pattern = '\b[0-9a-f]{40}\b', replacement = "<hash>" }]
match_output = [{ pattern = "all hosts done", message = "all hosts done", unless = "failed" }]
strip_lines_matching = ["^waiting", "^$"]
truncate_lines_at = 20
head_lines = 2
tail_lines = 1

[[tests.deploy]]
name = "waits are stripped, lines are cut"
input = "waiting 1\nhost a is a host with a long name\nb\nc\nd\n"
expected = "host a is a host wit…[+13]\nb\n… 1 line left out …\nd\n"

[[tests.deploy]]
name = "success in a line"
input = "x\nall hosts done\n"
expected = "all hosts done"

[[tests.deploy]]
name = "a failure keeps its trouble"
input = "waiting for error: disk full and more words\na\nb\nfailed: host c\nd\ne\n"
expected = "waiting for error: disk full and more words\na\n… 1 line left out …\nfailed: host c\n… 1 line left out …\ne\n"
exit = 1
"#;

#[test]
fn a_good_file_is_loaded_and_its_tests_pass() {
    let loaded = UserFilters::load(GOOD);
    assert_eq!(loaded.problems, Vec::<String>::new());
    assert_eq!((loaded.tests, loaded.except), (3, vec!["git".to_owned()]));
    assert_eq!(loaded.filters.names().collect::<Vec<_>>(), ["deploy"]);
}

#[test]
fn a_filter_that_fails_its_own_test_is_not_used() {
    let loaded =
        UserFilters::load(&GOOD.replace("expected = \"all hosts done\"", "expected = \"ok\""));
    assert!(loaded.filters.is_empty());
    assert!(
        loaded.problems[0].contains("success in a line"),
        "{:?}",
        loaded.problems
    );
}

#[test]
fn mistakes_are_named() {
    for (text, said) in [
        ("schema_version = 2", "schema_version is 2"),
        (
            "schema_version = 1\n[filters.a]\nmatch_command = \"(\"",
            "filter `a`",
        ),
        (
            "schema_version = 1\n[filters.a]\nmatch_command = \"a\"\nstrip = 1",
            "unknown field",
        ),
        (
            "schema_version = 1\n[filters.a]\nmatch_command = \"a\"\nstrip_lines_matching = [\"a\"]\nkeep_lines_matching = [\"b\"]",
            "cannot be used together",
        ),
        (
            "schema_version = 1\n[[tests.b]]\nname = \"x\"\ninput = \"\"\nexpected = \"\"",
            "no such filter",
        ),
        ("nonsense", "schema_version"),
    ] {
        let loaded = UserFilters::load(text);
        assert!(loaded.filters.is_empty(), "{text}");
        assert!(
            loaded
                .problems
                .iter()
                .any(|problem| problem.contains(said) || text == "nonsense"),
            "{text}: {:?}",
            loaded.problems
        );
    }
}

#[test]
fn other_tables_are_passed_over() {
    let loaded = UserFilters::load("schema_version = 1\n[git]\nlimit = 3\n");
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
}
