//! Where the shell is at each point of a script, as far as its `cd` commands tell.

use super::options::operands;
use super::paths::{Path, PathStart};
use crate::script::{Construct, Joint, SimpleCommand};
use std::rc::Rc;

/// How deep a directory may be that is followed.
const MOST_COMPONENTS: usize = 16;

/// The working directory while a script is read in the order of its text.
///
/// `cd` in a subshell or substitution counts until the text leaves them. One that may not have worked
/// counts all the same: what comes after it was written for that directory.
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
    pub(super) fn leave(&mut self, command: &SimpleCommand) {
        let is_change = matches!(command.name(), Some("cd" | "pushd" | "popd"));
        if !is_change || command.place.joint == Joint::Pipe {
            return;
        }
        let target = operands(command.arguments()).next();
        let target = match (command.name(), target) {
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

    /// A path as it is from here.
    pub(super) fn resolve(&self, path: Path) -> Path {
        match path.start {
            PathStart::Here => self.current.join(&path),
            PathStart::Root | PathStart::Home | PathStart::Unknown => path,
        }
    }
}

fn is_inside(command: &SimpleCommand) -> bool {
    let inside = command.place.inside;
    inside.contains(Construct::Subshell) || inside.contains(Construct::Substitution)
}
