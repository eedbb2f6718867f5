//! The plain form of a text: what a terminal would have shown of it, and nothing less.
//!
//! No escapes, no bells, no NUL; of each line's frames the last one, and before it every frame that
//! tells of trouble or has a name that is always kept. A line that only its colours tell apart
//! keeps them (`colours`), and the address of a link stands behind its words. Blanks at the ends of
//! lines and blank lines stay: they may be the difference that a failed test is about.

use super::colours::ColourReading;
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
    /// Whether some lines keep their colours.
    pub(crate) has_colours: bool,
    /// Whether addresses of links stand in it.
    pub(crate) has_links: bool,
}

/// The plain form of a text. Borrowed if nothing has to change.
pub(crate) fn plain(text: &str) -> Result<PlainForm<'_>, Unchanged> {
    let kinds = escapes::kinds(text);
    let colours = match kinds {
        Escapes::None => ColourReading::default(),
        _ => ColourReading::of(text),
    };
    if kinds == Escapes::MoveTheCursor {
        // Where a line ends up that needs its colours is more than is known here.
        if !colours.fused.is_empty() {
            return Err(Unchanged::Colours);
        }
        return EndlessScreen::render(text).ok_or(Unchanged::TooMuchWork);
    }
    let unchanged = |text| PlainForm {
        text,
        raw_lines: None,
        has_frames: false,
        has_colours: false,
        has_links: false,
    };
    if kinds == Escapes::None {
        let silent = without_silent(text).map_or(Cow::Borrowed(text), Cow::Owned);
        return Ok(unchanged(silent));
    }
    let as_they_are = colours.lines();
    let (text, has_links) = escapes::without_escapes(text, &as_they_are);
    let silent = without_silent(&text);
    Ok(PlainForm {
        has_colours: !as_they_are.is_empty(),
        has_links,
        ..unchanged(Cow::Owned(silent.unwrap_or(text)))
    })
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
            (
                "\x1b]8;;http://a\x1b\\http://a/\x1b]8;;\x1b\\\n",
                "http://a/\n",
            ),
            ("\x1b]8;;file://h/a/b.c\x1b\\b.c\x1b]8;;\x1b\\\n", "b.c\n"),
            ("\x1b[01m\x1b[Kbold\x1b[m\x1b[K x\n", "bold x\n"),
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
    fn the_address_of_a_link_stands_behind_its_words() {
        let link = |end: &str| format!("\x1b]8;;https://ci.example/8812{end}run 8812\x1b]8;;{end}");
        for end in ["\x1b\\", "\x07"] {
            let raw = format!("{} failed\n{} again\n", link(end), link(end));
            let expected = "run 8812 <https://ci.example/8812> failed\nrun 8812 again\n";
            assert_eq!(shown(&raw), expected);
            assert!(plain(&raw).unwrap().has_links);
            let raw = format!("10%\r{} failed\n", link(end));
            assert_eq!(shown(&raw), "run 8812 failed <https://ci.example/8812>\n");
        }
    }

    #[test]
    fn a_line_that_only_colours_tell_apart_keeps_them() {
        let changed = "price = \x1b[31m30\x1b[m\x1b[32m31\x1b[m";
        let raw = format!("\x1b[1mbold\x1b[m\n{changed}\n\x1b[1mbold\x1b[m\n");
        assert_eq!(shown(&raw), format!("bold\n{changed}\nbold\n"));
        assert!(plain(&raw).unwrap().has_colours);
        assert_eq!(
            plain(&format!("10%\r20%\n{raw}")).err(),
            Some(Unchanged::Colours)
        );
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(
            plain("a\n\nb é\n").unwrap().text,
            Cow::Borrowed(_)
        ));
    }
}
