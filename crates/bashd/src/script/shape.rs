//! What kind of script this is, for those who choose how to start it.

use super::{Constructs, Origin, Readings, Script};

/// What bash does itself. What is not here may be a program.
const BUILTINS: [&str; 60] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// What kind of script this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Nobody could read it whole: bash may find a mistake in it.
    Unsound,
    /// One simple command, which is no builtin: bash itself becomes that program.
    OneProgram,
    /// Anything else.
    Other,
}

impl Script {
    /// What kind of script this is.
    pub fn shape(&self) -> Shape {
        if self.bound.is_some() || self.readings != Readings::ScanAndTree {
            return Shape::Unsound;
        }
        let mut written = self
            .commands
            .iter()
            .filter(|command| command.origin == Origin::Written);
        let (Some(first), None) = (written.next(), written.next()) else {
            return Shape::Other;
        };
        let is_plain = first.place.inside == Constructs::default() && self.functions.is_empty();
        let name = first.words.first().map(super::Word::known);
        match name {
            Some(Some(name)) if BUILTINS.contains(&name) => Shape::Other,
            Some(_) if is_plain => Shape::OneProgram,
            _ => Shape::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (text, shape) in [
            ("true", Shape::Other),
            ("/bin/true", Shape::OneProgram),
            ("ls -l", Shape::OneProgram),
            ("$x", Shape::OneProgram),
            ("ls | wc", Shape::Other),
            ("cd / && ls", Shape::Other),
            ("x=1", Shape::Other),
            ("for i in a; do ls; done", Shape::Other),
            ("echo \"", Shape::Unsound),
            ("fi", Shape::Unsound),
        ] {
            assert_eq!(Script::parse(text).shape(), shape, "{text}");
        }
    }
}
