//! Findings whose place is below them after an arrow, as ruff and ty write them: the place comes
//! first, as in other tools, each file is named once, and so is the help that every finding of a
//! rule repeats.
//!
//! ```text
//! src/a.py:
//!  9:23: F401 `os` imported but unused
//! help: Remove unused import
//! ```

use super::super::sheet::Sheet;
use std::collections::HashSet;

/// The position in a report.
#[derive(Default)]
pub(super) struct Arrows<'a> {
    /// A finding whose place is on the next line.
    finding: Option<&'a str>,
    /// The rule of the finding that was written last.
    rule: &'a str,
    file: &'a str,
    helps: HashSet<(&'a str, &'a str)>,
}

impl<'a> Arrows<'a> {
    /// Takes a line of a finding.
    pub(super) fn take(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        if let Some(finding) = self.finding.take() {
            if let Some((file, place)) = arrow(line) {
                self.write(finding, file, place, sheet);
                return true;
            }
            sheet.keep(finding);
        }
        if rule(line).is_some() {
            self.finding = Some(line);
            return true;
        }
        if line.starts_with("help: ") && !self.rule.is_empty() {
            if self.helps.insert((self.rule, line)) {
                sheet.keep(line);
            } else {
                sheet.say_once(line);
            }
            return true;
        }
        false
    }

    /// Writes a finding whose place never came.
    pub(super) fn finish(&mut self, sheet: &mut Sheet<'a>) {
        if let Some(finding) = self.finding.take() {
            sheet.keep(finding);
        }
    }

    fn write(&mut self, finding: &'a str, file: &'a str, place: &str, sheet: &mut Sheet<'a>) {
        if file != self.file {
            self.file = file;
            sheet.keep(&format!("{file}:"));
        }
        sheet.keep(&format!(" {place}: {finding}"));
        sheet.enter_file(file);
        sheet.remark("places shown before findings");
        self.rule = rule(finding).unwrap_or_default();
    }
}

/// The rule of `F401 [*] text` and of `error[unresolved-import]: text`.
fn rule(line: &str) -> Option<&str> {
    let (rule, text) = line.split_once(' ')?;
    let letters = rule.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_code = (1..=6).contains(&letters.len())
        && letters.len() < rule.len()
        && letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_named = rule.ends_with("]:") && rule.contains('[') || rule == "invalid-syntax:";
    (!text.is_empty() && (is_code || is_named)).then_some(rule)
}

/// The file and the place of ` --> src/a.py:9:23`.
fn arrow(line: &str) -> Option<(&str, &str)> {
    let place = line.trim_start().strip_prefix("--> ")?;
    let (file, _) = place.split_once(':')?;
    let place = place.get(file.len() + 1..)?;
    let is_place = place
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b':');
    (is_place && !file.contains(' ')).then_some((file, place))
}

#[cfg(test)]
mod tests {
    use super::super::super::sheet::KnownEnding;
    use super::super::super::work::Work;
    use super::*;

    #[test]
    fn places_come_first_and_help_is_said_once() {
        let work = Work::for_input(10_000);
        let mut sheet = Sheet::new(KnownEnding::Careful, &work);
        let mut arrows = Arrows::default();
        for line in [
            "F401 `os` imported but unused",
            "  --> src/a.py:9:23",
            "help: Remove unused import",
            "F401 `re` imported but unused",
            "  --> src/a.py:10:1",
            "help: Remove unused import",
            "E402 Module level import not at top of file",
            "Found 3 errors.",
        ] {
            if !arrows.take(line, &mut sheet) {
                sheet.keep(line);
            }
        }
        arrows.finish(&mut sheet);
        assert_eq!(
            sheet.finish().text,
            "src/a.py:\n 9:23: F401 `os` imported but unused\nhelp: Remove unused import\n 10:1: F401 `re` imported but unused\nE402 Module level import not at top of file\nFound 3 errors.\n"
        );
    }
}
