//! The terminal of a running command: its screen, and the keys that go to it.

use super::end_key::{ConsoleEndKey, EndKeyWatch, TerminalUse};
use bashd::Keyboard;
use bashd::screen::keys::{self, Code, KeyPress, Modifiers};
use bashd::screen::{Screen, Size};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Instant;

/// Rows that one turn of the wheel scrolls.
const WHEEL: usize = 3;

/// What a key in the overlay asks of the console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OverlayAction {
    /// Nothing: the command got the key.
    Nothing,
    /// End the command.
    End,
    /// Show the rest of the console; the command goes on.
    Hide,
}

/// A command's screen and keyboard.
pub(super) struct Overlay {
    screen: Screen,
    keyboard: Keyboard,
    ending: EndKeyWatch,
}

impl Overlay {
    /// The terminal of a command, of this size.
    pub(super) fn new(keyboard: Keyboard, size: Size, ends: ConsoleEndKey) -> Self {
        Self {
            screen: Screen::new(size),
            keyboard,
            ending: EndKeyWatch::by(ends),
        }
    }

    /// The size of a terminal on a screen of this many columns and rows: 80 % of its height, within
    /// a border.
    pub(super) fn size_on((columns, rows): (u16, u16)) -> Size {
        Size::new(columns.saturating_sub(2), (rows * 4 / 5).saturating_sub(2))
    }

    /// What ends the command, in words.
    pub(super) fn ends_by(&self) -> String {
        let (key, used_for) = (self.ending.key(), self.used_for());
        if self.ending.is_half_asked_for(Instant::now()) {
            return format!("{} again ends it", key.name(used_for));
        }
        format!("{} ends it", key.label(used_for))
    }

    /// What the command uses its terminal for.
    pub(super) fn used_for(&self) -> TerminalUse {
        if self.screen.is_alternate() {
            TerminalUse::Drawn
        } else {
            TerminalUse::Lines
        }
    }

    /// Has the program interrupted, as Ctrl-C at its terminal does.
    pub(super) fn interrupt(&self) {
        self.keyboard.type_bytes(vec![3]);
    }

    /// Ends the program's input, as Ctrl-D at its terminal does.
    pub(super) fn end_input(&self) {
        self.keyboard.type_bytes(vec![4]);
    }

    /// The command's screen.
    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Takes in output of the command; returns whether that switched to the alternate screen.
    pub(super) fn output(&mut self, bytes: &[u8]) -> bool {
        let was = self.screen.is_alternate();
        self.screen.feed(bytes);
        !was && self.screen.is_alternate()
    }

    /// The area for the terminal changed its size.
    pub(super) fn resize(&mut self, size: Size) {
        if size != self.screen.size() {
            self.screen.resize(size);
            self.keyboard.resize(size);
        }
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, event: &KeyEvent, now: Instant) -> OverlayAction {
        if event.code == KeyCode::Char('t') && event.modifiers == KeyModifiers::CONTROL {
            return OverlayAction::Hide;
        }
        let Some(key) = key_of(event) else {
            return OverlayAction::Nothing;
        };
        let used_for = self.used_for();
        if self.ending.is_asked_for(key, used_for, now) {
            return OverlayAction::End;
        }
        self.screen.look_back(0);
        let bytes = key.bytes(self.screen.key_modes());
        self.keyboard.type_bytes(bytes);
        OverlayAction::Nothing
    }

    /// Text was pasted.
    pub(super) fn paste(&self, text: &str) {
        let bytes = keys::paste(text, self.screen.key_modes());
        self.keyboard.type_bytes(bytes);
    }

    /// The wheel was turned.
    pub(super) fn wheel(&mut self, turn: WheelTurn) {
        let back = self.screen.looks_back();
        self.screen.look_back(match turn {
            WheelTurn::Up => back + WHEEL,
            WheelTurn::Down => back.saturating_sub(WHEEL),
        });
    }
}

/// Which way the wheel was turned.
#[derive(Debug, Clone, Copy)]
pub(super) enum WheelTurn {
    Up,
    Down,
}

/// The key that an event is about.
pub(super) fn key_of(event: &KeyEvent) -> Option<KeyPress> {
    let mut modifiers = Modifiers {
        shift: event.modifiers.contains(KeyModifiers::SHIFT),
        alt: event.modifiers.contains(KeyModifiers::ALT),
        control: event.modifiers.contains(KeyModifiers::CONTROL),
    };
    let code = match event.code {
        KeyCode::Char(character) => Code::Character(character),
        KeyCode::F(number @ 1..=12) => Code::Function(number),
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::Insert => Code::Insert,
        KeyCode::Delete => Code::Delete,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Enter => Code::Enter,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => {
            modifiers.shift = true;
            Code::Tab
        }
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Esc => Code::Escape,
        _ => return None,
    };
    Some(KeyPress { code, modifiers })
}
