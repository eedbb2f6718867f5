//! `bashd --help`: the subcommands by what one wants to do.

use crate::for_people;
use crate::print::Printer;
use clap::Command;
use clap::builder::Styles;
use std::fmt::Write;

/// What one wants, and the subcommands for it.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run commands", &["run", "try", "map"]),
    (
        "See what runs, and step in",
        &["console", "top", "web", "jobs"],
    ),
    (
        "Look back, and take back",
        &[
            "log", "replay", "export", "artifact", "stats", "changes", "undo",
        ],
    ),
    (
        "Serve agents and programs",
        &[
            "init", "mcp", "rpc", "acp", "hook", "profiles", "schema", "minimize", "tape",
        ],
    ),
    (
        "Decide what may run, and where",
        &["check", "rules", "grants", "confine", "places"],
    ),
    (
        "Set up",
        &["config", "doctor", "completions", "man", "help"],
    ),
];

/// What a newcomer can type first.
const BEGIN: &[(&str, &str)] = &[
    ("bashd run 'echo hello'", "one command"),
    ("bashd console", "many, at a terminal"),
    ("bashd init", "in your agents"),
];

/// Where the pages are that messages name, for who has only the program.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/tree/main/docs");

/// Columns of a help at most, as clap has it.
const MOST: usize = 100;

/// Columns before what a subcommand does.
const BEFORE: usize = 2 + 11 + 2;

/// The command with its subcommands in groups.
pub(super) fn added(command: Command) -> Command {
    let styles = Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let columns = Printer::columns().unwrap_or(MOST).min(MOST);
    let mut list = format!("{header}Commands:{header:#}\n");
    for (wanted, names) in GROUPS {
        // A blank fewer than before a name, so that lines can be told apart.
        let _ = writeln!(list, " {wanted}");
        for name in *names {
            let Some(about) = about(&command, name) else {
                continue;
            };
            let lines = for_people::wrapped(&about, BEFORE, Some(columns));
            let about = lines.join(&format!("\n{}", " ".repeat(BEFORE)));
            let _ = writeln!(list, "  {literal}{name:<11}{literal:#}  {about}");
        }
    }
    let mut begin = format!("{header}Begin with:{header:#}\n");
    for (line, what) in BEGIN {
        let _ = writeln!(begin, "  {literal}{line:<22}{literal:#}  {what}");
    }
    let pages = format!("Pages that are named as docs/NAME.md: {PAGES}");
    command.after_help(pages).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{begin}\n{list}\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// The sentence of a subcommand that can be seen.
fn about(command: &Command, name: &str) -> Option<String> {
    if name == "help" {
        return Some("Print this, or the help of a subcommand".to_owned());
    }
    let found = command.find_subcommand(name);
    let found = found.filter(|found| !found.is_hide_set())?;
    found.get_about().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn every_subcommand_is_in_one_group() {
        let whole = Cli::command();
        let visible = whole.get_subcommands().filter(|one| !one.is_hide_set());
        let mut visible: BTreeSet<&str> = visible.map(Command::get_name).collect();
        visible.insert("help");
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(once.len(), listed.len(), "twice: {listed:?}");
        #[cfg(feature = "web")]
        assert_eq!(once, visible);
        assert!(once.is_superset(&visible), "{visible:?}");
    }
}
