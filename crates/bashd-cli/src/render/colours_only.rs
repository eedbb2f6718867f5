//! Output on its way to a person's terminal: colours stay, nothing else acts on the terminal.
//!
//! What a program wrote for its own terminal, or what a file holds, must not move the cursor of
//! somebody else's, rename its window or ask it questions.

/// Bytes of a colour sequence at most; a longer one is none.
const LONGEST: usize = 64;

/// Characters of a title or a clipboard at most, which also end with their line: what follows one
/// that never ends is text.
const LONGEST_TITLE: usize = 4096;

/// Characters of an image or another device's data at most.
const LONGEST_DATA: usize = 1 << 20;

/// Passes text on, piece by piece: a sequence may be split over two of them.
#[derive(Debug, Default)]
pub(crate) struct ColoursOnly {
    state: EscapeState,
    /// The sequence so far, in case it is a colour.
    held: String,
    /// Characters that a string may still have, and whether it ends with its line.
    string_left: usize,
    is_of_one_line: bool,
    /// Whether the last one left a colour on.
    is_coloured: bool,
}

/// Where in a sequence the text ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After the escape character.
    Escape,
    /// In `ESC [ …`.
    Control,
    /// In a string that ends with BEL or `ESC \`.
    String,
    /// In such a string, after an escape character.
    StringEscape,
    /// After `ESC (` and the like, which take one more character.
    Charset,
}

impl ColoursOnly {
    /// What of the text may be shown.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for character in text.chars() {
            self.next(character, &mut shown);
        }
        shown
    }

    /// What ends a colour that is still on: nothing after it should have it.
    pub(crate) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_coloured) {
            "\u{1b}[0m"
        } else {
            ""
        }
    }

    /// What ends a sequence although it is not complete, as at a terminal: another one, CAN, SUB, a
    /// new line; or it is too long.
    fn leave_unfinished(&mut self, character: char) {
        use EscapeState::{Control, Escape, String, StringEscape, Text};
        let ends_line = character == '\n';
        self.state = match (self.state, character) {
            (StringEscape, other) if other != '\\' => Escape,
            (state, _) => state,
        };
        self.state = match (self.state, character) {
            (String | Control | Escape, '\u{18}' | '\u{1a}') => Text,
            (Control | Escape, _) if ends_line => Text,
            (String, _) if self.string_left == 0 || ends_line && self.is_of_one_line => Text,
            (state, _) => state,
        };
        self.string_left = self.string_left.saturating_sub(1);
    }

    fn next(&mut self, character: char, shown: &mut String) {
        use EscapeState::{Charset, Control, Escape, String, StringEscape, Text};
        self.leave_unfinished(character);
        self.state = match (self.state, character) {
            (Text | Escape | Control | Charset, '\u{1b}') => Escape,
            (Text | Escape, '\u{9b}') | (Escape, '[') => {
                self.held.clear();
                Control
            }
            (Escape, ']') | (Text, '\u{9d}') => {
                (self.string_left, self.is_of_one_line) = (LONGEST_TITLE, true);
                String
            }
            (Escape, 'P' | 'X' | '^' | '_') | (Text, '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}') => {
                (self.string_left, self.is_of_one_line) = (LONGEST_DATA, false);
                String
            }
            (Escape, '(' | ')' | '*' | '+' | '-' | '.' | '/' | '#' | '%' | ' ') => Charset,
            (Control, '@'..='~') => {
                let is_colour =
                    |character: char| character.is_ascii_digit() || ";:".contains(character);
                if character == 'm' && self.held.chars().all(is_colour) {
                    self.is_coloured = self.held.contains(|digit| ('1'..='9').contains(&digit));
                    shown.push_str("\u{1b}[");
                    shown.push_str(&self.held);
                    shown.push('m');
                }
                Text
            }
            (Control, _) if self.held.len() >= LONGEST => Text,
            (Control, other) => {
                self.held.push(other);
                Control
            }
            (String, '\u{1b}') => StringEscape,
            (Escape | Charset, _) | (String, '\u{7}' | '\u{9c}') | (StringEscape, '\\') => Text,
            (String | StringEscape, _) => String,
            (Text, '\n' | '\r' | '\t') => {
                shown.push(character);
                Text
            }
            (Text, control) if !super::visible::is_printable(control) => Text,
            (Text, other) => {
                shown.push(other);
                Text
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else_acts() {
        for (given, shown) in [
            ("plain\r\n\tx", "plain\r\n\tx"),
            ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
            ("\x1b[38:2::1:2:3mx\x1b[m", "\x1b[38:2::1:2:3mx\x1b[m"),
            ("a\x1b[2Jb\x1b[Hc\x1b[?1049hd", "abcd"),
            ("\x1b]0;title\x07a\x1b]52;c;AAAA\x1b\\b", "ab"),
            ("\x1bP+q544e\x1b\\a\x1bcb\x1b(0c", "abc"),
            ("\x1b[>4;2ma\x1b[?25lb\x1b[6n", "ab"),
            ("a\x07b\x08c\u{9b}31md\u{202e}e", "abc\x1b[31mde"),
            ("\x1b[3\x1b[1mx", "\x1b[1mx"),
            ("\x1b]0;never ends\nhello\n", "\nhello\n"),
            ("\x1b]0;title\x1b[31mred", "\x1b[31mred"),
            ("\x1b]0;title\x18text\x1bPq\x1atext", "texttext"),
            ("\x1b[12\nnext", "\nnext"),
        ] {
            assert_eq!(ColoursOnly::default().push(given), shown, "{given:?}");
        }
    }

    #[test]
    fn a_colour_that_is_left_on_ends() {
        for (text, end) in [
            ("plain", ""),
            ("\x1b[31mred", "\x1b[0m"),
            ("\x1b[31mred\x1b[0m", ""),
            ("\x1b[1mbold\x1b[m", ""),
            ("\x1b[31mred\x1b[2J", "\x1b[0m"),
        ] {
            let mut filter = ColoursOnly::default();
            filter.push(text);
            assert_eq!((filter.end(), filter.end()), (end, ""), "{text:?}");
        }
    }

    #[test]
    fn a_string_that_never_ends_hides_only_so_much() {
        let text = format!("\x1b]0;{}", "x".repeat(2 * LONGEST_TITLE));
        let shown = ColoursOnly::default().push(&text);
        assert_eq!(shown.len(), LONGEST_TITLE + 2);
        let image = "\x1bPq#0;2;0;0;0\n#0~~@@\n-\x1b\\after";
        assert_eq!(ColoursOnly::default().push(image), "after");
    }

    #[test]
    fn a_sequence_may_come_in_pieces() {
        let whole = "a\x1b[1;31mred\x1b[2J\x1b]0;t\x1b\\end";
        let mut filter = ColoursOnly::default();
        let pieces = whole.chars().map(|one| filter.push(&one.to_string()));
        assert_eq!(pieces.collect::<String>(), "a\x1b[1;31mredend");
    }
}
