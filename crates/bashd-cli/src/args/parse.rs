//! From the words of the command line to [`Cli`].
//!
//! All subcommands together have hundreds of options, and making them takes longer than anything else
//! that `bashd run` does before its shell starts. So a parser that knows `run` alone comes first. What
//! it does not take is left to the whole one, which also has the words for it.

use super::{Cli, Everywhere, Run, Subcommand};
use clap::{Args, Command, FromArgMatches, Parser};
use std::ffi::OsString;

impl Cli {
    /// Parses a command line, the program's name first.
    pub(crate) fn of(words: &[OsString]) -> Result<Self, clap::Error> {
        match run_alone(words) {
            Some(cli) => Ok(cli),
            None => Self::try_parse_from(words),
        }
    }
}

/// The command line, if it is a `run` and nothing is wrong with it.
fn run_alone(words: &[OsString]) -> Option<Cli> {
    if !words.iter().any(|word| word == "run") {
        return None;
    }
    let run = Run::augment_args(Command::default().name("run"));
    let bashd = Everywhere::augment_args(Command::default().name("bashd")).subcommand(run);
    let matches = bashd.try_get_matches_from(words).ok()?;
    let (_, of_run) = matches.subcommand()?;
    Some(Cli {
        everywhere: Everywhere::from_arg_matches(&matches).ok()?,
        subcommand: Subcommand::Run(Run::from_arg_matches(of_run).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        let words = line.split(' ').filter(|word| !word.is_empty());
        std::iter::once("bashd")
            .chain(words)
            .map(OsString::from)
            .collect()
    }

    #[test]
    fn what_the_small_parser_takes_the_whole_one_takes_alike() {
        for line in [
            "run true",
            "run --json true",
            "run -- --json",
            "run run",
            "--set a=b run --set c=d --color never true",
            "--config x run --config y true --profile voice",
            "run --env A=1 --env B=2 --timeout 3 --cwd /tmp true",
            "run --input {} --stdin - --pty --background --stdin-open",
            "run --on-timeout background --session s a b",
        ] {
            let words = words(line);
            let small = run_alone(&words).map(|cli| format!("{cli:?}"));
            let whole = Cli::try_parse_from(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(small, whole.ok(), "{line}");
            assert!(small.is_some(), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_or_another_subcommand_is_left_to_the_whole_parser() {
        for line in [
            "",
            "run",
            "run --help",
            "run --version",
            "help run",
            "run --no-such-flag true",
            "run --timeout never true",
            "run --input {} true",
            "log run",
            "schema --profile run",
            "man run",
        ] {
            let words = words(line);
            assert!(run_alone(&words).is_none(), "{line}");
            let (ours, whole) = (Cli::of(&words), Cli::try_parse_from(&words));
            let shown = |parsed: Result<Cli, clap::Error>| match parsed {
                Ok(cli) => format!("{cli:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown(ours), shown(whole), "{line}");
        }
    }
}
