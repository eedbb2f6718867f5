//! `bashd complete`: names that only the state directory knows, for the completions of shells.
//!
//! The shells' scripts hand over the words so far and get one candidate a line, a tab and what it
//! is. Nothing is printed where the script's own words will do.

use crate::args::Cli;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::for_people::{cut, one_line};
use crate::print::Printer;
use crate::profiles;
use crate::settings::ConfigInForce;
use bashd::artifact::ArtifactStore;
use bashd::changes::ChangeStore;
use bashd::config::{KEYS, ValueKind};
use bashd::guard::RULES;
use bashd::jobs::{FarJobs, Jobs, Whose};
use bashd::ledger::{Ledger, RecordQuery};
use clap::{Arg, CommandFactory};

/// Calls that are offered.
const CALLS: usize = 30;

/// Columns of a description.
const WIDTH: usize = 60;

/// A name and what it is.
type NamedCandidate = (String, String);

/// What can stand at the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedNames {
    Jobs(JobChoice),
    Profiles,
    Rules,
    /// `KEY=`.
    Keys,
    Artifacts,
    Calls,
    Changes,
    Places,
    Agents,
}

/// Which jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobChoice {
    All,
    Running,
    Ended,
}

/// Prints what can stand where the last of these words is.
pub(crate) fn complete(
    words: &[String],
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let (before, current) = match words {
        [before @ .., current] => (before, current.as_str()),
        [] => return Ok(ExitStatus::Success),
    };
    let mut page = printer.page();
    for (name, about) in candidates(before, current, settings) {
        if name.starts_with(current) {
            page.line(format_args!("{name}\t{}", cut(&one_line(&about), WIDTH)))?;
        }
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}

fn candidates(before: &[String], current: &str, settings: &ConfigInForce) -> Vec<NamedCandidate> {
    if let Some(values) = values_of_key(before, current, settings) {
        return values;
    }
    match wanted(before) {
        None => Vec::new(),
        Some(WantedNames::Profiles) => {
            let names = profiles::names(settings).into_iter();
            names.map(|name| (name, String::new())).collect()
        }
        Some(WantedNames::Rules) => {
            let rules = RULES.iter();
            rules
                .map(|rule| (rule.name.to_owned(), rule.denies.to_owned()))
                .collect()
        }
        Some(WantedNames::Keys) => {
            let keys = KEYS.iter();
            keys.map(|key| (format!("{}=", key.name), key.meaning.to_owned()))
                .collect()
        }
        Some(WantedNames::Jobs(choice)) => jobs(choice, settings),
        Some(WantedNames::Places) => {
            let places = settings.config.places.iter();
            let told = places.map(|place| (place.name.clone(), place.kind.name().to_owned()));
            told.collect()
        }
        Some(WantedNames::Agents) => crate::init::agent_names(),
        Some(WantedNames::Artifacts) => {
            let stored = ArtifactStore::of(&settings.config).list();
            let stored = stored.unwrap_or_default().into_iter();
            stored
                .map(|summary| (summary.id.to_string(), summary.run))
                .collect()
        }
        Some(WantedNames::Changes) => {
            let changes = ChangeStore::in_state(&settings.config.state_dir)
                .list()
                .unwrap_or_default();
            let changes = changes.iter();
            changes
                .map(|change| (change.id().to_owned(), change.command().to_owned()))
                .collect()
        }
        Some(WantedNames::Calls) => {
            let ledger = Ledger::new(settings.config.ledger, settings.config.ledger_dir());
            let records = ledger.read(RecordQuery::default()).into_iter().flatten();
            let records = records.flatten().take(CALLS);
            records.map(|record| (record.id, record.command)).collect()
        }
    }
}

fn jobs(choice: JobChoice, settings: &ConfigInForce) -> Vec<NamedCandidate> {
    let jobs = Jobs::new(&settings.config).list(Whose::Everybody);
    let wanted = jobs.into_iter().filter(|job| match choice {
        JobChoice::All => true,
        JobChoice::Running => job.state.is_alive(),
        JobChoice::Ended => !job.state.is_alive(),
    });
    let here = wanted.map(|job| (job.name.unwrap_or(job.alias), job.command));
    let there = FarJobs::of(&settings.config).list().into_iter();
    let there = there.filter(|job| match choice {
        JobChoice::All => true,
        JobChoice::Running => job.is_alive,
        JobChoice::Ended => false,
    });
    here.chain(there.map(|job| (job.alias, job.command)))
        .collect()
}

/// What a word after these can be, if only we know.
fn wanted(before: &[String]) -> Option<WantedNames> {
    if let Some(last) = before.last() {
        match last.as_str() {
            "--profile" => return Some(WantedNames::Profiles),
            "--set" => return Some(WantedNames::Keys),
            "--on" => return Some(WantedNames::Places),
            _ => {}
        }
    }
    let names = subcommands(before);
    let mut names = names.iter().copied();
    match (names.next()?, names.next()) {
        ("jobs", Some("show" | "output" | "follow" | "screen" | "rename")) => {
            Some(WantedNames::Jobs(JobChoice::All))
        }
        ("jobs", Some("attach" | "wait" | "send" | "kill")) => {
            Some(WantedNames::Jobs(JobChoice::Running))
        }
        ("jobs", Some("rm")) => Some(WantedNames::Jobs(JobChoice::Ended)),
        ("artifact", Some("read" | "rm")) => Some(WantedNames::Artifacts),
        ("log", Some("show")) | ("replay" | "export", None) => Some(WantedNames::Calls),
        ("rules", None) => Some(WantedNames::Rules),
        ("init", _) => Some(WantedNames::Agents),
        ("places", Some("check")) => Some(WantedNames::Places),
        ("undo", None) | ("changes", Some("show" | "apply" | "discard" | "undo")) => {
            Some(WantedNames::Changes)
        }
        _ => None,
    }
}

/// The words that are neither options nor their values.
fn subcommands(words: &[String]) -> Vec<&str> {
    let mut command = Cli::command();
    command.build();
    let mut at = &command;
    let mut names = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-') else {
            names.push(word.as_str());
            at = at.find_subcommand(word).unwrap_or(at);
            continue;
        };
        let is_it = |argument: &&Arg| match option.strip_prefix('-') {
            Some(long) => argument.get_long() == Some(long),
            None => argument
                .get_short()
                .is_some_and(|short| option == short.to_string()),
        };
        let known = at.get_arguments().find(is_it);
        if known.is_some_and(|argument| argument.get_action().takes_values()) {
            words.next();
        }
    }
    names
}

/// The values that `--set KEY=` can be followed by. bash hands over `KEY`, `=` and the value as
/// words of their own, other shells as one.
fn values_of_key(
    before: &[String],
    current: &str,
    settings: &ConfigInForce,
) -> Option<Vec<NamedCandidate>> {
    let (key, prefix) = match before {
        [.., set, key, equals] if set == "--set" && equals == "=" => (key.as_str(), String::new()),
        [.., set, key] if set == "--set" && current == "=" => (key.as_str(), "=".to_owned()),
        [.., set] if set == "--set" => {
            let (key, _) = current.split_once('=')?;
            (key, format!("{key}="))
        }
        _ => return None,
    };
    let words: Vec<String> = match key {
        "profile" => profiles::names(settings),
        "guard.enable" | "guard.disable" => RULES.iter().map(|rule| rule.name.to_owned()).collect(),
        _ => match KEYS.iter().find(|known| known.name == key)?.kind {
            ValueKind::Choice(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            ValueKind::Switch => vec!["true".to_owned(), "false".to_owned()],
            ValueKind::ProfileOrSwitch => ["profile", "true", "false"].map(str::to_owned).to_vec(),
            _ => return None,
        },
    };
    let candidates = words
        .into_iter()
        .map(|word| (format!("{prefix}{word}"), String::new()));
    Some(candidates.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_names_are_wanted_is_known() {
        for (line, expected) in [
            ("jobs kill", Some(WantedNames::Jobs(JobChoice::Running))),
            (
                "jobs kill bg_1",
                Some(WantedNames::Jobs(JobChoice::Running)),
            ),
            ("jobs rm", Some(WantedNames::Jobs(JobChoice::Ended))),
            ("jobs", None),
            ("run --profile", Some(WantedNames::Profiles)),
            ("run --on", Some(WantedNames::Places)),
            ("places check", Some(WantedNames::Places)),
            ("run", None),
            ("--set", Some(WantedNames::Keys)),
            ("artifact read", Some(WantedNames::Artifacts)),
            ("log show", Some(WantedNames::Calls)),
            ("rules", Some(WantedNames::Rules)),
            ("replay --speed 2", Some(WantedNames::Calls)),
            (
                "--config file jobs kill",
                Some(WantedNames::Jobs(JobChoice::Running)),
            ),
            (
                "--set a=b jobs --color never kill",
                Some(WantedNames::Jobs(JobChoice::Running)),
            ),
            ("--config=file log show", Some(WantedNames::Calls)),
            ("--config jobs kill", None),
            ("undo", Some(WantedNames::Changes)),
            ("changes apply", Some(WantedNames::Changes)),
            ("init", Some(WantedNames::Agents)),
            ("init codex", Some(WantedNames::Agents)),
            ("", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(wanted(&words), expected, "{line}");
        }
    }
}
