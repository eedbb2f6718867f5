//! Escapes with their own rules: `$'…'` and backticks.

use super::word_reader::Quoting;

/// Decodes the inside of `$'…'`; also returns how many bytes that is, with the closing quote.
pub(super) fn ansi_c(rest: &[u8]) -> (String, usize) {
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        match byte {
            b'\'' => return (String::from_utf8_lossy(&text).into_owned(), at),
            b'\\' => at += escape(rest.get(at..).unwrap_or_default(), &mut text),
            byte => text.push(byte),
        }
    }
    (String::from_utf8_lossy(&text).into_owned(), at)
}

/// Decodes the escapes that `printf` and `echo -e` know; `\\0` may stand before octal digits.
pub(super) fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let rest = text.as_bytes();
    let mut decoded = Vec::with_capacity(rest.len());
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        match (byte, rest.get(at)) {
            (b'\\', Some(b'0')) => {
                let digits = rest.get(at + 1..).unwrap_or_default();
                let before = decoded.len();
                at += 1 + number(digits, 0, 3, 8, &mut decoded);
                if decoded.get(before) == Some(&b'\\') {
                    decoded.truncate(before);
                    decoded.push(0);
                }
            }
            (b'\\', _) => at += escape(rest.get(at..).unwrap_or_default(), &mut decoded),
            (byte, _) => decoded.push(byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Decodes what comes after a backslash; returns how many bytes that is.
fn escape(rest: &[u8], text: &mut Vec<u8>) -> usize {
    let Some(&byte) = rest.first() else {
        text.push(b'\\');
        return 0;
    };
    let plain = match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' => byte,
        b'0'..=b'7' => return number(rest, 0, 3, 8, text),
        b'x' => return number(rest, 1, 2, 16, text),
        b'u' => return number(rest, 1, 4, 16, text),
        b'U' => return number(rest, 1, 8, 16, text),
        b'c' => {
            text.extend(rest.get(1).map(|control| control & 0x1f));
            return 2.min(rest.len());
        }
        byte => {
            text.extend([b'\\', byte]);
            return 1;
        }
    };
    text.push(plain);
    1
}

/// A number of at most `most` digits after `skipped` letters.
fn number(rest: &[u8], skipped: usize, most: usize, radix: u32, text: &mut Vec<u8>) -> usize {
    let digits = rest.iter().skip(skipped).take(most);
    let digits = digits.map_while(|byte| char::from(*byte).to_digit(radix));
    let (count, value) = digits.fold((0, 0_u32), |(count, value), digit| {
        (count + 1, value.wrapping_mul(radix).wrapping_add(digit))
    });
    match (count, most) {
        (0, _) => text.extend_from_slice(b"\\"),
        (_, 2 | 3) => text.push(value as u8),
        _ => {
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    if count == 0 { 0 } else { skipped + count }
}

/// The bytes up to the closing backtick, and whether a backslash is among them.
pub(super) fn to_backtick(rest: &[u8]) -> (usize, bool) {
    let mut at = 0;
    let mut has_backslash = false;
    while let Some(found) = memchr::memchr2(b'`', b'\\', rest.get(at..).unwrap_or_default()) {
        at += found;
        if rest.get(at) == Some(&b'`') {
            return (at, has_backslash);
        }
        has_backslash = true;
        at = (at + 2).min(rest.len());
    }
    (rest.len(), has_backslash)
}

/// Removes the backslashes that backticks need.
pub(super) fn unescape_backticks(inner: &str, quoting: Quoting) -> String {
    let mut script = String::with_capacity(inner.len());
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        let escapes = |next: &char| {
            matches!(next, '`' | '\\' | '$') || *next == '"' && quoting == Quoting::Double
        };
        match characters.next_if(escapes).filter(|_| character == '\\') {
            Some(next) => script.push(next),
            None => script.push(character),
        }
    }
    script
}
