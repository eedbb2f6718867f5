//! grep and rg: nothing is left out. The lossless tier writes each file's name once; if lines
//! around the matches are shown, which it cannot tell from matches, that is done here.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};
use std::collections::HashSet;

pub(super) struct Search;

impl Filter for Search {
    fn name(&self) -> &'static str {
        "search"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["grep", "egrep", "fgrep", "rg", "ag", "ack"]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        if !input.lines().any(|line| line == "--") {
            return input.lines().for_each(|line| sheet.keep(line));
        }
        let files: HashSet<&str> = input.lines().filter_map(file_of_match).collect();
        let mut file = "";
        let mut lines = input.lines().peekable();
        while let Some(line) = lines.next() {
            let found = file_of(line, &files).unwrap_or_default();
            let next = lines.peek().and_then(|next| file_of(next, &files));
            if line == "--" && next == Some(file) && !file.is_empty() {
                sheet.keep(" --");
                continue;
            }
            // A name for a single line is not taken from it.
            if found.is_empty() || found != file && next != Some(found) {
                file = "";
                sheet.keep(line);
                continue;
            }
            if found != file {
                file = found;
                sheet.keep(&format!("{file}:"));
            }
            let rest = line.get(file.len() + 1..).unwrap_or_default();
            sheet.keep(&format!(" {rest}"));
        }
    }
}

/// The file of `src/a.py:12:text`.
fn file_of_match(line: &str) -> Option<&str> {
    let (file, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !file.is_empty()).then_some(file)
}

/// The file of a match, or of a line around one: `src/a.py-11-text`. Such a name is one of those
/// that have matches.
fn file_of<'a>(line: &'a str, files: &HashSet<&'a str>) -> Option<&'a str> {
    if let Some(file) = file_of_match(line).filter(|file| files.contains(file)) {
        return Some(file);
    }
    let mut ends = line.match_indices('-').map(|(at, _)| at);
    ends.find_map(|at| {
        let (file, rest) = line.split_at_checked(at)?;
        let (number, _) = rest.strip_prefix('-')?.split_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && files.contains(file)).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_matches_are_known_by_their_file() {
        let files = HashSet::from(["src/a-1-b.py"]);
        for line in [
            "src/a-1-b.py:12:import os",
            "src/a-1-b.py-13-x = 1-2-3",
            "src/a-1-b.py-14-",
        ] {
            assert_eq!(file_of(line, &files), Some("src/a-1-b.py"), "{line}");
        }
        assert_eq!(file_of("src/c.py-13-x", &files), None);
    }
}
