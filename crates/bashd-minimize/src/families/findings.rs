//! Findings with a place and a text: those of one file under its name, and places that share a text
//! on one line.
//!
//! ```text
//! src/a.py:
//!  11, 19, 43: error: Function is missing a type annotation  [no-untyped-def]
//!  35: error: Call to untyped function "factory"  [no-untyped-call]
//! ```

use super::super::braces;
use super::super::sheet::Sheet;
use super::in_groups;
use std::borrow::Cow;
use std::fmt::Write as _;

/// A finding.
#[derive(Debug, Clone)]
struct Finding<'a> {
    line: &'a str,
    file: &'a str,
    /// `11`, or `11:5`.
    place: &'a str,
    /// With what is between it and the place.
    text: Cow<'a, str>,
    shape: FindingShape,
}

/// How the tool writes its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FindingShape {
    /// Each with its file.
    Line,
    /// Below the name of their file.
    Row,
}

/// Findings that follow each other.
#[derive(Debug, Default)]
pub(super) struct Findings<'a> {
    all: Vec<Finding<'a>>,
    /// The name of a file that stands alone on a line: rows may follow.
    heading: Option<&'a str>,
    /// Whether the last rows are below it.
    is_used: bool,
}

impl<'a> Findings<'a> {
    /// Takes a line that is a finding, or the name of a file that findings may follow. Any other
    /// line ends the list: call `flush` before writing it.
    pub(super) fn take(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        if let Some(finding) = row(line, self.heading.unwrap_or_default()) {
            self.all.push(finding);
            self.is_used = true;
            return true;
        }
        if line.is_empty() && self.is_used {
            sheet.skip("");
            return true;
        }
        if is_heading(line) {
            if !self.is_used {
                self.flush("", sheet);
            }
            self.heading = Some(line);
            self.is_used = false;
            return true;
        }
        if self.heading.is_some() && !self.is_used {
            self.flush(line, sheet);
        }
        let finding = finding(line);
        let is_finding = finding.is_some();
        self.all.extend(finding);
        is_finding
    }

    /// Writes what was taken. What follows may belong to the last one (an indented line), which
    /// then stays last.
    pub(super) fn flush(&mut self, following: &str, sheet: &mut Sheet<'a>) {
        let mut findings = std::mem::take(&mut self.all);
        let heading = self.heading.take().filter(|_| !self.is_used);
        self.is_used = false;
        if !findings.is_empty() {
            let is_explained = following.starts_with([' ', '\t']) && heading.is_none();
            let last = findings.pop_if(|last| is_explained && last.shape == FindingShape::Line);
            let lines = written(&findings);
            if lines.len() < findings.len() {
                sheet.remark("places grouped by text");
            }
            for line in lines {
                sheet.keep(&line);
            }
            if let Some(last) = last {
                sheet.keep(last.line);
            }
        }
        if let Some(heading) = heading {
            sheet.keep(heading);
        }
    }
}

/// `/src/a.js`, or `src/a.py:`, alone on a line.
fn is_heading(line: &str) -> bool {
    let name = line.strip_suffix(':').unwrap_or(line);
    let is_name = !name.is_empty() && !name.contains([' ', '\t', ':', '(', '"']);
    is_name && name.contains('/') && std::path::Path::new(name).extension().is_some()
}

/// A text that findings of this many files have is written once for all of them.
const FEWEST_FILES: usize = 3;

/// The shorter of two forms: every file with its findings, or first the texts that many files
/// share.
fn written(findings: &[Finding<'_>]) -> Vec<String> {
    let by_file = of_files(findings.to_vec());
    let mut shared = Vec::new();
    let mut rest = Vec::new();
    for (text, alike) in in_groups(findings.to_vec(), |finding| finding.text.clone()) {
        let files = in_groups(alike.clone(), |finding| finding.file);
        if files.len() >= FEWEST_FILES && text.len() >= FEWEST_FILES {
            shared.push(of_text(&text, &files));
        } else {
            rest.extend(alike);
        }
    }
    // In text order again.
    rest.sort_by_key(|finding| finding.line.as_ptr());
    shared.extend(of_files(rest));
    let length = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    if length(&shared) < length(&by_file) {
        shared
    } else {
        by_file
    }
}

/// `src/{a.py:3,9, b.py:7}: error: x`
fn of_text(text: &str, files: &[(&str, Vec<Finding<'_>>)]) -> String {
    let places = files.iter().map(|(file, findings)| {
        let places: Vec<String> = findings
            .iter()
            .map(|finding| finding.place.replace(',', ":"))
            .collect();
        format!("{file}:{}", places.join(","))
    });
    let places: Vec<String> = places.collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    format!("{}{text}", braces::list(&places))
}

/// The findings of each file.
fn of_files(findings: Vec<Finding<'_>>) -> Vec<String> {
    let mut lines = Vec::new();
    for (file, findings) in in_groups(findings, |finding| finding.file) {
        let by_text = in_groups(findings.clone(), |finding| finding.text.clone());
        let are_rows = findings
            .iter()
            .all(|finding| finding.shape == FindingShape::Row);
        if by_text.len() == findings.len() && !are_rows {
            lines.extend(findings.iter().map(|finding| finding.line.to_owned()));
            continue;
        }
        if !file.is_empty() {
            lines.push(format!("{file}:"));
        }
        for (text, alike) in by_text {
            let mut line = String::new();
            for (at, finding) in alike.iter().enumerate() {
                let before = if at == 0 { " " } else { ", " };
                let _ = write!(line, "{before}{}", finding.place);
            }
            line.push_str(&text);
            lines.push(line);
        }
    }
    lines
}

/// `a.py:3: error: …`, `a.py:3:5: E501 …`, `a.ts(3,5): error …`
fn finding(line: &str) -> Option<Finding<'_>> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let end = line.find([':', '('])?;
    let file = line.get(..end)?;
    let is_file = !file.is_empty() && !file.contains(' ') && file.contains(['.', '/']);
    if !is_file {
        return None;
    }
    let rest = line.get(end + 1..)?;
    let length = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | ',')))
        .unwrap_or(rest.len());
    let place = rest.get(..length)?.trim_end_matches(':');
    let text = rest.get(place.len()..)?;
    let is_place = place.starts_with(|c: char| c.is_ascii_digit());
    let has_text = text.len() > 3 && text.starts_with([':', ')', ' ']);
    (is_place && has_text).then_some(Finding {
        line,
        file,
        place,
        text: Cow::Borrowed(text.strip_prefix(')').unwrap_or(text)),
        shape: FindingShape::Line,
    })
}

/// `  3:5  error  'x' is not defined  no-undef`, under its file's name.
fn row<'a>(line: &'a str, heading: &'a str) -> Option<Finding<'a>> {
    let trimmed = line.strip_prefix(' ')?.trim_start();
    let (place, text) = trimmed.split_once(' ')?;
    let (number, column) = place.split_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Without a file's name above, it takes more than one blank to be sure.
    let is_row = !heading.is_empty() || text.starts_with(' ') && line.starts_with("  ");
    let cells = text
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty());
    (is_number(number) && is_number(column) && is_row).then(|| Finding {
        line,
        file: heading.strip_suffix(':').unwrap_or(heading),
        place,
        text: Cow::Owned(format!("  {}", cells.collect::<Vec<_>>().join("  "))),
        shape: FindingShape::Row,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::sheet::KnownEnding;
    use super::super::super::work::Work;
    use super::*;

    fn flushed(lines: &[&str], following: &str) -> String {
        let work = Work::for_input(10_000);
        let mut sheet = Sheet::new(KnownEnding::Careful, &work);
        let mut findings = Findings::default();
        for line in lines {
            assert!(findings.take(line, &mut sheet), "{line}");
        }
        findings.flush(following, &mut sheet);
        sheet.finish().text
    }

    #[test]
    fn places_of_one_text_stand_together() {
        let lines = [
            "a/b.py:1: error: missing annotation  [x]",
            "a/b.py:5: error: other  [y]",
            "c.py:2: error: missing annotation  [x]",
            "a/b.py:9: error: missing annotation  [x]",
        ];
        let expected = "a/b.py:\n 1, 9: error: missing annotation  [x]\n 5: error: other  [y]\nc.py:2: error: missing annotation  [x]\n";
        assert_eq!(flushed(&lines, ""), expected);
        let rows = [
            "  3:5  error  x is bad  no-x",
            "  4:5  error  x is bad  no-x",
        ];
        assert_eq!(
            flushed(&rows, "next.js"),
            " 3:5, 4:5  error  x is bad  no-x\n"
        );
        let tsc = ["a.ts(3,5): error TS1: x", "a.ts(9,5): error TS1: x"];
        assert_eq!(flushed(&tsc, ""), "a.ts:\n 3,5, 9,5: error TS1: x\n");
    }

    #[test]
    fn a_text_that_many_files_share_is_said_once() {
        let lines = [
            "src/a.py:1: error: Function is missing a type annotation",
            "src/a.py:5: error: other",
            "src/a.py:9: error: Function is missing a type annotation",
            "src/b.py:2: error: Function is missing a type annotation",
            "src/c.py:3:7: error: Function is missing a type annotation",
        ];
        let expected = "src/{a.py:1,9, b.py:2, c.py:3:7}: error: Function is missing a type annotation\nsrc/a.py:5: error: other\n";
        assert_eq!(flushed(&lines, ""), expected);
    }

    #[test]
    fn rows_stand_under_the_name_of_their_file() {
        let lines = [
            "/src/a.js",
            "  1:25  error    Unexpected var, use let  no-var",
            "  2:10  warning  'x' is never used        no-unused-vars",
            "",
            "/src/b.js",
            "  7:3  error  Unexpected var, use let  no-var",
            "",
            "/src/c.js",
            "  9:3  error  Unexpected var, use let  no-var",
            "/src/d.js",
        ];
        let expected = "/src/{a.js:1:25, b.js:7:3, c.js:9:3}  error  Unexpected var, use let  no-var\n/src/a.js:\n 2:10  warning  'x' is never used  no-unused-vars\n/src/d.js\n";
        assert_eq!(flushed(&lines, "x"), expected);
    }

    #[test]
    fn what_is_explained_below_stays_last() {
        let lines = [
            "a.ts(3,5): error TS1: x",
            "a.ts(4,5): error TS1: x",
            "a.ts(5,5): error TS1: x",
        ];
        let expected = "a.ts:\n 3,5, 4,5: error TS1: x\na.ts(5,5): error TS1: x\n";
        assert_eq!(flushed(&lines, "  The type is wrong."), expected);
    }

    #[test]
    fn other_lines_are_no_findings() {
        for line in [
            "Found 3 errors",
            "http://a.b:80/x y",
            "12:30 now",
            "a.py:3",
            " a.py:3: x y",
        ] {
            let work = Work::for_input(100);
            let mut sheet = Sheet::new(KnownEnding::Careful, &work);
            assert!(!Findings::default().take(line, &mut sheet), "{line}");
        }
    }
}
