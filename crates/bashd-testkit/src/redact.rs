//! Replaces what differs between runs (process ids, times, temporary paths) by placeholders.

/// Keys whose number is volatile, as they stand in JSON and in texts, and what stands in for the
/// number.
const VOLATILE: &[(&str, &str)] = &[
    ("\"pid\":", "[PID]"),
    ("<pid>", "[PID]"),
    ("kill -9 -", "[PID]"),
    ("pid ", "[PID]"),
    ("\"wall_ms\":", "[MS]"),
    ("\"age_ms\":", "[MS]"),
    ("\"ran_ms\":", "[MS]"),
];

/// A list of replacements, applied in order; volatile numbers and times always.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    replacements: Vec<(String, String)>,
}

impl Redactor {
    /// A redactor without replacements of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also replaces this text.
    #[must_use]
    pub fn replace(mut self, text: impl Into<String>, placeholder: impl Into<String>) -> Self {
        self.replacements.push((text.into(), placeholder.into()));
        self
    }

    /// Redacts a text.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
        }
        for (key, placeholder) in VOLATILE {
            text = replace_number_after(&text, key, placeholder);
        }
        replace_times(&text)
    }
}

fn replace_number_after(text: &str, key: &str, placeholder: &str) -> String {
    let mut parts = text.split(key);
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        redacted.push_str(key);
        let number = part.trim_start_matches(' ');
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == number.len() {
            redacted.push_str(part);
            continue;
        }
        redacted.extend(std::iter::repeat_n(' ', part.len() - number.len()));
        redacted.push_str(placeholder);
        redacted.push_str(rest);
    }
    redacted
}

/// Replaces times like `2026-01-31T12:00:00.123Z` by `[TIME]`.
fn replace_times(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut redacted = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        if let Some(length) = time_length(&characters[at..]) {
            redacted.push_str("[TIME]");
            at += length;
        } else {
            redacted.push(characters[at]);
            at += 1;
        }
    }
    redacted
}

/// The length of the time that `text` starts with, if it does.
fn time_length(text: &[char]) -> Option<usize> {
    const SHAPE: &str = "dddd-dd-ddTdd:dd:dd";
    let fits = |(shape, c): (char, &char)| match shape {
        'd' => c.is_ascii_digit(),
        'T' => matches!(c, 'T' | ' '),
        _ => *c == shape,
    };
    if text.len() < SHAPE.len() || !SHAPE.chars().zip(text).all(fits) {
        return None;
    }
    let mut length = SHAPE.len();
    if text.get(length) == Some(&'.') {
        let digits = text[length + 1..].iter().take_while(|c| c.is_ascii_digit());
        length += 1 + digits.count();
    }
    Some(length + usize::from(text.get(length) == Some(&'Z')))
}

#[cfg(test)]
mod tests {
    use super::Redactor;

    #[test]
    fn volatile_parts_become_placeholders() {
        let redactor = Redactor::new().replace("/tmp/x1", "[TEMP]");
        let redact = |text| redactor.redact(text);
        assert_eq!(redact("in /tmp/x1/f"), "in [TEMP]/f");
        assert_eq!(
            redact(r#"{"pid": 12,"wall_ms":7}"#),
            r#"{"pid": [PID],"wall_ms":[MS]}"#
        );
        assert_eq!(
            redact("<pid>9</pid> kill -9 -9"),
            "<pid>[PID]</pid> kill -9 -[PID]"
        );
        assert_eq!(redact("at 2026-01-31T12:00:00.5Z, ok"), "at [TIME], ok");
        assert_eq!(redact("at 2026-01-31 12:00:00 é"), "at [TIME] é");
    }

    #[test]
    fn other_text_stays() {
        for text in ["pid none", "2026-01-31", "exit_code\":3", "12:00:00", "é"] {
            assert_eq!(Redactor::new().redact(text), text);
        }
    }
}
