//! git in strict safe mode: its global options, its subcommand, and what is inserted.

use super::StepWord;
use super::git_table::SUBCOMMANDS;
use super::options::shown;
use super::policy::PolicyDenial;

/// Global options that only change how output looks.
const GLOBAL: &[&str] = &[
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--icase-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-advice",
];

/// What git itself says about itself; it does nothing else then.
const QUESTIONS: &[&str] = &[
    "--version",
    "-v",
    "--exec-path",
    "--html-path",
    "--man-path",
    "--info-path",
];

/// Second words that must stay second (`stash show`); elsewhere options may follow them as well.
const VERBS: &[&str] = &["show", "list"];

/// What the caller is told about global options that name another repository or other programs.
const NO_GLOBALS: &str =
    "git SUBCOMMAND without options before it; to use another directory, set cwd";

/// Judges the arguments of git, and adds those that keep the repository from starting programs.
pub(super) fn check(arguments: &[StepWord]) -> Result<Vec<StepWord>, PolicyDenial> {
    let is_global = |word: &StepWord| matches!(word, StepWord::Literal(text) if GLOBAL.contains(&text.as_str()));
    let globals = arguments.iter().take_while(|word| is_global(word)).count();
    let (before, rest) = arguments.split_at_checked(globals).unwrap_or_default();
    let (name, after) = match rest.split_first() {
        Some((StepWord::Literal(name), after)) => (name.as_str(), after),
        _ => return Err(PolicyDenial::new("git without a subcommand", accepted())),
    };
    if name == "--version" || QUESTIONS.contains(&name) && after.is_empty() {
        return Ok(arguments.to_vec());
    }
    if name.starts_with('-') {
        return Err(PolicyDenial::new(
            format!("git's option {name} before the subcommand"),
            NO_GLOBALS,
        ));
    }
    let row = SUBCOMMANDS.iter().find(|row| row.name == name);
    let row = row.ok_or_else(|| {
        PolicyDenial::new(
            format!("git {name}, which may change something"),
            accepted(),
        )
    })?;
    // A short text about its options.
    if matches!(after, [StepWord::Literal(only)] if only == "-h") {
        return Ok(arguments.to_vec());
    }
    if let Some(format) = after.iter().find(|word| asks_for_signature(word, name)) {
        return Err(PolicyDenial::new(
            format!("git {name} with {}, which starts gpg", shown(format)),
            "formats without %G and %(signature)",
        ));
    }
    let found = row.options.read(after).map_err(|what| {
        PolicyDenial::new(
            format!("git {name} with {what}"),
            "read-only options, spelled out in full",
        )
    })?;
    if let Some(check) = row.form {
        check(&found)
            .map_err(|form| PolicyDenial::new(format!("this form of git {name}"), form))?;
    }
    let inserted = row
        .inserted
        .iter()
        .map(|text| StepWord::Literal((*text).to_owned()));
    let has_verb =
        matches!(after.first(), Some(StepWord::Literal(word)) if VERBS.contains(&word.as_str()));
    let (verb, after) = after
        .split_at_checked(usize::from(has_verb))
        .unwrap_or_default();
    let mut words = before.to_vec();
    words.push(StepWord::Literal(name.to_owned()));
    words.extend_from_slice(verb);
    words.extend(inserted);
    words.extend_from_slice(after);
    Ok(words)
}

/// Whether it is a format that verifies signatures. With gpg switched off, it would say of each
/// that it can't be verified. A pattern of `git grep` is no format.
fn asks_for_signature(word: &StepWord, subcommand: &str) -> bool {
    let StepWord::Literal(text) = word else {
        return false;
    };
    let verifies = text.contains("%G") || text.contains("%(signature");
    verifies && subcommand != "grep" && !text.starts_with("--grep") && !text.starts_with("-S")
}

fn accepted() -> String {
    let names: Vec<&str> = SUBCOMMANDS.iter().map(|row| row.name).collect();
    format!("git with {}", names.join(", "))
}
