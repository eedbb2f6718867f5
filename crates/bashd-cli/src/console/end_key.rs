//! The key that ends a command. No habit of a program's user is one: Esc belongs to the program
//! wherever it draws.

use bashd::profile::rules;
use bashd::screen::keys::{self, Code, KeyModes, KeyPress, Modifiers};
use std::time::{Duration, Instant};

/// Within this time a key that is to be pressed twice must come again.
const TWICE: Duration = Duration::from_secs(1);

/// What ends a command if nothing else is said; pressed twice.
const BRACKET: KeyPress = KeyPress {
    code: Code::Character(']'),
    modifiers: Modifiers {
        shift: false,
        alt: false,
        control: true,
    },
};

/// The key that ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleEndKey {
    /// This key twice within a second; the program gets the first.
    Twice(KeyPress),
    /// This key, which the program then never gets.
    Once(KeyPress),
    /// A single Esc, and where the program draws, [`BRACKET`] twice.
    EscapeUnlessDrawn,
}

/// What the program at the terminal does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalUse {
    /// It writes lines.
    Lines,
    /// It draws on the alternate screen.
    Drawn,
}

impl ConsoleEndKey {
    /// The key that the configuration names, or else the profile's. The error is for people.
    pub(super) fn of(configured: Option<&str>, profile: rules::EndKey) -> Result<Self, String> {
        let Some(name) = configured else {
            return Ok(match profile {
                rules::EndKey::BracketTwice => Self::Twice(BRACKET),
                rules::EndKey::Escape => Self::EscapeUnlessDrawn,
            });
        };
        match keys::once_or_twice(name) {
            Some((key, true)) => Ok(Self::Twice(key)),
            Some((key, false)) => Ok(Self::Once(key)),
            None => Err(format!(
                "`console.end_key` can't be {name:?}: name a key, as in F12, or the same key \
                 twice, as in C-] C-]"
            )),
        }
    }

    /// What counts at a terminal that is used in this way: the key, and whether once is enough.
    fn at(self, terminal: TerminalUse) -> (KeyPress, bool) {
        match (self, terminal) {
            (Self::Twice(key), _) => (key, false),
            (Self::Once(key), _) => (key, true),
            (Self::EscapeUnlessDrawn, TerminalUse::Drawn) => (BRACKET, false),
            (Self::EscapeUnlessDrawn, TerminalUse::Lines) => {
                let modifiers = Modifiers::default();
                let code = Code::Escape;
                (KeyPress { code, modifiers }, true)
            }
        }
    }

    /// What people read: the key, and how often.
    pub(super) fn label(self, terminal: TerminalUse) -> String {
        let (_, is_once) = self.at(terminal);
        let times = if is_once { "" } else { " twice" };
        format!("{}{times}", self.name(terminal))
    }

    /// The key alone.
    pub(super) fn name(self, terminal: TerminalUse) -> String {
        let (key, _) = self.at(terminal);
        let held = [
            (key.modifiers.control, "ctrl-"),
            (key.modifiers.alt, "alt-"),
            (key.modifiers.shift, "shift-"),
        ];
        let held: String = held
            .into_iter()
            .filter_map(|(is_held, name)| is_held.then_some(name))
            .collect();
        let name = match key.code {
            Code::Escape => "esc".to_owned(),
            Code::Character(character) => character.to_string(),
            Code::Function(number) => format!("f{number}"),
            code => format!("{code:?}").to_lowercase(),
        };
        format!("{held}{name}")
    }
}

/// Watches the keys for the one that ends the command.
#[derive(Debug)]
pub(super) struct EndKeyWatch {
    key: ConsoleEndKey,
    /// When a key came that must come twice.
    last: Option<Instant>,
}

impl EndKeyWatch {
    pub(super) fn by(key: ConsoleEndKey) -> Self {
        Self { key, last: None }
    }

    /// The key.
    pub(super) fn key(&self) -> ConsoleEndKey {
        self.key
    }

    /// Whether the key would end the command if it came again now.
    pub(super) fn is_half_asked_for(&self, now: Instant) -> bool {
        self.last
            .is_some_and(|last| now.duration_since(last) < TWICE)
    }

    /// Handles a key; returns whether it ends the command.
    pub(super) fn is_asked_for(
        &mut self,
        pressed: KeyPress,
        terminal: TerminalUse,
        now: Instant,
    ) -> bool {
        // Old terminals send the same byte for C-] and C-5, so the program gets the same byte.
        let bytes = |key: KeyPress| key.bytes(KeyModes::default());
        let (key, is_once) = self.key.at(terminal);
        let last = self.last.take();
        if bytes(key) != bytes(pressed) {
            return false;
        }
        let is_asked = is_once || last.is_some_and(|last| now.duration_since(last) < TWICE);
        self.last = (!is_asked).then_some(now);
        is_asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TerminalUse::{Drawn, Lines};

    fn key(name: &str) -> KeyPress {
        KeyPress::named(name).unwrap()
    }

    #[test]
    fn the_key_is_configured_or_the_profiles() {
        use rules::EndKey::{BracketTwice, Escape};
        for (configured, profile, in_lines, drawn) in [
            (None, BracketTwice, "ctrl-] twice", "ctrl-] twice"),
            (None, Escape, "esc", "ctrl-] twice"),
            (Some("Escape Escape"), Escape, "esc twice", "esc twice"),
            (Some("esc"), BracketTwice, "esc", "esc"),
            (Some("F12"), BracketTwice, "f12", "f12"),
            (Some("C-]"), Escape, "ctrl-]", "ctrl-]"),
            (
                Some("M-S-PageUp"),
                Escape,
                "alt-shift-pageup",
                "alt-shift-pageup",
            ),
        ] {
            let found = ConsoleEndKey::of(configured, profile).unwrap();
            assert_eq!(found.label(Lines), in_lines, "{configured:?}");
            assert_eq!(found.label(Drawn), drawn, "{configured:?}");
        }
        for wrong in ["x", "F13", "Up Down", "Escape Escape Escape", "x x", " "] {
            let found = ConsoleEndKey::of(Some(wrong), BracketTwice);
            assert!(found.is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_habit_of_a_programs_user_ends_it() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut twice = EndKeyWatch::by(ConsoleEndKey::Twice(BRACKET));
        for (millis, name) in [(0, "Escape"), (10, "Escape"), (20, "C-c"), (30, "C-c")] {
            assert!(
                !twice.is_asked_for(key(name), Drawn, after(millis)),
                "{name}"
            );
        }
        assert!(!twice.is_asked_for(key("C-]"), Lines, after(100)));
        assert!(
            !twice.is_asked_for(key("C-]"), Lines, after(1200)),
            "too late"
        );
        assert!(!twice.is_asked_for(key("x"), Lines, after(1250)));
        let again = twice.is_asked_for(key("C-]"), Lines, after(1300));
        assert!(!again, "not in a row");
        assert!(twice.is_asked_for(key("C-5"), Lines, after(2200)));
        let mut of_profile = EndKeyWatch::by(ConsoleEndKey::EscapeUnlessDrawn);
        assert!(!of_profile.is_asked_for(key("Escape"), Drawn, after(0)));
        assert!(!of_profile.is_asked_for(key("x"), Lines, after(1)));
        assert!(of_profile.is_asked_for(key("Escape"), Lines, after(2)));
        let mut single = EndKeyWatch::by(ConsoleEndKey::Once(key("C-]")));
        assert!(!single.is_asked_for(key("]"), Drawn, after(2)));
        assert!(single.is_asked_for(key("C-5"), Drawn, after(3)));
    }
}
