//! Compound commands: what reserved words and parentheses begin.

use super::super::byte_set::NAME;
use super::{Close, MaybeRead, SoundnessCheck, TOKEN_ENDS};

/// Most branches of one `if`: each takes a place on the stack of bash's parser, which is bounded.
const MOST_BRANCHES: usize = 100;

/// Whether a word has a meaning in the grammar that is unknown here, or not allowed in this place.
pub(super) fn is_out_of_place(word: &[u8]) -> bool {
    Close::of(word).is_some()
        || matches!(word, b"!" | b"]]" | b"in" | b"select" | b"coproc" | b"time")
}

/// Whether a word may have a meaning in the grammar.
pub(super) fn is_reserved(word: &[u8]) -> bool {
    is_out_of_place(word)
        || matches!(
            word,
            b"if" | b"while" | b"until" | b"for" | b"case" | b"{" | b"[[" | b"function"
        )
}

impl SoundnessCheck<'_> {
    /// Reads one command of a pipeline.
    pub(super) fn command(&mut self) -> MaybeRead {
        let word = self.token();
        let read = match word {
            b"" if self.peek() == Some(b'(') => Self::parenthesis,
            b"" => return self.simple(),
            b"if" => Self::branches,
            b"while" | b"until" => Self::conditional_loop,
            b"for" => Self::for_loop,
            b"case" => Self::case,
            b"{" => Self::group,
            b"[[" => Self::test_command,
            b"function" => Self::function,
            word if is_out_of_place(word) => return None,
            _ => return self.simple(),
        };
        self.at += word.len();
        read(self)?;
        self.redirects()
    }

    fn branches(&mut self) -> MaybeRead {
        self.list_to(Close::Then)?;
        for _ in 0..MOST_BRANCHES {
            match self.nested(Self::list)? {
                Close::Elif => self.list_to(Close::Then)?,
                Close::Else => return self.list_to(Close::Fi),
                Close::Fi => return Some(()),
                _ => return None,
            }
        }
        None
    }

    fn conditional_loop(&mut self) -> MaybeRead {
        self.list_to(Close::Do)?;
        self.list_to(Close::Done)
    }

    /// `for NAME [in WORDS]; do`, `for ((…; …; …)); do`
    fn for_loop(&mut self) -> MaybeRead {
        self.blanks()?;
        if self.sees(b"((") {
            self.at += 2;
            self.arithmetic(2)?;
        } else {
            self.name()?;
            self.skip_blanks();
            if self.token() == b"in" {
                self.at += 2;
                self.words()?;
            }
        }
        self.skip_blanks();
        match self.peek()? {
            b';' => self.at += 1,
            b'\n' | b'#' => {}
            _ => return None,
        }
        self.skip_lines()?;
        self.reserved(b"do")?;
        self.list_to(Close::Done)
    }

    /// The words up to a `;`, a comment or the end of the line.
    fn words(&mut self) -> MaybeRead {
        loop {
            self.skip_blanks();
            match self.peek()? {
                b';' | b'\n' | b'#' => return Some(()),
                // `esac` is not one of the words if there is a `case` around.
                _ => self.unreserved_word()?,
            }
        }
    }

    fn case(&mut self) -> MaybeRead {
        if self.substitutions > 0 {
            return None;
        }
        self.blanks()?;
        self.unreserved_word()?;
        self.blanks()?;
        self.reserved(b"in")?;
        loop {
            self.skip_lines()?;
            if self.token() == b"esac" {
                return self.reserved(b"esac");
            }
            self.patterns()?;
            match self.nested(Self::list)? {
                Close::Clause => {}
                Close::Esac => return Some(()),
                _ => return None,
            }
        }
    }

    /// `[(] PATTERN | PATTERN )`
    fn patterns(&mut self) -> MaybeRead {
        if self.peek() == Some(b'(') {
            self.at += 1;
        }
        loop {
            self.skip_blanks();
            self.unreserved_word()?;
            self.skip_blanks();
            let sign = self.peek()?;
            self.at += 1;
            match sign {
                b')' => return Some(()),
                b'|' => {}
                _ => return None,
            }
        }
    }

    fn unreserved_word(&mut self) -> MaybeRead {
        if is_reserved(self.token()) {
            return None;
        }
        self.word()
    }

    fn group(&mut self) -> MaybeRead {
        if !matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
            return None;
        }
        self.list_to(Close::Brace)
    }

    /// `(…)`, `((…))`
    fn parenthesis(&mut self) -> MaybeRead {
        self.at += 1;
        if self.peek() == Some(b'(') {
            self.at += 1;
            return self.arithmetic(0);
        }
        self.list_to(Close::Parenthesis)
    }

    /// `function NAME {`, `function NAME() {`
    fn function(&mut self) -> MaybeRead {
        self.blanks()?;
        self.name()?;
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            return self.function_body();
        }
        self.reserved(b"{")?;
        self.group()
    }

    /// What follows the name of a function: `() {`.
    pub(super) fn function_body(&mut self) -> MaybeRead {
        self.at += 1;
        self.skip_blanks();
        if self.peek() != Some(b')') {
            return None;
        }
        self.at += 1;
        self.skip_lines()?;
        self.reserved(b"{")?;
        self.group()
    }

    fn reserved(&mut self, word: &[u8]) -> MaybeRead {
        if self.token() != word {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    /// Skips the name of a variable.
    fn name(&mut self) -> MaybeRead {
        let length = NAME.run_in(self.rest());
        let is_name = length > 0 && !self.peek()?.is_ascii_digit() && !is_reserved(self.token());
        self.at += length;
        let ends = TOKEN_ENDS.contains(self.peek()?);
        (is_name && ends).then_some(())
    }
}
