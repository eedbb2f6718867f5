//! The reserved words: what opens and closes compound commands in the scan.

use super::byte_set::ByteSet;
use super::reader::{FrameKind, ScriptReader};
use super::view::{
    Assigned, Assignment, CommandOrigin, Construct, FunctionBody, Joint, SimpleCommand, Span,
};
use super::word::{ScriptText, Word, WordPart};

/// Words that have a meaning at the beginning of a command, if they are not quoted.
pub(super) const RESERVED: [&str; 21] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "select", "case",
    "esac", "{", "}", "!", "[[", "function", "in", "coproc", "time",
];

/// What they begin with.
static RESERVED_STARTS: ByteSet = ByteSet::starts_of(&RESERVED, b"");

/// Bytes of the longest of them.
pub(super) const LONGEST_RESERVED: usize = {
    let (mut longest, mut rest): (usize, &[&str]) = (0, &RESERVED);
    while let [word, after @ ..] = rest {
        if word.len() > longest {
            longest = word.len();
        }
        rest = after;
    }
    longest
};

/// What ends a word, unless it is quoted.
static WORD_ENDS: ByteSet = ByteSet::of(b" \t\r\n;&|<>()");

/// Whether a word has a meaning at the beginning of a command.
pub(super) fn is_reserved(word: &str) -> bool {
    let first = word.as_bytes().first();
    first.is_some_and(|first| RESERVED_STARTS.contains(*first)) && RESERVED.contains(&word)
}

impl ScriptReader<'_> {
    /// A command: a reserved word, or a simple command.
    pub(super) fn read_command(&mut self, base: usize) {
        let Some(word) = self.reserved_word() else {
            self.function_comes = false;
            self.read_simple();
            return;
        };
        match word {
            "if" => self.open(word, FrameKind::If, Construct::Condition),
            "while" | "until" => self.open(word, FrameKind::Loop, Construct::Loop),
            "for" | "select" => {
                self.open(word, FrameKind::Loop, Construct::Loop);
                self.read_for_header();
            }
            "case" => self.read_case_header(),
            "{" => self.open(word, FrameKind::Group, Construct::Group),
            "then" | "elif" | "else" | "do" => {
                self.skip(word.len());
                self.begin_list();
                self.separate(Joint::First);
            }
            "fi" => self.close(word, base, &[FrameKind::If]),
            "done" => self.close(word, base, &[FrameKind::Loop]),
            "}" => self.close(word, base, &[FrameKind::Group]),
            "esac" => self.close(word, base, &[FrameKind::CaseBody, FrameKind::CasePatterns]),
            "!" => {
                self.skip(1);
                self.constructs = self.constructs.with(Construct::Negation);
            }
            "[[" => self.read_test(),
            "function" => {
                self.skip(word.len());
                self.skip_blanks();
                let name = self.read_word();
                self.skip_function_parentheses();
                self.begin_function(&name);
            }
            "coproc" if self.compound_follows(word) => {
                self.constructs = self.constructs.with(Construct::Coprocess);
            }
            "time" if self.compound_follows(word) => {}
            // Before a simple command, both are seen through like other wrappers.
            _ => self.read_simple(),
        }
    }

    /// The reserved word at this position, if it is a whole word.
    fn reserved_word(&self) -> Option<&'static str> {
        let rest = self.text.as_bytes().get(self.position..self.end)?;
        if !RESERVED_STARTS.contains(*rest.first()?) {
            return None;
        }
        let beginning = rest.get(..=LONGEST_RESERVED).unwrap_or(rest);
        let word = rest.get(..WORD_ENDS.first_in(beginning))?;
        RESERVED.into_iter().find(|known| known.as_bytes() == word)
    }

    fn open(&mut self, word: &str, kind: FrameKind, construct: Construct) {
        self.skip(word.len());
        self.open_frame(kind, construct);
    }

    /// Closes the nearest open frame of these kinds, with everything left open inside it.
    fn close(&mut self, word: &str, base: usize, kinds: &[FrameKind]) {
        self.skip(word.len());
        let open = self.frames.get(base..).unwrap_or_default();
        let Some(index) = open.iter().rposition(|frame| kinds.contains(&frame.kind)) else {
            self.unsound();
            return;
        };
        while self.frames.len() > base + index {
            self.close_frame();
        }
    }

    /// `for NAME [in WORDS]`, or `for ((…))`.
    fn read_for_header(&mut self) {
        self.skip_blanks();
        // A `;` may follow the header as it may a command.
        self.command_came();
        let start = self.position;
        if self.sees("((") {
            if self.try_arithmetic(2) {
                self.emit_count(start);
            }
            return;
        }
        let name = self.read_word().into_iter().next();
        self.skip_blanks_and_newlines();
        let mut values = Vec::new();
        if self.reserved_word() == Some("in") {
            self.skip(2);
            while self.at_word() {
                self.read_word_into(&mut values);
            }
        } else {
            // Without words it is `in "$@"`.
            let mut all = Word::of("", self.span_since(start));
            all.push(WordPart::Variable {
                name: ScriptText::const_new("@"),
                quoted: true,
                fallback: None,
            });
            values.push(all);
        }
        let Some(name) = name.as_ref().and_then(|name| name.known()) else {
            return;
        };
        let span = self.span_since(start);
        let assignment = Assignment {
            name: name.into(),
            value: Assigned::EachOf(values),
            span,
        };
        self.emit_assignment(assignment, span);
    }

    /// `for ((i=0; i<3; i++))` gives `i` its values.
    fn emit_count(&mut self, start: usize) {
        let span = self.span_since(start);
        let header = self.since(start);
        let name = header.trim_start_matches(['(', ' ']).split(['=', ' ']);
        let name: ScriptText = name.take(1).collect();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return;
        }
        let mut values = Word::of("", span);
        values.push(super::deferred::expansion(header, false));
        let assignment = Assignment {
            name,
            value: Assigned::EachOf(vec![values]),
            span,
        };
        self.emit_assignment(assignment, span);
    }

    fn emit_assignment(&mut self, assignment: Assignment, span: Span) {
        self.commands.push(SimpleCommand {
            words: Vec::new(),
            assignments: vec![assignment],
            redirects: Vec::new(),
            place: self.place,
            origin: CommandOrigin::Written,
            is_guess: false,
            span,
        });
    }

    /// Whether a word begins here, after blanks.
    pub(super) fn at_word(&mut self) -> bool {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b')' | b'(') => false,
            Some(b'<' | b'>') => self.sees("<(") || self.sees(">("),
            Some(_) => true,
        }
    }

    pub(super) fn skip_blanks_and_newlines(&mut self) {
        self.skip_blanks();
        while self.peek() == Some(b'\n') {
            self.skip(1);
            self.read_here_docs();
            self.skip_blanks();
        }
    }

    fn read_case_header(&mut self) {
        self.skip("case".len());
        self.skip_blanks();
        self.skip_word();
        self.skip_blanks_and_newlines();
        if self.reserved_word() == Some("in") {
            self.skip(2);
            self.open_frame(FrameKind::CasePatterns, Construct::Condition);
        }
    }

    /// The patterns of a case item, up to their `)`.
    pub(super) fn read_case_patterns(&mut self) {
        self.skip_blanks_and_newlines();
        if self.peek() == Some(b'#') {
            while !matches!(self.peek(), None | Some(b'\n')) {
                self.skip(1);
            }
            return;
        }
        if self.reserved_word() == Some("esac") {
            self.skip("esac".len());
            self.close_frame();
            return;
        }
        self.skip(usize::from(self.peek() == Some(b'(')));
        while self.at_word() {
            self.skip_word();
            self.skip_blanks();
            self.skip(usize::from(self.peek() == Some(b'|')));
        }
        self.skip(usize::from(self.peek() == Some(b')')));
        if let Some(frame) = self.frames.last_mut() {
            frame.kind = FrameKind::CaseBody;
        }
        self.begin_list();
        self.separate(Joint::First);
    }

    /// `[[ … ]]`: only substitutions in it execute anything.
    fn read_test(&mut self) {
        self.command_came();
        self.constructs = self.constructs.with(Construct::Test);
        self.skip(2);
        loop {
            self.skip_blanks_and_newlines();
            match self.peek() {
                None => {
                    self.unsound();
                    return;
                }
                Some(b'(' | b')' | b'&' | b'|' | b';') => self.skip(1),
                Some(b'<' | b'>') if !self.at_word() => self.skip(1),
                Some(_) => {
                    let closes = match self.skip_plain_word() {
                        Some(word) => word == "]]",
                        None => self.read_word().first().is_some_and(|word| word.is("]]")),
                    };
                    if closes {
                        return;
                    }
                }
            }
        }
    }

    pub(super) fn begin_function(&mut self, name: &[Word]) {
        let name = name.first().and_then(Word::known);
        self.functions.extend(name.map(str::to_owned));
        self.constructs = self.constructs.with(Construct::Function);
        self.function_comes = true;
        self.skip_blanks_and_newlines();
        let span = Span {
            start: self.position,
            end: self.position,
        };
        let name = name.unwrap_or_default().to_owned();
        self.function_bodies.push(FunctionBody { name, span });
    }

    /// Skips `()` if it is next; returns whether it was.
    pub(super) fn skip_function_parentheses(&mut self) -> bool {
        let rest = self.text.as_bytes().get(self.position..self.end);
        let Some(inner) = after_blanks(rest.unwrap_or_default(), b'(') else {
            return false;
        };
        let Some(after) = after_blanks(inner, b')') else {
            return false;
        };
        self.position = self.end - after.len();
        true
    }

    /// Skips `coproc` and a name, or `time` and an option, if a compound command follows.
    fn compound_follows(&mut self, word: &str) -> bool {
        let before = self.position;
        self.skip(word.len());
        self.skip_blanks();
        let opens = |reader: &Self| {
            reader.peek() == Some(b'(')
                || matches!(
                    reader.reserved_word(),
                    Some("{" | "if" | "while" | "until" | "for" | "case" | "select" | "[[")
                )
        };
        if opens(self) {
            return true;
        }
        if word == "time" {
            self.skip_options_of_time();
        } else {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            while self.peek().is_some_and(is_name) {
                self.skip(1);
            }
        }
        self.skip_blanks();
        if opens(self) {
            return true;
        }
        self.position = before;
        false
    }

    /// Passes over `-p` and `--`. Behind anything else a `{` is a word: `time rm { x` removes two
    /// files.
    fn skip_options_of_time(&mut self) {
        for option in ["-p", "--"] {
            let rest = self.text.as_bytes().get(self.position..self.end);
            let after = rest.and_then(|rest| rest.strip_prefix(option.as_bytes()));
            let is_whole =
                |after: &[u8]| after.first().is_none_or(|byte| WORD_ENDS.contains(*byte));
            if after.is_some_and(is_whole) {
                self.skip(option.len());
                self.skip_blanks();
            }
        }
    }
}

/// What follows blanks and this byte, if that comes next.
fn after_blanks(text: &[u8], byte: u8) -> Option<&[u8]> {
    let start = text.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    text.get(start..)?.strip_prefix(&[byte])
}
