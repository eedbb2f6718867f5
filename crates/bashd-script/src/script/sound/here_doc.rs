//! Here-documents: where they end, and that nothing in them is read before it runs.

use super::super::byte_set::NAME;
use super::{MaybeRead, SoundnessCheck, WORD_ENDS};
use memchr::memmem;

/// A here-document whose body begins with the next line.
pub(super) struct HereDoc<'a> {
    delimiter: &'a [u8],
    is_quoted: bool,
    /// Whether leading tabs of its lines are ignored.
    has_tabs: bool,
    /// Where the line with the operator ends; a line that continues elsewhere, as in quotes, is not
    /// handled here.
    line_end: usize,
}

impl SoundnessCheck<'_> {
    /// Reads the delimiter, after `<<`.
    pub(super) fn here_doc(&mut self) -> MaybeRead {
        if self.substitutions > 0 || self.here_doc.is_some() {
            return None;
        }
        let has_tabs = self.peek() == Some(b'-');
        self.at += usize::from(has_tabs);
        self.skip_blanks();
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let length = NAME.run_in(self.rest());
        let delimiter = self.rest().get(..length).filter(|name| !name.is_empty())?;
        self.at += length;
        if quote.is_some() {
            if self.peek() != quote {
                return None;
            }
            self.at += 1;
        }
        if !WORD_ENDS.contains(self.peek()?) {
            return None;
        }
        let line_end = self.at + memchr::memchr(b'\n', self.rest())?;
        self.here_doc = Some(HereDoc {
            delimiter,
            is_quoted: quote.is_some(),
            has_tabs,
            line_end,
        });
        Some(())
    }

    /// Skips the end of a line, and the here-document after it.
    pub(super) fn new_line(&mut self) -> MaybeRead {
        let end = self.at;
        self.at += 1;
        let Some(here_doc) = self.here_doc.take() else {
            return Some(());
        };
        if here_doc.line_end != end || self.substitutions > 0 {
            return None;
        }
        self.body(&here_doc)
    }

    fn body(&mut self, here_doc: &HereDoc<'_>) -> MaybeRead {
        loop {
            let rest = self.rest();
            let length = memchr::memchr(b'\n', rest);
            let line = rest.get(..length.unwrap_or(rest.len()))?;
            self.at += line.len() + usize::from(length.is_some());
            let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
            if line.get(if here_doc.has_tabs { tabs } else { 0 }..)? == here_doc.delimiter {
                return Some(());
            }
            if length.is_none() || !here_doc.is_quoted && !is_plain(line) {
                return None;
            }
        }
    }
}

/// Whether a line of an unquoted here-document ends where it seems to, and has no commands in it,
/// which bash reads only when it runs.
fn is_plain(line: &[u8]) -> bool {
    let has_commands = memchr::memchr(b'`', line).is_some() || memmem::find(line, b"$(").is_some();
    !has_commands && !line.ends_with(b"\\")
}
