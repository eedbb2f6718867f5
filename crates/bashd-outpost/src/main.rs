//! `bashd-outpost`: what bashd sends to a host on which it is not installed. Its words are those of
//! `bashd outpost`, read by hand: nobody types them.

use bashd_outpost::{OutpostTask, OutpostWork, perform, state_dir};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

// Panics of parsers are caught, which needs this.
const _: () = assert!(cfg!(panic = "unwind"));

fn main() -> ExitCode {
    bashd::run_if_asked();
    bashd::seclude();
    let words = std::env::args().skip(1);
    let done = work_of(words).and_then(|work| perform(&work));
    if let Err(error) = done {
        // Whoever carries us shows it.
        let _ = writeln!(io::stderr(), "bashd-outpost: {error}");
        return ExitCode::from(125);
    }
    ExitCode::SUCCESS
}

fn work_of(words: impl Iterator<Item = String>) -> io::Result<OutpostWork> {
    let mut work = OutpostWork::new(OutpostTask::Dial, state_dir());
    let mut words = words.peekable();
    if words.peek().is_some_and(|word| word == "outpost") {
        words.next();
    }
    while let Some(word) = words.next() {
        let mut value = || {
            let missing = || io::Error::other(format!("{word} needs a value"));
            words.next().ok_or_else(missing)
        };
        match &*word {
            "--serve" => work.task = OutpostTask::Serve,
            "--hold" => work.task = OutpostTask::Hold,
            "--join" => work.task = OutpostTask::Join,
            "--leased" => work.leased = true,
            "--check" => work.task = OutpostTask::Check(value()?),
            "--build" => work.build = Some(value()?),
            "--state" => work.state_dir = Some(value()?.into()),
            "--idle" => work.idle = seconds(&word, &value()?)?,
            "--orphaned" => work.orphaned = seconds(&word, &value()?)?,
            "--version" => {
                return writeln!(io::stdout(), "bashd-outpost {}", env!("CARGO_PKG_VERSION"))
                    .and_then(|()| Err(io::Error::other("nothing to do")));
            }
            other => return Err(io::Error::other(format!("{other}: unknown"))),
        }
    }
    Ok(work)
}

fn seconds(option: &str, value: &str) -> io::Result<Duration> {
    let seconds = value.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| io::Error::other(format!("{option} needs seconds")))
}
