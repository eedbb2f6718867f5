//! Rules and bars: a long run of one drawing character says no more than a short one.

/// A longer run is a rule or a bar.
const LONGEST: usize = 12;

/// What stays of it.
const SHORT: usize = 3;

fn is_drawn(c: char) -> bool {
    matches!(
        c,
        '=' | '-' | '_' | '*' | '#' | '─' | '━' | '═' | '⎯' | '!' | '█' | '░'
    )
}

/// The text with rules shortened; `None` if there are none.
pub(super) fn shorten(text: &str) -> Option<String> {
    let mut shortened = String::new();
    let mut rest = text;
    while let Some((before, from)) = first_rule(rest).and_then(|at| rest.split_at_checked(at)) {
        if shortened.is_empty() {
            shortened.reserve(text.len());
        }
        shortened.push_str(before);
        let end = memchr::memchr(b'\n', from.as_bytes()).map_or(from.len(), |end| end + 1);
        let (line, after) = from.split_at_checked(end).unwrap_or((from, ""));
        push_shortened(&mut shortened, line);
        rest = after;
    }
    if rest.len() == text.len() {
        return None;
    }
    shortened.push_str(rest);
    Some(shortened)
}

fn push_shortened(shortened: &mut String, line: &str) {
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        shortened.push(c);
        if !is_drawn(c) {
            continue;
        }
        let mut run = 1;
        while characters.next_if_eq(&c).is_some() {
            run += 1;
        }
        let kept = if run > LONGEST { SHORT } else { run };
        shortened.extend(std::iter::repeat_n(c, kept - 1));
    }
}

/// Where the line of the first rule begins. Most texts have none, so this looks at every sixth byte
/// only.
fn first_rule(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = LONGEST;
    while let Some(&byte) = bytes.get(at) {
        let is_candidate = byte >= 0x80
            || is_drawn(char::from(byte)) && bytes.get(at - LONGEST / 2) == Some(&byte);
        if is_candidate {
            if let Some(found) = rule_around(text, at) {
                return Some(found);
            }
            // The whole line was checked. A rule of the next one has a byte after its first half.
            let rest = bytes.get(at..).unwrap_or_default();
            at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        at += LONGEST / 2;
    }
    None
}

/// The beginning of the line around `at`, if there is a rule in that line.
fn rule_around(text: &str, at: usize) -> Option<usize> {
    let start = memchr::memrchr(b'\n', text.as_bytes().get(..at)?).map_or(0, |found| found + 1);
    let from = text.get(start..)?;
    let end = memchr::memchr(b'\n', from.as_bytes()).unwrap_or(from.len());
    let line = from.get(..end)?;
    let mut run = 0;
    let mut before = ' ';
    let is_rule = line.chars().any(|c| {
        run = if c == before && is_drawn(c) {
            run + 1
        } else {
            1
        };
        before = c;
        run > LONGEST
    });
    is_rule.then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_shortened_and_short_runs_stay() {
        let text = format!("{} FAILURES {}\nx\n", "=".repeat(40), "=".repeat(41));
        assert_eq!(shorten(&text).as_deref(), Some("=== FAILURES ===\nx\n"));
        assert_eq!(
            shorten(&format!("a\nb {} 3 MB\n", "━".repeat(40))).as_deref(),
            Some("a\nb ━━━ 3 MB\n")
        );
        assert_eq!(shorten("--- a/x\n+++ b/x\n------------\n"), None);
        assert_eq!(shorten(""), None);
    }
}
