//! A command's text for somebody else's terminal or page: colours, cursor and screen as the command
//! used them, and nothing that does anything else.
//!
//! What a terminal would do beyond drawing is left out: setting the clipboard or the title, links,
//! questions that it would answer as if somebody typed, other keyboards and mice, reports, images.
//! Characters that reorder text are shown as replacements.

use bashd_keeper::text::Decoder;
use std::fmt::Write as _;

/// The most parameters that a sequence may have.
const MOST_PARAMETERS: usize = 32;

/// Private modes that only draw: wrapping, the cursor, the alternate screen.
const DRAWING_MODES: [u16; 7] = [7, 12, 25, 47, 1047, 1048, 1049];

/// Final characters of sequences that only draw: movements, erasing, inserting, scrolling, colours,
/// margins.
const DRAWING: &[u8] = b"ABCDEFGHIJKLMPSTXZ@`abdefgmrsu";

/// Takes a stream in pieces, and gives what of it may be shown.
pub struct Harmless {
    parser: vte::Parser,
    shown: Shown,
    decoder: Decoder,
}

impl Harmless {
    /// For what was written to a terminal.
    pub fn of_terminal() -> Self {
        Self::new(Newlines::AsWritten)
    }

    /// For what was written to a pipe or a file: its lines begin at the left.
    pub fn of_lines() -> Self {
        Self::new(Newlines::ToTheLeft)
    }

    fn new(newlines: Newlines) -> Self {
        Self {
            parser: vte::Parser::new(),
            shown: Shown {
                text: String::new(),
                newlines,
            },
            decoder: Decoder::new(),
        }
    }

    /// The next bytes, as text.
    pub fn text(&mut self, bytes: &[u8]) -> String {
        // Decoded first: the parser loses characters after one that is split.
        let text = self.decoder.push(bytes);
        self.parser.advance(&mut self.shown, text.as_bytes());
        std::mem::take(&mut self.shown.text)
    }

    /// What is left at the end of the stream, or before a gap: a sequence that did not end is left
    /// out.
    pub fn finish(&mut self) -> String {
        let rest = self.decoder.finish();
        self.parser.advance(&mut self.shown, rest.as_bytes());
        self.parser = vte::Parser::new();
        std::mem::take(&mut self.shown.text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newlines {
    AsWritten,
    ToTheLeft,
}

/// What may be shown so far.
struct Shown {
    text: String,
    newlines: Newlines,
}

impl Shown {
    fn parameters(&mut self, parameters: &vte::Params) {
        for (number, parameter) in parameters.iter().take(MOST_PARAMETERS).enumerate() {
            if number > 0 {
                self.text.push(';');
            }
            for (part, value) in parameter.iter().enumerate() {
                if part > 0 {
                    self.text.push(':');
                }
                let _ = write!(self.text, "{value}");
            }
        }
    }
}

/// Whether a character changes the order of others, or is not one.
pub(super) fn reorders(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

impl vte::Perform for Shown {
    fn print(&mut self, character: char) {
        let is_shown = !reorders(character) && !('\u{80}'..='\u{9f}').contains(&character);
        self.text
            .push(if is_shown { character } else { '\u{fffd}' });
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => {
                if self.newlines == Newlines::ToTheLeft {
                    self.text.push('\r');
                }
                self.text.push('\n');
            }
            b'\r' | b'\t' | 0x08 | 0x0e | 0x0f => self.text.push(char::from(byte)),
            _ => {}
        }
    }

    fn csi_dispatch(
        &mut self,
        parameters: &vte::Params,
        intermediates: &[u8],
        _: bool,
        last: char,
    ) {
        let is_drawing = u8::try_from(last).is_ok_and(|last| DRAWING.contains(&last));
        if intermediates.is_empty() && is_drawing {
            self.text.push_str("\x1b[");
            self.parameters(parameters);
            self.text.push(last);
        } else if intermediates == b"?" && matches!(last, 'h' | 'l') {
            for mode in parameters.iter().flatten() {
                if DRAWING_MODES.contains(mode) {
                    let _ = write!(self.text, "\x1b[?{mode}{last}");
                }
            }
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        match (intermediates, byte) {
            ([], b'7' | b'8' | b'D' | b'E' | b'M' | b'c' | b'H') => {
                self.text.push('\x1b');
                self.text.push(char::from(byte));
            }
            ([b'(' | b')'], b'0' | b'B') => {
                self.text.push('\x1b');
                self.text
                    .extend(intermediates.iter().map(|byte| char::from(*byte)));
                self.text.push(char::from(byte));
            }
            _ => {}
        }
    }
}
