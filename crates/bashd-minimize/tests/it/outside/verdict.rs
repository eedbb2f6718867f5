//! What is shown, held against the plain form: which facts are lost, and which lines are false.
//!
//! A falsehood is a shown line that is neither a line of the plain form nor a declared notice whose
//! numbers hold. The notation is read here as `docs/minimizer.md` describes it, and by code of its
//! own: counts of equal lines, references to lines above, headings, and the last line.

use super::facts::fact_in;
use super::plain::{PlainText, tidy};
use regex::Regex;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// What the judge found in one shown text.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Distinct lines that are facts.
    pub(crate) facts: usize,
    /// Those that are not in the shown text.
    pub(crate) lost: Vec<String>,
    /// Shown lines that are not true.
    pub(crate) falsehoods: Vec<String>,
    /// The lines that the shown text stands for.
    pub(crate) written_out: Vec<String>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

static TIMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.*) \(×(\d+)\)$"));
static THIS_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[this line ×(\d+)\]$"));
static THESE_LINES: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[these (\d+) lines ×(\d+)\]$"));
static AS_ABOVE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.*)[↑†‡](\d*)$"));
static AGAIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^ \[again ×(\d+) until (.+), at most (\d+) s apart\]$"));
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:left out|, )\s*(\d+) [A-Za-z]"));

static RAW_LINES: LazyLock<Regex> = LazyLock::new(|| pattern(r"raw text has (\d+) lines"));

/// Judges what is shown of a text.
pub(crate) fn judge(raw: &str, shown: &str) -> Verdict {
    let plain = PlainText::of(raw);
    let mut verdict = Verdict::default();
    let written_out = WrittenOut::of(shown, &plain);
    let known: BTreeSet<String> = written_out
        .lines
        .iter()
        .map(|line| compared(line))
        .collect();
    let marked: BTreeSet<&String> = plain
        .lines
        .iter()
        .filter(|line| fact_in(line).is_some())
        .collect();
    verdict.facts = marked.len();
    let lost = marked.into_iter().filter(|fact| {
        let fact = compared(fact);
        !known.contains(&fact) && !shown.contains(fact.as_str())
    });
    verdict.lost = lost.cloned().collect();
    verdict.falsehoods = written_out.falsehoods;
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut false_lines = 0;
    for line in written_out
        .lines
        .iter()
        .filter(|line| !line.trim().is_empty())
    {
        let count = times.entry(tidy(line)).or_default();
        *count += 1;
        let there = plain.times(line);
        false_lines += usize::from(*count > there);
        if there == 0 {
            verdict
                .falsehoods
                .push(format!("not in the raw text: {line}"));
        } else if *count == there + 1 {
            verdict
                .falsehoods
                .push(format!("shown more often than it was: {line}"));
        }
    }
    let is_blank = |line: &&String| line.trim().is_empty();
    let shown_blank = written_out.lines.iter().filter(is_blank).count();
    let true_lines = written_out.lines.len() - shown_blank - false_lines;
    // Frames with trouble may be shown besides the last ones, and blank lines go unsaid.
    let least = plain.told.saturating_sub(true_lines);
    let most = plain.lines.len().saturating_sub(true_lines);
    let footer = written_out.footer.as_deref().unwrap_or("(no last line)");
    let said = footer_counts(footer);
    if said < least || said > most {
        let falsehood = format!("{footer}: says {said} lines, {least} are missing");
        verdict.falsehoods.push(falsehood);
    }
    verdict.written_out = written_out.lines;
    if let Some(found) = RAW_LINES.captures(footer) {
        let lines = raw.lines().count();
        if found[1] != *lines.to_string() {
            verdict.falsehoods.push(format!("{footer}: it has {lines}"));
        }
    }
    verdict
}

/// A line as facts are compared: blanks between words may differ in number.
fn compared(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sum of what a last line says was left out.
fn footer_counts(footer: &str) -> usize {
    let Some(at) = footer.find("left out ") else {
        return 0;
    };
    let part = footer.split_at(at).1;
    let part = part.split([';', ']']).next().unwrap_or_default();
    let counts = LEFT_OUT.captures_iter(part);
    counts
        .filter_map(|found| found[1].parse::<usize>().ok())
        .sum()
}

/// A shown text with everything written out that its notation stands for.
struct WrittenOut {
    lines: Vec<String>,
    falsehoods: Vec<String>,
    footer: Option<String>,
}

impl WrittenOut {
    fn of(shown: &str, plain: &PlainText) -> Self {
        let mut all: Vec<&str> = shown.lines().collect();
        let footer = all.pop_if(|last| last.starts_with("[minimized: "));
        let mut falsehoods = Vec::new();
        let marks = NamedMarks {
            line: mark_before(footer, " marks where the lines below it differ"),
            word: mark_before(footer, " is each word below it"),
        };
        let lines = below_headings(&all, &mut 0, "", marks);
        let lines = lines.iter().map(|line| plain.as_compared(line)).collect();
        let lines = without_notices(lines, plain, &mut falsehoods);
        let lines = with_references(lines, plain, &mut falsehoods);
        let lines = with_repeats(lines, plain, &mut falsehoods);
        Self {
            lines,
            falsehoods,
            footer: footer.map(str::to_owned),
        }
    }
}

/// The mark that the last line names before these words.
fn mark_before(footer: Option<&str>, words: &str) -> Option<char> {
    let (before, _) = footer?.split_once(words)?;
    before.chars().next_back()
}

/// The marks of headings above lines and above words, as the last line names them.
#[derive(Clone, Copy)]
struct NamedMarks {
    line: Option<char>,
    word: Option<char>,
}

/// The lines below an indent, each with its heading around it.
fn below_headings(all: &[&str], at: &mut usize, indent: &str, marks: NamedMarks) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(line) = all.get(*at).and_then(|line| line.strip_prefix(indent)) {
        *at += 1;
        let has = |mark: &char| line.contains(*mark);
        let Some(mark) = marks.line.filter(has).or(marks.word.filter(has)) else {
            out.push(line.to_owned());
            continue;
        };
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        let below = format!("{indent}{} ", line.split_at(blanks).0);
        let mut members = Vec::new();
        if marks.line == Some(mark) {
            members = below_headings(all, at, &below, marks);
        } else {
            while let Some(row) = all.get(*at).and_then(|line| line.strip_prefix(&below)) {
                *at += 1;
                members.extend(row.split(' ').map(str::to_owned));
            }
        }
        out.extend(members.iter().map(|member| line.replace(mark, member)));
    }
    out
}

/// The lines without notices about what was said again, each of which is held against the text: as
/// many lines follow the one before it, they end as it does, and the last has that time.
fn without_notices(
    lines: Vec<String>,
    plain: &PlainText,
    falsehoods: &mut Vec<String>,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let Some(found) = AGAIN.captures(&line).filter(|_| plain.times(&line) == 0) else {
            out.push(line);
            continue;
        };
        let times: usize = found[1].parse().unwrap_or_default();
        let first = out.last().map(String::as_str).unwrap_or_default();
        // What was said: the words after a stamp, which has at most three.
        let said = |line: &str| line.split(' ').skip(3).collect::<Vec<_>>().join(" ");
        let is_right = plain.lines.windows(times + 1).any(|run| {
            run.first().is_some_and(|line| tidy(line) == tidy(first))
                && run.last().is_some_and(|last| last.contains(&found[2]))
                && run.iter().all(|line| said(line) == said(first))
        });
        if !is_right || times == 0 {
            falsehoods.push(format!("its numbers are wrong: {line}"));
        }
    }
    out
}

/// References to lines above, written out.
fn with_references(
    lines: Vec<String>,
    plain: &PlainText,
    falsehoods: &mut Vec<String>,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let Some(found) = AS_ABOVE.captures(&line).filter(|_| plain.times(&line) == 0) else {
            out.push(line);
            continue;
        };
        let count: usize = found[2].parse().unwrap_or(1);
        let first = &found[1];
        // A reference has the first characters of the line that it means, the latest such one.
        let begins_so = |earlier: &String| earlier.starts_with(first);
        let from = out.iter().rposition(begins_so);
        let block = from.and_then(|from| out.get(from..from + count));
        match block.map(<[String]>::to_vec) {
            Some(block) => out.extend(block),
            None => falsehoods.push(format!("refers to nothing: {line}")),
        }
    }
    out
}

/// Counts of equal lines, written out.
fn with_repeats(
    lines: Vec<String>,
    plain: &PlainText,
    falsehoods: &mut Vec<String>,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        if plain.times(&line) > 0 {
            out.push(line);
            continue;
        }
        let number = |text: &str| text.parse::<usize>().unwrap_or(1);
        if let Some(found) = TIMES.captures(&line) {
            out.extend(std::iter::repeat_n(found[1].to_owned(), number(&found[2])));
            continue;
        }
        let (block, times) = match (THIS_LINE.captures(&line), THESE_LINES.captures(&line)) {
            (Some(found), _) => (1, number(&found[1])),
            (_, Some(found)) => (number(&found[1]), number(&found[2])),
            _ => {
                out.push(line);
                continue;
            }
        };
        match out
            .len()
            .checked_sub(block)
            .and_then(|from| out.get(from..))
        {
            Some(block) => {
                let block = block.to_vec();
                out.extend(std::iter::repeat_n(block, times - 1).flatten());
            }
            None => falsehoods.push(format!("counts nothing: {line}")),
        }
    }
    out
}

#[test]
fn the_judge_finds_what_is_false_and_what_is_lost() {
    let raw = "start\nretry\nretry\nretry\nerror: disk full\ndone\n";
    let verdict = judge(
        raw,
        "start\nretry (×3)\nerror: disk full\ndone\n[minimized: raw text has 6 lines]\n",
    );
    assert!(
        verdict.falsehoods.is_empty() && verdict.lost.is_empty(),
        "{verdict:?}"
    );
    let verdict = judge(
        raw,
        "start\nretry (×4)\nall is well\n[minimized: left out 2 lines]\n",
    );
    assert_eq!(verdict.lost, ["error: disk full"]);
    assert_eq!(
        verdict.falsehoods,
        [
            "shown more often than it was: retry",
            "not in the raw text: all is well",
        ]
    );
    let verdict = judge(
        raw,
        "start\nerror: disk full\ndone\n[minimized: left out 2 retries]\n",
    );
    let footer = "[minimized: left out 2 retries]: says 2 lines, 3 are missing";
    assert_eq!(verdict.falsehoods, [footer]);
    let headed = "src/…: x\n a.c:1\n b.c:2\n[minimized: … marks where the lines below it differ]\n";
    let verdict = judge("src/a.c:1: x\nsrc/b.c:2: x\n", headed);
    assert!(
        verdict.falsehoods.is_empty() && verdict.lost.is_empty(),
        "{verdict:?}"
    );
    let rows = "src/•: x\n a b\n c\nan error\nsrc/d: x\n[minimized: • is each word below it]\n";
    let verdict = judge("src/a: x\nsrc/b: x\nsrc/c: x\nan error\nsrc/d: x\n", rows);
    assert!(
        verdict.falsehoods.is_empty() && verdict.lost.is_empty(),
        "{verdict:?}"
    );
    let log = "Nov 17 10:00:01 a up\nNov 17 10:00:02 a up\nNov 17 10:00:05 a up\n";
    for (times, until, falsehoods) in [(2, "10:00:05", 0), (1, "10:00:05", 1), (2, "10:00:02", 1)] {
        let shown = format!(
            "Nov 17 10:00:01 a up\n [again ×{times} until Nov 17 {until}, at most 3 s apart]\n[minimized: left out 2 lines said again later]\n"
        );
        assert_eq!(judge(log, &shown).falsehoods.len(), falsehoods, "{shown}");
    }
    let verdict = judge("10%\rERROR: disk on fire\rall good\n", "all good\n");
    assert_eq!(verdict.lost, ["ERROR: disk on fire"]);
}
