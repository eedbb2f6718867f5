//! `bashd run`: one command from the command line to its reply.

use crate::args::Run;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, Kind};
use crate::print::Printer;
use crate::settings::Settings;
use crate::surroundings;
use anyhow::Context;
use bashd::config::{Config, Surroundings};
use bashd::reply::Reply;
use bashd::request::Request;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// What the command line asks for.
#[derive(Debug)]
enum Asked {
    /// A command in our own words.
    Command(Request),
    /// A model's JSON arguments, over what the flags say.
    Input { json: String, flags: Request },
}

/// Runs one command and prints its reply.
pub(crate) fn run(
    arguments: &Run,
    settings: &Settings,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let asked = asked(arguments, &settings.config)?;
    let reply = call(&asked, &settings.config, &surroundings::for_commands()?)?;
    let status = ExitStatus::of(&reply);
    match show(&reply, arguments.json, printer) {
        // Whoever stopped reading still wants to know how the command ended.
        Err(failure) if failure.kind() != Kind::ReaderGone => Err(failure),
        _ => Ok(status),
    }
}

/// Hands the call to the engine: the one place where this front end meets it.
fn call(asked: &Asked, config: &Config, surroundings: &Surroundings) -> Result<Reply, Failure> {
    let (what, request) = match asked {
        Asked::Command(request) => (&request.command, request),
        Asked::Input { json, flags } => (json, flags),
    };
    let message = format!(
        "this build has no engine to run {what:?} in {} under profile `{}` (state in {})",
        surroundings.cwd.display(),
        request.profile,
        config.state_dir.display()
    );
    Err(Failure::new(Kind::System, message))
}

fn asked(arguments: &Run, config: &Config) -> Result<Asked, Failure> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if arguments.input.as_deref() == Some("-") && arguments.stdin.as_deref().is_some_and(is_stdin) {
        let message = "--input - and --stdin - can't both read bashd's stdin";
        return Err(Failure::new(Kind::Usage, message));
    }
    let mut request =
        Request::new("").profile(arguments.profile.as_ref().unwrap_or(&config.profile));
    request.cwd.clone_from(&arguments.cwd);
    request.timeout = arguments.timeout;
    for variable in &arguments.env {
        request = request.env(&variable.name, &variable.value);
    }
    if let Some(path) = &arguments.stdin {
        request.stdin = Some(read(path)?);
    }
    let Some(input) = &arguments.input else {
        one_command(&arguments.command)?.clone_into(&mut request.command);
        return Ok(Asked::Command(request));
    };
    let json = if input == "-" {
        // What is not UTF-8 is no JSON either; the profile says so in its own words.
        String::from_utf8_lossy(&read(Path::new("-"))?).into_owned()
    } else {
        input.clone()
    };
    Ok(Asked::Input {
        json,
        flags: request,
    })
}

/// The command must be one argument: joining several would lose their quotes unsaid.
fn one_command(words: &[String]) -> Result<&str, Failure> {
    match words {
        [command] => Ok(command),
        [] => Err(Failure::new(Kind::Usage, "there is no command to run")),
        several => {
            let message = format!("the command must be one argument, found {}", several.len());
            let quoted = several.join(" ").replace('\'', r"'\''");
            Err(Failure::new(Kind::Usage, message).hint(format!("quote it: bashd run '{quoted}'")))
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let result = if path.as_os_str() == "-" {
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(drop)
            .context("stdin can't be read")
    } else {
        fs::read(path)
            .map(|read| bytes = read)
            .with_context(|| format!("{} can't be read", path.display()))
    };
    result.map_err(|chain| Failure::of(Kind::Usage, chain))?;
    Ok(bytes)
}

/// Prints the reply: its text, or everything about it as one JSON object.
fn show(reply: &Reply, json: bool, printer: &Printer) -> Result<(), Failure> {
    let text = if json {
        serde_json::to_string(reply).map_err(|error| Failure::of(Kind::System, error.into()))?
    } else {
        reply.text.clone()
    };
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    printer.out(&format!("{text}{end}"))
}
