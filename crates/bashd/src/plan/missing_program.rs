//! Whether a status of 126 or 127 is the shell's own word that it found nothing to run.
//!
//! Any program may exit with these numbers, and bash does so for reasons of its own (`set -u`). It
//! is about a program only if the last command of the script names one that is not there, or that
//! may not be executed. What can't be known (a name from a variable, a path after a `cd`) is not
//! taken for it.

use super::Plan;
use super::shell::DEFAULT_PATH;
use crate::errand;
use crate::near::is_near_or_missing;
use crate::script::{CommandOrigin, Script, SimpleCommand, is_builtin};
use rustix::fs::Access;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Bytes of a script above which reading it takes milliseconds.
const LONG_TEXT: usize = 64 * 1024;

/// Commands after which a relative path means something else.
const MOVING: [&str; 3] = ["cd", "pushd", "popd"];

/// What there is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Nothing,
    NotExecutable,
    Executable,
}

/// Whether this status means that the last command of the plan's script could not be run. A file
/// system that does not answer for a while tells nothing.
pub(crate) async fn explains(plan: &Plan, status: i32) -> bool {
    let expected = match status {
        127 => Presence::Nothing,
        126 => Presence::NotExecutable,
        _ => return false,
    };
    Box::pin(is_there(plan)).await == Some(expected)
}

/// What there is where the shell looked for the last program of a plan's script.
async fn is_there(plan: &Plan) -> Option<Presence> {
    let text = plan.script.clone()?;
    let search = plan.env.get("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
    let (search, cwd) = (search.to_owned(), plan.cwd.path.clone());
    let places = if text.len() <= LONG_TEXT {
        places(&text, &search, &cwd)
    } else {
        let read = errand::read(move |_| places(&text, &search, &cwd)).await;
        read.ok().flatten()
    }?;
    let far = places.iter().find(|path| !is_near_or_missing(path));
    match far.cloned() {
        None => Some(presence(&places)),
        Some(far) => errand::look(&far, move || presence(&places)).await,
    }
}

/// Where the shell looked for the last program of a script; `None` if there is none, or nobody
/// knows where.
fn places(text: &str, search: &OsStr, cwd: &Path) -> Option<Vec<PathBuf>> {
    let script = Script::parse(text);
    let name = last_program(&script)?;
    if name.starts_with('/') {
        Some(vec![PathBuf::from(name)])
    } else if name.contains('/') {
        let moves = script.names().iter().any(|name| MOVING.contains(name));
        (!moves).then(|| vec![cwd.join(name)])
    } else {
        let directories = std::env::split_paths(search);
        Some(directories.map(|path| cwd.join(path).join(name)).collect())
    }
}

/// The name of the last command, if it can only mean a program.
fn last_program(script: &Script) -> Option<&str> {
    let name = last_command(script)?.words.first()?.known()?;
    let is_function = script.functions.iter().any(|function| function == name);
    let is_other = is_builtin(name) || is_function || is_alias(script, name);
    (!name.is_empty() && !is_other).then_some(name)
}

/// The command that is carried out last: not one in the words of another, which comes before it.
fn last_command(script: &Script) -> Option<&SimpleCommand> {
    let is_in_words = |command: &SimpleCommand| {
        let root = written(script, command);
        let holds = |other: &&SimpleCommand| {
            let is_around = other.span.start <= root.span.start && root.span.end <= other.span.end;
            is_around && other.span != root.span && other.origin == CommandOrigin::Written
        };
        let around = script.commands.iter().filter(holds);
        // An assignment has the status of what it was made of.
        around.into_iter().any(|other| !other.words.is_empty())
    };
    let mut commands = script.commands.iter().rev();
    commands.find(|command| !is_in_words(command))
}

/// The written command from which this one comes.
fn written<'a>(script: &'a Script, command: &'a SimpleCommand) -> &'a SimpleCommand {
    match command.origin {
        CommandOrigin::Written => command,
        CommandOrigin::StartedBy(by) | CommandOrigin::ScriptOf(by) => {
            let starter = script
                .commands
                .get(by)
                .filter(|one| one.span != command.span);
            starter.map_or(command, |starter| written(script, starter))
        }
    }
}

/// Whether the script makes an alias of this name.
fn is_alias(script: &Script, name: &str) -> bool {
    let makes_it = |command: &SimpleCommand| {
        let mut made = command.arguments().iter();
        let begins = |text: &str| {
            text.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('='))
        };
        command.name() == Some("alias") && made.any(|word| begins(word.known_beginning()))
    };
    script.commands.iter().any(makes_it)
}

/// What there is at these places.
fn presence(places: &[PathBuf]) -> Presence {
    let found = places.iter().map(|place| presence_at(place));
    found.fold(Presence::Nothing, |best, one| match (best, one) {
        (Presence::Executable, _) | (_, Presence::Executable) => Presence::Executable,
        (Presence::NotExecutable, _) | (_, Presence::NotExecutable) => Presence::NotExecutable,
        (Presence::Nothing, Presence::Nothing) => Presence::Nothing,
    })
}

fn presence_at(path: &Path) -> Presence {
    match path.metadata() {
        Err(_) => Presence::Nothing,
        // Not a program without a permission: bash has another message for it.
        Ok(metadata) if metadata.is_dir() => Presence::Executable,
        Ok(_) if rustix::fs::access(path, Access::EXEC_OK).is_ok() => Presence::Executable,
        Ok(_) => Presence::NotExecutable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str) -> Option<String> {
        last_program(&Script::parse(text)).map(str::to_owned)
    }

    #[test]
    fn only_a_literal_name_of_a_program_counts() {
        for (text, name) in [
            ("nosuch", Some("nosuch")),
            ("true; nosuch -x", Some("nosuch")),
            ("a=1 nosuch $(echo x)", Some("nosuch")),
            ("exec nosuch", Some("nosuch")),
            ("x=$(nosuch)", Some("nosuch")),
            ("echo $(nosuch)", None),
            ("bash -c nosuch", Some("nosuch")),
            ("./nosuch >/dev/null", Some("./nosuch")),
            ("set -u; echo $undef", None),
            ("exit 127", None),
            ("$undef", None),
            ("nosuch() { return 127; }; nosuch", None),
            ("alias nosuch='exit 127'\nnosuch", None),
            ("", None),
        ] {
            assert_eq!(last(text).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn what_is_there_is_looked_for_where_the_shell_looks() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("plain"), "").unwrap();
        std::fs::create_dir(place.path().join("folder")).unwrap();
        let search = std::env::join_paths([Path::new("/nowhere"), place.path()]).unwrap();
        let there = |text: &str| {
            let places = places(text, &search, place.path())?;
            Some(presence(&places))
        };
        assert_eq!(there("nosuch"), Some(Presence::Nothing));
        assert_eq!(there("./nosuch"), Some(Presence::Nothing));
        assert_eq!(there("plain"), Some(Presence::NotExecutable));
        assert_eq!(there("./plain"), Some(Presence::NotExecutable));
        assert_eq!(there("/bin/bash"), Some(Presence::Executable));
        assert_eq!(there("./folder"), Some(Presence::Executable));
        assert_eq!(there("cd sub; ./plain"), None);
    }
}
