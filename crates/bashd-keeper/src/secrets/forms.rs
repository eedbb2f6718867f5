//! The forms in which a value appears in texts: as it is, quoted, and encoded.

use super::names::{SHORTEST, is_ordinary};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Characters of the shortest line of a value that is hidden on its own.
const SHORTEST_LINE: usize = 16;

/// Every form of a value, each once: the texts to look for.
pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let mut known: HashSet<String> = forms.iter().cloned().collect();
    let mut add = |form: String| {
        if form.len() >= SHORTEST && known.insert(form.clone()) {
            forms.push(form);
        }
    };
    for text in quoted(value).into_iter().chain(percent(value)) {
        add(text);
    }
    let mut lines = value.lines();
    if lines.clone().nth(1).is_some() {
        let is_told = |line: &&str| {
            line.chars().count() >= SHORTEST_LINE
                && !line.starts_with("-----")
                && !is_ordinary(line)
        };
        for line in lines.by_ref().map(str::trim).filter(is_told) {
            add(line.to_owned());
        }
    }
    for shift in 0..3 {
        for form in base64(value, shift) {
            add(form);
        }
    }
    forms
}

/// As JSON and as shells write it.
fn quoted(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let inner = json
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let escaped = |characters: &[char]| {
        let mut text = String::new();
        for character in value.chars() {
            if characters.contains(&character) {
                text.push('\\');
            }
            text.push(character);
        }
        text
    };
    let words: Vec<char> = " \t!\"#$&'()*;<>?[\\]^`{|}".chars().collect();
    vec![
        inner.unwrap_or(value).to_owned(),
        value.replace('\'', r"'\''"),
        escaped(&['"', '$', '`', '\\']),
        escaped(&words),
    ]
}

/// As addresses have it: everything escaped, or all but `/`, in capitals or not; a space as `+`.
fn percent(value: &str) -> Vec<String> {
    let encoded = |kept: &[u8], is_upper: bool| {
        let mut text = String::new();
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
                text.push(char::from(byte));
            } else if is_upper {
                let _ = write!(text, "%{byte:02X}");
            } else {
                let _ = write!(text, "%{byte:02x}");
            }
        }
        text
    };
    let whole = encoded(b"", true);
    vec![
        whole.replace("%20", "+"),
        whole,
        encoded(b"", false),
        encoded(b"/", true),
        encoded(b"/", false),
        encoded(b"!'()*", true),
        encoded(b";/?:@&=+$,#!'()*", true),
    ]
}

/// What base64 makes of a value that so many bytes precede, as far as only the value decides it.
/// The characters before and behind it tell at most four bits of it, and whose they are is known
/// only when more of the text is there: they stay.
fn base64(value: &str, shift: usize) -> Vec<String> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value.as_bytes());
    let decided = bytes.len() * 8 / 6;
    let undecided = (shift * 8).div_ceil(6);
    let form = |text: String| text.get(undecided..decided).unwrap_or_default().to_owned();
    vec![form(STANDARD.encode(&bytes)), form(URL_SAFE.encode(&bytes))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(value: &str, text: &str) -> bool {
        let forms = of(value);
        forms.iter().any(|form| text.contains(form))
    }

    #[test]
    fn every_alignment_of_base64_is_known() {
        let value = "s3cr3t/+canary~";
        for before in ["", "a", "ab", "abc", "user:"] {
            for behind in ["", "\n", "xyz"] {
                let text = format!("{before}{value}{behind}");
                assert!(has(value, &STANDARD.encode(&text)), "{text}");
                assert!(has(value, &URL_SAFE.encode(&text)), "{text}");
            }
        }
        assert!(!has(value, &STANDARD.encode("s3cr3t/+canarx~")));
    }

    #[test]
    fn quoted_and_escaped_it_is_the_same_value() {
        let value = "it's \"a\" $ecret/2";
        for text in [
            r#"{"x":"it's \"a\" $ecret/2"}"#,
            r#"X='it'\''s "a" $ecret/2'"#,
            r#"declare -x X="it's \"a\" \$ecret/2""#,
            r#"it\'s\ \"a\"\ \$ecret/2"#,
            "?x=it%27s%20%22a%22%20%24ecret%2F2",
            "?x=it%27s%20%22a%22%20%24ecret%2f2",
            "?x=it%27s+%22a%22+%24ecret%2F2",
            "/it%27s%20%22a%22%20%24ecret/2",
        ] {
            assert!(has(value, text), "{text}");
        }
    }
}
