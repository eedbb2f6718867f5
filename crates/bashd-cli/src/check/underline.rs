//! The lines of a command that a span touches, with the span underlined.

use crate::for_people;
use bashd::script::Span;
use unicode_width::UnicodeWidthStr;

/// Each touched line in a printable form, and the marks to print under it.
pub(crate) fn lines(command: &str, span: Span) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    let mut start = 0;
    for line in command.split_inclusive('\n') {
        let end = start + line.len();
        let text = line.trim_end_matches('\n');
        let from = span.start.max(start) - start;
        let to = span.end.min(start + text.len()).saturating_sub(start);
        if span.start < end && start < span.end && from < to {
            let before = for_people::one_line_keeping_blanks(text.get(..from).unwrap_or_default());
            let marked =
                for_people::one_line_keeping_blanks(text.get(from..to).unwrap_or_default());
            let marks = "^".repeat(marked.width().max(1));
            let indent = " ".repeat(before.width());
            shown.push((
                for_people::one_line_keeping_blanks(text),
                format!("{indent}{marks}"),
            ));
        }
        start = end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_under_what_they_mean() {
        let of = |command: &str, start, end| lines(command, Span { start, end });
        let line = |text: &str, marks: &str| (text.to_owned(), marks.to_owned());
        assert_eq!(
            of("a && rm -rf /", 5, 13),
            [line("a && rm -rf /", "     ^^^^^^^^")]
        );
        assert_eq!(of("a\nrm x\nb", 2, 6), [line("rm x", "^^^^")]);
        assert_eq!(
            of("echo 日本; rm x", 13, 17),
            [line("echo 日本; rm x", "           ^^^^")]
        );
        assert_eq!(
            of("rm \\\n x", 0, 7),
            [line("rm \\", "^^^^"), line(" x", "^^")]
        );
        assert_eq!(of("a", 0, 0), []);
        assert_eq!(of("a", 7, 9), []);
    }
}
