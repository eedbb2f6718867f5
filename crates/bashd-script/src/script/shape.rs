//! What kind of script this is, for choosing how to start it.

use super::builtins::is_builtin;
use super::{CommandOrigin, Constructs, Readings, Script, parser_limits, sound};

/// What kind of script this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ScriptShape {
    /// It is uncertain whether bash accepts it.
    Unsound,
    /// One simple command, which is not a builtin: bash itself becomes that program.
    OneProgram,
    /// Anything else.
    Other,
}

impl Script {
    /// What kind of script this is. `text` is what [`Script::parse`] was given.
    pub fn shape(&self, text: &str) -> ScriptShape {
        if !self.is_vouched_for(text) {
            return ScriptShape::Unsound;
        }
        let mut written = self
            .commands
            .iter()
            .filter(|command| command.origin == CommandOrigin::Written);
        let (Some(first), None) = (written.next(), written.next()) else {
            return ScriptShape::Other;
        };
        let is_plain = first.place.inside == Constructs::default() && self.functions.is_empty();
        let name = first.words.first().map(super::Word::known);
        match name {
            // `exec` makes bash the program that it names.
            Some(Some(name)) if is_builtin(name) && name != "exec" => ScriptShape::Other,
            Some(_) if is_plain => ScriptShape::OneProgram,
            _ => ScriptShape::Other,
        }
    }

    /// Whether nothing in it was left unread. The bounds of the parser are no property of a
    /// command: what it is not asked about, and our own scan finds nothing wrong with, is read
    /// whole.
    pub(crate) fn is_read_whole(&self, text: &str) -> bool {
        let by_scan = || self.is_sound && !parser_limits::allow(text);
        self.bound.is_none() && (self.readings != Readings::ScanOnly || by_scan())
    }

    /// Whether bash will certainly accept it: our own check says so, or the parser where that gives
    /// up.
    fn is_vouched_for(&self, text: &str) -> bool {
        // `bash -c` takes it for an option.
        if text.starts_with(['-', '+']) {
            return false;
        }
        // What the parser may not be asked about was not checked either.
        let by_check = || self.is_sound && !parser_limits::allow(text) && sound::is_certain(text);
        self.bound.is_none() && (self.readings != Readings::ScanOnly || by_check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (text, shape) in [
            ("true", ScriptShape::Other),
            ("/bin/true", ScriptShape::OneProgram),
            ("ls -l", ScriptShape::OneProgram),
            ("exec ls -l", ScriptShape::OneProgram),
            ("$x", ScriptShape::OneProgram),
            ("ls | wc", ScriptShape::Other),
            ("cd / && ls", ScriptShape::Other),
            ("x=1", ScriptShape::Other),
            ("for i in a; do ls; done", ScriptShape::Other),
            ("echo \"", ScriptShape::Unsound),
            ("fi", ScriptShape::Unsound),
            ("-n; true", ScriptShape::Unsound),
            ("+x; true", ScriptShape::Unsound),
        ] {
            assert_eq!(Script::parse(text).shape(text), shape, "{text}");
        }
    }

    #[test]
    fn long_scripts_have_the_shape_of_short_ones() {
        let padding = "#".repeat(4 << 10);
        for (text, shape) in [
            ("true", ScriptShape::Other),
            ("ls -l", ScriptShape::OneProgram),
            ("ls | wc", ScriptShape::Other),
            ("echo \"", ScriptShape::Unsound),
            ("if true; fi", ScriptShape::Unsound),
            ("echo `date`", ScriptShape::Unsound),
        ] {
            let long = format!("{padding}\n{text}");
            assert_eq!(Script::parse(&long).shape(&long), shape, "{text}");
        }
        let rich = "[[ $x ]] || exit 1\n".repeat(100);
        assert_eq!(Script::parse(&rich).shape(&rich), ScriptShape::Other);
    }

    #[test]
    fn what_nobody_vouches_for_is_unsound() {
        let text = "echo a";
        let mut script = Script::parse(text);
        script.readings = Readings::ScanOnly;
        assert_eq!(script.shape(text), ScriptShape::Unsound);
    }
}
