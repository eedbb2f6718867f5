//! The shell's patterns on texts that are known: `*`, `?`, `[…]`, and a backslash before what is
//! itself.

/// Whether a pattern matches a whole text.
pub(super) fn matches(pattern: &[char], text: &[char]) -> bool {
    ends(pattern, text).last().copied().unwrap_or_default()
}

/// Which beginnings of the text the pattern matches, by their length.
fn ends(pattern: &[char], text: &[char]) -> Vec<bool> {
    let mut reached = vec![false; text.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    let mut at = 0;
    while let Some(character) = pattern.get(at) {
        let mut next = vec![false; text.len() + 1];
        if *character == '*' {
            let first = reached.iter().position(|is| *is).unwrap_or(usize::MAX);
            for is in next.iter_mut().skip(first) {
                *is = true;
            }
            at += 1;
        } else {
            let (length, is_match) = single(pattern.get(at..).unwrap_or_default());
            for (index, character) in text.iter().enumerate() {
                if reached.get(index).copied().unwrap_or_default()
                    && is_match(*character)
                    && let Some(is) = next.get_mut(index + 1)
                {
                    *is = true;
                }
            }
            at += length;
        }
        reached = next;
    }
    reached
}

/// The first element of a pattern: how long it is, and which characters it matches.
fn single(pattern: &[char]) -> (usize, Box<dyn Fn(char) -> bool + '_>) {
    match pattern {
        ['?', ..] => (1, Box::new(|_| true)),
        ['\\', escaped, ..] => (2, Box::new(move |character| character == *escaped)),
        ['[', rest @ ..] => {
            let negated = matches!(rest.first(), Some('!' | '^'));
            let from = usize::from(negated);
            let close = rest.iter().skip(from + 1).position(|c| *c == ']');
            let Some(close) = close.map(|close| close + from + 1) else {
                return (1, Box::new(|character| character == '['));
            };
            let set = rest.get(from..close).unwrap_or_default();
            (
                close + 2,
                Box::new(move |character| in_set(set, character) != negated),
            )
        }
        [own, ..] => (1, Box::new(move |character| character == *own)),
        [] => (1, Box::new(|_| false)),
    }
}

fn in_set(set: &[char], character: char) -> bool {
    let mut rest = set;
    loop {
        match rest {
            [] => return false,
            [first, '-', last, after @ ..] => {
                if (*first..=*last).contains(&character) {
                    return true;
                }
                rest = after;
            }
            [one, after @ ..] => {
                if *one == character {
                    return true;
                }
                rest = after;
            }
        }
    }
}

/// How much of the text's beginning the pattern matches.
pub(super) fn prefix(pattern: &[char], text: &[char], longest: bool) -> Option<usize> {
    let ends = ends(pattern, text);
    if longest {
        ends.iter().rposition(|is| *is)
    } else {
        ends.iter().position(|is| *is)
    }
}

/// Where the end of the text begins that the pattern matches.
pub(super) fn suffix(pattern: &[char], text: &[char], longest: bool) -> Option<usize> {
    let matches_from = |start: &usize| matches(pattern, text.get(*start..).unwrap_or_default());
    if longest {
        (0..=text.len()).find(matches_from)
    } else {
        (0..=text.len()).rev().find(matches_from)
    }
}

/// The text with the first match, or each, replaced.
pub(super) fn replace(pattern: &[char], text: &[char], by: &str, all: bool) -> String {
    let mut replaced = String::new();
    let mut at = 0;
    let mut is_done = pattern.is_empty();
    while let Some(character) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        let length = prefix(pattern, rest, true).filter(|length| *length > 0 && !is_done);
        if let Some(length) = length {
            replaced.push_str(by);
            at += length;
            is_done = !all;
        } else {
            replaced.push(*character);
            at += 1;
        }
    }
    replaced
}

/// Where a pattern ends and its replacement begins: at the first `/` that is neither quoted nor
/// escaped.
pub(super) fn unescaped_slash(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            _ if is_escaped => is_escaped = false,
            (b'\\', _) => is_escaped = true,
            (b'/', None) if index > 0 => return Some(index),
            (b'\'' | b'"', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn characters(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn they_match_as_the_shells_do() {
        for (pattern, text, expected) in [
            ("*", "abc", true),
            ("a?c", "abc", true),
            ("[a-c]bc", "abc", true),
            ("[!a]bc", "abc", false),
            ("[]a]bc", "abc", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("/???/r?", "/bin/rm", true),
            ("[ab", "[ab", true),
            ("", "a", false),
        ] {
            assert_eq!(
                matches(&characters(pattern), &characters(text)),
                expected,
                "{pattern} {text}"
            );
        }
        let path = characters("/a/b/c");
        assert_eq!(prefix(&characters("*/"), &path, false), Some(1));
        assert_eq!(prefix(&characters("*/"), &path, true), Some(5));
        assert_eq!(suffix(&characters("/*"), &path, false), Some(4));
        assert_eq!(suffix(&characters("/*"), &path, true), Some(0));
        assert_eq!(replace(&characters("/"), &path, "-", true), "-a-b-c");
        assert_eq!(replace(&characters("/"), &path, "-", false), "-a/b/c");
    }
}
