//! The key that ends a command while somebody types at its terminal.

use bashd::profile::rules;
use bashd::screen::keys::{Code, KeyModes, KeyPress};
use std::time::{Duration, Instant};

/// Two Esc within this time end the command; a single one goes to the program.
const TWICE: Duration = Duration::from_millis(500);

/// The key that ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleEndKey {
    /// Esc, and Esc again within half a second.
    EscapeTwice,
    /// This key, which the program then never gets.
    Key(KeyPress),
}

impl ConsoleEndKey {
    /// The key that the configuration names, or else the profile's. The error is for people.
    pub(super) fn of(configured: Option<&str>, profile: rules::EndKey) -> Result<Self, String> {
        let name = configured.unwrap_or(match profile {
            rules::EndKey::EscapeTwice => "Escape Escape",
            rules::EndKey::Escape => "Escape",
        });
        let is_escape =
            |name: &str| KeyPress::named(name).is_some_and(|key| key.code == Code::Escape);
        let mut words = name.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(first), Some(second), None) if is_escape(first) && is_escape(second) => {
                Ok(Self::EscapeTwice)
            }
            (Some(name), None, _) if name.chars().count() > 1 => KeyPress::named(name)
                .map(Self::Key)
                .ok_or_else(|| format!("`console.end_key`: there is no key `{name}`")),
            _ => Err(format!(
                "`console.end_key` can't be {name:?}: give a key like F12 or C-], or Escape Escape"
            )),
        }
    }

    /// What people read.
    pub(super) fn label(self) -> String {
        let Self::Key(key) = self else {
            return "esc esc".to_owned();
        };
        let held = [
            (key.modifiers.control, "ctrl-"),
            (key.modifiers.alt, "alt-"),
            (key.modifiers.shift, "shift-"),
        ];
        let held: String = held
            .into_iter()
            .filter(|(is_held, _)| *is_held)
            .map(|(_, name)| name)
            .collect();
        let name = match key.code {
            Code::Escape => "esc".to_owned(),
            Code::Character(character) => character.to_string(),
            Code::Function(number) => format!("f{number}"),
            code => format!("{code:?}").to_lowercase(),
        };
        held + &name
    }
}

/// Watches the keys for the one that ends the command.
#[derive(Debug)]
pub(super) struct EndKeyWatch {
    key: ConsoleEndKey,
    last_escape: Option<Instant>,
}

impl EndKeyWatch {
    pub(super) fn by(key: ConsoleEndKey) -> Self {
        Self {
            key,
            last_escape: None,
        }
    }

    /// The key.
    pub(super) fn key(&self) -> ConsoleEndKey {
        self.key
    }

    /// Handles a key; returns whether it ends the command.
    pub(super) fn is_asked_for(&mut self, pressed: KeyPress, now: Instant) -> bool {
        match self.key {
            // Old terminals send the same byte for C-] and C-5, so the program gets the same byte.
            ConsoleEndKey::Key(key) => {
                let bytes = |key: KeyPress| key.bytes(KeyModes::default());
                bytes(key) == bytes(pressed)
            }
            ConsoleEndKey::EscapeTwice => {
                let last = self.last_escape.take();
                if pressed.code != Code::Escape {
                    return false;
                }
                let is_second = last.is_some_and(|last| now.duration_since(last) < TWICE);
                self.last_escape = (!is_second).then_some(now);
                is_second
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> KeyPress {
        KeyPress::named(name).unwrap()
    }

    #[test]
    fn the_key_is_configured_or_the_profiles() {
        use rules::EndKey::{Escape, EscapeTwice};
        for (configured, profile, expected) in [
            (None, EscapeTwice, "esc esc"),
            (None, Escape, "esc"),
            (Some("Escape Escape"), Escape, "esc esc"),
            (Some("esc"), EscapeTwice, "esc"),
            (Some("F12"), EscapeTwice, "f12"),
            (Some("C-]"), Escape, "ctrl-]"),
            (Some("M-S-PageUp"), Escape, "alt-shift-pageup"),
        ] {
            let found = ConsoleEndKey::of(configured, profile).unwrap();
            assert_eq!(found.label(), expected, "{configured:?}");
        }
        for wrong in ["x", "F13", "Up Down", "Escape Escape Escape"] {
            assert!(
                ConsoleEndKey::of(Some(wrong), EscapeTwice).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_single_escape_is_the_programs_unless_it_is_the_key() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut twice = EndKeyWatch::by(ConsoleEndKey::EscapeTwice);
        assert!(!twice.is_asked_for(key("Escape"), after(0)));
        assert!(!twice.is_asked_for(key("Escape"), after(600)), "too late");
        assert!(!twice.is_asked_for(key("x"), after(650)));
        assert!(
            !twice.is_asked_for(key("Escape"), after(700)),
            "not in a row"
        );
        assert!(twice.is_asked_for(key("Escape"), after(1100)));
        let mut single = EndKeyWatch::by(ConsoleEndKey::Key(key("Escape")));
        assert!(!single.is_asked_for(key("x"), after(0)));
        assert!(single.is_asked_for(key("Escape"), after(1)));
        let mut bracket = EndKeyWatch::by(ConsoleEndKey::Key(key("C-]")));
        assert!(!bracket.is_asked_for(key("]"), after(2)));
        assert!(bracket.is_asked_for(key("C-5"), after(3)));
    }
}
