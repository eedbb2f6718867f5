//! Long lists at a terminal go through the user's pager, which ends by itself if they fit.

use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::{runtime, surroundings};
use std::io::{self, Write};
use std::process::{Command, Stdio};
use tokio::signal::unix::{SignalKind, signal};

/// Shows a text at the terminal: at once if it fits, and else in the pager.
pub(crate) fn show(text: &[u8]) -> Result<(), Failure> {
    let rows = Printer::size().map_or(usize::MAX, |(_, rows)| usize::from(rows));
    let lines = memchr::memchr_iter(b'\n', text).count();
    let is_long = lines.saturating_add(1) > rows;
    match surroundings::pager().filter(|_| is_long) {
        Some(pager) if page(text, &pager).is_ok() => Ok(()),
        _ => plain(text),
    }
}

fn plain(text: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => FailureKind::ReaderGone,
            _ => FailureKind::System,
        };
        let chain = anyhow::Error::new(error).context("stdout can't be written");
        Failure::of(kind, chain)
    })
}

/// Starts the pager and waits for it. An error means that it showed nothing.
fn page(text: &[u8], pager: &surroundings::UserPager) -> io::Result<()> {
    // Ctrl-C is the pager's.
    let runtime = runtime::build()?;
    let _inside = runtime.enter();
    let _ignored = signal(SignalKind::interrupt())?;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(&pager.command)
        .envs(pager.less.map(|options| ("LESS", options)))
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who leaves the pager early has seen enough.
        let _ = stdin.write_all(text);
    }
    let ended = child.wait()?;
    // The shell did not find it.
    if ended.code() == Some(127) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(())
}
