//! Groups backwards: every line below a heading becomes whole again. A heading that is nothing but
//! the mark is the one before it.

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
    pub(super) fn of(all: &[&str], mark: Option<char>) -> Self {
        let mut reader = GroupReader {
            all,
            at: 0,
            mark,
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
    mark: Option<char>,
    headings: Vec<Option<usize>>,
}

impl<'a> GroupReader<'a> {
    /// The lines from here on that stand below an indent.
    fn below(&mut self, indent: &str, heading: Option<usize>) -> Vec<(usize, String)> {
        let mut out = Vec::new();
        let mut last: Option<(usize, &'a str)> = None;
        while let Some(body) = self
            .all
            .get(self.at)
            .and_then(|line| line.strip_prefix(indent))
        {
            let place = self.at;
            if let Some(known) = self.headings.get_mut(place) {
                *known = heading;
            }
            self.at += 1;
            match self.mark.filter(|mark| body.contains(*mark)) {
                Some(mark) => {
                    let below = format!("{indent}{} ", leading_blanks(body));
                    let is_again = body.trim_start().chars().eq([mark]);
                    let form = match last.filter(|_| is_again) {
                        Some((original, form)) => {
                            if let Some(known) = self.headings.get_mut(place) {
                                *known = Some(original);
                            }
                            form
                        }
                        None => {
                            last = Some((place, body));
                            body
                        }
                    };
                    let members = self.below(&below, Some(place));
                    let whole =
                        |(from, member): (usize, String)| (from, form.replace(mark, &member));
                    out.extend(members.into_iter().map(whole));
                }
                None => out.push((place, body.to_owned())),
            }
        }
        out
    }
}
