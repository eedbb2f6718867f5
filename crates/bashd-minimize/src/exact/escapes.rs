//! Escape sequences: what they do, and a text without them.

use memchr::{memchr, memchr3_iter};
use std::collections::HashSet;
use std::ops::Range;

const ESCAPE: u8 = 0x1b;

/// What the escapes of a text do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// There are none.
    None,
    /// They draw nothing.
    Colours,
    /// Some move the cursor other than to the next line, or erase.
    MoveTheCursor,
}

/// Which escapes a text has.
pub(super) fn kinds(text: &str) -> Escapes {
    let bytes = text.as_bytes();
    let mut found = Escapes::None;
    for at in memchr3_iter(ESCAPE, b'\r', 0x08, bytes) {
        let moves = match bytes.get(at) {
            Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
            Some(&ESCAPE) => {
                found = Escapes::Colours;
                match escape_at(bytes, at) {
                    Escape::Sequence(b'A'..=b'H' | b'J' | b'f' | b'd' | b'M', _)
                    | Escape::ReverseLine => true,
                    // Nothing is there to erase as long as nothing went back.
                    Escape::Sequence(b'K', length) => parameters(bytes, at, length).0 != 0,
                    _ => false,
                }
            }
            _ => true,
        };
        if moves {
            return Escapes::MoveTheCursor;
        }
    }
    found
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

/// The text without escapes, where none of them moves the cursor, and whether addresses of links
/// stand in it. The given lines keep theirs.
pub(super) fn without_escapes(text: &str, as_they_are: &[Range<usize>]) -> (String, bool) {
    let bytes = text.as_bytes();
    let mut kept = String::with_capacity(text.len());
    let mut links = Links::default();
    let mut as_they_are = as_they_are.iter().peekable();
    let mut from = 0;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr(ESCAPE, rest)) {
        let at = from + found;
        kept.push_str(text.get(from..at).unwrap_or_default());
        while as_they_are.next_if(|line| line.end <= at).is_some() {}
        if let Some(line) = as_they_are.next_if(|line| line.start <= at) {
            kept.push_str(text.get(at..line.end).unwrap_or_default());
            from = line.end;
            continue;
        }
        let escape = escape_at(bytes, at);
        from = at + escape.length();
        if let Some(address) = link_in(text.get(at..from).unwrap_or_default())
            && let Some(shown) = links.turn(address, &kept)
        {
            kept.push_str(&shown);
        }
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    (kept, links.are_shown())
}

/// The address of a link that begins with this escape: nothing if a link ends with it.
pub(super) fn link_in(escape: &str) -> Option<&str> {
    let rest = escape.strip_prefix("\u{1b}]8;")?;
    let rest = rest
        .strip_suffix('\u{7}')
        .or(rest.strip_suffix("\u{1b}\\"))?;
    rest.split_once(';').map(|(_, address)| address)
}

/// The links of a text: the address of each stands behind its words, unless they say it.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The open one, with where its words begin.
    open: Option<(String, usize)>,
    /// Words with their addresses, each of which is shown once.
    known: HashSet<(String, String)>,
}

impl Links {
    /// A link begins, or ends, behind this text. Returns what to write there about the one that
    /// ends.
    pub(super) fn turn(&mut self, address: &str, text: &str) -> Option<String> {
        let ended = self.open.take().and_then(|(ended, from)| {
            let words = text.get(from..).unwrap_or_default();
            self.shown(ended, words)
        });
        let written = ended.as_ref().map_or(0, String::len);
        if !address.is_empty() {
            self.open = Some((address.to_owned(), text.len() + written));
        }
        ended
    }

    /// The words of the open link begin here.
    pub(super) fn reopen_at(&mut self, from: usize) {
        if let Some((_, words)) = &mut self.open {
            *words = from;
        }
    }

    fn shown(&mut self, address: String, words: &str) -> Option<String> {
        // The name of a file is its address here.
        let is_said = words.contains(address.as_str())
            || address.starts_with("file:") && address.ends_with(words.trim());
        if words.trim().is_empty() || is_said {
            return None;
        }
        let shown = format!(" <{address}>");
        let is_new = self.known.insert((words.to_owned(), address));
        is_new.then_some(shown)
    }

    pub(super) fn are_shown(&self) -> bool {
        !self.known.is_empty()
    }
}
