//! The `bashd` binary: parses, calls a front end, turns the result into an exit status.

mod acp;
mod answering;
mod args;
mod artifact;
mod changes;
mod check;
mod complete;
mod completions;
mod config;
mod confine;
mod console;
mod dispatch;
mod doctor;
mod exit_status;
mod failure;
mod for_people;
mod grants;
mod hook;
mod init;
mod jobs;
mod judging;
mod log;
mod look_room;
mod man;
mod map;
mod mcp;
mod minimize;
mod notify;
mod outpost;
mod pager;
#[cfg_attr(
    not(feature = "web"),
    expect(dead_code, reason = "`log` needs little of what the page does")
)]
mod past;
mod places;
mod print;
mod profiles;
mod recording;
mod render;
mod rpc;
mod rules;
mod run;
mod runtime;
mod schema;
mod serve;
mod settings;
mod signals;
mod stats;
mod surroundings;
mod tape;
mod terminal;
mod top;
mod vocabulary;
mod watched;
#[cfg(feature = "web")]
mod web;

use args::{Cli, ColorWhen};
use exit_status::ExitStatus;
use print::Printer;
use std::ffi::OsString;
use std::process::ExitCode;

// Panics of filters and parsers are caught, which needs this.
const _: () = assert!(cfg!(panic = "unwind"));

fn main() -> ExitCode {
    bashd::run_if_asked();
    // Commands are of the same user, and must not write in our place.
    bashd::seclude();
    let early = dispatch::Early::fork();
    let words: Vec<OsString> = std::env::args_os().collect();
    let is_hook = hook::is_asked(words.iter().skip(1).cloned());
    if is_hook {
        hook::block_on_panic();
    }
    let hints = surroundings::color_hints();
    let status = match Cli::of(&words) {
        Ok(cli) => {
            let everywhere = cli.everywhere();
            let printer = Printer::new(everywhere.color.unwrap_or(ColorWhen::Auto), &hints);
            let done = dispatch::dispatch(&cli.subcommand, &everywhere, &printer, early);
            done.unwrap_or_else(|failure| failure.pointing_on(&words).show(&printer))
        }
        Err(error) => {
            let printer = Printer::new(ColorWhen::Auto, &hints);
            match printer.clap(&error) {
                ExitStatus::Failed if is_hook => {
                    hook::block_misused(words.iter().skip(1).cloned(), &printer);
                    ExitStatus::Blocked
                }
                status => status,
            }
        }
    };
    status.into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_caught_without_a_shared_unwinder() {
        let caught = std::panic::catch_unwind(|| panic!("a defect in a filter"));
        assert!(caught.is_err());
        if cfg!(not(unwinder_is_linked)) {
            bashd_testkit::loudly("the unwinder is a shared library: no libgcc_eh.a was found");
            return;
        }
        let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!mapped.contains("libgcc_s"), "{mapped}");
    }
}
