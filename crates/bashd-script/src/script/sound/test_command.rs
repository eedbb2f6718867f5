//! `[[ … ]]`: tests joined by `&&` and `||`, without parentheses.

use super::super::byte_set::ByteSet;
use super::compound::is_reserved;
use super::{MaybeRead, SoundnessCheck};

/// Letters of the tests of one word.
static UNARY: ByteSet = ByteSet::of(b"defghknprsuvwxzGLNOS");

/// Letters that a first word may begin with.
static FIRST: ByteSet =
    ByteSet::of(b"$\"'/.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

/// Whether a word compares two others.
fn is_binary(word: &[u8]) -> bool {
    matches!(
        word,
        b"=="
            | b"="
            | b"!="
            | b"=~"
            | b"-eq"
            | b"-ne"
            | b"-lt"
            | b"-le"
            | b"-gt"
            | b"-ge"
            | b"-nt"
            | b"-ot"
            | b"-ef"
    )
}

impl SoundnessCheck<'_> {
    /// Reads what follows `[[`, and its end.
    pub(super) fn test_command(&mut self) -> MaybeRead {
        loop {
            self.blanks()?;
            self.negation()?;
            self.test()?;
            // There was a blank after each of its words.
            if self.sees(b"&&") || self.sees(b"||") {
                self.at += 2;
            } else if self.token() == b"]]" {
                self.at += 2;
                return Some(());
            } else {
                return None;
            }
        }
    }

    /// Reads one test, and the blanks after it.
    fn test(&mut self) -> MaybeRead {
        let word = self.token();
        if let [b'-', letter] = word
            && UNARY.contains(*letter)
        {
            self.at += word.len();
            self.blanks()?;
            return self.operand();
        }
        self.first_operand()?;
        if self.sees(b"]]") {
            return Some(());
        }
        let word = self.token();
        if is_binary(word) {
            self.at += word.len();
        } else if word.is_empty() && matches!(self.peek(), Some(b'<' | b'>')) {
            self.at += 1;
        } else {
            return Some(());
        }
        self.blanks()?;
        self.operand()
    }

    /// Reads a word that could not be an operator, reserved word or assignment.
    fn first_operand(&mut self) -> MaybeRead {
        let start = self.at;
        if !FIRST.contains(self.peek()?) || is_reserved(self.token()) {
            return None;
        }
        self.operand()?;
        (!self.could_assign(start)).then_some(())
    }

    /// Reads a word that is not an operator, and the blanks after it.
    fn operand(&mut self) -> MaybeRead {
        let is_operator = matches!(self.peek()?, b'!' | b'<' | b'>') || self.token() == b"]]";
        if is_operator {
            return None;
        }
        self.word()?;
        self.blanks()
    }
}
