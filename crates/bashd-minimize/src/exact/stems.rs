//! Words that a line has in several places: `a.c -o out/a` is the stem `a` in `….c -o out/…`.

use super::cuts;

/// The form that these texts share with the mark in place of the stem, and the stem of each; `None`
/// if there is no such form with two marks.
pub(super) fn stems<'a>(texts: &[&'a str], mark: char) -> Option<(String, Vec<&'a str>)> {
    let first = texts.first()?;
    if texts.len() < 2 || first.len() < 8 {
        return None;
    }
    for length in (1..=first.len() / 2).rev() {
        let Some(stem) = first.get(..length).filter(|stem| first.ends_with(stem)) else {
            continue;
        };
        let form = with_mark(first, stem, mark);
        if let Some(stems) = all_stems(texts, &form, mark) {
            return Some((form, stems));
        }
    }
    None
}

/// The text with the mark in place of the stem: at its beginning, its end, and between where the
/// stem stands between separators.
fn with_mark(text: &str, stem: &str, mark: char) -> String {
    let inner = text
        .get(stem.len()..text.len() - stem.len())
        .unwrap_or_default();
    let replaced = if stem.len() < 2 {
        inner.to_owned()
    } else {
        inner.replace(stem, mark.encode_utf8(&mut [0; 4]))
    };
    format!("{mark}{replaced}{mark}")
}

/// The stem of each text in this form.
fn all_stems<'a>(texts: &[&'a str], form: &str, mark: char) -> Option<Vec<&'a str>> {
    let marks = form.matches(mark).count();
    let fixed = form.len() - marks * mark.len_utf8();
    // A form of nothing but stems says nothing.
    if fixed < 4 {
        return None;
    }
    let mut stems = Vec::with_capacity(texts.len());
    for text in texts {
        let length = text.len().checked_sub(fixed)?;
        let stem = text.get(..length / marks)?;
        let is_right = length % marks == 0
            && !stem.is_empty()
            && form.replace(mark, stem) == *text
            && is_whole_in(text, form, stem, mark);
        if !is_right {
            return None;
        }
        stems.push(stem);
    }
    Some(stems)
}

/// Whether a text of this form is cut nowhere within a word or a number.
fn is_whole_in(text: &str, form: &str, stem: &str, mark: char) -> bool {
    let mut at = 0;
    let mut parts = form.split(mark).peekable();
    while let Some(part) = parts.next() {
        at += part.len();
        if parts.peek().is_none() {
            break;
        }
        if !begins_whole(text, at) || !cuts::is_whole(text, at + stem.len()) {
            return false;
        }
        at += stem.len();
    }
    true
}

/// Whether what stands from this place on is not the rest of a word or a number.
fn begins_whole(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().as_bytes();
    match before {
        [.., digit, b'.'] => !digit.is_ascii_digit(),
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'_' && last.is_ascii(),
        [] => true,
    }
}

/// The first word of a line; nothing of a line that begins with a blank.
pub(super) fn first_word(line: &str) -> &str {
    let end = memchr::memchr(b' ', line.as_bytes()).unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// Whether its last word is its first.
pub(super) fn ends_with_first_word(line: &str) -> bool {
    line.ends_with(first_word(line))
}

/// Shorter words occur in a line again by chance.
const SHORTEST_WORD: usize = 3;

/// A quick look whether two lines may have the same form: it is right where it says no.
pub(super) fn may_share_a_form(one: &str, other: &str) -> bool {
    // What follows the first word and its blank is the word again in both, or the same in both.
    let after_word = |line: &str| {
        let end = line.bytes().position(|byte| byte == b' ')?;
        let after = line.as_bytes().get(end + 1).copied();
        (end >= SHORTEST_WORD).then(|| (line.as_bytes().first().copied(), after))
    };
    match (after_word(one), after_word(other)) {
        (Some((first, after)), Some((other_first, other_after))) => {
            after == other_after || after == first && other_after == other_first
        }
        _ => false,
    }
}

/// What stands around the first word of a line wherever it stands.
#[derive(Debug)]
pub(super) struct WordForm<'a> {
    /// What follows it each time.
    parts: Vec<&'a str>,
}

impl<'a> WordForm<'a> {
    /// The form of a line; `None` if its first word does not occur in it again.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let word = first_word(line);
        let rest = line.get(word.len()..)?;
        if word.len() < SHORTEST_WORD
            || memchr::memmem::find(rest.as_bytes(), word.as_bytes()).is_none()
        {
            return None;
        }
        let form = Self {
            parts: rest.split(word).collect(),
        };
        form.is_whole_in(line).then_some(form)
    }

    /// Whether the word is cut out of no longer one in this line.
    fn is_whole_in(&self, line: &str) -> bool {
        let word = first_word(line);
        let mut at = 0;
        self.parts.iter().all(|part| {
            let is_whole = begins_whole(line, at) && cuts::is_whole(line, at + word.len());
            at += word.len() + part.len();
            is_whole
        })
    }

    /// Whether a line has this form.
    pub(super) fn fits(&self, line: &str) -> bool {
        let word = first_word(line);
        let mut rest = line;
        word.len() >= SHORTEST_WORD
            && self.parts.iter().all(|part| {
                let after = rest
                    .strip_prefix(word)
                    .and_then(|after| after.strip_prefix(part));
                rest = after.unwrap_or_default();
                after.is_some()
            })
            && rest.is_empty()
            && self.is_whole_in(line)
    }

    pub(super) fn fixed_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stem_is_found_in_every_place() {
        let texts = [
            "shop.c -o out/shop.o -MF dep/shop",
            "a.c -o out/a.o -MF dep/a",
        ];
        let (form, found) = stems(&texts, '…').unwrap();
        assert_eq!(form, "….c -o out/….o -MF dep/…");
        assert_eq!(found, ["shop", "a"]);
    }

    #[test]
    fn other_texts_have_none() {
        assert!(stems(&["abc one abd", "abc two abe"], '…').is_none());
        assert!(stems(&["aa bb cc aa", "aa bb cd aa"], '…').is_none());
        assert!(stems(&["a"], '…').is_none());
        assert!(stems(&["1.2.3 -> 1.2", "1.3.3 -> 1.3"], '…').is_none());
        assert!(stems(&[], '…').is_none());
    }
}
