//! Rewriting: which commands are touched, on data, and that they still mean what was written,
//! against bash.

use crate::engine_under_test::engine_without_sessions as engine;
use bashd::output::line_limits::LineLimits;
use bashd::rewrite::{self, Command};
use bashd::{Engine, Profile, Reply, Request};
use bashd_testkit::Home;
use bashd_testkit::repeat::repetitions;
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CdCases {
    #[serde(default)]
    lifted: Vec<Lifted>,
    #[serde(default)]
    kept: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lifted {
    command: String,
    directory: String,
    to_run: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitCases {
    #[serde(default)]
    taken: Vec<Taken>,
    #[serde(default)]
    kept: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    command: String,
    cwd: Option<String>,
    own_head: Option<u64>,
    own_tail: Option<u64>,
    to_run: String,
    head: Option<u64>,
    tail: Option<u64>,
}

fn cases<T: for<'de> Deserialize<'de>>(file: &str, group: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bashd-script/tests/cases/rewrite");
    let text = fs::read_to_string(path.join(file)).expect("a file of cases");
    let mut groups: BTreeMap<String, T> = toml::from_str(&text).expect("well-formed cases");
    groups.remove(group).expect("a group of that name")
}

fn rewritten(request: &Request) -> Command {
    let pi = Profile::builtin("pi").expect("it loads").expect("pi");
    rewrite::apply(&pi.rewrite, request)
}

fn check_cd(group: &str) {
    let cases: CdCases = cases("leading_cd.toml", group);
    assert!(cases.lifted.len() + cases.kept.len() > 0);
    for case in cases.lifted {
        let command = rewritten(&Request::new(&case.command));
        let cd = command
            .leading_cd
            .unwrap_or_else(|| panic!("not lifted: {}", case.command));
        assert_eq!(cd.directory, case.directory, "{}", case.command);
        assert_eq!(command.to_run, case.to_run, "{}", case.command);
        assert_eq!(format!("{}{}", cd.text, command.to_run), case.command);
        assert_eq!(command.given, case.command);
        let elsewhere = rewritten(&Request::new(&case.command).cwd("/x"));
        assert_eq!(
            (elsewhere.leading_cd, elsewhere.to_run),
            (None, case.command)
        );
    }
    for text in cases.kept {
        let command = rewritten(&Request::new(&text));
        assert_eq!((command.leading_cd, command.to_run), (None, text));
    }
}

fn check_limits(group: &str) {
    let cases: LimitCases = cases("trailing_limits.toml", group);
    assert!(cases.taken.len() + cases.kept.len() > 0);
    for case in cases.taken {
        let mut request = Request::new(&case.command);
        (request.head, request.tail) = (case.own_head, case.own_tail);
        request.cwd = case.cwd.map(Into::into);
        let command = rewritten(&request);
        assert_eq!(command.to_run, case.to_run, "{}", case.command);
        let expected = LineLimits::new(case.head, case.tail);
        assert_eq!(command.lines, expected, "{}", case.command);
    }
    for text in cases.kept {
        let command = rewritten(&Request::new(&text));
        let limits = LineLimits::default();
        let whole = command.leading_cd.map_or_else(String::new, |cd| cd.text) + &command.to_run;
        assert_eq!((command.lines, whole), (limits, text));
    }
}

#[test]
fn pi_tokenize_bare_cd() {
    check_cd("bare");
}

#[test]
fn pi_tokenize_quoted_and_escaped() {
    check_cd("quoted_and_escaped");
}

#[test]
fn pi_tokenize_escaped_newline_refused() {
    check_cd("newline");
}

#[test]
fn pi_tokenize_tilde_kept() {
    check_cd("tilde");
}

#[test]
fn pi_tokenize_and_without_blanks() {
    check_cd("without_blanks");
}

#[test]
fn pi_tokenize_redirect_refused() {
    check_cd("redirect");
}

#[test]
fn pi_tokenize_extra_argument_refused() {
    check_cd("extra_argument");
}

#[test]
fn pi_tokenize_expansion_refused() {
    check_cd("expansion");
}

#[test]
fn pi_tokenize_no_and_refused() {
    check_cd("no_and");
}

#[test]
fn pi_tokenize_no_target_refused() {
    check_cd("no_target");
}

#[test]
fn pi_tokenize_unterminated_quote_refused() {
    check_cd("unterminated");
}

#[test]
fn pi_tokenize_a_list_in_the_background_stays() {
    check_cd("background");
}

#[test]
fn pi_normalize_extracts_counts() {
    check_limits("extracts_counts_of_tail");
    check_limits("keeps_head_in_the_pipeline");
}

#[test]
fn pi_normalize_explicit_arguments_win() {
    check_limits("explicit_arguments_win");
    check_limits("replaces_the_count_of_head");
}

#[test]
fn pi_normalize_spaces_round_the_pipe() {
    check_limits("spaces_round_the_pipe");
}

#[test]
fn pi_normalize_not_mid_pipeline() {
    check_limits("not_mid_pipeline");
}

#[test]
fn pi_normalize_not_without_count() {
    check_limits("not_without_count");
}

#[test]
fn pi_normalize_not_bytes_nor_other_options() {
    check_limits("not_bytes_and_other_options");
}

#[test]
fn pi_normalize_inner_whitespace_and_here_documents_kept() {
    check_limits("inner_text_is_kept");
    check_limits("here_documents_are_kept");
}

#[test]
fn pi_normalize_quoted_and_nested_text_kept() {
    check_limits("quoted_and_nested_text_is_kept");
}

#[test]
fn pi_normalize_other_output_is_not_hidden() {
    check_limits("other_output_is_kept");
    check_limits("silent_builtins_may_stand_before");
}

#[tokio::test]
async fn nothing_that_the_session_calls_cat_is_taken_for_it() {
    let home = Home::new();
    let engine = engine(&home);
    let pi = |command: &str| engine.run(Request::new(command).profile("pi"));
    pi("cat() { echo hijacked; }; alias cat='echo aliased'; export -f cat").await;
    let reply = pi("seq 5 | tail -n 2").await;
    assert_eq!((&*reply.output, reply.exit_code), ("4\n5\n", Some(0)));
    let reply = pi("set -o pipefail; (seq 5; exit 3) | tail -n 1").await;
    assert_eq!((&*reply.output, reply.exit_code), ("5\n", Some(3)));
}

#[tokio::test]
async fn limits_hold_for_the_whole_output_not_for_the_window() {
    let home = Home::new();
    let engine = engine(&home);
    let run = async |command: &str, head, tail| {
        let mut request = Request::new(command).profile("pi");
        (request.head, request.tail) = (head, tail);
        engine.run(request).await
    };
    // Far more than the window shows.
    let reply = run("seq 1000000", Some(2), None).await;
    assert_eq!(
        (reply.output.as_str(), reply.exit_code),
        ("1\n2\n", Some(0))
    );
    assert_eq!(reply.output_lines, 1_000_000);
    let reply = run("seq 1000000 | tail -n 2", None, None).await;
    assert_eq!(reply.output, "999999\n1000000\n");
    assert_eq!(reply.output_lines, 1_000_000, "everything is kept");
    let reply = run("printf 'a\\nb'", Some(1), None).await;
    assert_eq!(reply.output, "a\n");
    assert!(reply.text.contains("[Showing lines 1-1 of 2."), "{reply:?}");
    let reply = run("seq 1000000", Some(1000), Some(3)).await;
    assert_eq!(reply.output, "998\n999\n1000\n");
    let reply = run("yes | head -n 5", None, None).await;
    assert_eq!(
        (reply.output.as_str(), reply.exit_code),
        ("y\ny\ny\ny\ny\n", Some(0))
    );
    assert_eq!(reply.output_lines, 5, "yes was ended by head");
    let reply = run("yes | head -n 50000", Some(2), None).await;
    assert_eq!((reply.output.as_str(), reply.output_lines), ("y\ny\n", 2));
    run("alias cat='cat -n'", None, None).await;
    let reply = run("seq 5 | tail -n 2", None, None).await;
    assert_eq!(reply.output, "4\n5\n", "not what `cat` is an alias of");
    let reply = run("false | tail -n 1", None, None).await;
    assert_eq!(reply.exit_code, Some(0), "the status stays as written");
    let reply = run("set -o pipefail; (seq 3; exit 7) | tail -n 1", None, None).await;
    assert_eq!((reply.output.as_str(), reply.exit_code), ("3\n", Some(7)));
}

#[tokio::test]
async fn a_lifted_cd_goes_where_bash_would() {
    let home = Home::new();
    let engine = engine(&home);
    let workspace = home.workspace();
    prepare(&workspace);
    for command in [
        "cd 'a b' && pwd",
        "cd link && pwd; pwd -P",
        "cd link/.. && pwd",
        "cd ./sub//deep/../ && pwd && echo \"$OLDPWD\"",
        "cd sub && cd - && pwd",
        "cd sub && echo \"$PWD\"; env | grep -E '^(OLD)?PWD='",
    ] {
        check_same(&home, &engine, command).await;
    }
    let reply = engine
        .run(Request::new("cd nowhere && touch ran; touch ran").profile("pi"))
        .await;
    let missing = workspace.join("nowhere");
    let text = format!("Working directory does not exist: {}", missing.display());
    assert_eq!((reply.text, reply.is_error), (text, true));
    assert!(!workspace.join("ran").exists());
    fs::create_dir(home.home().join("in home")).expect("a directory");
    let reply = engine
        .run(Request::new("cd ~/in\\ home && pwd").profile("pi"))
        .await;
    let expected = home.home().join("in home");
    assert_eq!(reply.output, format!("{}\n", expected.display()));
}

fn prepare(workspace: &Path) {
    for directory in ["a b", "sub/deep", "it's"] {
        fs::create_dir_all(workspace.join(directory)).expect("a directory");
    }
    std::os::unix::fs::symlink("sub/deep", workspace.join("link")).expect("a link");
    for (file, text) in [("five", "1\n2\n3\n4\n5"), ("sub/deep/two", "x\ny\n")] {
        fs::write(workspace.join(file), text).expect("a file");
    }
}

/// Runs a command under `pi` and under plain bash: what is shown and the status must be equal.
async fn check_same(home: &Home, engine: &Engine, command: &str) {
    let expected = std::process::Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .stdin(Stdio::null())
        .output()
        .expect("plain bash");
    let reply: Reply = engine.run(Request::new(command).profile("pi")).await;
    assert_eq!(
        (reply.output, reply.exit_code),
        (
            String::from_utf8_lossy(&expected.stdout).into_owned(),
            expected.status.code()
        ),
        "{command}"
    );
}

/// Commands with and without what is rewritten, none of which writes to stderr past its pipe, or
/// goes on writing, line by line, to a `head` that has seen enough: whether SIGPIPE meets that is a
/// matter of luck.
fn commands() -> impl Strategy<Value = String> {
    let directory = prop_oneof![
        Just(""),
        Just("cd sub && "),
        Just("cd 'a b' && "),
        Just("cd \"it's\"&&"),
        Just("cd a\\ b && "),
        Just(" cd link && "),
        Just("cd ./link/.. && "),
        Just("cd nowhere 2>/dev/null && "),
        Just("cd $PWD && "),
        Just("set -o pipefail; "),
        Just("x=5; cd sub && "),
    ];
    let source = prop_oneof![
        Just("seq 12"),
        Just("printf 'a\\nb\\n\\nc'"),
        Just("pwd"),
        Just("cat five"),
        Just("cat <<E\n one\n\ttwo | tail -n 1\nE"),
        Just("{ pwd; echo x; exit 3; }"),
        Just("(seq 3; false)"),
        Just("for i in a b c; do echo $i; done"),
        Just("while read -r l; do echo \"<$l>\"; done < <(seq 3)"),
        Just("true"),
        Just("! seq 3"),
        Just("echo 'x | tail -n 1'"),
        Just("seq 30 | tail -n 20 | sort -r"),
        Just("yes 2>/dev/null"),
    ];
    let limiter = prop_oneof![Just(" | head -n 3"), Just("|head -2"), Just(" | head -n 1"),];
    let bounded = prop_oneof![
        Just(" | tail -n 3"),
        Just("|tail -2"),
        Just(" |& tail -n 1 "),
        Just(" | tail --lines=4"),
        Just(" | tail -n 2 | tail -n 1"),
        Just(" | tail -n 3 | head -n 2"),
        Just(" | head -n 3"),
        Just(" | head -4 | tail -n 1"),
        Just(""),
    ];
    let more = prop_oneof![
        4 => Just(""),
        1 => Just("; pwd"),
        1 => Just(" && echo \"$PWD\""),
        1 => Just(" || pwd"),
        1 => Just("\nseq 4 | tail -n 2"),
        1 => Just(" & wait; pwd"),
        1 => Just("; exit 4"),
        1 => Just("; echo ${PIPESTATUS[0]}"),
    ];
    (directory, source, limiter, bounded, more).prop_map(
        |(directory, source, limiter, bounded, more)| {
            // What never ends must have a head; the others may have.
            let (stages, more) = match source {
                "yes 2>/dev/null" => (format!("{limiter}{bounded}"), more),
                here if here.contains("<<") => (String::new(), ""),
                _ => (bounded.to_owned(), more),
            };
            format!("{directory}{source}{stages}{more}")
        },
    )
}

#[test]
fn a_rewritten_command_means_what_was_written() {
    let home = Home::new();
    prepare(&home.workspace());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let engine = runtime.block_on(async { engine(&home) });
    let cases = u32::try_from(repetitions(2000)).expect("a small number");
    let mut runner = TestRunner::new(Runs {
        cases,
        failure_persistence: None,
        ..Runs::default()
    });
    runner
        .run(&commands(), |command| {
            runtime.block_on(check_same(&home, &engine, &command));
            Ok(())
        })
        .expect("every command means what was written");
}
