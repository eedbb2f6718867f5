//! Brace expansion, and building words from the pieces that were read.

use super::few::Few;
use super::view::Span;
use super::word::{ScriptText, Word, WordPart};

/// A piece of a word before brace expansion.
#[derive(Debug, Clone)]
pub(super) enum BracePiece {
    /// Anything that is not an unquoted brace or comma.
    Part(WordPart),
    Open,
    Comma,
    Close,
}

impl BracePiece {
    pub(super) fn of_brace(byte: u8) -> Self {
        match byte {
            b'{' => Self::Open,
            b',' => Self::Comma,
            _ => Self::Close,
        }
    }

    fn into_part(self) -> WordPart {
        match self {
            Self::Part(part) => part,
            Self::Open => WordPart::Text(ScriptText::const_new("{")),
            Self::Comma => WordPart::Text(ScriptText::const_new(",")),
            Self::Close => WordPart::Text(ScriptText::const_new("}")),
        }
    }
}

/// How deep braces may nest, and how many may follow each other, to be expanded.
const MOST_BRACES: usize = 16;

/// Most members of a sequence that is written out.
const MOST_MEMBERS: u32 = 32;

/// Most words that one word may become when its braces are multiplied.
const MOST_WORDS: usize = 512;

/// The word without brace expansion.
pub(super) fn into_one_word(pieces: Few<BracePiece>, span: Span) -> Word {
    finish(pieces.map(BracePiece::into_part), span)
}

/// Adds the words that brace expansion makes of one; never none.
pub(super) fn into_words(pieces: Few<BracePiece>, span: Span, words: &mut Vec<Word>) {
    if !pieces.iter().any(|piece| matches!(piece, BracePiece::Open)) {
        words.push(with_first_tilde(into_one_word(pieces, span)));
        return;
    }
    let most = MOST_WORDS.max(pieces.len());
    match expand(&pieces, 0, most) {
        Some(mut alternatives) => {
            // `{rm,}`: what is nothing is no word.
            if alternatives.iter().any(|parts| !parts.is_empty()) {
                alternatives.retain(|parts| !parts.is_empty());
            }
            let is_expanded = alternatives.len() > 1;
            words.extend(alternatives.into_iter().map(|parts| Word {
                is_expanded,
                ..with_first_tilde(finish(parts.into(), span))
            }));
        }
        None => words.push(Word {
            is_expanded: true,
            ..Word::unknown(span)
        }),
    }
}

/// A tilde that is not first in an argument is text.
fn with_first_tilde(mut word: Word) -> Word {
    let is_tilde = |part: &WordPart| matches!(part, WordPart::Tilde(_));
    if word.parts.iter().skip(1).any(is_tilde) {
        let parts = std::mem::take(&mut word.parts);
        for (index, part) in Vec::from(parts).into_iter().enumerate() {
            word.push(match part {
                WordPart::Tilde(user) if index > 0 => {
                    let mut text = ScriptText::const_new("~");
                    text.push_str(&user);
                    WordPart::Text(text)
                }
                part => part,
            });
        }
    }
    word
}

/// All alternatives of a sequence of pieces, or `None` if there are too many.
fn expand(pieces: &[BracePiece], depth: usize, most: usize) -> Option<Vec<Vec<WordPart>>> {
    if depth > MOST_BRACES {
        return None;
    }
    let Some(group) = first_group(pieces) else {
        let parts = pieces.iter().cloned().map(BracePiece::into_part);
        return Some(vec![parts.collect()]);
    };
    let middles = match group.commas.as_slice() {
        [] => sequence(pieces.get(group.open + 1..group.close).unwrap_or_default()),
        commas => {
            let mut middles = Vec::new();
            let mut start = group.open + 1;
            for end in commas.iter().chain([&group.close]) {
                let alternative = pieces.get(start..*end).unwrap_or_default();
                middles.extend(expand(alternative, depth + 1, most)?);
                start = end + 1;
            }
            middles
        }
    };
    let after = pieces.get(group.close + 1..).unwrap_or_default();
    let suffixes = expand(after, depth + 1, most)?;
    if middles.len().saturating_mul(suffixes.len()) > most {
        return None;
    }
    let before = pieces.get(..group.open).unwrap_or_default();
    let before: Vec<WordPart> = before.iter().cloned().map(BracePiece::into_part).collect();
    let mut alternatives = Vec::new();
    for middle in &middles {
        for suffix in &suffixes {
            alternatives.push([before.as_slice(), middle, suffix].concat());
        }
    }
    Some(alternatives)
}

/// The first braces that the shell would expand.
struct BraceGroup {
    open: usize,
    close: usize,
    /// `None` for a sequence such as `{1..9}`.
    commas: Vec<usize>,
}

fn first_group(pieces: &[BracePiece]) -> Option<BraceGroup> {
    let mut open: Vec<BraceGroup> = Vec::new();
    let mut found: Option<BraceGroup> = None;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            BracePiece::Open => open.push(BraceGroup {
                open: index,
                close: index,
                commas: Vec::new(),
            }),
            BracePiece::Comma => {
                if let Some(group) = open.last_mut() {
                    group.commas.push(index);
                }
            }
            BracePiece::Close => {
                let Some(mut group) = open.pop() else {
                    continue;
                };
                group.close = index;
                let inner = pieces.get(group.open + 1..index).unwrap_or_default();
                let is_expanded = !group.commas.is_empty() || is_sequence(inner);
                let is_before = found.as_ref().is_none_or(|found| group.open < found.open);
                if is_expanded && is_before {
                    found = Some(group);
                }
                // Nothing is open that could still enclose it: this is the first.
                if open.is_empty() && found.is_some() {
                    return found;
                }
            }
            BracePiece::Part(_) => {}
        }
    }
    found
}

/// The members of `{1..3}` or `{a..c}`; something unknown if there are many.
fn sequence(inner: &[BracePiece]) -> Vec<Vec<WordPart>> {
    let unknown = || vec![vec![WordPart::Unknown { quoted: false }]];
    let [BracePiece::Part(WordPart::Text(text))] = inner else {
        return unknown();
    };
    let ends = text.split_once("..");
    let one = |text: &str| {
        let mut characters = text.chars();
        characters
            .next()
            .filter(|c| c.is_ascii_alphabetic() && characters.next().is_none())
    };
    let members: Vec<String> = match ends {
        Some((first, last)) => match (
            first.parse::<i32>(),
            last.parse::<i32>(),
            one(first),
            one(last),
        ) {
            (Ok(first), Ok(last), _, _) if first.abs_diff(last) < MOST_MEMBERS => {
                let range = first.min(last)..=first.max(last);
                range.map(|member| member.to_string()).collect()
            }
            // Some number.
            (Ok(_), Ok(_), None, _) | (Ok(_), Ok(_), _, None) => {
                return vec![vec![WordPart::Glob("[0-9]*".into())]];
            }
            (_, _, Some(first), Some(last)) => {
                let range = first.min(last)..=first.max(last);
                range.map(String::from).collect()
            }
            _ => return unknown(),
        },
        None => return unknown(),
    };
    members
        .into_iter()
        .map(|member| vec![WordPart::Text(member.into())])
        .collect()
}

fn is_sequence(inner: &[BracePiece]) -> bool {
    let [BracePiece::Part(WordPart::Text(text))] = inner else {
        return false;
    };
    let is_end = |end: &str| !end.is_empty() && end.len() < 20;
    text.split_once("..")
        .is_some_and(|(first, last)| is_end(first) && is_end(last))
}

/// Joins the parts; a `[` without a later `]` is text.
fn finish(parts: Few<WordPart>, span: Span) -> Word {
    if let [
        WordPart::Text(_)
        | WordPart::Tilde(_)
        | WordPart::Variable { .. }
        | WordPart::Unknown { .. },
    ] = &*parts
    {
        return Word {
            parts,
            span,
            is_expanded: false,
            is_worked_out: false,
            is_alternative: false,
        };
    }
    let mut word = Word {
        parts: Few::default(),
        span,
        is_expanded: false,
        is_worked_out: false,
        is_alternative: false,
    };
    let closes = |part: &WordPart| matches!(part, WordPart::Text(text) if text.contains(']'));
    let last_close = parts.iter().rposition(closes);
    for (index, part) in Vec::from(parts).into_iter().enumerate() {
        word.push(match part {
            WordPart::Glob(text) if text == "[" && last_close.is_none_or(|last| last < index) => {
                WordPart::Text(text)
            }
            part => part,
        });
    }
    word
}
