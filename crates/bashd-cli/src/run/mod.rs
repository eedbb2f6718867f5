//! `bashd run`: one command from the command line to its reply.
//!
//! This file reads what the command line asks for. `asking` asks the person at the terminal where a
//! rule wants it. `engine` makes the call, `live` shows it to a person while it runs, `show` prints
//! its reply.

mod asking;
mod engine;
mod live;
mod show;

use crate::args::{OnTimeoutName, RunOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::jobs;
use crate::print::Printer;
use crate::rules;
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::profile::Profile;
use bashd::request::OnTimeout;
use bashd::{Call, KeeperSource, Request};
use engine::Watcher;
pub(crate) use engine::fork_keeper;
use live::LiveView;
use show::ReplyFormat;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Forks the keeper of a `run` before anything else is done. In another subcommand whose arguments
/// hold that word, it just leaves with us.
pub(crate) fn fork_early() -> Option<KeeperSource> {
    let is_run = std::env::args_os().any(|argument| argument == "run");
    is_run.then(fork_keeper)
}

/// Runs one command and prints its reply.
pub(crate) fn run(
    keeper: KeeperSource,
    arguments: &RunOptions,
    mut settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let call = call(arguments)?;
    let workspace = &mut settings.config.confinement.workspace;
    *workspace = workspace.take().or_else(|| arguments.cwd.clone());
    rules::say_if_there_are_none(
        &settings,
        arguments.profile.as_deref().unwrap_or_default(),
        printer,
    );
    let surroundings = surroundings::for_one_command();
    let form = ReplyFormat::of(arguments);
    if let Some(name) = &arguments.profile
        && form != ReplyFormat::Json
        && Profile::names().all(|known| known != name)
    {
        // Without a profile there are no words for a reply.
        settings.profile(name)?;
    }
    let open = asking::PromptShown::default();
    let call = match asking::person(&open) {
        Some(person) => call.approved_by(person),
        None => call,
    };
    let watcher = match form {
        ReplyFormat::Live => Watcher::Person(Box::new(LiveView::new(printer, open))),
        ReplyFormat::Json | ReplyFormat::Text => Watcher::Nobody,
    };
    let ended = engine::run(keeper, call, settings.config, surroundings, watcher)?;
    // The reader of the reply may not read it: then nothing else would end us.
    bashd::signals::end_by_default();
    for warning in &ended.warnings {
        printer.warn(warning);
    }
    let status = ended.signal.unwrap_or_else(|| ExitStatus::of(&ended.reply));
    match show::reply(&ended.reply, form, ended.cursor, printer) {
        // A caller that stopped reading still wants to know how the command ended.
        Err(failure) if failure.kind() != FailureKind::ReaderGone => Err(failure),
        _ => Ok(status),
    }
}

fn call(arguments: &RunOptions) -> Result<Call, Failure> {
    let stdin = arguments.stdin.as_deref();
    if arguments.input.as_deref() == Some("-") && stdin.is_some_and(is_own_stdin) {
        let message = "--input - and --stdin - can't both read bashd's stdin";
        return Err(Failure::new(FailureKind::Usage, message));
    }
    if let Some(name) = &arguments.session {
        let message =
            format!("the session `{name}` would end with this call, after which bashd run exits");
        let hint = "sessions live in a server: bashd mcp or bashd rpc";
        return Err(Failure::new(FailureKind::Usage, message).hint(hint));
    }
    let mut request = Request::new("");
    request.profile = arguments.profile.clone().unwrap_or_default();
    request.cwd.clone_from(&arguments.cwd);
    request.timeout = arguments.timeout;
    request.pty = arguments.pty;
    request.terminal_size = Printer::size().map(Into::into);
    request.owner = Some(jobs::owner());
    request.background = arguments.background;
    request.stdin_open = arguments.stdin_open;
    request.on_timeout = Some(match arguments.on_timeout {
        Some(OnTimeoutName::Kill) => OnTimeout::Kill,
        None if arguments.input.is_none() => OnTimeout::Kill,
        Some(OnTimeoutName::Background) | None => OnTimeout::Background,
    });
    request.resources = arguments.limiting.resources();
    arguments.judging.apply_to(&mut request);
    for variable in &arguments.env {
        request = request.env(&variable.name, &variable.value);
    }
    if let Some(path) = &arguments.stdin {
        request = if arguments.stdin_open {
            request.stdin(read(path)?)
        } else {
            request.stdin_from(open(path)?)
        };
    }
    let Some(input) = &arguments.input else {
        one_command(&arguments.command)?.clone_into(&mut request.command);
        return Ok(request.into());
    };
    Ok(if input == "-" {
        Call::json_bytes(read(Path::new("-"))?, request)
    } else {
        Call::json(input.clone(), request)
    })
}

/// The command must be one argument: joining several would silently lose their quotes.
fn one_command(words: &[String]) -> Result<&str, Failure> {
    match words {
        [command] => Ok(command),
        [] => Err(Failure::new(
            FailureKind::Usage,
            "there is no command to run",
        )),
        several => {
            let message = format!("the command must be one argument, found {}", several.len());
            let quoted = several.join(" ").replace('\'', r"'\''");
            let hint = format!("quote it: bashd run '{quoted}'");
            Err(Failure::new(FailureKind::Usage, message).hint(hint))
        }
    }
}

/// The file at a path, or bashd's own stdin. It is not read here: it may be endless.
fn open(path: &Path) -> Result<File, Failure> {
    let opened = if is_own_stdin(path) {
        let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
        own.map(File::from).map_err(io::Error::from)
    } else {
        File::open(path)
    };
    let file = opened.and_then(|file| {
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(file)
    });
    file.map_err(|error| unreadable(path, error))
}

/// Everything in the file at a path, or in bashd's own stdin.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = open(path)?.read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, error))?;
    Ok(bytes)
}

fn is_own_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let name = if is_own_stdin(path) {
        "stdin".into()
    } else {
        path.to_string_lossy()
    };
    let chain = anyhow::Error::new(error).context(format!("{name} can't be read"));
    Failure::of(FailureKind::Usage, chain)
}
