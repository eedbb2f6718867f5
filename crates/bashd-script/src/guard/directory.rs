//! Where the shell is at each point of a script, as far as its `cd` commands tell.

use super::options::operands;
use super::paths::{Path, PathStart};
use crate::script::{CommandOrigin, Construct, Joint, Script, SimpleCommand, Word};
use std::rc::Rc;

/// How deep a directory may be that is followed.
const MOST_COMPONENTS: usize = 16;

/// The working directory while a script is read in the order of its text.
///
/// `cd` in a subshell or substitution counts until the text leaves them. One that may not have
/// worked counts all the same: what comes after it was written for that directory.
#[derive(Debug, Clone)]
pub(super) struct Directories {
    current: Rc<Path>,
    /// Where the shell is outside the subshells and substitutions around the command.
    outside: Rc<Path>,
}

impl Default for Directories {
    fn default() -> Self {
        let start = Rc::new(Path {
            start: PathStart::Here,
            components: Vec::new(),
        });
        Self {
            current: Rc::clone(&start),
            outside: start,
        }
    }
}

impl Directories {
    /// Before a command is looked at.
    pub(super) fn enter(&mut self, command: &SimpleCommand) {
        if !is_inside(command) {
            self.current.clone_from(&self.outside);
        }
    }

    /// After a command was looked at: it may have changed the directory.
    pub(super) fn leave(&mut self, command: &SimpleCommand, name: Option<&str>) {
        let is_change = matches!(name, Some("cd" | "pushd" | "popd"));
        if !is_change || command.place.joint == Joint::Pipe {
            return;
        }
        let target = operands(command.arguments()).next();
        let target = match (name, target) {
            (Some("cd"), None) => Path {
                start: PathStart::Home,
                components: Vec::new(),
            },
            (Some("cd" | "pushd"), Some(word)) if !word.is("-") => self.resolve(Path::of(word)),
            _ => Path {
                start: PathStart::Unknown,
                components: Vec::new(),
            },
        };
        // `cd x` again and again would make a path that is as long as the script.
        let is_followed = target.components.len() <= MOST_COMPONENTS;
        self.current = Rc::new(if is_followed {
            target
        } else {
            Path {
                start: PathStart::Unknown,
                components: Vec::new(),
            }
        });
        if !is_inside(command) {
            self.outside.clone_from(&self.current);
        }
    }

    /// Where a command runs that another one starts: `env -C DIR`, `sudo -D DIR`.
    pub(super) fn of_wrapped(&self, script: &Script, command: &SimpleCommand) -> Self {
        let mut directories = self.clone();
        let CommandOrigin::StartedBy(by) = command.origin else {
            return directories;
        };
        let starter = script.commands.get(by);
        let option = match starter.and_then(SimpleCommand::name) {
            Some("env" | "genv") => "-C",
            Some("sudo") => "-D",
            _ => return directories,
        };
        let words = starter.map(SimpleCommand::arguments).unwrap_or_default();
        let target = words.windows(2).find_map(|pair| match pair {
            [given, target] if given.is(option) || given.is("--chdir") => Some(Path::of(target)),
            [given, _] => {
                let target = given.known().and_then(|text| text.strip_prefix("--chdir="));
                target.map(|target| Path::of(&Word::of(target, given.span)))
            }
            _ => None,
        });
        if let Some(target) = target {
            directories.current = Rc::new(self.resolve(target));
        }
        directories
    }

    /// A path as it is from here.
    pub(super) fn resolve(&self, path: Path) -> Path {
        match path.start {
            PathStart::Here => self.current.join(&path),
            PathStart::Root | PathStart::Home | PathStart::Worked | PathStart::Unknown => path,
        }
    }
}

fn is_inside(command: &SimpleCommand) -> bool {
    let inside = command.place.inside;
    inside.contains(Construct::Subshell) || inside.contains(Construct::Substitution)
}
