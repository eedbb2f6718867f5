//! Simple commands in the scan: assignments, words and redirects.

use super::byte_set::{ByteSet, NAME};
use super::reader::ScriptReader;
use super::view::{
    Assigned, Assignment, CommandOrigin, Construct, Redirect, RedirectOperator as Operator,
    SimpleCommand, Span,
};
use super::word::{ScriptText, Word};

/// The operators; longer ones come before their prefixes.
const OPERATORS: [(&str, Operator); 12] = [
    ("<<<", Operator::HereString),
    ("<<-", Operator::HereDoc),
    ("<<", Operator::HereDoc),
    ("<&", Operator::DuplicateInput),
    ("<>", Operator::ReadWrite),
    ("<", Operator::Read),
    ("&>>", Operator::AppendBoth),
    ("&>", Operator::WriteBoth),
    (">>", Operator::Append),
    (">&", Operator::DuplicateOutput),
    (">|", Operator::Clobber),
    (">", Operator::Write),
];

/// What a redirect begins with: its operator, or the descriptor before it.
static REDIRECT_STARTS: ByteSet = ByteSet::of(b"<>&{0123456789");

impl ScriptReader<'_> {
    /// Reads one simple command; always consumes something.
    pub(super) fn read_simple(&mut self) {
        let start = self.position;
        let mut command = SimpleCommand {
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: self.place,
            origin: CommandOrigin::Written,
            is_guess: false,
            span: Span::default(),
        };
        let mut end = start;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.read_redirect() {
                command.redirects.push(redirect);
            } else if !self.at_word() || self.peek() == Some(b'#') {
                break;
            } else if let Some(assignment) = self.read_assignment(command.words.is_empty()) {
                command.assignments.push(assignment);
            } else {
                let is_first = command.words.is_empty();
                self.read_word_into(&mut command.words);
                if is_first && self.is_function_head(&command.words) {
                    self.begin_function(&command.words);
                    self.begin_list();
                    return;
                }
                self.read_array_of_declaration(&mut command);
            }
            end = self.position;
        }
        if self.position == start {
            // No command can begin with this: skip the character.
            self.unsound();
            let rest = self.text.get(start..self.end).unwrap_or_default();
            self.skip(rest.chars().next().map_or(1, char::len_utf8));
            return;
        }
        self.command_came();
        command.span = Span { start, end };
        // The substitutions in its words were read meanwhile, with their own places.
        self.commands.push(command);
    }

    fn is_function_head(&mut self, words: &[Word]) -> bool {
        words.len() == 1 && self.skip_function_parentheses()
    }

    /// `declare -a name=(…)`: the list is not a subshell.
    /// It becomes an assignment of the command, and its name stays a word.
    fn read_array_of_declaration(&mut self, command: &mut SimpleCommand) {
        let start = self.position;
        if self.peek() != Some(b'(') {
            return;
        }
        let last = command.words.last_mut().filter(|word| {
            let text = word.known();
            text.is_some_and(|text| text.ends_with('='))
        });
        let Some(word) = last else { return };
        let written = word.known_beginning();
        let name = written.strip_suffix('=').unwrap_or(written);
        let (name, is_appended) = match name.strip_suffix('+') {
            Some(name) => (ScriptText::from(name), true),
            None => (ScriptText::from(name), false),
        };
        *word = Word::of(name.clone(), word.span);
        let words = self.read_array();
        command.assignments.push(Assignment {
            name,
            value: if is_appended {
                Assigned::AppendedList(words)
            } else {
                Assigned::List(words)
            },
            span: self.span_since(start),
        });
    }

    /// `NAME=…`, `NAME+=…`, `NAME[…]=…` before the name of the command.
    fn read_assignment(&mut self, before_name: bool) -> Option<Assignment> {
        if !before_name {
            return None;
        }
        let start = self.position;
        let rest = self.text.as_bytes().get(start..self.end)?;
        let length = NAME.run_in(rest);
        if length == 0 || rest.first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let mut at = length;
        if rest.get(at) == Some(&b'[') {
            // An index has no blank unless it is quoted; anything beyond one is not an assignment.
            let index = rest.get(at..)?.iter().take(256);
            at += 1 + index.take_while(|byte| !b"] \t\n;".contains(byte)).count();
            at -= usize::from(rest.get(at) != Some(&b']') && rest.get(at - 1) == Some(&b']'));
            at += usize::from(rest.get(at) == Some(&b']'));
        }
        let is_appended = rest.get(at) == Some(&b'+');
        at += usize::from(is_appended);
        if rest.get(at) != Some(&b'=') {
            return None;
        }
        at += 1;
        let name = self.text.get(start..start + length)?.into();
        self.skip(at);
        let index = rest.get(length..at).unwrap_or_default();
        let index = index.strip_suffix(b"+=").or(index.strip_suffix(b"="));
        let index = index.unwrap_or_default();
        let index = index
            .strip_prefix(b"[")
            .and_then(|it| it.strip_suffix(b"]"));
        let index = index.map(|it| String::from_utf8_lossy(it).into());
        let value = if self.peek() == Some(b'(') {
            let words = self.read_array();
            if is_appended {
                Assigned::AppendedList(words)
            } else {
                Assigned::List(words)
            }
        } else {
            let word = self.read_value();
            match (index, is_appended) {
                (Some(index), _) => Assigned::Element(index, word),
                (None, true) => Assigned::Appended(word),
                (None, false) => Assigned::Value(word),
            }
        };
        Some(Assignment {
            name,
            value,
            span: self.span_since(start),
        })
    }

    /// `(…)` of an array: words and substitutions, no commands.
    fn read_array(&mut self) -> Vec<Word> {
        self.constructs = self.constructs.with(Construct::Array);
        self.skip(1);
        let mut words = Vec::new();
        loop {
            self.skip_blanks_and_newlines();
            match self.peek() {
                None => {
                    self.unsound();
                    return words;
                }
                Some(b')') => {
                    self.skip(1);
                    return words;
                }
                Some(b'#') => {
                    while !matches!(self.peek(), None | Some(b'\n')) {
                        self.skip(1);
                    }
                }
                Some(_) if self.at_word() => self.read_word_into(&mut words),
                Some(_) => {
                    self.unsound();
                    self.skip(1);
                }
            }
        }
    }

    fn read_redirect(&mut self) -> Option<Redirect> {
        let start = self.position;
        let rest = self.text.as_bytes().get(start..self.end)?;
        if !REDIRECT_STARTS.contains(*rest.first()?) {
            return None;
        }
        let before = descriptor_length(rest);
        let at_operator = rest.get(before..)?;
        let (sign, operator) = OPERATORS
            .into_iter()
            .find(|(sign, _)| at_operator.starts_with(sign.as_bytes()))?;
        let is_single = matches!(sign, "<" | ">");
        if is_single && at_operator.get(1) == Some(&b'(') || before > 0 && sign.starts_with('&') {
            return None;
        }
        let descriptor = self.text.get(start..start + before);
        let descriptor = descriptor
            .filter(|text| !text.is_empty())
            .map(ScriptText::from);
        self.skip(before + sign.len());
        self.skip_blanks();
        let target = match operator {
            Operator::HereDoc => {
                self.read_here_doc_delimiter(start, sign.ends_with('-'));
                Word::default()
            }
            _ if self.at_word() => self.read_value(),
            _ => Word::default(),
        };
        let operator = match (operator, target.known()) {
            (Operator::DuplicateOutput, Some(text))
                if descriptor.is_none() && !is_descriptor(text) =>
            {
                Operator::WriteBoth
            }
            (operator, _) => operator,
        };
        Some(Redirect {
            operator,
            descriptor,
            target,
            span: self.span_since(start),
        })
    }
}

/// How many bytes of a descriptor (`2`, `{fd}`) come before a redirect's operator.
fn descriptor_length(rest: &[u8]) -> usize {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = if rest.first() == Some(&b'{') {
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let name = rest.iter().skip(1).take_while(is_name).count();
        let closes = name > 0 && rest.get(name + 1) == Some(&b'}');
        if closes { name + 2 } else { 0 }
    } else {
        digits
    };
    let is_operator = matches!(rest.get(length), Some(b'<' | b'>'));
    if is_operator { length } else { 0 }
}

fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}
