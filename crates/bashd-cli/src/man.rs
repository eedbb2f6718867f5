//! `bashd man`: the manual pages, made from the command line's own description.

use crate::args::{Cli, examples};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use clap::{Command, CommandFactory};
use std::fmt::Write;

/// Where bashd's files are.
const FILES: &[(&str, &str)] = &[
    (
        "~/.config/bashd/config.toml",
        "the configuration (bashd config path)",
    ),
    ("~/.config/bashd/profiles/NAME.toml", "profiles of your own"),
    (
        "~/.local/state/bashd/ledger/",
        "a record of every call, one file a month",
    ),
    ("~/.local/state/bashd/runs/", "jobs and stored output"),
    ("~/.local/state/bashd/feed/", "what happens now"),
    (
        "~/.local/state/bashd/grants.jsonl",
        "what was allowed for good",
    ),
];

/// Which variables mean something.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "BASHD_HOME",
        "a directory for all of bashd's files, instead of those above",
    ),
    ("BASHD_CONFIG", "the configuration file to read"),
    (
        "BASHD_KEY",
        "the value of a configuration key, for example BASHD_PROFILE or BASHD_SPOOL_HEAD_BYTES",
    ),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME",
        "where the directories above are",
    ),
    ("NO_COLOR, CLICOLOR_FORCE", "whether colors are used"),
    (
        "PAGER",
        "the program in which long lists are shown at a terminal; cat for none",
    ),
    ("VISUAL, EDITOR", "the editor of bashd config edit"),
    (
        "BASHD_RUN",
        "set for commands in some profiles: the id of their run",
    ),
];

/// What the exit statuses mean.
const STATUSES: &[(&str, &str)] = &[
    (
        "0",
        "done; run: the command exited with 0, or continues as a job",
    ),
    (
        "1",
        "doctor: something that bashd needs is missing; init: something was left undone; jobs wait, jobs screen: a job ended before the condition was met; minimize test: a filter fails its test; log --verify: a record is altered or missing",
    ),
    ("2", "hook: the tool call is blocked"),
    (
        "123",
        "map: an item failed or is lost, or some did not begin",
    ),
    (
        "124",
        "run: the deadline ended the command; jobs wait, jobs screen: the condition was not met in time",
    ),
    (
        "125",
        "bashd failed, or the request or the usage was invalid",
    ),
    ("126", "run, check: a rule denied the command"),
    ("130", "run: Ctrl-C ended the command"),
    ("128+N", "run: signal N ended the command"),
    ("any other", "run: the command's own status"),
];

/// Prints the page of bashd, or of one subcommand.
pub(crate) fn man(subcommand: &[String], printer: &Printer) -> Result<ExitStatus, Failure> {
    let mut command = without_help(Cli::command());
    command.build();
    let mut page = command;
    for name in subcommand {
        page = find(&page, name)?;
    }
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut roff)
        .map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    let mut text = String::from_utf8_lossy(&roff).into_owned();
    let lines = examples::of(&subcommand.join(" "));
    if !lines.is_empty() {
        text.push_str(".SH EXAMPLES\n");
        for line in lines {
            // A string takes any text.
            let _ = writeln!(text, ".PP\n.nf\n{}\n.fi", escaped(line));
        }
    }
    section(&mut text, "FILES", FILES);
    section(&mut text, "ENVIRONMENT", ENVIRONMENT);
    section(&mut text, "EXIT STATUS", STATUSES);
    printer.out(&text)?;
    Ok(ExitStatus::Success)
}

/// Without the subcommands `help`, of which there are no pages.
fn without_help(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect();
    let command = command.disable_help_subcommand(true);
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, without_help)
    })
}

fn section(text: &mut String, title: &str, rows: &[(&str, &str)]) {
    // A string takes any text.
    let _ = writeln!(text, ".SH \"{title}\"");
    for (name, meaning) in rows {
        let _ = writeln!(text, ".TP\n{}\n{}", escaped(name), escaped(meaning));
    }
}

/// Text that roff takes as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        return format!("\\&{text}");
    }
    text
}

fn find(command: &Command, name: &str) -> Result<Command, Failure> {
    command.find_subcommand(name).cloned().ok_or_else(|| {
        let shown = command
            .get_subcommands()
            .filter(|known| !known.is_hide_set());
        let names: Vec<&str> = shown.map(Command::get_name).collect();
        Failure::new(
            FailureKind::Usage,
            format!("there is no subcommand `{name}`"),
        )
        .hint(format!("one of: {}", names.join(", ")))
    })
}
