//! `bashd completions`: what a shell needs to complete our command line.

use crate::args::Cli;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use clap::CommandFactory;

/// Prints the completions for a shell.
pub(crate) fn completions(
    shell: clap_complete::Shell,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bashd", &mut script);
    printer.out(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Success)
}
