//! Lines that differ in one place only stand under a heading that has a mark in that place:
//! `src/a.rs:…`, then ` 12: x`, ` 14: y`. `test … ... ok` has something after the mark as well, and
//! in `cc -c ….c -o ….o` each mark stands for the same words.
//!
//! The lines below a heading begin with its blanks and one more. The line after them does not.
//! After any other line the heading is written anew: below it, a reader would take that line for
//! the heading.
//!
//! Where every line differs in a single word, the words stand in rows, and the heading has another
//! mark: `git/RelNotes/•.txt`, then ` 1.5.0 1.5.1 1.5.2`.

use super::super::work::Work;
use super::alike::{FoundGroup, GroupLines, find_at, leading_blanks, shared_end};
use super::{TextPage, stems};

/// How deep groups may nest.
const DEEPEST: usize = 4;

/// Where a row of words ends, in bytes.
const ROW: usize = 96;

/// Marks of headings, for a text that has neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadingMarks {
    /// For each of the lines below.
    pub(crate) line: char,
    /// For each of the words below.
    pub(crate) word: char,
}

/// A text with groups.
#[derive(Debug)]
pub(super) struct GroupedText {
    pub(super) text: String,
    /// How many headings stand above lines, and above words.
    pub(super) above_lines: u64,
    pub(super) above_words: u64,
    /// How many lines are in groups.
    pub(super) in_groups: u64,
}

/// The text with groups; `None` if there are none.
pub(super) fn group(page: &TextPage<'_>, marks: HeadingMarks, work: &Work) -> Option<GroupedText> {
    let text = page.text;
    work.charge(text.len());
    let mut grouped = Grouped {
        text: String::new(),
        room: text.len(),
        counts: GroupCounts::default(),
        marks,
        work,
    };
    grouped.write(&GroupLines::of(page), "", 0);
    if grouped.counts.in_groups == 0 {
        return None;
    }
    if !text.ends_with('\n') {
        grouped.text.pop();
    }
    Some(GroupedText {
        text: grouped.text,
        above_lines: grouped.counts.above_lines,
        above_words: grouped.counts.above_words,
        in_groups: grouped.counts.in_groups,
    })
}

/// What was written so far.
#[derive(Debug, Clone, Copy, Default)]
struct GroupCounts {
    above_lines: u64,
    above_words: u64,
    in_groups: u64,
}

/// The text being made.
struct Grouped<'a> {
    text: String,
    /// Bytes that it takes at most, in one piece.
    room: usize,
    counts: GroupCounts,
    marks: HeadingMarks,
    work: &'a Work,
}

impl Grouped<'_> {
    /// Writes lines below an indent, grouped if they share something.
    fn write(&mut self, lines: &GroupLines<'_>, indent: &str, depth: usize) {
        let all = lines.all;
        let mut copied = 0;
        let mut at = 0;
        while at < all.len() && depth < DEEPEST {
            let Some(found) = find_at(lines, at, depth, self.work) else {
                at += 1;
                continue;
            };
            let count = found.lines();
            if self.text.is_empty() {
                self.text.reserve(self.room);
            }
            self.push_all(all.get(copied..at).unwrap_or_default(), indent);
            let members = all.get(at..at + count).unwrap_or_default();
            match found {
                FoundGroup::Beginning(group) => {
                    self.write_group(members, group.length, indent, depth);
                }
                FoundGroup::FirstWord(_) => self.write_words(members, indent),
                FoundGroup::End(_) => self.write_group(members, 0, indent, depth),
            }
            self.counts.in_groups += count as u64;
            at += count;
            copied = at;
        }
        // Without any group nothing has to be written: the text stays as it is.
        if depth > 0 || self.counts.in_groups > 0 {
            self.push_all(all.get(copied..).unwrap_or_default(), indent);
        }
    }

    /// A heading, and what stands in place of its marks: as words, if that is shorter, else as
    /// lines, which may be groups again.
    fn write_below(
        &mut self,
        heading: &str,
        members: &[&str],
        indent: &str,
        (below, depth): (&str, usize),
    ) {
        let (begun, before) = (self.text.len(), self.counts);
        self.push(indent, heading);
        self.write(&GroupLines::within(members), below, depth + 1);
        self.counts.above_lines += 1;
        let lines = self.text.get(begun..).unwrap_or_default();
        // A line end is a token of its own.
        let cost = lines.len() + 2 * memchr::memchr_iter(b'\n', lines.as_bytes()).count();
        let length: usize = members.iter().map(|member| member.len() + 1).sum();
        let rows = length / ROW + 2;
        let as_words = heading.len() + length + rows * (below.len() + 2);
        if as_words < cost && members.iter().all(|member| is_word(member)) {
            self.text.truncate(begun);
            self.counts = before;
            self.write_row(heading, members, indent, below);
        }
    }

    /// A heading, and words in rows.
    fn write_row(&mut self, heading: &str, words: &[&str], indent: &str, below: &str) {
        let mark = self.marks.word.to_string();
        self.push(indent, &heading.replace(self.marks.line, &mark));
        self.counts.above_words += 1;
        let mut length = 0;
        for (at, word) in words.iter().enumerate() {
            if at == 0 || length + word.len() > ROW {
                if at > 0 {
                    self.text.push('\n');
                }
                self.text.push_str(below);
                length = 0;
            } else {
                self.text.push(' ');
            }
            self.text.push_str(word);
            length += word.len() + 1;
        }
        self.text.push('\n');
    }

    /// Lines whose first word occurs in them again.
    fn write_words(&mut self, members: &[&str], indent: &str) {
        let first = members.first().copied().unwrap_or_default();
        let mark = self.marks.line.to_string();
        let heading = first.replace(stems::first_word(first), &mark);
        let words: Vec<&str> = members
            .iter()
            .map(|member| stems::first_word(member))
            .collect();
        self.write_row(&heading, &words, indent, &format!("{indent} "));
    }

    /// Lines that share their beginning, their end, or both.
    fn write_group(&mut self, members: &[&str], length: usize, indent: &str, depth: usize) {
        let beginning = members.first().and_then(|line| line.get(..length));
        let beginning = beginning.unwrap_or_default();
        let rests: Vec<&str> = members
            .iter()
            .map(|member| member.get(length..).unwrap_or_default())
            .collect();
        let below = format!("{indent}{} ", leading_blanks(beginning));
        let end = shared_end(&rests);
        let ending = rests
            .first()
            .and_then(|rest| rest.get(rest.len() - end..))
            .unwrap_or_default();
        let middles: Vec<&str> = rests
            .iter()
            .map(|rest| rest.get(..rest.len() - end).unwrap_or_default())
            .collect();
        let mark = self.marks.line;
        if let Some((between, stems)) = stems::stems(&middles, mark) {
            let heading = format!("{beginning}{between}{ending}");
            self.write_below(&heading, &stems, indent, (&below, DEEPEST));
            return;
        }
        let heading = format!("{beginning}{mark}{ending}");
        self.write_below(&heading, &middles, indent, (&below, depth));
    }

    fn push_all(&mut self, lines: &[&str], indent: &str) {
        for line in lines {
            self.push(indent, line);
        }
    }

    fn push(&mut self, indent: &str, line: &str) {
        self.text.push_str(indent);
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Whether it can stand in a row of words.
fn is_word(member: &str) -> bool {
    !member.is_empty() && memchr::memchr2(b' ', b'\t', member.as_bytes()).is_none()
}

#[cfg(test)]
mod tests {
    use super::super::ungroup::Ungrouped;
    use super::*;

    const MARKS: HeadingMarks = HeadingMarks {
        line: '…',
        word: '•',
    };

    fn grouped(text: &str) -> Option<String> {
        let grouped = group(&TextPage::of(text), MARKS, &Work::for_input(text.len()));
        let shown = grouped.map(|grouped| grouped.text);
        if let Some(shown) = &shown {
            let lines: Vec<&str> = shown.lines().collect();
            let out = Ungrouped::of(&lines, Some('…'), Some('•')).lines;
            let lines = out.into_iter().map(|(_, line)| line + "\n");
            assert_eq!(lines.collect::<String>(), text);
        }
        shown
    }

    #[test]
    fn matches_of_a_file_stand_under_its_name() {
        let text = "src/deep/one.rs:12:fn a\nsrc/deep/one.rs:14:fn b\nsrc/deep/one.rs:19:fn c\nother line\n";
        let expected = "src/deep/one.rs:…\n 12:fn a\n 14:fn b\n 19:fn c\nother line\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_after_the_difference_stands_in_the_heading_too() {
        let text = "test a::b ... ok\ntest a::c ... ok\ntest d ... ok\ntest e ... ok\ntest f ... ok\ntest g ... ok\ntest h ... ok\n";
        let expected = "test • ... ok\n a::b a::c d e f g h\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn ends_and_first_words_are_shared() {
        let text = "test_a (tests.more.ListTests.test_a) ... ok\ntest_bc (tests.more.ListTests.test_bc) ... ok\ntest_d (tests.more.ListTests.test_d) ... ok\n";
        let expected = "• (tests.more.ListTests.•) ... ok\n test_a test_bc test_d\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
        let text = "unzip 6.0 amd64 [installed,automatic]\nzip 3 amd64 [installed,automatic]\nxz 5 amd64 [installed,automatic]\n";
        let expected = "… amd64 [installed,automatic]\n unzip 6.0\n zip 3\n xz 5\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    #[test]
    fn trouble_is_not_touched() {
        let text = "src/deep/one.rs:12:fn a\nsrc/deep/one.rs:13:fn a\nsrc/deep/one.rs:14:an error\nsrc/deep/one.rs:19:fn c\nsrc/deep/one.rs:20:fn c\n";
        let shown = grouped(text).unwrap();
        assert!(shown.contains("\nsrc/deep/one.rs:14:an error\n"), "{shown}");
        let text = format!("{}{text}", "src/deep/one.rs:11:fn x\n");
        let shown = grouped(&text).unwrap();
        assert!(shown.contains("\nsrc/deep/one.rs:14:an error\n"), "{shown}");
    }

    #[test]
    fn a_longer_run_wins_over_a_longer_beginning() {
        let text = "target/debug/build/a/x\ntarget/debug/build/a/y\ntarget/debug/b\ntarget/debug/c\ntarget/debug/d\ntarget/debug/e\n";
        let shown = grouped(text).unwrap();
        assert!(
            shown.starts_with("target/debug/•\n build/a/x build/a/y b c"),
            "{shown}"
        );
    }

    #[test]
    fn groups_are_in_groups() {
        let lines: Vec<String> = ["01", "02"]
            .iter()
            .flat_map(|second| {
                (0..3).map(move |number| {
                    format!("2026-01-02 12:00:{second} a worker began job {number}")
                })
            })
            .collect();
        let expected = "2026-01-02 12:00:…\n 01 a worker began job •\n  0 1 2\n 02 a worker began job •\n  0 1 2\n";
        assert_eq!(
            grouped(&format!("{}\n", lines.join("\n"))).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn rows_of_words_end_and_lines_with_blanks_have_none() {
        let names: Vec<String> = (100..160)
            .map(|n| format!("git/RelNotes/1.{n}.0.txt\n"))
            .collect();
        let shown = grouped(&names.concat()).unwrap();
        assert!(
            shown.starts_with("git/RelNotes/•.txt\n 1.100.0 1.101.0 "),
            "{shown}"
        );
        assert!(shown.lines().all(|line| line.len() < 110), "{shown}");
        let text = "some/longer/path/a b\nsome/longer/path/c\nsome/longer/path/d\n";
        let expected = "some/longer/path/…\n a b\n c\n d\n";
        assert_eq!(grouped(text).as_deref(), Some(expected));
    }

    /// `v7.4` is not a version of this text.
    #[test]
    fn versions_and_numbers_are_not_cut() {
        let plan = |name: &str, old: &str, new: &str| {
            format!("  - Upgrading symfony/{name} (v{old} => v{new})\n")
        };
        let text = plan("console", "7.3.0", "7.4.0")
            + &plan("process", "7.2.0", "7.4.0")
            + &plan("string", "6.3.0", "7.4.0");
        let shown = grouped(&text).unwrap();
        assert_eq!(
            shown.matches("v7.4.0)").count(),
            shown.matches("7.4").count()
        );
        let text = "bench alpha took 2.25s\nbench beta took 13.25s\nbench gamma took 1.25s\nbench delta took 9.25s\n";
        assert!(grouped(text).is_none_or(|shown| !shown.contains("….25s")));
        let text = "total of rows: 1,234 copied\ntotal of rows: 1,567 copied\ntotal of rows: 1,890 copied\n";
        assert!(grouped(text).unwrap().contains(" 1,234"));
    }

    /// A line that is the whole heading would be a blank one below it.
    #[test]
    fn no_line_below_a_heading_is_blank() {
        let text = "deleting uploads/a.sqlite\ndeleting uploads/b.sqlite\ndeleting uploads/c.sqlite\ndeleting uploads/\nx\n";
        let shown = grouped(text).unwrap();
        assert!(shown.contains("\ndeleting uploads/\n"), "{shown}");
        assert!(shown.lines().all(|line| !line.trim().is_empty()), "{shown}");
    }

    /// Below another line, a mark alone would be read as that line's.
    #[test]
    fn a_heading_is_written_anew_behind_another_line() {
        let test = |name: &str| format!("mail::tests::topaz::{name}: test\n");
        let names = ["a", "b", "c", "d"].map(test).concat();
        let other = "stock::tests::cedar_pebble_48: benchmark, not a test\n";
        let shown = grouped(&format!("{names}{other}{names}")).unwrap();
        assert_eq!(
            shown.matches("mail::tests::topaz::•: test").count(),
            2,
            "{shown}"
        );
        assert!(shown.lines().all(|line| !matches!(line.trim(), "…" | "•")));
    }

    #[test]
    fn short_runs_stay() {
        let indented =
            "  some/indented/path/a\n  some/indented/path/b\n  some/indented/path/c\nx\n";
        assert_eq!(
            grouped(indented).as_deref(),
            Some("  some/indented/path/•\n   a b c\nx\n")
        );
        assert_eq!(grouped("a/b\na/c\na/d\n"), None);
        assert_eq!(
            grouped("some/longer/path/a\nsome/longer/path/b\n  under it\n"),
            None
        );
    }
}
