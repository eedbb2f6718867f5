//! Here-documents in the scan: found at their operator, read at the next new line.

use super::braces::into_one_word;
use super::reader::ScriptReader;
use super::view::Span;
use super::word::{Word, WordPart};
use super::word_reader::{Pieces, Quoting};

/// A here-document whose body has not come yet.
pub(super) struct PendingHereDoc {
    /// Where its operator is.
    operator: usize,
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

impl ScriptReader<'_> {
    /// Reads the word after `<<`.
    pub(super) fn read_here_doc_delimiter(&mut self, operator: usize, strips_tabs: bool) {
        let start = self.position;
        let mut delimiter = String::new();
        while let Some(byte) = self.peek() {
            let at = self.position;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                b'\'' => delimiter.push_str(self.read_single_quoted()),
                b'"' => {
                    self.skip(1);
                    let inner = self.position;
                    while !matches!(self.peek(), None | Some(b'"')) {
                        self.skip(1);
                    }
                    delimiter.push_str(self.since(inner));
                    self.skip(1);
                }
                b'\\' => {
                    let mut pieces = Pieces::default();
                    self.read_escaped(&mut pieces);
                    let word = into_one_word(pieces.0, Span::default());
                    delimiter.push_str(word.known().unwrap_or_default());
                }
                _ => {
                    self.skip(1);
                    while !self.text.is_char_boundary(self.position) {
                        self.skip(1);
                    }
                    delimiter.push_str(self.since(at));
                }
            }
        }
        let written = self.since(start);
        self.pending.push(PendingHereDoc {
            operator,
            is_quoted: written.contains(['\'', '"', '\\']),
            delimiter,
            strips_tabs,
        });
    }

    /// Reads the bodies that begin on this line.
    pub(super) fn read_here_docs(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            let body = self.find_body(&pending);
            let word = if pending.is_quoted {
                let text = self.text.get(body.start..body.end).unwrap_or_default();
                if pending.strips_tabs {
                    Word::of(without_tabs(text, &pending), body)
                } else {
                    Word::of(text, body)
                }
            } else {
                self.read_body(body, &pending)
            };
            self.bodies.insert(pending.operator, word);
        }
    }

    /// The lines up to the delimiter; the reader is after it then.
    fn find_body(&mut self, pending: &PendingHereDoc) -> Span {
        let start = self.position;
        while self.position < self.end {
            let line_start = self.position;
            let rest = self.text.get(line_start..self.end).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            self.skip(line.len() + 1);
            let line = if pending.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line.strip_suffix('\r').unwrap_or(line) == pending.delimiter {
                return Span {
                    start,
                    end: line_start,
                };
            }
        }
        self.span_since(start)
    }

    /// The body with its expansions; commands in them are commands of the script.
    fn read_body(&mut self, body: Span, pending: &PendingHereDoc) -> Word {
        let (after, end) = (self.position, self.end);
        (self.position, self.end) = (body.start, body.end);
        let mut pieces = Pieces::default();
        self.read_quoted(&mut pieces, Quoting::HereDoc);
        (self.position, self.end) = (after, end);
        let mut word = into_one_word(pieces.0, body);
        for part in &mut word.parts {
            if let WordPart::Text(text) = part {
                *text = without_tabs(text, pending).into();
            }
        }
        word
    }
}

fn without_tabs(text: &str, pending: &PendingHereDoc) -> String {
    if !pending.strips_tabs {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n');
    lines.map(|line| line.trim_start_matches('\t')).collect()
}
