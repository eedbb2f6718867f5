//! Lists and messages at a terminal: the newest last, wrapped, in a pager, with the next step.

use crate::console::tmux::Tmux;
use crate::shown;
use bashd_testkit::{Home, loudly};
use serde_json::Value;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

#[test]
fn at_a_terminal_the_newest_is_last_wrapped_and_whose_it_is_is_said() {
    let home = Home::new();
    shown(&home, &["run", "echo first"]);
    let long = "echo alpha beta gamma delta epsilon zeta eta theta iota kappa lambda";
    shown(&home, &["run", long]);
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    tmux.line(&format!("clear; {BASHD} log"));
    let shown = tmux.until("bashd log show ID");
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    assert!(at("echo first") < at("echo alpha"), "{shown}");
    assert!(at("echo alpha") < at("lambda"), "wrapped, not cut: {shown}");
    assert!(
        shown.contains("cli:") && shown.contains(" · default · "),
        "{shown}"
    );
}

#[test]
fn a_list_that_does_not_fit_is_shown_in_the_pager() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 10)) else {
        return;
    };
    tmux.line(&format!(
        "clear; PAGER='sed s/^/paged:/ | head -n 3' {BASHD} rules"
    ));
    tmux.until("paged:profile default");
    tmux.line(&format!(
        "clear; PAGER='sed s/^/paged:/' {BASHD} config path; echo over"
    ));
    let short = tmux.until("over\n");
    assert!(!short.contains("paged:/"), "it fits: {short}");
    tmux.line(&format!(
        "clear; PAGER='sed s/^/paged:/' {BASHD} rules | tail -n 1; echo done"
    ));
    let piped = tmux.until("\ndone\n");
    let is_paged = piped.lines().any(|line| line.starts_with("paged:"));
    assert!(!is_paged, "what reads it is no terminal: {piped}");
}

#[test]
fn lists_break_between_words_in_narrow_terminals() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda";
    shown(&home, &["run", &format!("echo {words}; seq 1 20000")]);
    let job = format!("sleep 1; echo {words}");
    shown(&home, &["run", "--background", &job]);
    shown(&home, &["jobs", "wait", "bg_1"]);
    for columns in [60, 80] {
        let Some(tmux) = Tmux::shell(&home, (columns, 40)) else {
            return;
        };
        for list in ["log", "jobs list --all", "artifact list", "top --once"] {
            tmux.line(&format!("clear; PAGER=cat {BASHD} {list}; echo over"));
            let seen = tmux.until_that(list, |seen| {
                seen.contains("lambda") && seen.contains("\nover\n")
            });
            // A word that the terminal broke is not there any more.
            for word in words.split(' ') {
                assert!(seen.contains(word), "{list} at {columns}: {word}: {seen}");
            }
        }
    }
}

#[test]
fn texts_break_between_words_in_narrow_terminals() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let job = "echo alpha beta gamma delta epsilon zeta eta theta iota kappa lambda; exit 3";
    shown(&home, &["run", "--background", job]);
    shown(&home, &["jobs", "wait", "bg_1"]);
    // The newest call, whose reason is long; a command itself is shown as it was given.
    shown(&home, &["run", "git push --force origin main"]);
    for columns in [60, 80] {
        let Some(tmux) = Tmux::shell(&home, (columns, 150)) else {
            return;
        };
        for words in [
            &["doctor"][..],
            &["check", "git push --force"],
            &["log", "show"],
            &["jobs", "show", "bg_1"],
            &["--help"],
        ] {
            let piped = shown(&home, words).out();
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            tmux.line(&format!("clear; {BASHD} {}; echo over", quoted.join(" ")));
            let seen = tmux.until("\nover\n");
            // A word that the terminal broke is not there any more; numbers may have changed.
            let steady = |word: &&str| !word.contains(|one: char| one.is_ascii_digit());
            let is_short = |word: &&str| word.len() < 24;
            for word in piped.split_whitespace().filter(steady).filter(is_short) {
                assert!(
                    seen.contains(word),
                    "{words:?} at {columns}: {word}: {seen}"
                );
            }
        }
    }
}

#[test]
fn the_title_of_changes_fits_in_narrow_terminals() {
    let home = Home::new().keeping_in_state(&["changes"]);
    let tried = shown(&home, &["try", "echo x >new; echo y >other"]);
    if tried.code() != Some(0) {
        loudly("effects can't be held here: the list of changes is NOT tried");
        return;
    }
    for (columns, last) in [(60, "FILES"), (80, "COMMAND")] {
        let Some(tmux) = Tmux::shell(&home, (columns, 20)) else {
            return;
        };
        tmux.line(&format!("clear; {BASHD} changes; echo over"));
        let seen = tmux.until("\nover\n");
        let title = seen.lines().find(|line| line.starts_with("ID "));
        let title = title.unwrap_or_else(|| panic!("{seen}"));
        assert!(title.trim_end().ends_with(last), "{columns}: {seen}");
        assert!(seen.contains("+2 ~0 -0"), "{seen}");
    }
    shown(&home, &["changes", "prune", "--all"]);
}

#[test]
fn a_job_is_named_with_the_next_step_and_its_failure() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (90, 24)) else {
        return;
    };
    tmux.line(&format!("clear; {BASHD} run --background --pty 'exec cat'"));
    tmux.until_all(&[
        "job bg_1 · follow: bashd jobs follow bg_1",
        "bashd jobs attach bg_1",
    ]);
    tmux.line(&format!(
        "clear; {BASHD} run 'sleep 300 & true'; echo ov''er"
    ));
    let seen = tmux.until_all(&[
        "[left running as job bg_2:",
        "job bg_2 · follow: bashd jobs follow bg_2",
        "over",
    ]);
    assert!(!seen.contains("attach"), "nothing reads there: {seen}");
    tmux.line(&format!("clear; {BASHD} jobs list"));
    tmux.until_all(&["bg_1", "waiting", "cli:", "bashd jobs attach bg_1"]);
    tmux.line(&format!("clear; {BASHD} jobs kill bg_1 bg_2"));
    tmux.until_all(&["bashd jobs output bg_1", "bashd jobs output bg_2"]);
    tmux.line(&format!(
        "clear; {BASHD} run --background 'sleep 0.5; exit 7'; {BASHD} jobs wait bg_3"
    ));
    tmux.until("exit code 7");
    let red = tmux.run(&["capture-pane", "-p", "-e"]);
    let red = String::from_utf8(red.stdout).unwrap();
    let line = red.lines().find(|line| line.contains("exit code 7"));
    assert!(line.is_some_and(|line| line.contains("31m")), "{red}");
}

#[test]
fn an_end_that_is_not_the_commands_own_names_the_next_step() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (100, 24)) else {
        return;
    };
    for (words, next) in [
        ("--safe-mode strict 'touch x'", "bashd check COMMAND"),
        ("--timeout 1 'sleep 60'", "bashd run --timeout SECONDS"),
        ("--cwd /nowhere true", "bashd run --help"),
    ] {
        tmux.line(&format!("clear; {BASHD} run {words}"));
        tmux.until(next);
    }
    tmux.line(&format!("clear; {BASHD} run 'exit 3'; echo ov''er"));
    let own = tmux.until("over");
    assert!(!own.contains("bashd: "), "its own end: {own}");
}

#[test]
fn the_last_line_of_a_job_has_no_escapes_in_json_either() {
    let home = Home::new();
    let script = r"printf '\033]0;t\007\033[31mred\033[0m\033[2J end\n'; sleep 300";
    shown(&home, &["run", "--background", "--pty", script]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let job = loop {
        let listed = shown(&home, &["jobs", "--json"]).out();
        let job: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        if job["last_line"] != "" || std::time::Instant::now() > deadline {
            break job;
        }
    };
    assert_eq!(job["last_line"], "red end");
    shown(&home, &["jobs", "kill", "bg_1"]);
}
