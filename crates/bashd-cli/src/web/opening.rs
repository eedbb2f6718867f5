//! The person's browser, asked to show the page.

use crate::print::Printer;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The program that knows the browser.
const PROGRAM: &str = "xdg-open";

/// Opens the page; who has no such program is told to follow the link.
pub(super) fn open(link: &str, printer: &Printer) {
    let mut command = Command::new(PROGRAM);
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null());
    // In a group of its own, so that Ctrl-C here does not end the browser.
    let started = command.stderr(Stdio::null()).process_group(0).spawn();
    match started {
        Ok(mut child) => {
            std::thread::spawn(move || drop(child.wait()));
        }
        Err(error) => printer.warn(&format!(
            "{PROGRAM} can't be started ({error}): follow the link"
        )),
    }
}
