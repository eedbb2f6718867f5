//! Turns a line that a program wrote for a terminal into plain text.
//!
//! Escape sequences and control characters are removed; a line that was overwritten (`\r`) shows
//! its last frame, and before it, each on its own, the frames that tell of trouble; a line that is
//! too long is cut. A sequence ends with its line at the latest, so
//! each line stands alone: the result is the same however the bytes arrived, and a window may begin
//! at any line.

use super::text::split_incomplete;
use crate::minimize::tells_of_trouble;

/// Ends a line that was cut; three bytes.
pub(super) const ELLIPSIS: char = '…';

/// Bytes of a line that are searched for its first characters. A line of control characters alone
/// must not cost more than that.
pub(super) const LOOKED_AT: usize = 1024 * 1024;

/// The most that is shown of a line, in bytes of text; `None`: all of it.
pub(crate) type Cap = Option<usize>;

/// A line as text.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PlainLine {
    /// Without its newline.
    pub(super) text: String,
    /// Bytes of the line after what is shown; 0 unless it was cut.
    pub(super) cut: u64,
}

/// Renders a complete line, given without its newline.
pub(super) fn line(raw: &[u8], cap: Cap) -> PlainLine {
    let mut end = raw.len();
    loop {
        let before = raw.get(..end).unwrap_or_default();
        let start = memchr::memrchr(b'\r', before).map_or(0, |at| at + 1);
        let frame = before.get(start..).unwrap_or_default();
        let shown = frame_of(frame, frame.len() as u64, cap);
        if start == 0 {
            return shown;
        }
        if !shown.text.is_empty() {
            let earlier = raw.get(..start - 1).unwrap_or_default();
            return with_trouble(earlier, &shown, cap);
        }
        end = start - 1;
    }
}

/// A frame after those that it overwrote and that tell of trouble, as far as the cap allows.
fn with_trouble(earlier: &[u8], last: &PlainLine, cap: Cap) -> PlainLine {
    let mut text = String::new();
    let mut cut = last.cut;
    let room = cap.unwrap_or(usize::MAX).saturating_sub(last.text.len());
    let mut before = String::new();
    for frame in earlier.split(|byte| *byte == b'\r') {
        let shown = frame_of(frame, frame.len() as u64, cap);
        let is_new = shown.text != before && shown.text != last.text;
        if !is_new || !tells_of_trouble(&shown.text) {
            continue;
        }
        if text.len() + shown.text.len() + 1 > room {
            cut += frame.len() as u64;
            continue;
        }
        text.push_str(&shown.text);
        text.push('\n');
        before = shown.text;
    }
    text.push_str(&last.text);
    PlainLine { text, cut }
}

/// Renders a frame of which only the first bytes are there, and which has `length` bytes in all.
pub(super) fn frame_of(start: &[u8], length: u64, cap: Cap) -> PlainLine {
    let start = start.get(..start.len().min(LOOKED_AT)).unwrap_or(start);
    let start = if (start.len() as u64) < length {
        split_incomplete(start).0
    } else {
        start
    };
    let limit = cap.unwrap_or(usize::MAX);
    let kept = limit.saturating_sub(ELLIPSIS.len_utf8());
    let mut cleaner = Cleaner::default();
    let mut text = String::new();
    let mut raw = 0;
    // The end of what stays if the line turns out too long, in the text and in the raw bytes.
    let mut fitting = (0, 0);
    for chunk in start.utf8_chunks() {
        let invalid = (!chunk.invalid().is_empty()).then_some(('\u{FFFD}', chunk.invalid().len()));
        let valid = chunk.valid().chars().map(|c| (c, c.len_utf8()));
        for (character, bytes) in valid.chain(invalid) {
            raw += bytes as u64;
            if let Some(visible) = cleaner.take(character) {
                text.push(visible);
            }
            if text.len() <= kept {
                fitting = (text.len(), raw);
            }
            if text.len() > limit {
                return cut(text, fitting, length);
            }
        }
    }
    if raw < length && cap.is_some() {
        return cut(text, fitting, length);
    }
    PlainLine { text, cut: 0 }
}

fn cut(mut text: String, (end, raw): (usize, u64), length: u64) -> PlainLine {
    text.truncate(end);
    text.push(ELLIPSIS);
    PlainLine {
        text,
        cut: length - raw,
    }
}

/// Where in an escape sequence we are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Cleaner {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte: one more character.
    Designation,
    /// In a control sequence: parameters, then a final character.
    Control,
    /// In a string (title, hyperlink, picture) up to BEL or ST.
    String,
}

impl Cleaner {
    /// Takes the next character; returns it if it is visible.
    fn take(&mut self, character: char) -> Option<char> {
        let (next, seen) = self.step(character);
        *self = next;
        seen.then_some(character)
    }

    #[expect(
        clippy::match_same_arms,
        reason = "one arm a rule, in the order in which they hold"
    )]
    fn step(self, character: char) -> (Self, bool) {
        match (self, character) {
            (_, '\u{1b}') => (Self::Escape, false),
            (Self::String, '\u{7}' | '\u{9c}') => (Self::Text, false),
            (Self::String, _) => (Self::String, false),
            (Self::Escape, '[') => (Self::Control, false),
            (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => (Self::String, false),
            (Self::Escape | Self::Designation, ' '..='/') => (Self::Designation, false),
            (Self::Escape | Self::Designation, '0'..='~') => (Self::Text, false),
            (Self::Control, ' '..='?') => (Self::Control, false),
            (Self::Control, '@'..='~') => (Self::Text, false),
            // Anything else ends an invalid sequence, and is itself visible.
            (_, '\u{9b}') => (Self::Control, false),
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => (Self::String, false),
            (_, '\t') => (Self::Text, true),
            (_, other) => (Self::Text, !other.is_control()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_that_was_overwritten_is_shown() {
        let text = |raw: &str, cap| line(raw.as_bytes(), cap).text;
        let raw = "ERROR: disk on fire\rall good";
        assert_eq!(text(raw, None), "ERROR: disk on fire\nall good");
        assert_eq!(text("10%\r50%\rdone\r", None), "done");
        assert_eq!(
            text("failed: a\rfailed: a\rfailed: b\rok", None),
            "failed: a\nfailed: b\nok"
        );
        let cut = line(raw.as_bytes(), Some(10));
        assert_eq!((cut.text.as_str(), cut.cut), ("all good", 19));
    }
    use proptest::prelude::*;

    fn shown(raw: &str) -> String {
        line(raw.as_bytes(), None).text
    }

    #[test]
    fn sequences_and_controls_leave_nothing_behind() {
        for (raw, text) in [
            ("plain\ttext é", "plain\ttext é"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx\u{1b}=y\u{1b}7z", "xyz"),
            ("\u{9b}31mx\u{9d}t\u{9c}y", "xy"),
            ("a\u{0}b\u{8}c\u{7f}d\u{85}e", "abcde"),
            ("\u{1b}Pq#0\u{1b}\\after", "after"),
            ("\u{1b}[12é", "é"),
            ("\u{1b}", ""),
            ("x\u{1b}[", "x"),
            ("\u{1b}\u{1b}[31mx", "x"),
        ] {
            assert_eq!(shown(raw), text, "{raw:?}");
        }
    }

    #[test]
    fn the_last_frame_of_a_line_is_shown() {
        for (raw, text) in [
            ("10%\r50%\r100%", "100%"),
            ("dos\r", "dos"),
            ("\r\r", ""),
            ("\rframe 1\rframe 2\r", "frame 2"),
            ("done\r\u{1b}[K", "done"),
            ("50%\r    ", "    "),
            ("\u{1b}]0;no end\rx", "x"),
        ] {
            assert_eq!(shown(raw), text, "{raw:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_counted() {
        let cut = |raw: &str| {
            let line = line(raw.as_bytes(), Some(8));
            (line.text, line.cut)
        };
        assert_eq!(cut("12345678"), ("12345678".to_owned(), 0));
        assert_eq!(cut("123456789"), ("12345…".to_owned(), 4));
        assert_eq!(cut("1234ééé"), ("1234…".to_owned(), 6));
        assert_eq!(
            cut("\u{1b}[31m12345\u{1b}[0m6789"),
            ("12345…".to_owned(), 4)
        );
        assert_eq!(cut("x\r123456789"), ("12345…".to_owned(), 4));
        let invalid = line(b"1234\xff5678", Some(8));
        assert_eq!((invalid.text.as_str(), invalid.cut), ("1234…", 5));
    }

    #[test]
    fn a_frame_of_which_only_the_start_is_there_is_cut() {
        let start = "é".repeat(5);
        let shown = frame_of(&start.as_bytes()[..9], 1000, Some(20));
        assert_eq!((shown.text.as_str(), shown.cut), ("éééé…", 992));
        let nothing = frame_of(&[0; 10], 10_000_000, Some(768));
        assert_eq!((nothing.text.as_str(), nothing.cut), ("…", 9_999_990));
    }

    proptest! {
        #[test]
        fn rendering_again_changes_nothing(raw in "(\u{1b}(\\[[0-9;]{0,3}m?)?|[a-z\t\r\u{0}\u{9b}é]){0,40}") {
            let once = shown(&raw);
            prop_assert_eq!(shown(&once), once.clone());
            prop_assert!(!once.chars().any(|c| c.is_control() && c != '\t'));
        }

        #[test]
        fn a_cap_holds_and_is_only_used_when_needed(raw in proptest::collection::vec(any::<u8>(), 0..60), cap in 3_usize..40) {
            let raw: Vec<u8> = raw.into_iter().filter(|byte| *byte != b'\n').collect();
            let (whole, capped) = (line(&raw, None), line(&raw, Some(cap)));
            prop_assert!(capped.text.len() <= cap);
            if whole.text.len() <= cap {
                prop_assert_eq!(&whole, &capped);
            } else {
                let kept = capped.text.strip_suffix('…').unwrap();
                prop_assert!(whole.text.starts_with(kept));
                prop_assert!(capped.cut > 0 && capped.cut <= raw.len() as u64);
            }
        }
    }
}
