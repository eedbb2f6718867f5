//! `bashd run`: one command from the command line to its reply.
//!
//! This file reads what the command line asks for. `asking` asks the person at the terminal where a
//! rule wants it. `engine` makes the call, `live` shows it to a person while it runs, `typing` lets
//! that person type at it, `show` prints its reply, and `words` makes a script of several words.

mod asking;
mod engine;
mod live;
mod show;
mod typing;
pub(crate) mod words;

use crate::args::{OnTimeoutName, RunOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::jobs;
use crate::notify::Notifier;
use crate::print::{Paint, Printer};
use crate::rules;
use crate::settings::ConfigInForce;
use crate::surroundings;
use bashd::changes::Effects;
use bashd::profile::Profile;
use bashd::request::OnTimeout;
use bashd::{Call, KeeperSource, Request};
use engine::Watcher;
pub(crate) use engine::fork_keeper;
use live::LiveView;
use rustix::fs::FileType;
use show::ReplyFormat;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// What `--stdin` says for an empty one.
const NO_STDIN: &str = "none";

/// Forks the keeper of a `run` before anything else is done. In another subcommand whose arguments
/// hold that word, it just leaves with us.
pub(crate) fn fork_early() -> Option<KeeperSource> {
    let is_run = std::env::args_os().any(|word| word == "run" || word == "try");
    is_run.then(fork_keeper)
}

/// Runs one command and prints its reply.
pub(crate) fn run(
    keeper: KeeperSource,
    (arguments, effects): (&RunOptions, Option<Effects>),
    mut settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let form = ReplyFormat::of(arguments);
    let call = call((arguments, effects), form, &settings)?;
    let workspace = &mut settings.config.confinement.workspace;
    *workspace = workspace.take().or_else(|| arguments.cwd.clone());
    rules::say_if_there_are_none(
        &settings,
        arguments.profile.as_deref().unwrap_or_default(),
        printer,
    );
    let surroundings = surroundings::for_one_command();
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    if form != ReplyFormat::Json && Profile::names().all(|known| known != name) {
        // Without a profile there are no words for a reply.
        settings.profile(name)?;
    }
    let open = asking::PromptShown::default();
    let call = match asking::person(&open) {
        Some(person) => call.approved_by(person),
        None => call,
    };
    let watcher = match form {
        ReplyFormat::Typed => Watcher::Typist,
        ReplyFormat::Live => Watcher::Person(Box::new(LiveView::new(printer, open))),
        ReplyFormat::Json | ReplyFormat::Text => Watcher::Nobody,
    };
    let jobs = bashd::jobs::Jobs::new(&settings.config);
    let notifier = Notifier::of(&settings.config);
    let ended = engine::run(keeper, call, settings.config, surroundings, watcher)?;
    // The reader of the reply may not read it: then nothing else would end us.
    bashd::signals::end_by_default();
    for warning in &ended.warnings {
        printer.warn(warning);
    }
    let status = ended.signal.unwrap_or_else(|| ExitStatus::of(&ended.reply));
    if status == ExitStatus::Command(127)
        && let Some(remark) = words::misplaced_option(&arguments.command)
    {
        printer.remark(Paint::Hint, "hint:", &remark);
    }
    let shown = show::reply(&ended.reply, form, ended.cursor, printer);
    if form != ReplyFormat::Json {
        show::next_step(&ended.reply, &jobs, printer);
        show::sign(&ended.reply, &arguments.command, notifier);
    }
    match shown {
        // A caller that stopped reading still wants to know how the command ended.
        Err(failure) if failure.kind() != FailureKind::ReaderGone => Err(failure),
        _ => Ok(status),
    }
}

fn call(
    (arguments, effects): (&RunOptions, Option<Effects>),
    form: ReplyFormat,
    settings: &ConfigInForce,
) -> Result<Call, Failure> {
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
    request.on.clone_from(&arguments.on);
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
    request.effects = effects;
    request.record = (arguments.record || arguments.no_record).then_some(arguments.record);
    for variable in &arguments.env {
        request = request.env(&variable.name, &variable.value);
    }
    let stdin = stdin.filter(|path| path.as_os_str() != NO_STDIN);
    if let Some(path) = stdin {
        request = if arguments.stdin_open {
            request.stdin(read(path)?)
        } else {
            request.stdin_from(open(path)?)
        };
    }
    let Some(input) = &arguments.input else {
        request.command = words::script(&arguments.command)?;
        let name = arguments.profile.as_ref();
        // A profile that can't be read is told with the reply.
        let profile = settings.profile(name.unwrap_or(&settings.config.profile));
        if let Ok(profile) = profile {
            if form == ReplyFormat::Typed {
                request.ui = true;
                let longest = profile.limits.timeout_range_s.map(|[_, most]| most);
                let longest = longest.map(Duration::from_secs);
                request.timeout = request.timeout.or(longest);
            }
            if profile.input.own_stdin && takes_own_stdin(arguments) {
                request = request.stdin_from(open(Path::new("-"))?);
            }
        }
        return Ok(request.into());
    };
    Ok(if input == "-" {
        Call::json_bytes(read(Path::new("-"))?, request)
    } else {
        Call::json(input.clone(), request)
    })
}

/// Whether the command reads bashd's own stdin without being told to: somebody has put a pipe or a
/// file there, and nothing else was asked for.
fn takes_own_stdin(arguments: &RunOptions) -> bool {
    let is_asked = arguments.stdin.is_some() || arguments.stdin_open || arguments.pty;
    !is_asked
        && rustix::fs::fstat(rustix::stdio::stdin()).is_ok_and(|facts| {
            let kind = FileType::from_raw_mode(facts.st_mode);
            matches!(kind, FileType::Fifo | FileType::RegularFile)
        })
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
