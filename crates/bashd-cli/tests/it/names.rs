//! Help, manual pages and completions: examples, sections, names that only the state knows.

use crate::{bashd, shown};
use bashd_testkit::{Binary, Home, loudly, sources};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn help_and_manual_pages_have_examples_and_pages_their_sections() {
    let home = Home::new();
    let help = shown(&home, &["jobs", "attach", "--help"]).out();
    assert!(
        help.contains("Examples:\n  bashd jobs attach bg_1\n"),
        "{help}"
    );
    for words in [&["man"][..], &["man", "run"], &["man", "jobs", "attach"]] {
        let page = shown(&home, words).out();
        for section in ["FILES", "ENVIRONMENT", "EXIT STATUS"] {
            let title = format!(".SH \"{section}\"");
            assert!(page.contains(&title), "{words:?}: {section}");
        }
        let has_examples = page.contains(".SH EXAMPLES");
        assert_eq!(has_examples, words.len() > 1, "{words:?}");
    }
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["ini"]).block(), @r"
    --- stdout
    --- stderr
    error: unrecognized subcommand 'ini'

      tip: a similar subcommand exists: 'init'

    Usage: bashd [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- status
    exit 125
    ");
    let said = shown(&home, &["run", "--profile", "voic", "--json", "true"]);
    assert!(said.out().contains("voic"), "{}", said.block());
    let said = shown(&home, &["run", "--profile", "voic", "true"]).err();
    assert!(said.contains("did you mean voice?"), "{said}");
    let said = shown(&home, &["--set", "profile=voic", "run", "true"]).err();
    assert!(said.contains("did you mean voice?"), "{said}");
}

/// What the names are after these words.
fn names(home: &Home, words: &[&str]) -> String {
    let found = shown(home, &[&["complete", "--"], words].concat()).out();
    let names = found.lines().map(|line| line.split('\t').next().unwrap());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn completions_know_jobs_profiles_rules_keys_and_artifacts() {
    let home = Home::new();
    shown(&home, &["run", "--background", "sleep 300"]);
    shown(&home, &["run", "seq 1 20000"]);
    assert_eq!(names(&home, &["jobs", "kill", ""]), "bg_1");
    assert_eq!(names(&home, &["jobs", "rm", ""]), "");
    assert_eq!(names(&home, &["run", "--profile", "vo"]), "voice");
    assert_eq!(names(&home, &["rules", "no_mk"]), "no_mkfs");
    assert_eq!(names(&home, &["--set", "feed."]), "feed.enabled=");
    assert_eq!(names(&home, &["--set", "safe_mode=s"]), "safe_mode=strict");
    assert_eq!(
        names(&home, &["--set", "guard.disable", "=", "no_mk"]),
        "no_mkfs"
    );
    assert_eq!(names(&home, &["artifact", "read", ""]), "0");
    assert_eq!(names(&home, &["run", ""]), "");
    shown(&home, &["jobs", "kill", "bg_1"]);
}

/// What a shell says to a script that uses the completions.
fn in_shell(home: &Home, shell: &str, script: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let program = path
        .split(':')
        .map(|folder| Path::new(folder).join(shell))
        .find(|path| path.exists());
    let Some(program) = program else {
        loudly(&format!("{shell} is missing: its completions"));
        return None;
    };
    let own = Path::new(env!("CARGO_BIN_EXE_bashd")).parent().unwrap();
    let run = Binary::new(program.to_str().unwrap(), home)
        .args(["-c", script])
        .env("PATH", format!("{}:{path}", own.display()));
    Some(run.run().out())
}

#[test]
fn bash_completes_names_and_words() {
    let home = Home::new();
    shown(&home, &["run", "--background", "sleep 300"]);
    let script = "source <(bashd completions bash)
        COMP_WORDS=(bashd jobs kill ''); COMP_CWORD=3; _bashd_names bashd '' kill
        echo \"names: ${COMPREPLY[*]}\"
        COMP_WORDS=(bashd jobs ki); COMP_CWORD=2; _bashd_names bashd ki jobs
        echo \"words: ${COMPREPLY[*]}\"";
    if let Some(said) = in_shell(&home, "bash", script) {
        assert_eq!(said, "names: bg_1\nwords: kill\n");
    }
    shown(&home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn the_scripts_for_zsh_and_fish_are_scripts_and_ask_for_names() {
    let home = Home::new();
    for shell in ["zsh", "fish"] {
        let script = bashd(&home, &["completions", shell]).run().out();
        assert!(script.contains("bashd complete --"), "{shell}");
        if shell == "zsh" {
            assert!(script.contains("compdef _bashd_names bashd"), "{script}");
        }
        let check = format!("bashd completions {shell} | {shell} -n /dev/stdin && echo fine");
        let there = in_shell(&home, shell, "exit");
        if there.is_some() {
            assert_eq!(
                in_shell(&home, "bash", &check).unwrap(),
                "fine\n",
                "{shell}"
            );
        }
    }
}

#[test]
fn every_noun_of_the_glossary_has_one_row() {
    let page = std::fs::read_to_string(sources::root().join("docs/glossary.md")).unwrap();
    let (_, nouns) = page.split_once("## Nouns").unwrap();
    let mut seen = BTreeSet::new();
    let nouns = nouns
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let twice: Vec<&str> = nouns.filter(|noun| !seen.insert(*noun)).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(seen.len() > 100, "{}", seen.len());
}
