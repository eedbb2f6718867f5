//! Simple commands and redirects; and functions, which begin like them.

use super::super::byte_set::{ByteSet, NAME};
use super::{MaybeRead, SoundnessCheck, WORD_ENDS};

static DIGITS: ByteSet = ByteSet::of(b"0123456789");

/// What a redirect begins with.
static REDIRECT_STARTS: ByteSet = ByteSet::of(b"0123456789<>&");

/// Commands whose arguments may have lists in parentheses.
const DECLARING: [&[u8]; 5] = [b"declare", b"export", b"local", b"readonly", b"typeset"];

/// What a simple command has been so far: some words may be followed by lists in parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Nothing.
    None,
    /// Only assignments.
    Assignments,
    /// A command that declares variables.
    Declarations,
    /// Anything else.
    Arguments,
    /// It is a whole function.
    Function,
}

impl SoundnessCheck<'_> {
    /// Reads a simple command, or a function.
    pub(super) fn simple(&mut self) -> MaybeRead {
        let mut words = Words::None;
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')' | b'#') => break,
                Some(b'&') if self.byte(1) != Some(b'>') => break,
                Some(_) if self.redirect()? => words = Words::Arguments,
                Some(_) if words == Words::Arguments => self.word()?,
                Some(_) => words = self.leading_word(words)?,
            }
            if words == Words::Function {
                return self.redirects();
            }
        }
        (words != Words::None).then_some(())
    }

    /// Reads a function, an assignment, a name or what follows a declaring name.
    fn leading_word(&mut self, words: Words) -> MaybeRead<Words> {
        let start = self.at;
        let name = match self.peek()? {
            b'0'..=b'9' => 0,
            _ => NAME.run_in(self.rest()),
        };
        self.at += name;
        match self.rest() {
            [b'(', ..] | [b' ', b'(', ..] if name > 0 && words == Words::None => {
                self.skip_blanks();
                self.function_body()?;
                return Some(Words::Function);
            }
            [b'=', ..] if name > 0 => return self.assignment(1, words),
            [b'+', b'=', ..] if name > 0 => return self.assignment(2, words),
            _ => self.word_since(start)?,
        }
        let word = self.text.get(start..self.at)?;
        Some(match words {
            // Bash 5.2 rejects `declare <(a) x=(b)`.
            _ if word.contains(&b'(') => Words::Arguments,
            Words::Declarations => words,
            _ if DECLARING.contains(&word) => Words::Declarations,
            _ => Words::Arguments,
        })
    }

    /// Reads an assignment, starting at its sign.
    fn assignment(&mut self, sign: usize, words: Words) -> MaybeRead<Words> {
        self.at += sign;
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                self.array()?;
            }
            Some(byte) if !WORD_ENDS.contains(byte) => self.word()?,
            _ => {}
        }
        Some(match words {
            Words::None => Words::Assignments,
            _ => words,
        })
    }

    /// The words of a list in parentheses, after the first one. Not in substitutions: there, bash
    /// 5.2 rejects some valid escapes (`$(a=(\;))`).
    fn array(&mut self) -> MaybeRead {
        if self.substitutions > 0 {
            return None;
        }
        loop {
            self.skip_blanks();
            let start = self.at;
            match self.peek()? {
                b')' => break,
                b'\n' if self.here_doc.is_some() => return None,
                b'\n' => self.at += 1,
                b'#' => self.comment()?,
                // As an index, it continues up to its end.
                b'[' => self.subscript().and_then(|()| self.word_since(start))?,
                _ => self.word()?,
            }
        }
        self.at += 1;
        let ends = self.peek().is_none_or(|byte| WORD_ENDS.contains(byte));
        ends.then_some(())
    }

    /// Reads the redirects after a compound command.
    pub(super) fn redirects(&mut self) -> MaybeRead {
        loop {
            self.skip_blanks();
            if !self.redirect()? {
                return Some(());
            }
        }
    }

    /// Reads a redirect; returns whether there was one.
    fn redirect(&mut self) -> MaybeRead<bool> {
        if !self
            .peek()
            .is_some_and(|byte| REDIRECT_STARTS.contains(byte))
        {
            return Some(false);
        }
        let digits = DIGITS.run_in(self.rest());
        let has_number = digits > 0;
        let length = match self.rest().get(digits..)? {
            [b'<', b'<', b'<', ..] => 3,
            [b'<', b'<', ..] if has_number => return None,
            [b'<', b'<', ..] => {
                self.at += 2;
                self.here_doc()?;
                return Some(true);
            }
            // The word that this is would end the number.
            [b'<' | b'>', b'(', ..] => return (!has_number).then_some(false),
            [b'<' | b'>', b'&', ..] => return self.duplication(digits + 2),
            [b'&', ..] if has_number => return Some(false),
            [b'&', b'>', b'>', ..] => 3,
            [b'&' | b'<', b'>', ..] | [b'>', b'>' | b'|', ..] => 2,
            [b'<' | b'>', ..] => 1,
            _ => return Some(false),
        };
        self.at += digits + length;
        self.skip_blanks();
        self.target()?;
        Some(true)
    }

    /// Reads a word that is not also an assignment, which would not be a word after an operator.
    fn target(&mut self) -> MaybeRead {
        let start = self.at;
        self.word()?;
        (!self.could_assign(start)).then_some(())
    }

    /// What follows `>&` or `<&`. A `-` is a sign there, not a word's first letter.
    fn duplication(&mut self, operator: usize) -> MaybeRead<bool> {
        self.at += operator;
        self.skip_blanks();
        if self.peek() == Some(b'-') {
            self.at += 1;
            let ends = self.peek().is_none_or(|byte| WORD_ENDS.contains(byte));
            return ends.then_some(true);
        }
        self.target()?;
        Some(true)
    }
}
