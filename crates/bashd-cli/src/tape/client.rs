//! `bashd tape record|play FILE -- CLIENT…`: runs a client whose servers record or play a tape.

use super::desk::{Desk, numbered};
use crate::args::{TapeAction, TapePlay, TapeRecord};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::Printer;
use anyhow::Context;
use bashd::config::env_vars;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the client.
pub(crate) fn tape(action: &TapeAction, printer: &Printer) -> Result<ExitStatus, Failure> {
    match action {
        TapeAction::Record(arguments) => record(arguments, printer),
        TapeAction::Play(arguments) => play(arguments, printer),
    }
}

fn record(arguments: &TapeRecord, printer: &Printer) -> Result<ExitStatus, Failure> {
    let file = absolute(&arguments.file)?;
    remove_tapes(&file);
    let desk = DeskDirectory::make()?;
    let status = run(
        &arguments.client,
        &[(env_vars::TAPE_RECORD, file.clone().into())],
        &desk,
    )?;
    let servers = Desk::at(desk.0.clone()).servers();
    let answered = (1..=servers).filter(|number| has_answer(&numbered(&file, *number)));
    match (servers, answered.count()) {
        (0, _) => {
            let text = "no server of bashd was started by the client, or it does not hand variables on: \
                        nothing is recorded";
            printer.warn(text);
            printer
                .note("give the client's server the option itself: bashd mcp --tape-record FILE");
            return Ok(worse(status));
        }
        (_, 0) => {
            printer.warn("no server answered anything: the tape is empty");
            return Ok(worse(status));
        }
        (1, _) => printer.note(&format!("recorded {}", file.display())),
        (servers, _) => {
            let count = for_people::count(servers, "server");
            let path = file.display();
            printer.note(&format!(
                "recorded {count}: {path}, and {path}.2 to {path}.{servers}"
            ));
        }
    }
    Ok(status)
}

fn play(arguments: &TapePlay, printer: &Printer) -> Result<ExitStatus, Failure> {
    let file = absolute(&arguments.file)?;
    if !file.exists() {
        let message = format!("there is no tape {}", file.display());
        let hint = "`bashd tape record FILE -- CLIENT` makes one";
        return Err(Failure::new(FailureKind::Usage, message).hint(hint));
    }
    let desk = DeskDirectory::make()?;
    let mut variables = vec![(env_vars::TAPE_PLAY, OsString::from(&file))];
    if arguments.tape_match {
        variables.push((env_vars::TAPE_MATCH, "1".into()));
    }
    let status = run(&arguments.client, &variables, &desk)?;
    let desk = Desk::at(desk.0.clone());
    if desk.servers() == 0 {
        printer.warn("no server of bashd was started by the client: nothing was played");
        return Ok(worse(status));
    }
    let problems = desk.problems();
    if problems.is_empty() {
        return Ok(status);
    }
    printer.warn(problems.trim_end());
    Ok(worse(status))
}

/// The client's own status, unless it says that all is well.
fn worse(status: ExitStatus) -> ExitStatus {
    if status.number() == 0 {
        ExitStatus::Unfit
    } else {
        status
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path).with_context(|| path.display().to_string());
    path.map_err(|chain| Failure::of(FailureKind::System, chain))
}

/// Removes what an earlier recording of this name left.
fn remove_tapes(file: &Path) {
    for number in 1.. {
        if fs::remove_file(numbered(file, number)).is_err() && number > 1 {
            return;
        }
    }
}

/// Whether a server said anything on this tape.
fn has_answer(tape: &Path) -> bool {
    let Ok(file) = fs::File::open(tape) else {
        return false;
    };
    let lines = BufReader::new(file).lines();
    let is_answer =
        |line: io::Result<String>| line.is_ok_and(|line| line.starts_with("{\"server\""));
    lines.skip(1).any(is_answer)
}

/// The directory of a desk, removed when it is over.
struct DeskDirectory(PathBuf);

impl DeskDirectory {
    fn make() -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let chain = anyhow::Error::new(error).context("a temporary directory can't be made");
            Failure::of(FailureKind::System, chain)
        };
        let own = std::process::id();
        for number in 0.. {
            let path = std::env::temp_dir().join(format!("bashd-tape-{own}-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for DeskDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(
    words: &[OsString],
    variables: &[(&str, OsString)],
    desk: &DeskDirectory,
) -> Result<ExitStatus, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::new(FailureKind::Usage, "no client is given"));
    };
    let mut client = Command::new(program);
    client.args(arguments).env(env_vars::TAPE_DESK, &desk.0);
    for (name, value) in variables {
        client.env(name, value);
    }
    let status = client.status().map_err(|error| {
        let message = format!("{} can't be started: {error}", program.to_string_lossy());
        Failure::new(FailureKind::Usage, message)
    })?;
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => ExitStatus::Success,
        (Some(code), _) => ExitStatus::Command(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => ExitStatus::Signal(u8::try_from(signal).unwrap_or(u8::MAX)),
        (None, None) => ExitStatus::Failed,
    })
}
