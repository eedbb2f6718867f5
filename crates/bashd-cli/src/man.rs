//! `bashd man`: the manual pages, made from the command line's own description.

use crate::args::Cli;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use clap::CommandFactory;

/// Prints the page of bashd, or of one subcommand.
pub(crate) fn man(subcommand: Option<&str>, printer: &Printer) -> Result<ExitStatus, Failure> {
    let mut command = Cli::command();
    command.build();
    let page = match subcommand {
        None => command,
        Some(name) => find(&command, name)?,
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut roff)
        .map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    printer.out(&String::from_utf8_lossy(&roff))?;
    Ok(ExitStatus::Success)
}

fn find(command: &clap::Command, name: &str) -> Result<clap::Command, Failure> {
    command.find_subcommand(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        Failure::new(
            FailureKind::Usage,
            format!("there is no subcommand `{name}`"),
        )
        .hint(format!("one of: {}", names.join(", ")))
    })
}
