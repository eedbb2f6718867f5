//! Text as a terminal would have shown it: escapes removed, frames overwritten, trailing blanks
//! removed.

use super::terminal::EndlessScreen;
use memchr::{memchr, memchr3_iter};
use std::borrow::Cow;

const ESCAPE: u8 = 0x1b;

/// What remains visible of a text. Borrowed if nothing has to change.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let rendered = if needs_terminal(text) {
        Cow::Owned(EndlessScreen::render(text))
    } else if memchr(ESCAPE, text.as_bytes()).is_some() {
        Cow::Owned(without_escapes(text))
    } else {
        Cow::Borrowed(text)
    };
    match rendered {
        Cow::Borrowed(text) => tidy_blanks(text),
        Cow::Owned(rendered) => match tidy_blanks(&rendered) {
            Cow::Borrowed(_) => Cow::Owned(rendered),
            Cow::Owned(tidied) => Cow::Owned(tidied),
        },
    }
}

/// Whether anything in it moves the cursor other than to the next line.
fn needs_terminal(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut controls = memchr3_iter(ESCAPE, b'\r', 0x08, bytes);
    controls.any(|at| match bytes.get(at) {
        Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
        Some(&ESCAPE) => matches!(
            escape_at(bytes, at),
            Escape::Sequence(b'A'..=b'H' | b'J' | b'K' | b'f' | b'd' | b'M', _)
                | Escape::ReverseLine
        ),
        _ => true,
    })
}

/// An escape sequence, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// `ESC [ … final`: the final byte, and the whole length in bytes.
    Sequence(u8, usize),
    /// `ESC M`
    ReverseLine,
    /// Anything else, of this length: it draws nothing.
    Silent(usize),
}

impl Escape {
    pub(super) fn length(self) -> usize {
        match self {
            Self::Sequence(_, length) | Self::Silent(length) => length,
            Self::ReverseLine => 2,
        }
    }
}

/// The longest title or link in an escape; anything longer is text after a lone escape.
const LONGEST_STRING: usize = 4096;

/// Reads the escape at `at`, where an ESC byte is.
pub(super) fn escape_at(bytes: &[u8], at: usize) -> Escape {
    match bytes.get(at + 1) {
        Some(b'[') => {
            let parameters = bytes.iter().skip(at + 2).take(64);
            let count = parameters
                .take_while(|byte| (0x20..0x40).contains(*byte))
                .count();
            match bytes.get(at + 2 + count) {
                Some(last @ 0x40..=0x7e) => Escape::Sequence(*last, count + 3),
                // Not a sequence after all: only the ESC is removed.
                _ => Escape::Silent(1),
            }
        }
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let end = bytes.len().min(at + LONGEST_STRING);
            let rest = bytes.get(at + 2..end).unwrap_or_default();
            match memchr::memchr2(0x07, ESCAPE, rest) {
                Some(bell) if rest.get(bell) == Some(&0x07) => Escape::Silent(bell + 3),
                Some(end) if rest.get(end + 1) == Some(&b'\\') => Escape::Silent(end + 4),
                _ => Escape::Silent(1),
            }
        }
        Some(b'(' | b')' | b'*' | b'+' | b'#' | b'%')
            if bytes.get(at + 2).is_some_and(u8::is_ascii) =>
        {
            Escape::Silent(3)
        }
        Some(b'M') => Escape::ReverseLine,
        Some(b'7' | b'8' | b'=' | b'>' | b'c' | b'D' | b'E' | b'H') => Escape::Silent(2),
        _ => Escape::Silent(1),
    }
}

/// The numbers of a sequence.
pub(super) fn parameters(bytes: &[u8], at: usize, length: usize) -> (usize, usize) {
    let text = bytes
        .get(at + 2..(at + length).saturating_sub(1))
        .unwrap_or_default();
    let mut numbers = text.split(|byte| *byte == b';').map(|digits| {
        let digits = digits.iter().filter(|byte| byte.is_ascii_digit()).take(5);
        digits.fold(0_usize, |number, digit| {
            number * 10 + usize::from(digit - b'0')
        })
    });
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The text without escapes, where none of them moves the cursor.
fn without_escapes(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr(ESCAPE, rest)) {
        let at = from + found;
        kept.push_str(text.get(from..at).unwrap_or_default());
        from = at + escape_at(bytes, at).length();
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// No trailing blanks, one blank line for several, no bells.
fn tidy_blanks(text: &str) -> Cow<'_, str> {
    if !needs_tidying(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut tidied = String::with_capacity(text.len());
    let mut blank_before = false;
    let ends_with_line_end = text.ends_with('\n');
    for line in super::super::work::lines(text) {
        let line = line.trim_end_matches([' ', '\t', '\r']);
        if line.is_empty() && blank_before {
            continue;
        }
        blank_before = line.is_empty();
        if memchr::memchr2(0x07, 0, line.as_bytes()).is_some() {
            tidied.extend(line.chars().filter(|c| !matches!(c, '\u{7}' | '\0')));
        } else {
            tidied.push_str(line);
        }
        tidied.push('\n');
    }
    if !ends_with_line_end {
        tidied.pop();
    }
    Cow::Owned(tidied)
}

fn needs_tidying(bytes: &[u8]) -> bool {
    let is_blank = |at: usize| matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r'));
    let ends_blank = bytes.len().checked_sub(1).is_some_and(is_blank);
    let before_line_end = |at: usize| {
        let before = at.checked_sub(1);
        before.is_some_and(is_blank)
            || before.is_some_and(|before| bytes.get(before) == Some(&b'\n'))
                && at
                    .checked_sub(2)
                    .is_some_and(|before| bytes.get(before) == Some(&b'\n'))
    };
    ends_blank
        || memchr::memchr2(0x07, 0, bytes).is_some()
        || bytes.starts_with(b"\n\n")
        || memchr::memchr_iter(b'\n', bytes).any(before_line_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go() {
        for (raw, shown) in [
            ("\x1b[1;31merror\x1b[0m: x\n", "error: x\n"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("\x1b]0;title\x07text\n", "text\n"),
            ("\x1b(Bplain\n", "plain\n"),
            ("a\x1b[\x1b[0m0m\n", "a[0m\n"),
            ("end\x1b", "end"),
            ("trailing   \t\nblanks  ", "trailing\nblanks"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\n\n\n\nb\n", "a\n\nb\n"),
            ("bell\x07\n", "bell\n"),
        ] {
            assert_eq!(visible(raw), shown, "{raw:?}");
            assert_eq!(visible(shown), shown, "{shown:?} again");
        }
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(visible("a\n\nb é\n"), Cow::Borrowed(_)));
    }
}
