//! The `bashd` binary: parses, calls a front end, turns the result into an exit status.

mod args;
mod completions;
mod config;
mod dispatch;
mod doctor;
mod exit_status;
mod failure;
mod for_people;
mod log;
mod man;
mod print;
mod run;
mod schema;
mod settings;
mod surroundings;

use args::{Cli, ColorWhen};
use clap::Parser;
use print::Printer;
use std::process::ExitCode;

fn main() -> ExitCode {
    bashd::run_if_asked();
    let keeper = run::fork_early();
    let hints = surroundings::color_hints();
    let status = match Cli::try_parse() {
        Ok(cli) => {
            let everywhere = cli.everywhere();
            let printer = Printer::new(everywhere.color.unwrap_or(ColorWhen::Auto), &hints);
            let done = dispatch::dispatch(&cli.subcommand, &everywhere, &printer, keeper);
            done.unwrap_or_else(|failure| failure.show(&printer))
        }
        Err(error) => Printer::new(ColorWhen::Auto, &hints).clap(&error),
    };
    status.into()
}
