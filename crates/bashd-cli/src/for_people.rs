//! Numbers and texts as people read them: short durations, short sizes, one line of bounded width.

use crate::render::{StyledLine, Tone};
use std::fmt::Display;
use unicode_width::UnicodeWidthChar;

/// A duration in at most six columns: `8ms`, `1.2s`, `3m05s`, `2h03m`, `4d02h`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis}ms"),
        1..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A size with at most four digits: `512B`, `1.5KiB`, `300MiB`. Rounded down.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let power = (bytes.ilog2() / 10).max(1);
    let unit = UNITS.get(power as usize - 1).unwrap_or(&"EiB");
    let tenths = (u128::from(bytes) * 10) >> (10 * power);
    if tenths < 100 {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    } else {
        format!("{}{unit}", tenths / 10)
    }
}

/// A number with its noun: `1 line`, `2 lines`. The plural of the noun ends in `s`.
pub(crate) fn count<N: Copy + PartialEq + From<u8> + Display>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A text on one line: newlines shown as `↵`, nothing left that a terminal would act on.
pub(crate) fn one_line(text: &str) -> String {
    one_line_keeping_blanks(text.trim_end())
}

/// Like [`one_line`], but keeps the blanks at the end, for text that is marked column by column.
pub(crate) fn one_line_keeping_blanks(text: &str) -> String {
    let visible = |character: char| match character {
        '\n' => '↵',
        '\t' => ' ',
        control if control.is_control() || is_invisible(control) => '\u{fffd}',
        other => other,
    };
    text.chars().map(visible).collect()
}

/// Characters that reverse the direction of text, so that a line seems to say something else.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// The text cut to this many columns, with `…` in place of what is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let width = |character: char| character.width().unwrap_or_default();
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let fitting = text.chars().take_while(|character| {
        used += width(*character);
        used < columns
    });
    let mut kept: String = fitting.collect();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// A text in lines that break between words, for a terminal of this many columns whose first ones
/// are taken. Without a terminal it is one line.
pub(crate) fn wrapped(text: &str, taken: usize, columns: Option<usize>) -> Vec<String> {
    /// Narrower than this, a text is harder to read than a line that the terminal breaks.
    const LEAST: usize = 24;
    let Some(columns) = columns else {
        return vec![text.to_owned()];
    };
    words_in_lines(text, columns.saturating_sub(taken).max(LEAST))
}

/// A remark for a terminal of this many columns whose first ones are taken: in lines that break
/// between its parts, which have ` · ` between them, so that a command can be copied, or else
/// between words. Without a terminal it stays as it is.
pub(crate) fn remark(text: &str, taken: usize, columns: Option<usize>) -> String {
    /// A blank at which a line may not break.
    const KEPT: &str = "\u{1}";
    const INDENT: &str = "    ";
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let room = columns.saturating_sub(taken.max(INDENT.len()));
    let lines = text.split('\n').map(|line| {
        let parts = line.split(" · ").map(|part| {
            let fits = part.chars().count() + 2 <= room && line.contains(" · ");
            if fits {
                part.replace(' ', KEPT)
            } else {
                part.to_owned()
            }
        });
        let parts: Vec<String> = parts.collect();
        let line = parts.join(&format!("{KEPT}· "));
        let rows = wrapped(&line, taken.max(INDENT.len()), Some(columns));
        rows.join(&format!("\n{INDENT}")).replace(KEPT, " ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A text in lines of so many columns that break between words; a longer word has its own.
fn words_in_lines(text: &str, most: usize) -> Vec<String> {
    let width = |text: &str| {
        text.chars()
            .filter_map(UnicodeWidthChar::width)
            .sum::<usize>()
    };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) <= most {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// A text in rows of a drawn screen: broken between words, and inside of those that are longer than
/// a row.
pub(crate) fn rows(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut rows = Vec::new();
    for line in words_in_lines(text, columns) {
        let line = StyledLine::new(Tone::Plain, line);
        rows.extend(line.wrapped(columns).iter().map(StyledLine::text));
    }
    rows
}

/// An entry of a list at a terminal of so many columns: what stands before, which takes so many,
/// and a text beside it or, where there is little room, below it.
pub(crate) fn entry(before: &str, taken: usize, text: &str, columns: usize) -> Vec<String> {
    /// With less room than this a text that does not fit goes below.
    const ENOUGH: usize = 40;
    let room = columns.saturating_sub(taken);
    let fits = text
        .chars()
        .filter_map(UnicodeWidthChar::width)
        .sum::<usize>()
        <= room;
    if fits || room >= ENOUGH {
        let lines = wrapped(text, taken, Some(columns)).into_iter();
        return lines
            .enumerate()
            .map(|(number, line)| match number {
                0 => format!("{before}{line}"),
                _ => format!("{:taken$}{line}", ""),
            })
            .collect();
    }
    let below = wrapped(text, 4, Some(columns)).into_iter();
    let below = below.map(|line| format!("    {line}"));
    std::iter::once(before.trim_end().to_owned())
        .chain(below)
        .collect()
}

/// As many of these parts as fit, each with its rank, in their order and between two blanks: those
/// with the highest rank are left out first.
pub(crate) fn fitting(parts: &[(u8, &str)], columns: usize) -> String {
    let mut kept = parts.to_vec();
    loop {
        let texts: Vec<&str> = kept.iter().map(|(_, text)| *text).collect();
        let text = format!(" {} ", texts.join(" · "));
        let least = kept.iter().map(|(rank, _)| *rank).max();
        if kept.len() < 2 || text.chars().count() <= columns {
            return text;
        }
        let place = kept.iter().rposition(|(rank, _)| Some(*rank) == least);
        kept.remove(place.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (millis, text) in [
            (0, "0ms"),
            (999, "999ms"),
            (1250, "1.2s"),
            (59_999, "59.9s"),
            (185_000, "3m05s"),
            (7_380_000, "2h03m"),
            (352_800_000, "4d02h"),
        ] {
            assert_eq!(duration(millis), text);
        }
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KiB"),
            (1536, "1.5KiB"),
            (300 << 20, "300MiB"),
            (u64::MAX, "15EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_agree_with_their_noun() {
        assert_eq!(count(0_usize, "line"), "0 lines");
        assert_eq!(count(1_u64, "line"), "1 line");
        assert_eq!(count(2_u64, "damaged line"), "2 damaged lines");
    }

    #[test]
    fn a_line_can_not_act_on_the_terminal() {
        assert_eq!(
            one_line("a\nb\t\u{1b}[31mc\u{202e}\r\n"),
            "a↵b \u{fffd}[31mc\u{fffd}"
        );
    }

    #[test]
    fn lines_break_between_words() {
        let text = "the quick brown fox jumps over the lazy dog";
        assert_eq!(wrapped(text, 0, None), [text]);
        assert_eq!(
            wrapped(text, 6, Some(30)),
            ["the quick brown fox", "jumps over the lazy dog"]
        );
        assert_eq!(wrapped("", 0, Some(80)), [""]);
    }

    #[test]
    fn a_remark_breaks_between_commands() {
        let text = "job bg_1 · follow: bashd jobs follow bg_1 · end it: bashd jobs kill bg_1";
        assert_eq!(remark(text, 7, None), text);
        assert_eq!(remark(text, 7, Some(200)), text);
        let expected =
            "job bg_1 · follow: bashd jobs follow bg_1 ·\n    end it: bashd jobs kill bg_1";
        assert_eq!(remark(text, 7, Some(60)), expected);
        assert_eq!(
            remark("the quick brown fox jumps over it\nand on", 6, Some(32)),
            "the quick brown fox jumps\n    over it\nand on"
        );
    }

    #[test]
    fn rows_break_words_that_are_longer_than_they() {
        assert_eq!(rows("ab abcdefgh c", 4), ["ab", "abcd", "efgh", "c"]);
        assert_eq!(rows("", 4), [""]);
        assert_eq!(rows("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn a_text_stands_beside_or_below_and_never_beyond_the_edge() {
        let text = "for i in $(seq 20); do echo alpha beta gamma; done";
        assert_eq!(entry("exit 0  ", 8, "true", 20), ["exit 0  true"]);
        assert_eq!(
            entry("exit 0  ", 8, text, 50),
            [
                "exit 0  for i in $(seq 20); do echo alpha beta",
                "        gamma; done"
            ]
        );
        assert_eq!(
            entry("exit 0  ", 30, text, 60),
            [
                "exit 0",
                "    for i in $(seq 20); do echo alpha beta gamma; done"
            ]
        );
    }

    #[test]
    fn what_matters_least_is_left_out_first() {
        let parts = [(2, "arrows choose"), (1, "enter opens"), (0, "q quits")];
        assert_eq!(
            fitting(&parts, 40),
            " arrows choose · enter opens · q quits "
        );
        assert_eq!(fitting(&parts, 38), " enter opens · q quits ");
        assert_eq!(fitting(&parts, 10), " q quits ");
        assert_eq!(fitting(&parts, 2), " q quits ");
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 0), "");
    }
}
