//! What the emulator does not report: that the cursor was moved, which character set is active,
//! which keyboard protocol the program asked for.

use vte::{Params, Perform};

/// Depth of the stack of keyboard flags; lower entries are forgotten, as terminals do.
const DEEPEST: usize = 16;

/// Why the observer wants the emulator to catch up before it sees more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObserverStop {
    /// Letters begin or stop standing for line drawing characters.
    CharacterSet,
    /// The alternate screen is about to disappear, and its picture with it.
    LeavesAlternate,
}

/// Sees everything that goes to a screen.
#[derive(Debug, Default)]
pub(super) struct Observer {
    pub(super) used_alternate: bool,
    pub(super) moved_cursor: bool,
    pub(super) stop: Option<ObserverStop>,
    /// The last character that was printed.
    pub(super) printed: Option<char>,
    /// For the sets G0 and G1: whether it is the one with line drawing characters.
    drawing: [bool; 2],
    /// Which of them is in use.
    shifted: usize,
    kitty: Vec<u8>,
}

impl Observer {
    /// Whether letters stand for line drawing characters now.
    pub(super) fn draws_lines(&self) -> bool {
        self.drawing.get(self.shifted).copied().unwrap_or_default()
    }

    /// The flags of the Kitty keyboard protocol; 0 if the program did not ask for it.
    pub(super) fn kitty(&self) -> u8 {
        self.kitty.last().copied().unwrap_or_default()
    }

    fn choose(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.draws_lines();
        change(self);
        if self.draws_lines() != before {
            self.stop = Some(ObserverStop::CharacterSet);
        }
    }

    fn private_mode(&mut self, parameters: &Params, is_set: bool) {
        for parameter in parameters {
            if matches!(parameter, [47 | 1047 | 1049]) {
                self.used_alternate = true;
                if !is_set {
                    self.stop = Some(ObserverStop::LeavesAlternate);
                }
            }
        }
    }

    fn keyboard(&mut self, intermediate: u8, parameters: &Params) {
        let numbers: Vec<u16> = parameters
            .iter()
            .map(|part| part.first().copied().unwrap_or_default())
            .collect();
        let first = numbers.first().copied().unwrap_or_default();
        let flags = first.min(31) as u8;
        match intermediate {
            b'>' => {
                self.kitty.push(flags);
                if self.kitty.len() > DEEPEST {
                    self.kitty.remove(0);
                }
            }
            b'<' => {
                let left = self.kitty.len().saturating_sub(usize::from(first.max(1)));
                self.kitty.truncate(left);
            }
            b'=' => {
                let present = self.kitty.pop().unwrap_or_default();
                self.kitty.push(match numbers.get(1) {
                    Some(2) => present | flags,
                    Some(3) => present & !flags,
                    _ => flags,
                });
            }
            _ => {}
        }
    }
}

impl Perform for Observer {
    fn print(&mut self, character: char) {
        self.printed = Some(character);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x0e => self.choose(|observer| observer.shifted = 1),
            0x0f => self.choose(|observer| observer.shifted = 0),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, parameters: &Params, intermediates: &[u8], _: bool, action: char) {
        match (intermediates.first(), action) {
            // Colored line output also erases to the end of a line.
            (None, 'A'..='J' | 'L' | 'M' | 'P' | 'S' | 'T' | 'd' | 'e' | 'f' | 'r' | '@' | '`') => {
                self.moved_cursor = true;
            }
            (None, 's' | 'u') => self.moved_cursor = true,
            (Some(b'?'), 'h') => self.private_mode(parameters, true),
            (Some(b'?'), 'l') => self.private_mode(parameters, false),
            (Some(intermediate @ (b'>' | b'<' | b'=')), 'u') => {
                self.keyboard(*intermediate, parameters);
            }
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        match (intermediates, byte) {
            ([], b'8' | b'D' | b'E' | b'M' | b'c') => self.moved_cursor = true,
            ([b'('], set) => self.choose(|observer| observer.drawing[0] = set == b'0'),
            ([b')'], set) => self.choose(|observer| observer.drawing[1] = set == b'0'),
            _ => {}
        }
    }

    fn terminated(&self) -> bool {
        self.stop.is_some()
    }
}
