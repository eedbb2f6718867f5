//! What a `$` begins: variables, substitutions, arithmetic.

use super::super::byte_set::{ByteSet, NAME};
use super::{Close, MaybeRead, SoundnessCheck};

/// Variables with a sign for a name.
static SIGNS: ByteSet = ByteSet::of(b"?#@*$!-0123456789");

/// What may follow a `$` in quotes that is just a character.
static AFTER_LETTER: ByteSet = ByteSet::of(b"\" /.,:;|)%=\n");

/// What has no meaning in `${…}` after the name.
static PLAIN_IN_BRACES: ByteSet = ByteSet::of(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ ./-+,:@%^~=*?!#[]",
);

/// What has no meaning in arithmetic until it is computed.
static PLAIN_IN_ARITHMETIC: ByteSet = ByteSet::of(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ +-*/%=<>!&|^~?:,[]",
);

/// What surrounds an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// An unquoted word.
    Word,
    /// Double quotes.
    Quotes,
    /// Another expansion, or an index.
    Braces,
}

impl SoundnessCheck<'_> {
    /// Reads what a `$` begins.
    pub(super) fn dollar(&mut self, around: Around) -> MaybeRead {
        self.at += 1;
        match self.peek() {
            Some(b'{') => self.nested(Self::braces),
            Some(b'(') if self.byte(1) == Some(b'(') => {
                self.at += 2;
                self.nested(|check| check.arithmetic(0))
            }
            Some(b'(') => {
                self.at += 1;
                self.substitution()
            }
            Some(b'\'') if around == Around::Word => self.ansi_quotes(),
            Some(byte) if SIGNS.contains(byte) => {
                self.at += 1;
                Some(())
            }
            Some(byte) if NAME.contains(byte) => {
                self.at += NAME.run_in(self.rest());
                Some(())
            }
            Some(byte) => {
                let is_letter = match around {
                    Around::Word => matches!(byte, b' ' | b'\n'),
                    Around::Quotes => AFTER_LETTER.contains(byte),
                    Around::Braces => false,
                };
                is_letter.then_some(())
            }
            None => None,
        }
    }

    /// A command substitution, after its parenthesis.
    pub(super) fn substitution(&mut self) -> MaybeRead {
        self.substitutions += 1;
        self.list_to(Close::Parenthesis)?;
        self.substitutions -= 1;
        Some(())
    }

    /// `'…'` after a `$`, where a backslash escapes a quote.
    fn ansi_quotes(&mut self) -> MaybeRead {
        self.at += 1;
        loop {
            self.at += memchr::memchr2(b'\'', b'\\', self.rest())?;
            if self.peek() == Some(b'\'') {
                self.at += 1;
                return Some(());
            }
            self.escape()?;
        }
    }

    /// `{…}` after a `$`.
    fn braces(&mut self) -> MaybeRead {
        self.at += 1;
        if matches!(self.peek()?, b'#' | b'!') {
            self.at += 1;
        }
        match NAME.run_in(self.rest()) {
            0 if matches!(self.peek()?, b'@' | b'*' | b'?') => self.at += 1,
            0 => return None,
            length => self.at += length,
        }
        loop {
            self.at += PLAIN_IN_BRACES.run_in(self.rest());
            match self.peek()? {
                b'}' => break,
                b'$' => self.dollar(Around::Braces)?,
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Arithmetic with this many `;`, up to its `))`.
    pub(super) fn arithmetic(&mut self, semicolons: usize) -> MaybeRead {
        let (mut open, mut seen) = (0_usize, 0_usize);
        loop {
            self.at += PLAIN_IN_ARITHMETIC.run_in(self.rest());
            match self.peek()? {
                b'$' => {
                    self.dollar(Around::Braces)?;
                    continue;
                }
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' => break,
                b';' if open == 0 => seen += 1,
                _ => return None,
            }
            self.at += 1;
        }
        let ends = self.sees(b"))") && seen == semicolons;
        self.at += 2;
        ends.then_some(())
    }
}
