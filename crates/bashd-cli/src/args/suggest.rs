//! What was probably meant by what clap refuses: a subcommand, a command to run, a number.

use super::{Cli, examples};
use crate::surroundings;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};
use std::ffi::OsString;

/// Words that people know from elsewhere, and what they are here.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("exec", "run"),
    ("sh", "run"),
    ("setup", "init"),
    ("install", "init"),
    ("history", "log"),
    ("logs", "log"),
    ("ps", "jobs"),
    ("ls", "list"),
    ("watch", "top"),
    ("status", "doctor"),
    ("settings", "config"),
    ("remove", "rm"),
    ("delete", "rm"),
    ("stop", "kill"),
    ("tail", "follow"),
    ("logs", "output"),
    ("cat", "read"),
    ("completion", "completions"),
    ("complete", "completions"),
    ("tui", "console"),
    ("shell", "console"),
    ("serve", "mcp"),
];

/// The error with a better suggestion, if there is one.
pub(super) fn mended(mut error: Error, whole: &Command) -> Error {
    if error.kind() == ErrorKind::ValueValidation && error.to_string().contains(NOT_A_NUMBER) {
        return with_tip(error, "give a whole number, such as 20");
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return with_example(error, whole);
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let unknown = unknown.clone();
    if cfg!(not(feature = "web")) && unknown == "web" {
        error.remove(ContextKind::SuggestedSubcommand);
        return with_tip(
            error,
            "this bashd was built without the page, which is the cargo feature `web`",
        );
    }
    let names: Vec<String> = siblings(&error, whole);
    error.remove(ContextKind::SuggestedSubcommand);
    let is_config = names.iter().any(|name| name == "reference");
    if is_config && matches!(&*unknown, "set" | "get" | "unset") {
        return with_tip(
            error,
            "bashd config edit opens the file, bashd config show has what counts; bashd --set KEY=VALUE … is for once",
        );
    }
    let meant = meant(&unknown, &names);
    if !meant.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(meant),
        );
    } else if names.iter().any(|name| name == "run") && is_a_program(&unknown) {
        return with_tip(error, &format!("to run a command: bashd run {unknown} …"));
    }
    error
}

/// What lists the things that a command wants the name of.
const LISTS: &[(&str, &str)] = &[
    ("artifact", "bashd artifact list"),
    ("changes", "bashd changes"),
    ("grants", "bashd grants"),
    ("jobs", "bashd jobs"),
    ("places", "bashd places"),
];

/// The error of a command that lacks what it is about, with an example, and with what lists those
/// that there are.
fn with_example(mut error: Error, whole: &Command) -> Error {
    let path = used(&error, whole).1.join(" ");
    let list = match (path.split_once(' '), path.as_str()) {
        (_, "undo") => Some("bashd changes"),
        (Some((above, _)), _) => {
            let list = LISTS.iter().find(|(name, _)| *name == above);
            list.map(|(_, list)| *list)
        }
        (None, _) => None,
    };
    let list = list.map(|list| format!("{list} lists them"));
    let example = examples::of(&path).first();
    let example = example.map(|example| format!("for example: {example}"));
    let tips: Vec<_> = list.into_iter().chain(example).collect();
    if !tips.is_empty() {
        let tips = tips.into_iter().map(StyledStr::from).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// What the standard library says of a text that is no number.
const NOT_A_NUMBER: &str = "invalid digit found in string";

fn with_tip(mut error: Error, tip: &str) -> Error {
    let tip = StyledStr::from(tip.to_owned());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    error
}

/// Whether a shell would find a program of this name.
fn is_a_program(name: &str) -> bool {
    let folders = surroundings::search_path();
    let is_word = !name.is_empty() && !name.contains('/');
    is_word && folders.iter().any(|folder| folder.join(name).is_file())
}

/// The subcommands that there are where the unknown one was typed.
fn siblings(error: &Error, whole: &Command) -> Vec<String> {
    let (command, _) = used(error, whole);
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    visible.map(|one| one.get_name().to_owned()).collect()
}

/// The command that the error is about, and its words.
fn used<'whole>(error: &Error, whole: &'whole Command) -> (&'whole Command, Vec<String>) {
    // The usage line names the command: `Usage: bashd jobs [OPTIONS]`. The program may have
    // another name.
    let text = error.render().to_string();
    let usage = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Usage: "));
    let (mut command, mut path) = (whole, Vec::new());
    for word in usage.unwrap_or_default().split_whitespace().skip(1) {
        match command.find_subcommand(word) {
            Some(found) => {
                command = found;
                path.push(found.get_name().to_owned());
            }
            None => break,
        }
    }
    (command, path)
}

/// The command that these words ask for, by its names: `bashd jobs send`.
pub(crate) fn asked_for(words: &[OsString]) -> String {
    let whole = Cli::command();
    let (mut command, mut path) = (&whole, "bashd".to_owned());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(found) => {
                command = found;
                path = format!("{path} {}", found.get_name());
            }
            // An option before the command may have a value.
            None if path.contains(' ') && !word.starts_with('-') => break,
            None => {}
        }
    }
    path
}

/// What was probably meant: a beginning, a word from elsewhere, or a slip of the fingers.
fn meant(unknown: &str, names: &[String]) -> Vec<String> {
    let unknown = unknown.to_lowercase();
    let begin: Vec<String> = names
        .iter()
        .filter(|name| unknown.len() > 1 && name.starts_with(&unknown))
        .cloned()
        .collect();
    if !begin.is_empty() {
        return begin;
    }
    let elsewhere = KNOWN_ELSEWHERE.iter().filter(|(word, _)| *word == unknown);
    let elsewhere = elsewhere.map(|(_, name)| (*name).to_owned());
    let elsewhere: Vec<String> = elsewhere.filter(|name| names.contains(name)).collect();
    if !elsewhere.is_empty() {
        return elsewhere;
    }
    let distance = |name: &String| strsim::damerau_levenshtein(&unknown, name);
    let most = 1 + unknown.chars().count() / 4;
    let near = names.iter().map(|name| (distance(name), name));
    let near: Vec<_> = near.filter(|(distance, _)| *distance <= most).collect();
    let least = near.iter().map(|(distance, _)| *distance).min();
    let nearest = near.into_iter().filter(|(far, _)| Some(*far) == least);
    nearest.map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_suggested_and_nothing_else() {
        let whole = Cli::command();
        let names = |command: &Command| {
            let names = command
                .get_subcommands()
                .map(|one| one.get_name().to_owned());
            names.collect::<Vec<_>>()
        };
        for (unknown, expected) in [
            ("ini", "init"),
            ("inti", "init"),
            ("confg", "config"),
            ("lgo", "log"),
            ("rn", "run"),
            ("chek", "check"),
            ("docter", "doctor"),
            ("artefact", "artifact"),
            ("history", "log"),
            ("install", "init"),
            ("exec", "run"),
            ("profile", "profiles"),
            ("consol", "console"),
            ("Run", "run"),
            ("zzzz", ""),
        ] {
            assert_eq!(
                meant(unknown, &names(&whole)).join(" "),
                expected,
                "{unknown}"
            );
        }
        let jobs = whole.find_subcommand("jobs").unwrap();
        for (unknown, expected) in [("lsit", "list"), ("kil", "kill"), ("stop", "kill")] {
            assert_eq!(
                meant(unknown, &names(jobs)).join(" "),
                expected,
                "{unknown}"
            );
        }
    }

    #[test]
    fn the_error_names_the_subcommand_of_the_same_command() {
        let error = |words: &[&str]| {
            let error = Cli::command().try_get_matches_from(words).unwrap_err();
            mended(error, &Cli::command()).to_string()
        };
        let said = error(&["bashd", "inti"]);
        assert!(
            said.contains("a similar subcommand exists: 'init'"),
            "{said}"
        );
        let said = error(&["bashd", "config", "set", "profile", "pi"]);
        assert!(said.contains("bashd config edit"), "{said}");
        let said = error(&["bashd", "jobs", "stop"]);
        assert!(said.contains("'kill'"), "{said}");
        let said = error(&["bashd", "bash"]);
        assert!(said.contains("bashd run bash …"), "{said}");
        let said = error(&["bashd", "jobs", "bash"]);
        assert!(!said.contains("bashd run"), "{said}");
    }

    #[test]
    fn the_command_that_is_asked_for_is_known_by_its_names() {
        for (line, expected) in [
            ("bashd", "bashd"),
            ("bashd jobs send bg_1 kill", "bashd jobs send"),
            ("bashd --config file check run", "bashd check"),
            ("bashd run --timeout 1 log show", "bashd run"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(asked_for(&words), expected, "{line}");
        }
    }

    #[test]
    fn a_number_that_is_none_says_what_is_right() {
        for words in [
            "log --limit x",
            "log --limit -1",
            "grants rm zzz",
            "jobs output bg_1 --tail x",
            "run --timeout -1 true",
            "run --timeout x true",
            "jobs wait bg_1 --timeout -3",
            "acp --timeout -3",
        ] {
            let words = ["bashd"].into_iter().chain(words.split(' '));
            let words: Vec<&str> = words.collect();
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            let said = mended(error, &Cli::command()).to_string();
            let is_clear = ["a whole number", "a number of seconds", "can't be negative"];
            assert!(is_clear.iter().any(|text| said.contains(text)), "{said}");
            assert!(!said.contains("'-- -"), "{said}");
        }
    }
}
