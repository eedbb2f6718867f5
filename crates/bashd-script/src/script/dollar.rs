//! What begins with `$` or a backtick, in the scan.

use super::braces::into_one_word;
use super::byte_set::{ByteSet, NAME};
use super::deferred;
use super::escapes;
use super::reader::{ListEnd, ScriptReader};
use super::view::{Construct, Readings, Span};
use super::word::{ScriptText, WordPart};
use super::word_reader::{Pieces, Quoting};

/// Bytes that may have a meaning in arithmetic.
static SPECIAL_IN_ARITHMETIC: ByteSet = ByteSet::of(b"()'\"\\$`");

impl ScriptReader<'_> {
    /// An expansion, starting at its `$`.
    pub(super) fn read_dollar(&mut self, pieces: &mut Pieces, quoting: Quoting) {
        let quoted = quoting.is_quoted();
        match self.peek_at(1) {
            Some(b'(') => {
                self.skip(1);
                let start = self.position;
                if self.sees("((") && self.try_arithmetic(2) {
                    self.constructs = self.constructs.with(Construct::Arithmetic);
                    pieces.part(deferred::expansion(self.since(start), quoted));
                } else {
                    self.read_substitution(pieces, quoting, b'$');
                }
            }
            Some(b'{') => self.read_parameter(pieces, quoting),
            Some(b'[') => {
                self.constructs = self.constructs.with(Construct::Arithmetic);
                self.skip(2);
                self.read_to(b']', quoting);
                pieces.part(WordPart::Unknown { quoted });
            }
            Some(b'\'') if !quoted => self.read_ansi_c_quoted(pieces),
            Some(b'"') if !quoted => self.skip(1),
            Some(byte) if is_name_byte(byte) || b"@*#?-$!".contains(&byte) => {
                self.skip(1);
                let start = self.position;
                self.skip_name();
                pieces.part(variable(self.since(start), quoted, None));
            }
            _ => {
                self.skip(1);
                pieces.text("$");
            }
        }
    }

    /// A name, or the one character of a special parameter.
    fn skip_name(&mut self) {
        let first = self.peek();
        self.skip(1);
        if first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            let rest = self.text.as_bytes().get(self.position..self.end);
            self.skip(rest.map_or(0, |rest| NAME.run_in(rest)));
        }
    }

    /// `${…}`
    fn read_parameter(&mut self, pieces: &mut Pieces, quoting: Quoting) {
        let quoted = quoting.is_quoted();
        self.skip(2);
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            self.read_brace_substitution();
            pieces.part(WordPart::Unknown { quoted });
            return;
        }
        let start = self.position;
        let is_changed = matches!(self.peek(), Some(b'!' | b'#')) && self.peek_at(1) != Some(b'}');
        self.skip(usize::from(is_changed));
        if self
            .peek()
            .is_some_and(|byte| is_name_byte(byte) || b"@*#?-$!".contains(&byte))
        {
            self.skip_name();
            // In braces, positional parameters may have any number of digits.
            while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.skip(1);
            }
        }
        let name = self.since(start);
        let colon = usize::from(self.peek() == Some(b':'));
        let operator = self.peek_at(colon).filter(|byte| b"-=?".contains(byte));
        let part = match (self.peek(), operator) {
            (Some(b'}'), _) if !is_changed => {
                self.skip(1);
                variable(name, quoted, None)
            }
            (_, Some(operator)) if !is_changed => {
                self.skip(colon + 1);
                let fallback = self.read_to(b'}', quoting);
                let raw = self.since(start);
                let raw = raw.strip_suffix('}').unwrap_or(raw);
                match (operator, fallback) {
                    (b'-', Some(fallback)) => variable(name, quoted, Some(fallback)),
                    (b'?', _) => variable(name, quoted, None),
                    _ => deferred::expansion(raw, quoted),
                }
            }
            _ => {
                self.read_to(b'}', quoting);
                let raw = self.since(start);
                let raw = raw.strip_suffix('}').unwrap_or(raw);
                deferred::expansion(raw, quoted)
            }
        };
        pieces.part(part);
    }

    /// Reads the rest of an expansion, up to its closing byte; returns the text, if known.
    fn read_to(&mut self, close: u8, quoting: Quoting) -> Option<ScriptText> {
        let mut inner = Pieces::default();
        self.nested_expansion(|reader| {
            while let Some(byte) = reader.peek() {
                let start = reader.position;
                match byte {
                    byte if byte == close => {
                        reader.skip(1);
                        return;
                    }
                    b'\'' if !quoting.is_quoted() => {
                        let text = reader.read_single_quoted().to_owned();
                        inner.text(&text);
                    }
                    b'"' => {
                        reader.skip(1);
                        reader.read_quoted(&mut inner, Quoting::Double);
                    }
                    b'\\' => reader.read_escaped(&mut inner),
                    b'$' => reader.read_dollar(&mut inner, quoting),
                    b'`' => reader.read_backticks(&mut inner, quoting),
                    _ => {
                        reader.skip(1);
                        while !reader.text.is_char_boundary(reader.position) {
                            reader.skip(1);
                        }
                        inner.text(reader.since(start));
                    }
                }
            }
            reader.unsound();
        });
        let word = into_one_word(inner.0, Span::default());
        word.known().map(ScriptText::from)
    }

    /// Expansions inside expansions: commands do not stand there, but the depth counts.
    fn nested_expansion(&mut self, read: impl FnOnce(&mut Self)) {
        let constructs = self.constructs;
        let function_comes = self.function_comes;
        let inside = self.place.inside;
        self.nested(Construct::Substitution, |reader| {
            reader.place.inside = inside;
            if !constructs.contains(Construct::Substitution) {
                reader.constructs = constructs;
            }
            read(reader);
        });
        self.function_comes = function_comes;
    }

    /// `${ commands; }`, starting after its brace.
    fn read_brace_substitution(&mut self) {
        self.skip(usize::from(self.peek() == Some(b'|')));
        let pending = std::mem::take(&mut self.pending);
        self.nested(Construct::Substitution, |reader| {
            reader.read_list(ListEnd::Brace);
        });
        self.pending = pending;
        if self.peek() == Some(b'}') {
            self.skip(1);
        } else {
            self.unsound();
        }
    }

    /// Backticks: a script in the text, with its own backslashes.
    pub(super) fn read_backticks(&mut self, pieces: &mut Pieces, quoting: Quoting) {
        self.skip(1);
        let start = self.position;
        let rest = self
            .text
            .as_bytes()
            .get(start..self.end)
            .unwrap_or_default();
        let (length, has_backslash) = escapes::to_backtick(rest);
        if length == rest.len() {
            self.unsound();
        }
        let (close, end) = (start + length, self.end);
        let before = self.commands.len();
        let pending = std::mem::take(&mut self.pending);
        if has_backslash {
            let inner = self.text.get(start..close).unwrap_or_default();
            let script = escapes::unescape_backticks(inner, quoting);
            let span = Span { start, end: close };
            self.read_apart(&script, span);
        } else {
            self.end = close;
            self.nested(Construct::Substitution, |reader| {
                reader.read_list(ListEnd::End);
            });
            self.end = end;
        }
        self.pending = pending;
        self.position = (close + 1).min(end);
        let commands = self.commands.get(before..).unwrap_or_default();
        let inner = self.text.get(start..close).unwrap_or_default();
        let script = match inner.len() {
            0..=deferred::MOST_BYTES => escapes::unescape_backticks(inner, quoting),
            _ => inner.to_owned(),
        };
        let script = format!("({script})");
        let known = ([self.functions.as_slice(), &self.outer_functions], quoting);
        match deferred::substitution(b'$', &script, commands, known) {
            WordPart::Text(text) => pieces.text(&text),
            part => pieces.part(part),
        }
    }

    /// Reads a script that does not appear in the text literally.
    fn read_apart(&mut self, script: &str, span: Span) {
        self.nested(Construct::Substitution, |outer| {
            outer.spend(script.len());
            let mut reader = ScriptReader::new(script, outer.scripts_around);
            reader.continue_from(outer);
            reader.read_all();
            let mut inner = reader.finish(Readings::ScanOnly);
            outer.scopes = std::mem::take(&mut inner.scopes);
            for command in &mut inner.commands {
                command.move_to(span);
            }
            outer.commands.append(&mut inner.commands);
            outer.functions.append(&mut inner.functions);
            outer.constructs = outer.constructs.union(inner.constructs);
            if let Some(bound) = inner.bound {
                outer.give_up(bound);
            }
        });
    }

    /// Reads `((…))` if it is arithmetic to its end, otherwise nothing.
    pub(super) fn try_arithmetic(&mut self, parentheses: usize) -> bool {
        let start = self.position;
        let (commands, pending) = (self.commands.len(), self.pending.len());
        self.skip(parentheses);
        let mut is_arithmetic = false;
        self.nested_expansion(|reader| is_arithmetic = reader.read_arithmetic());
        if is_arithmetic {
            return true;
        }
        self.spend(self.position - start);
        if !self.is_beyond() {
            self.position = start;
            self.commands.truncate(commands);
            self.pending.truncate(pending);
        }
        false
    }

    /// Reads to `))`; returns whether it was found.
    fn read_arithmetic(&mut self) -> bool {
        let mut scratch = Pieces::default();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => {
                    self.skip(1);
                    open += 1;
                }
                b')' if open > 0 => {
                    self.skip(1);
                    open -= 1;
                }
                b')' if self.peek_at(1) == Some(b')') => {
                    self.skip(2);
                    return true;
                }
                b')' => return false,
                b'\'' => {
                    self.read_single_quoted();
                }
                b'"' => {
                    self.skip(1);
                    self.read_quoted(&mut scratch, Quoting::Double);
                }
                b'\\' => self.read_escaped(&mut scratch),
                b'$' => self.read_dollar(&mut scratch, Quoting::Double),
                b'`' => self.read_backticks(&mut scratch, Quoting::Double),
                _ => {
                    let rest = self.text.as_bytes().get(self.position..self.end);
                    self.skip(rest.map_or(1, |rest| SPECIAL_IN_ARITHMETIC.first_in(rest)));
                }
            }
            scratch.0.clear();
        }
        false
    }
}

fn variable(name: &str, quoted: bool, fallback: Option<ScriptText>) -> WordPart {
    WordPart::Variable {
        name: name.into(),
        quoted,
        fallback,
    }
}

fn is_name_byte(byte: u8) -> bool {
    NAME.contains(byte)
}
