//! Findings with a place and a text: those of one file under its name, and places that share a text on one line.
//!
//! ```text
//! src/a.py:
//!  11, 19, 43: error: Function is missing a type annotation  [no-untyped-def]
//!  35: error: Call to untyped function "factory"  [no-untyped-call]
//! ```

use super::super::sheet::Sheet;
use std::collections::HashMap;
use std::fmt::Write as _;

/// A finding.
#[derive(Debug, Clone, Copy)]
struct Finding<'a> {
    line: &'a str,
    file: &'a str,
    /// `11`, or `11:5`.
    place: &'a str,
    /// With what stands between it and the place.
    text: &'a str,
}

/// Findings that follow each other.
#[derive(Debug, Default)]
pub(super) struct Findings<'a>(Vec<Finding<'a>>);

impl<'a> Findings<'a> {
    /// Takes a line that is a finding. What is none ends the list: write it with `flush` first.
    pub(super) fn take(&mut self, line: &'a str) -> bool {
        let finding = finding(line).or_else(|| row(line));
        self.0.extend(finding);
        finding.is_some()
    }

    /// Writes what was taken. What follows may belong to the last one (an indented line), which then stays last.
    pub(super) fn flush(&mut self, following: &str, sheet: &mut Sheet<'a>) {
        let mut findings = std::mem::take(&mut self.0);
        let last = if following.starts_with([' ', '\t']) {
            findings.pop()
        } else {
            None
        };
        for (file, of_file) in in_order(findings, |finding| finding.file) {
            write(file, &of_file, sheet);
        }
        if let Some(last) = last {
            sheet.keep(last.line);
        }
    }
}

/// Findings by what they share, in the order of the first of each.
fn in_order<'a>(
    findings: Vec<Finding<'a>>,
    shared: fn(&Finding<'a>) -> &'a str,
) -> Vec<(&'a str, Vec<Finding<'a>>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<(&str, Vec<Finding<'_>>)> = Vec::new();
    for finding in findings {
        let key = shared(&finding);
        let at = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.push(finding),
            None => groups.push((key, vec![finding])),
        }
    }
    groups
}

/// Writes the findings of a file.
fn write<'a>(file: &str, findings: &[Finding<'a>], sheet: &mut Sheet<'a>) {
    let by_text = in_order(findings.to_vec(), |finding| finding.text);
    if by_text.len() == findings.len() {
        for finding in findings {
            sheet.keep(finding.line);
        }
        return;
    }
    if !file.is_empty() {
        sheet.keep(&format!("{file}:"));
    }
    for (text, alike) in by_text {
        let mut line = String::new();
        for (at, finding) in alike.iter().enumerate() {
            let before = if at == 0 { " " } else { ", " };
            let _ = write!(line, "{before}{}", finding.place);
        }
        line.push_str(text);
        sheet.keep(&line);
    }
    sheet.remark("places of one text joined");
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
        text: text.strip_prefix(')').unwrap_or(text),
    })
}

/// `  3:5  error  'x' is not defined  no-undef`, under its file's name.
fn row(line: &str) -> Option<Finding<'_>> {
    let trimmed = line.strip_prefix("  ")?.trim_start();
    let (place, _) = trimmed.split_once("  ")?;
    let (number, column) = place.split_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(number) && is_number(column)).then_some(Finding {
        line,
        file: "",
        place,
        text: trimmed.get(place.len()..)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::sheet::Ending;
    use super::super::super::work::Work;
    use super::*;

    fn written(lines: &[&str], following: &str) -> String {
        let work = Work::for_input(10_000);
        let mut sheet = Sheet::new(Ending::Careful, &work);
        let mut findings = Findings::default();
        for line in lines {
            assert!(findings.take(line), "{line}");
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
        assert_eq!(written(&lines, ""), expected);
        let rows = [
            "  3:5  error  x is bad  no-x",
            "  4:5  error  x is bad  no-x",
        ];
        assert_eq!(
            written(&rows, "next.js"),
            " 3:5, 4:5  error  x is bad  no-x\n"
        );
        let tsc = ["a.ts(3,5): error TS1: x", "a.ts(9,5): error TS1: x"];
        assert_eq!(written(&tsc, ""), "a.ts:\n 3,5, 9,5: error TS1: x\n");
    }

    #[test]
    fn what_is_explained_below_stays_last() {
        let lines = [
            "a.ts(3,5): error TS1: x",
            "a.ts(4,5): error TS1: x",
            "a.ts(5,5): error TS1: x",
        ];
        let expected = "a.ts:\n 3,5, 4,5: error TS1: x\na.ts(5,5): error TS1: x\n";
        assert_eq!(written(&lines, "  The type is wrong."), expected);
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
            assert!(!Findings::default().take(line), "{line}");
        }
    }
}
