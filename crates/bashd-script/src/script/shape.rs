//! What kind of script this is, for choosing how to start it.

use super::{Constructs, Origin, Readings, Script, parser_limits, sound};

/// What bash does itself. What is missing here may be a program.
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
pub enum Shape {
    /// It is uncertain whether bash accepts it.
    Unsound,
    /// One simple command, which is not a builtin: bash itself becomes that program.
    OneProgram,
    /// Anything else.
    Other,
}

impl Script {
    /// What kind of script this is. `text` is what [`Script::parse`] was given.
    pub fn shape(&self, text: &str) -> Shape {
        if !self.is_vouched_for(text) {
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

    /// Whether bash will certainly accept it: the parser says so, or our own check, for texts that
    /// the parser is not asked about. If the parser was asked and did not agree, nothing overrules
    /// it.
    fn is_vouched_for(&self, text: &str) -> bool {
        // `bash -c` takes it for an option.
        if text.starts_with(['-', '+']) {
            return false;
        }
        let by_parser = self.readings == Readings::ScanAndTree;
        let by_check = || self.is_sound && !parser_limits::allow(text) && sound::is_certain(text);
        self.bound.is_none() && (by_parser || by_check())
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
            ("-n; true", Shape::Unsound),
            ("+x; true", Shape::Unsound),
        ] {
            assert_eq!(Script::parse(text).shape(text), shape, "{text}");
        }
    }

    #[test]
    fn long_scripts_have_the_shape_of_short_ones() {
        let padding = "#".repeat(4 << 10);
        for (text, shape) in [
            ("true", Shape::Other),
            ("ls -l", Shape::OneProgram),
            ("ls | wc", Shape::Other),
            ("echo \"", Shape::Unsound),
            ("if true; fi", Shape::Unsound),
            ("echo `date`", Shape::Unsound),
        ] {
            let long = format!("{padding}\n{text}");
            assert_eq!(Script::parse(&long).shape(&long), shape, "{text}");
        }
        let rich = "[[ $x ]] || exit 1\n".repeat(100);
        assert_eq!(Script::parse(&rich).shape(&rich), Shape::Other);
    }

    #[test]
    fn the_parser_that_was_asked_is_not_overruled() {
        let text = "echo a";
        let mut script = Script::parse(text);
        script.readings = Readings::ScanAndCheck;
        assert_eq!(script.shape(text), Shape::Unsound);
    }
}
