//! What a command did, for the person who decides whether it becomes real: the paths, the refused
//! writes, the hosts, the difference. All of it in a bounded number of lines.

use super::diff::{self, DiffLine, DiffTone};
use super::shown;
use crate::for_people::one_line;
use bashd::approval::ProposedEffects;
use bashd::changes::{Change, ChangedPath};
use bashd::feed::AskedEffects;

/// Lines of paths at most.
const MOST_PATHS: usize = 20;

/// Lines of the difference at most.
const MOST_LINES: usize = 400;

/// Columns of a line of the difference at most.
const LONGEST_LINE: usize = 400;

/// Paths of which the difference is looked at, at most.
const MOST_COMPARED: usize = 200;

/// What is shown of effects that wait for an answer. Reads the files that changed.
pub(crate) fn lines(effects: &ProposedEffects) -> Vec<DiffLine> {
    of_change(&effects.change, &effects.told)
}

/// Likewise, as one text.
pub(crate) fn text(effects: &ProposedEffects) -> String {
    let lines = lines(effects);
    let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    lines.join("\n")
}

/// What is shown of a change, and of what else is known of its command.
pub(crate) fn of_change(change: &Change, told: &AskedEffects) -> Vec<DiffLine> {
    let mut lines = vec![DiffLine::new(
        DiffTone::Title,
        format!(
            "It ran, and nothing of this is real yet: {}; {}.",
            told.ending, told.changed
        ),
    )];
    let steps: Vec<ChangedPath> = change.steps().collect();
    lines.extend(
        steps
            .iter()
            .take(MOST_PATHS)
            .map(|path| path_line(path, change)),
    );
    rest(&mut lines, steps.len(), MOST_PATHS, "path");
    let mut listed = |title: &str, of: &[String]| {
        if !of.is_empty() {
            let of: Vec<String> = of.iter().map(|line| one_line(line)).collect();
            lines.push(DiffLine::new(
                DiffTone::Warning,
                format!("{title}: {}", of.join("; ")),
            ));
        }
    };
    listed("Refused", &told.refused);
    listed("Hosts it spoke to", &told.hosts);
    lines.push(DiffLine::new(DiffTone::Plain, String::new()));
    let before = lines.len();
    let paths = if steps.iter().map(|path| path.below).sum::<u64>() <= MOST_COMPARED as u64 {
        change.paths()
    } else {
        steps
    };
    for path in paths.iter().take(MOST_COMPARED) {
        if lines.len() - before <= MOST_LINES {
            lines.extend(diff::of(path, change.directory()));
        }
    }
    let all = lines.len() - before;
    lines.truncate(before + MOST_LINES);
    for line in &mut lines {
        if let Some((at, _)) = line.text.char_indices().nth(LONGEST_LINE) {
            line.text.truncate(at);
            line.text.push('…');
        }
    }
    if all > MOST_LINES || paths.len() > MOST_COMPARED {
        let text = format!("… and more: bashd changes show {} --diff", change.id());
        lines.push(DiffLine::new(DiffTone::Faint, text));
    }
    lines
}

fn path_line(path: &ChangedPath, change: &Change) -> DiffLine {
    let remarks = path.remarks();
    let remarks = if remarks.is_empty() {
        String::new()
    } else {
        format!(" ({})", remarks.join(", "))
    };
    let below = match path.below {
        0 => String::new(),
        below => format!(" with {below} in it"),
    };
    let name = shown(path, change.directory());
    let letter = path.kind.letter();
    DiffLine::new(
        DiffTone::of(path.kind),
        format!("{letter} {name}{below}{remarks}"),
    )
}

fn rest(lines: &mut Vec<DiffLine>, all: usize, shown: usize, word: &str) {
    if let Some(more) = all.checked_sub(shown).filter(|more| *more > 0) {
        let plural = if more == 1 { "" } else { "s" };
        lines.push(DiffLine::new(
            DiffTone::Faint,
            format!("… and {more} {word}{plural} more"),
        ));
    }
}
