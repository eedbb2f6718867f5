//! The plain form of a text: what a terminal would have shown of it, and nothing less.
//!
//! No escapes, no bells, no NUL; of each line's frames the last one, and before it every frame that
//! tells of trouble. Blanks at the ends of lines and blank lines stay: they may be the difference
//! that a failed test is about.

use super::escapes::{self, Escapes};
use super::terminal::EndlessScreen;
use crate::Unchanged;
use memchr::memchr3;
use std::borrow::Cow;

/// A text in its plain form.
#[derive(Debug)]
pub(crate) struct PlainForm<'a> {
    pub(crate) text: Cow<'a, str>,
    /// For each of its lines the line of the raw text, counted from 0; `None` if they are the same.
    pub(crate) raw_lines: Option<Vec<u32>>,
    /// Whether frames were left out that others had overwritten.
    pub(crate) has_frames: bool,
}

/// The plain form of a text. Borrowed if nothing has to change.
pub(crate) fn plain(text: &str) -> Result<PlainForm<'_>, Unchanged> {
    let unchanged = |text| PlainForm {
        text,
        raw_lines: None,
        has_frames: false,
    };
    match escapes::kinds(text) {
        Escapes::MoveTheCursor => EndlessScreen::render(text).ok_or(Unchanged::TooMuchWork),
        Escapes::Colours => {
            let text = escapes::without_escapes(text);
            let silent = without_silent(&text);
            Ok(unchanged(Cow::Owned(silent.unwrap_or(text))))
        }
        Escapes::None => Ok(unchanged(
            without_silent(text).map_or(Cow::Borrowed(text), Cow::Owned),
        )),
    }
}

/// Without what draws nothing: bells, NUL, and the carriage returns of line ends; `None` if the
/// text has none of them.
fn without_silent(text: &str) -> Option<String> {
    memchr3(0x07, 0, b'\r', text.as_bytes())?;
    Some(text.replace("\r\n", "\n").replace(['\u{7}', '\0'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str) -> String {
        plain(raw).unwrap().text.into_owned()
    }

    #[test]
    fn escapes_go_and_blanks_stay() {
        for (raw, expected) in [
            ("\x1b[1;31merror\x1b[0m: x\n", "error: x\n"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("\x1b]0;title\x07text\n", "text\n"),
            ("\x1b(Bplain\n", "plain\n"),
            ("a\x1b[\x1b[0m0m\n", "a[0m\n"),
            ("end\x1b", "end"),
            ("trailing   \t\nblanks  ", "trailing   \t\nblanks  "),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\n\n\n\nb\n", "a\n\n\n\nb\n"),
            ("bell\x07\n", "bell\n"),
        ] {
            assert_eq!(shown(raw), expected, "{raw:?}");
            assert_eq!(shown(expected), expected, "{expected:?} again");
        }
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(
            plain("a\n\nb é\n").unwrap().text,
            Cow::Borrowed(_)
        ));
    }
}
