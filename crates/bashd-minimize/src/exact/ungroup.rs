//! Groups backwards: every line below a heading becomes whole again, and so does every word.

use super::alike::leading_blanks;

/// A text without headings.
#[derive(Debug)]
pub(super) struct Ungrouped {
    /// Each with the number of the line that it is from.
    pub(super) lines: Vec<(usize, String)>,
    /// For each of the given lines its heading.
    pub(super) headings: Vec<Option<usize>>,
}

impl Ungrouped {
    pub(super) fn of(all: &[&str], line_mark: Option<char>, word_mark: Option<char>) -> Self {
        let mut reader = GroupReader {
            all,
            at: 0,
            line_mark,
            word_mark,
            headings: vec![None; all.len()],
        };
        let lines = reader.below("", None);
        Self {
            lines,
            headings: reader.headings,
        }
    }
}

/// Reads lines and headings.
struct GroupReader<'a> {
    all: &'a [&'a str],
    at: usize,
    line_mark: Option<char>,
    word_mark: Option<char>,
    headings: Vec<Option<usize>>,
}

impl<'a> GroupReader<'a> {
    /// The lines from here on that stand below an indent.
    fn below(&mut self, indent: &str, heading: Option<usize>) -> Vec<(usize, String)> {
        let mut out = Vec::new();
        while let Some((place, body)) = self.next_below(indent, heading) {
            let has = |mark: &char| body.contains(*mark);
            let (line_mark, word_mark) = (self.line_mark.filter(has), self.word_mark.filter(has));
            let Some(mark) = line_mark.or(word_mark) else {
                out.push((place, body.to_owned()));
                continue;
            };
            let below = format!("{indent}{} ", leading_blanks(body));
            let members = if line_mark.is_some() {
                self.below(&below, Some(place))
            } else {
                self.words_below(&below, place)
            };
            let whole = |(from, member): (usize, String)| (from, body.replace(mark, &member));
            out.extend(members.into_iter().map(whole));
        }
        out
    }

    /// The words of the rows from here on.
    fn words_below(&mut self, indent: &str, heading: usize) -> Vec<(usize, String)> {
        let mut out = Vec::new();
        while let Some((place, row)) = self.next_below(indent, Some(heading)) {
            out.extend(row.split(' ').map(|word| (place, word.to_owned())));
        }
        out
    }

    /// The next line, if it stands below an indent.
    fn next_below(&mut self, indent: &str, heading: Option<usize>) -> Option<(usize, &'a str)> {
        let place = self.at;
        let body = self.all.get(place)?.strip_prefix(indent)?;
        self.stands_below(place, heading);
        self.at += 1;
        Some((place, body))
    }

    fn stands_below(&mut self, place: usize, heading: Option<usize>) {
        if let Some(known) = self.headings.get_mut(place) {
            *known = heading;
        }
    }
}
