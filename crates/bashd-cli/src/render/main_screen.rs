//! What a program wrote to the main screen of its terminal. What it drew on the alternate one is
//! gone when it leaves, as at any terminal.

/// The private modes by which programs go to the alternate screen and back.
const ALTERNATE: [&str; 3] = ["47", "1047", "1049"];

/// Characters of such a sequence at most; a longer one is another.
const LONGEST: usize = 32;

/// Passes on pieces of output: a sequence may be split over two of them.
#[derive(Debug, Default)]
pub(super) struct MainScreen {
    /// The beginning of what may be a sequence.
    held: String,
    is_away: bool,
    was_away: bool,
}

impl MainScreen {
    /// What of the next piece is on the main screen.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let held = std::mem::take(&mut self.held);
        let whole = held + piece;
        let (mut shown, mut rest) = (String::with_capacity(whole.len()), whole.as_str());
        while let Some(at) = rest.find('\u{1b}') {
            let (before, from) = rest.split_at(at);
            self.pass(before, &mut shown);
            match Sequence::at(from) {
                Sequence::Unfinished => {
                    from.clone_into(&mut self.held);
                    return shown;
                }
                Sequence::Switch { away, length } => {
                    self.is_away = away;
                    self.was_away |= away;
                    rest = from.get(length..).unwrap_or_default();
                }
                Sequence::Other => {
                    let (escape, after) = from.split_at(1);
                    self.pass(escape, &mut shown);
                    rest = after;
                }
            }
        }
        self.pass(rest, &mut shown);
        shown
    }

    /// Whether the program ever drew on the alternate screen.
    pub(super) fn was_away(&self) -> bool {
        self.was_away
    }

    fn pass(&self, text: &str, shown: &mut String) {
        if !self.is_away {
            shown.push_str(text);
        }
    }
}

/// What begins with an escape character.
enum Sequence {
    /// To the alternate screen, or back from it.
    Switch {
        away: bool,
        length: usize,
    },
    Other,
    /// More must come before that is known.
    Unfinished,
}

impl Sequence {
    fn at(text: &str) -> Self {
        let start = "\u{1b}[?";
        let Some(rest) = text.strip_prefix(start) else {
            return if start.starts_with(text) {
                Self::Unfinished
            } else {
                Self::Other
            };
        };
        let is_number = |character: char| character.is_ascii_digit() || character == ';';
        let Some(end) = rest.find(|character| !is_number(character)) else {
            return if rest.len() < LONGEST {
                Self::Unfinished
            } else {
                Self::Other
            };
        };
        let (numbers, last) = rest.split_at(end);
        let is_switch = numbers.split(';').any(|number| ALTERNATE.contains(&number));
        match last.chars().next() {
            Some(last @ ('h' | 'l')) if is_switch => Self::Switch {
                away: last == 'h',
                length: start.len() + end + 1,
            },
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_on_the_alternate_screen_is_left_out() {
        for (written, shown) in [
            ("a\x1b[31mb", "a\x1b[31mb"),
            ("a\x1b[?1049hdrawn\x1b[2J\x1b[?1049lb", "ab"),
            ("a\x1b[?1;47hdrawn\x1b[?47;1lb", "ab"),
            ("a\x1b[?25lb\x1b[?1049l", "a\x1b[?25lb"),
            ("a\x1b[?1049hit was killed", "a"),
        ] {
            assert_eq!(MainScreen::default().push(written), shown, "{written:?}");
            // In pieces of one character, too.
            let mut screen = MainScreen::default();
            let pieces = written.chars().map(|one| screen.push(&one.to_string()));
            assert_eq!(pieces.collect::<String>(), shown, "{written:?}");
            let is_away = written.contains("47h") || written.contains("49h");
            assert_eq!(screen.was_away(), is_away, "{written:?}");
        }
    }
}
