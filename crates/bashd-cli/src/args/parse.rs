//! From the words of the command line to [`Cli`].
//!
//! All subcommands together have hundreds of options, and building them takes longer than anything
//! else that `bashd run` does before its shell starts, or a server before it answers. So a parser
//! that knows only one of these comes first. What it does not accept is left to the whole parser,
//! which also has the error messages. The shortest form of `run` needs neither.

use super::{
    Acp, Cli, Everywhere, Mcp, Rpc, RunOptions, Subcommand, TryOptions, examples, groups, suggest,
};
use clap::{Args, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

impl Cli {
    /// Parses a command line, the program's name first.
    pub(crate) fn of(words: &[OsString]) -> Result<Self, clap::Error> {
        match plain_run(words).or_else(|| alone(words)) {
            Some(cli) => Ok(cli),
            None => Self::whole(words),
        }
    }

    /// Parses by the whole parser, whose help has examples.
    fn whole(words: &[OsString]) -> Result<Self, clap::Error> {
        let command = groups::added(examples::added(Self::command()));
        let mended = |error| suggest::mended(error, &Self::command());
        let matches = command.try_get_matches_from(words).map_err(mended)?;
        Self::from_arg_matches(&matches)
    }
}

/// The command line, if it is `run COMMAND` with no option but `--json`.
fn plain_run(words: &[OsString]) -> Option<Cli> {
    let mut words = words.get(1..)?;
    let mut next_is = |name: &str| match words {
        [word, rest @ ..] if word == name => {
            words = rest;
            true
        }
        _ => false,
    };
    if !next_is("run") {
        return None;
    }
    let json = next_is("--json");
    let is_escaped = next_is("--");
    let first = words.first()?.as_encoded_bytes();
    if !is_escaped && first.starts_with(b"-") {
        return None;
    }
    Some(Cli {
        everywhere: Everywhere::default(),
        subcommand: Subcommand::Run(RunOptions {
            json,
            command: words.to_vec(),
            ..RunOptions::default()
        }),
    })
}

/// The command line, if its subcommand should start quickly and nothing is wrong with it.
fn alone(words: &[OsString]) -> Option<Cli> {
    let mut names = words.iter().skip(1).filter_map(|word| word.to_str());
    match names.find(|word| matches!(*word, "run" | "try" | "mcp" | "rpc" | "acp"))? {
        "run" => of(words, "run", Subcommand::Run as fn(RunOptions) -> _),
        "try" => of(words, "try", Subcommand::Try as fn(TryOptions) -> _),
        "mcp" => of(words, "mcp", Subcommand::Mcp as fn(Mcp) -> _),
        "rpc" => of(words, "rpc", Subcommand::Rpc as fn(Rpc) -> _),
        _ => of(words, "acp", Subcommand::Acp as fn(Acp) -> _),
    }
}

/// The command line, if it is for this subcommand.
fn of<A: Args>(words: &[OsString], name: &'static str, wrap: fn(A) -> Subcommand) -> Option<Cli> {
    let subcommand = A::augment_args(Command::default().name(name));
    let bashd = Everywhere::augment_args(Command::default().name("bashd")).subcommand(subcommand);
    let matches = bashd.try_get_matches_from(words).ok()?;
    let (_, of_subcommand) = matches.subcommand()?;
    Some(Cli {
        everywhere: Everywhere::from_arg_matches(&matches).ok()?,
        subcommand: wrap(A::from_arg_matches(of_subcommand).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

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
            "try --confine workspace+net npm install",
            "run --effects undoable true",
            "--set a=b run --set c=d --color never true",
            "--config x run --config y --profile voice true",
            "run --env A=1 --env B=2 --timeout 3 --cwd /tmp --on x true",
            "run --input {} --stdin - --pty --background --stdin-open",
            "run --on-timeout background --session s a b --json -- -x",
            "mcp",
            "run mcp",
            "mcp --http 0 --token none --allow-host a --allow-host b --wait-max 7",
            "--set a=b mcp --profile pi --cwd / --session s --safe-mode strict",
            "mcp --interceptor --tools read,search --config x",
            "rpc --socket x --linger 1",
            "acp --timeout 3 --color always",
        ] {
            let words = words(line);
            let small = alone(&words).map(|cli| format!("{cli:?}"));
            let whole = Cli::try_parse_from(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(small, whole.ok(), "{line}");
            assert!(small.is_some(), "{line}");
        }
    }

    #[test]
    fn a_run_without_options_is_what_the_whole_parser_makes_of_it() {
        for line in [
            "run true",
            "run run",
            "run help",
            "run --json true",
            "run -- --json",
            "run --json -- --",
            "run ls -la --json",
            "run a -- b",
            "run -- git --version",
            "run --json a --help",
        ] {
            let words = words(line);
            let plain = plain_run(&words).map(|cli| format!("{cli:?}"));
            let whole = Cli::try_parse_from(&words).map(|cli| format!("{cli:?}"));
            assert_eq!(plain, whole.ok(), "{line}");
            assert!(plain.is_some(), "{line}");
        }
        let empty = ["bashd", "run", ""].map(OsString::from);
        let whole = Cli::try_parse_from(&empty).unwrap();
        assert_eq!(
            format!("{:?}", plain_run(&empty).unwrap()),
            format!("{whole:?}")
        );
    }

    #[test]
    fn a_run_with_more_than_a_command_is_left_to_the_parsers() {
        for line in [
            "",
            "run",
            "run --",
            "run -",
            "run --json",
            "run --help",
            "run -la ls",
            "run --pty true",
            "--json run true",
            "log true",
        ] {
            assert!(plain_run(&words(line)).is_none(), "{line}");
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
            "mcp --help",
            "mcp run",
            "rpc extra",
            "mcp --token x",
            "acp --timeout never",
            "log mcp",
        ] {
            let words = words(line);
            assert!(alone(&words).is_none(), "{line}");
            let (ours, whole) = (Cli::of(&words), Cli::whole(&words));
            let shown = |parsed: Result<Cli, clap::Error>| match parsed {
                Ok(cli) => format!("{cli:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown(ours), shown(whole), "{line}");
        }
    }
}
