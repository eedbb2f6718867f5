//! Words in the scan: quotes removed as the shell removes them, expansions kept separate from text.

use super::braces::{self, BracePiece};
use super::byte_set::ByteSet;
use super::deferred;
use super::escapes;
use super::few::Few;
use super::reader::{ListEnd, ScriptReader};
use super::view::Construct;
use super::word::{Word, WordPart};

/// Marks the name of a variable in a script that was assembled from parts of a word:
/// `bash -c "rm $x"` runs a script with a hole. From the private use area, which no script needs.
pub(super) const HOLE: [char; 2] = ['\u{F8F0}', '\u{F8F1}'];

/// The first byte of [`HOLE`]'s characters.
const HOLE_BYTE: u8 = 0xEF;

/// Bytes that may have a meaning in an unquoted word.
static SPECIAL: ByteSet = ByteSet::of(b" \t\r\n;&|<>()'\"\\$`*?[{},:\xEF");

/// Those that end a word anywhere.
static ENDS: ByteSet = ByteSet::of(b" \t\r\n;&|)");

/// Bytes that may have a meaning in double quotes.
static SPECIAL_IN_QUOTES: ByteSet = ByteSet::of(b"\"\\$`\xEF");

/// Which expansions a word gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// All of them, so that it may become several words.
    Argument,
    /// Not braces, but a tilde after each colon: values of assignments, targets of redirects.
    Value,
}

/// Whether the reader is inside double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Not inside.
    None,
    /// Inside.
    Double,
    /// In a here-document, where even a double quote is text.
    HereDoc,
}

impl Quoting {
    pub(super) fn is_quoted(self) -> bool {
        self != Self::None
    }
}

/// The pieces of a word that is being read.
#[derive(Default)]
pub(super) struct Pieces(pub(super) Few<BracePiece>);

impl Pieces {
    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(BracePiece::Part(WordPart::Text(last))) => last.push_str(text),
            _ => self.part(WordPart::Text(text.into())),
        }
    }

    pub(super) fn part(&mut self, part: WordPart) {
        self.0.push(BracePiece::Part(part));
    }
}

impl<'a> ScriptReader<'a> {
    /// Reads a word, which braces may turn into several.
    pub(super) fn read_word(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        self.read_word_into(&mut words);
        words
    }

    /// Reads a word after others.
    pub(super) fn read_word_into(&mut self, words: &mut Vec<Word>) {
        let start = self.position;
        if let Some(text) = self.skip_plain_word() {
            words.push(Word::of(text, self.span_since(start)));
        } else {
            let pieces = self.read_pieces(WordKind::Argument);
            braces::into_words(pieces, self.span_since(start), words);
        }
    }

    /// Skips a word of which only the commands in it matter.
    pub(super) fn skip_word(&mut self) {
        if self.skip_plain_word().is_none() {
            self.read_pieces(WordKind::Argument);
        }
    }

    /// Reads the whole text as one word: blanks and operators mean nothing in it.
    pub(super) fn read_operand(&mut self) -> Word {
        let mut pieces = Pieces::default();
        while let Some(byte) = self.peek() {
            let at = self.position;
            match byte {
                b'~' if at == 0 => self.read_tilde(&mut pieces, WordKind::Value),
                b'*' | b'?' | b'[' => {
                    self.skip(1);
                    pieces.part(WordPart::Glob(self.since(at).into()));
                }
                _ => self.read_quoted_or_plain(&mut pieces),
            }
        }
        braces::into_one_word(pieces.0, self.span_since(0))
    }

    /// Reads the value of an assignment or the target of a redirect.
    pub(super) fn read_value(&mut self) -> Word {
        let start = self.position;
        if let Some(text) = self.skip_plain_word() {
            return Word::of(text, self.span_since(start));
        }
        let pieces = self.read_pieces(WordKind::Value);
        braces::into_one_word(pieces, self.span_since(start))
    }

    /// Skips the word at this position if nothing in it has a meaning, as in most words.
    pub(super) fn skip_plain_word(&mut self) -> Option<&'a str> {
        let rest = self.text.as_bytes().get(self.position..self.end)?;
        let length = SPECIAL.first_in(rest);
        let ends = rest.get(length).is_none_or(|byte| ENDS.contains(*byte));
        if !ends || matches!(rest.first(), None | Some(b'~')) {
            return None;
        }
        let word = self.text.get(self.position..self.position + length)?;
        self.position += length;
        (!word.is_empty()).then_some(word)
    }

    fn read_pieces(&mut self, kind: WordKind) -> Few<BracePiece> {
        let start = self.position;
        let mut pieces = Pieces::default();
        let mut tilde_may_come = true;
        while let Some(byte) = self.peek() {
            let at = self.position;
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    self.skip(1);
                    self.read_substitution(&mut pieces, Quoting::Double, byte);
                }
                b'(' if self.is_pattern_group(start) => self.read_pattern_group(&mut pieces),
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                b'~' if tilde_may_come => self.read_tilde(&mut pieces, kind),
                b'*' | b'?' | b'[' => {
                    self.skip(1);
                    pieces.part(WordPart::Glob(self.since(at).into()));
                }
                b'{' | b',' | b'}' if kind == WordKind::Argument => {
                    self.skip(1);
                    pieces.0.push(BracePiece::of_brace(byte));
                }
                _ => self.read_quoted_or_plain(&mut pieces),
            }
            tilde_may_come = match kind {
                WordKind::Value => self.since(at) == ":",
                // It begins a word, once braces are expanded.
                WordKind::Argument => matches!(self.since(at), "{" | ","),
            };
        }
        pieces.0
    }

    fn read_quoted_or_plain(&mut self, pieces: &mut Pieces) {
        match self.peek() {
            Some(b'\'') => {
                let text = self.read_single_quoted();
                if self.scripts_around == 0 || !text.contains(HOLE) {
                    pieces.text(text);
                } else {
                    text_with_holes(pieces, text);
                }
            }
            Some(b'"') => {
                self.skip(1);
                self.read_quoted(pieces, Quoting::Double);
            }
            Some(b'\\') => self.read_escaped(pieces),
            Some(b'$') => self.read_dollar(pieces, Quoting::None),
            Some(b'`') => self.read_backticks(pieces, Quoting::None),
            Some(HOLE_BYTE) if self.read_hole(pieces, Quoting::None) => {}
            _ => self.read_plain(pieces),
        }
    }

    /// Reads up to the next character with a meaning.
    fn read_plain(&mut self, pieces: &mut Pieces) {
        let start = self.position;
        // The first byte has no meaning at this position.
        let rest = self.text.as_bytes().get(start + 1..self.end);
        self.skip(1 + rest.map_or(0, |rest| SPECIAL.first_in(rest)));
        self.finish_character();
        pieces.text(self.since(start));
    }

    /// Moves to the end of a character that was begun.
    fn finish_character(&mut self) {
        while self.position < self.end && !self.text.is_char_boundary(self.position) {
            self.position += 1;
        }
    }

    pub(super) fn read_single_quoted(&mut self) -> &'a str {
        self.skip(1);
        let start = self.position;
        let rest = self
            .text
            .as_bytes()
            .get(start..self.end)
            .unwrap_or_default();
        let length = memchr::memchr(b'\'', rest);
        self.position = start + length.unwrap_or(rest.len());
        let text = self.since(start);
        match length {
            Some(_) => self.skip(1),
            None => self.unsound(),
        }
        text
    }

    /// Reads to the closing double quote, or to the end of a here-document's body.
    pub(super) fn read_quoted(&mut self, pieces: &mut Pieces, quoting: Quoting) {
        while let Some(byte) = self.peek() {
            match byte {
                b'"' if quoting == Quoting::Double => {
                    self.skip(1);
                    return;
                }
                b'\\' => self.read_escaped_in_quotes(pieces, quoting),
                b'$' => self.read_dollar(pieces, quoting),
                b'`' => self.read_backticks(pieces, quoting),
                HOLE_BYTE if self.read_hole(pieces, quoting) => {}
                _ => {
                    let start = self.position;
                    let rest = self.text.as_bytes().get(start + 1..self.end);
                    self.skip(1 + rest.map_or(0, |rest| SPECIAL_IN_QUOTES.first_in(rest)));
                    self.finish_character();
                    pieces.text(self.since(start));
                }
            }
        }
        if quoting == Quoting::Double {
            self.unsound();
        }
    }

    /// A backslash outside quotes: the next character is text, a newline vanishes.
    pub(super) fn read_escaped(&mut self, pieces: &mut Pieces) {
        self.skip(1);
        let start = self.position;
        if self.peek() == Some(b'\n') {
            self.skip(1);
            return;
        }
        self.skip(1);
        self.finish_character();
        match self.since(start) {
            "" => pieces.text("\\"),
            text => pieces.text(text),
        }
    }

    fn read_escaped_in_quotes(&mut self, pieces: &mut Pieces, quoting: Quoting) {
        match self.peek_at(1) {
            Some(b'\n') => self.skip(2),
            Some(b'$' | b'`' | b'\\') => self.read_escaped(pieces),
            Some(b'"') if quoting == Quoting::Double => self.read_escaped(pieces),
            _ => {
                self.skip(1);
                pieces.text("\\");
            }
        }
    }

    /// `$'…'`
    pub(super) fn read_ansi_c_quoted(&mut self, pieces: &mut Pieces) {
        self.skip(2);
        let rest = self.text.as_bytes().get(self.position..self.end);
        let (text, length) = escapes::ansi_c(rest.unwrap_or_default());
        self.skip(length);
        pieces.text(&text);
    }

    fn read_tilde(&mut self, pieces: &mut Pieces, kind: WordKind) {
        let rest = self.text.get(self.position + 1..self.end);
        let rest = rest.unwrap_or_default();
        let is_user = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
        let length = rest.find(|c| !is_user(c)).unwrap_or(rest.len());
        let ends = match rest.as_bytes().get(length) {
            None => true,
            Some(b':') => kind == WordKind::Value,
            Some(byte) => b"/ \t\r\n;&|<>(),}".contains(byte),
        };
        self.skip(1);
        if ends {
            let user = rest.get(..length).unwrap_or_default();
            self.skip(length);
            pieces.part(WordPart::Tilde(user.into()));
        } else {
            pieces.text("~");
        }
    }

    /// Whether the parenthesis here belongs to a pattern such as `@(a|b)`.
    fn is_pattern_group(&self, start: usize) -> bool {
        let before = self.text.as_bytes().get(start..self.position);
        let before = before.and_then(<[u8]>::last);
        before.is_some_and(|byte| b"?*@+!".contains(byte))
    }

    fn read_pattern_group(&mut self, pieces: &mut Pieces) {
        let start = self.position;
        let mut inner = Pieces::default();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => {
                    self.skip(1);
                    open += 1;
                }
                b')' => {
                    self.skip(1);
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                _ => self.read_quoted_or_plain(&mut inner),
            }
            inner.0.clear();
        }
        pieces.part(WordPart::Glob(self.since(start).into()));
    }

    /// `(…)` of a substitution, starting at its parenthesis: its commands are read, its output is
    /// unknown.
    /// `sign` is what comes before it: `$`, `<` or `>`.
    pub(super) fn read_substitution(&mut self, pieces: &mut Pieces, quoting: Quoting, sign: u8) {
        let start = self.position;
        self.skip(1);
        let before = self.commands.len();
        let pending = std::mem::take(&mut self.pending);
        self.nested(Construct::Substitution, |reader| {
            reader.read_list(ListEnd::Parenthesis);
        });
        self.pending = pending;
        self.skip_closing_parenthesis();
        let script = self.since(start);
        let commands = self.commands.get(before..).unwrap_or_default();
        let part = deferred::substitution(
            sign,
            script,
            commands,
            ([&self.functions, &self.outer_functions], quoting),
        );
        match part {
            WordPart::Text(text) => pieces.text(&text),
            part => pieces.part(part),
        }
    }

    fn read_hole(&mut self, pieces: &mut Pieces, quoting: Quoting) -> bool {
        if self.scripts_around == 0 {
            return false;
        }
        let rest = self.text.get(self.position..self.end).unwrap_or_default();
        match hole(rest, quoting.is_quoted()) {
            Some((part, length)) => {
                pieces.part(part);
                self.skip(length);
                true
            }
            None => false,
        }
    }
}

/// The hole at the start of a text, and its length.
fn hole(text: &str, quoted: bool) -> Option<(WordPart, usize)> {
    let [open, close] = HOLE;
    let inner = text.strip_prefix(open)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*');
    let after_name = inner.trim_start_matches(is_name);
    let after = after_name.strip_prefix(close)?;
    let name = inner.get(..inner.len() - after_name.len())?;
    let part = match name {
        "" => WordPart::Unknown { quoted },
        name => WordPart::Variable {
            name: name.into(),
            quoted,
            fallback: None,
        },
    };
    Some((part, text.len() - after.len()))
}

/// Single quotes have no expansions of their own script, but may have holes of the one around it.
pub(super) fn text_with_holes(pieces: &mut Pieces, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((part, length)) = hole(rest, true) {
            pieces.part(part);
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest.get(first..).and_then(|after| after.find(HOLE));
        let (before, after) = rest.split_at(end.map_or(rest.len(), |end| first + end));
        pieces.text(before);
        rest = after;
    }
}
