//! Whether bash will certainly accept a text: our own reader for what the parsers are not asked
//! about.
//!
//! It knows the grammar of scripts as agents write them and gives up on everything else, so only
//! its "yes" means something. It also says no if bash's grammar depends on what runs: aliases,
//! options. Each byte is read once, there is no backtracking, and nesting is bounded. If bash
//! accepts more than one spelling, it knows the usual one: a `fi` needs a `;` or a newline before
//! it, a `[[ … ]]` has blanks around its operators. In substitutions, which bash before 5.2 read
//! less carefully, it accepts neither comments nor `case`.
//!
//! What a word does when it is expanded does not matter here: a bad `${x y}` is found at run time,
//! in any shell.

mod compound;
mod expansion;
mod here_doc;
mod simple;
mod test_command;
mod word;

use super::byte_set::ByteSet;
use super::keywords::{LONGEST_RESERVED, RESERVED};
use here_doc::HereDoc;
use memchr::memmem;
use std::sync::LazyLock;

/// The largest text: up to this size, passing it to a waiting shell takes less time than starting
/// another.
const MOST_BYTES: usize = 64 << 10;

/// How deep anything may be nested; bash's own stack is far larger.
const MOST_DEPTH: usize = 32;

/// What changes how bash reads the rest of a text, wherever it appears.
const CHANGES_GRAMMAR: [&[u8]; 6] = [
    b"alias",
    b"shopt",
    b"posix",
    b"POSIX",
    b"history",
    b"BASH_COMPAT",
];

/// What finds them: making one takes longer than a short text.
static CHANGES_GRAMMAR_FINDERS: LazyLock<[memmem::Finder<'static>; 6]> =
    LazyLock::new(|| CHANGES_GRAMMAR.map(memmem::Finder::new));

/// What ends a word, unless it is quoted.
static WORD_ENDS: ByteSet = ByteSet::of(b" \t\n;&|<>)");

/// What ends a reserved word.
static TOKEN_ENDS: ByteSet = ByteSet::of(b" \t\n;&|<>()");

/// What the reserved words that end a list begin with.
static CLOSING_STARTS: ByteSet = ByteSet::of(b"tefd}");

/// What reserved words begin with, and the operators of `[[`.
static TOKEN_STARTS: ByteSet = ByteSet::starts_of(&RESERVED, b"]-=");

/// Length of the longest reserved word, plus one.
const LONGEST_TOKEN: usize = LONGEST_RESERVED + 1;

/// Whether bash will accept a text. `false` means that it is unknown.
pub(super) fn is_certain(text: &str) -> bool {
    let text = text.as_bytes();
    // Not `any`: checking all of them at once is faster.
    let has_odd = || text.iter().fold(false, |odd, byte| odd | is_odd(*byte));
    if text.len() > MOST_BYTES || has_odd() {
        return false;
    }
    let mut check = SoundnessCheck {
        text,
        at: 0,
        depth: 0,
        substitutions: 0,
        here_doc: None,
    };
    check.list() == Some(Close::Text)
        && check.here_doc.is_none()
        && !CHANGES_GRAMMAR_FINDERS
            .iter()
            .any(|word| word.find(text).is_some())
}

/// Whether a byte is one that people never write. Some of them have a meaning inside bash.
fn is_odd(byte: u8) -> bool {
    matches!(byte, 0..=8 | 11..=31 | 0x7F)
}

/// What was read; `None` if it is unknown what bash would say.
type MaybeRead<T = ()> = Option<T>;

/// The reader, at some position of the text.
struct SoundnessCheck<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// How many substitutions are around.
    substitutions: usize,
    /// The here-document whose body begins with the next line.
    here_doc: Option<HereDoc<'a>>,
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    Text,
    Parenthesis,
    /// `;;`
    Clause,
    Then,
    Elif,
    Else,
    Fi,
    Do,
    Done,
    Esac,
    Brace,
}

impl Close {
    fn of(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"then" => Self::Then,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"fi" => Self::Fi,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"esac" => Self::Esac,
            b"}" => Self::Brace,
            _ => return None,
        })
    }
}

/// What may come next in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextInList {
    /// The first command.
    First,
    /// A command, after `&&` or `||`.
    Command,
    /// A command, after `|`.
    Stage,
    /// A command or the end, after `;`, `&` or a newline.
    Any,
    /// Anything but a command.
    Operator,
}

impl NextInList {
    /// Whether this may end a list here.
    fn may_be(self, close: Close) -> bool {
        match close {
            Close::Text | Close::Clause => matches!(self, Self::First | Self::Any | Self::Operator),
            Close::Parenthesis => matches!(self, Self::Any | Self::Operator),
            // Reserved words, which have no meaning after a word.
            Close::Then
            | Close::Elif
            | Close::Else
            | Close::Fi
            | Close::Do
            | Close::Done
            | Close::Esac
            | Close::Brace => self == Self::Any,
        }
    }
}

impl<'a> SoundnessCheck<'a> {
    /// Reads commands up to what ends their list, and skips that.
    fn list(&mut self) -> MaybeRead<Close> {
        let mut next = NextInList::First;
        loop {
            self.skip_blanks();
            let close = match self.peek() {
                None => Some(Close::Text),
                Some(b')') => {
                    self.at += 1;
                    Some(Close::Parenthesis)
                }
                Some(b';') if self.sees(b";;") => {
                    self.at += 2;
                    Some(Close::Clause)
                }
                Some(_) if next == NextInList::Operator => None,
                Some(_) => self.closing_word(),
            };
            if let Some(close) = close {
                return next.may_be(close).then_some(close);
            }
            next = self.list_item(next)?;
        }
    }

    /// Reads a command, an operator, a newline or a comment.
    fn list_item(&mut self, next: NextInList) -> MaybeRead<NextInList> {
        match self.peek()? {
            b'#' => {
                self.comment()?;
                Some(next)
            }
            b'\n' => {
                self.new_line()?;
                Some(if next == NextInList::Operator {
                    NextInList::Any
                } else {
                    next
                })
            }
            byte @ (b';' | b'&' | b'|') if next == NextInList::Operator => self.operator(byte),
            b';' | b'&' | b'|' => None,
            _ if next == NextInList::Operator => None,
            b'!' if next != NextInList::Stage => {
                self.negation()?;
                self.command()?;
                Some(NextInList::Operator)
            }
            _ => {
                self.command()?;
                Some(NextInList::Operator)
            }
        }
    }

    fn operator(&mut self, byte: u8) -> MaybeRead<NextInList> {
        let is_double = self.byte(1) == Some(byte);
        self.at += 1 + usize::from(is_double);
        Some(match (byte, is_double) {
            (b'|', false) if self.peek() == Some(b'&') => return None,
            (b'|', false) => NextInList::Stage,
            (b'|' | b'&', true) => NextInList::Command,
            (_, false) => NextInList::Any,
            (_, true) => return None,
        })
    }

    /// Skips `!` at the beginning of a pipeline.
    fn negation(&mut self) -> MaybeRead {
        if self.token() == b"!" {
            self.at += 1;
            self.blanks()?;
        }
        Some(())
    }

    /// Reads a list with this end, one level deeper.
    fn list_to(&mut self, close: Close) -> MaybeRead {
        let ended = self.nested(Self::list)?;
        (ended == close).then_some(())
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> MaybeRead<T>) -> MaybeRead<T> {
        if self.depth == MOST_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn closing_word(&mut self) -> Option<Close> {
        if !CLOSING_STARTS.contains(self.peek()?) {
            return None;
        }
        let word = self.token();
        let close = Close::of(word)?;
        self.at += word.len();
        Some(close)
    }

    /// The word at this position, if it could be a reserved one or an operator of `[[`; otherwise
    /// something that is neither.
    fn token(&self) -> &'a [u8] {
        let rest = self.rest();
        if !rest
            .first()
            .is_some_and(|byte| TOKEN_STARTS.contains(*byte))
        {
            return &[];
        }
        let beginning = rest.get(..LONGEST_TOKEN).unwrap_or(rest);
        let length = TOKEN_ENDS.first_in(beginning);
        // A process substitution is part of the word before it.
        if matches!(rest.get(length..), Some([b'<' | b'>', b'(', ..])) {
            return &[];
        }
        beginning.get(..length).unwrap_or_default()
    }

    fn comment(&mut self) -> MaybeRead {
        if self.substitutions > 0 {
            return None;
        }
        let length = memchr::memchr(b'\n', self.rest());
        self.at += length.unwrap_or(self.rest().len());
        Some(())
    }

    /// Skips blanks, newlines and comments.
    fn skip_lines(&mut self) -> MaybeRead {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.new_line()?,
                Some(b'#') => self.comment()?,
                _ => return Some(()),
            }
        }
    }

    /// Skips blanks, at least one.
    fn blanks(&mut self) -> MaybeRead {
        let is_blank = matches!(self.peek(), Some(b' ' | b'\t'));
        self.skip_blanks();
        is_blank.then_some(())
    }

    /// Skips blanks and line continuations.
    fn skip_blanks(&mut self) {
        let mut has_blank = false;
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if has_blank && self.byte(1) == Some(b'\n') => self.at += 2,
                _ => break,
            }
            has_blank = true;
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The byte this far ahead.
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn sees(&self, text: &[u8]) -> bool {
        self.rest().starts_with(text)
    }
}

#[cfg(test)]
mod tests;
