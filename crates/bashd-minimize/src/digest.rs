//! One text through its filter and the lossless tier: everything that may panic or take too long.

use super::families::{self, Filter, FilterInput};
use super::invocation::Invocation;
use super::lossless::{self, Reshaped, VisibleChanges};
use super::reading::{ScriptReading, StatusMeaning};
use super::sheet::{FinishedSheet, KnownEnding, Sheet};
use super::user::UserFilter;
use super::work::Work;
use super::{
    Digest, FilterSettings, LEAST_SAVED, LEAST_SHARE, LOSSLESS, MARKER, Reach, Subject, Unchanged,
};

/// Lines at the end of a failed run that are kept in full.
const LAST_LINES: usize = 5;

/// The filter for a text.
#[derive(Clone, Copy)]
enum Chosen<'a> {
    User(&'a UserFilter),
    Family(&'static dyn Filter),
    Lossless,
}

pub(super) fn digest(
    subject: Subject<'_>,
    reading: &ScriptReading,
    settings: &FilterSettings,
) -> Result<Digest, Unchanged> {
    let work = Work::for_input(subject.text.len());
    let visible = lossless::visible(subject.text);
    let commands = reading.commands.as_slice();
    let chosen = match settings.user_filters.find(commands, subject.exit) {
        Some(filter) => Chosen::User(filter),
        None => families::for_all(commands).map_or(Chosen::Lossless, Chosen::Family),
    };
    let finish = match chosen {
        Chosen::User(_) => VisibleChanges::Exact,
        Chosen::Family(filter) => filter.finish(commands),
        Chosen::Lossless => VisibleChanges::Whole,
    };
    let ending = match (subject.exit, reading.status) {
        (Some(0), StatusMeaning::Theirs) => KnownEnding::Success,
        _ => KnownEnding::Careful,
    };
    let mut best = finished(&FinishedSheet::unfiltered(&visible), finish, &work);
    if settings.reach == Reach::All
        && let Some(written) = chosen.apply(&visible, ending, commands, &work)
    {
        let filtered = finished(&written, finish, &work);
        if filtered.text.len() < best.text.len() || matches!(chosen, Chosen::User(_)) {
            best = filtered;
        }
    }
    // A form that people know how to read is not changed for next to nothing.
    let least = LEAST_SAVED + visible.len() / LEAST_SHARE;
    if best.text.len() + least > visible.len() {
        best = Digest {
            text: visible.into_owned(),
            filter: String::new(),
            left_out: 0,
        };
    }
    if work.is_exhausted() {
        return Err(Unchanged::TooMuchWork);
    }
    chosen.name().clone_into(&mut best.filter);
    Ok(best)
}

impl Chosen<'_> {
    fn name(&self) -> &str {
        match self {
            Self::User(filter) => filter.name(),
            Self::Family(filter) => filter.name(),
            Self::Lossless => LOSSLESS,
        }
    }

    /// What the filter makes of the text; `None` if there is no filter.
    fn apply(
        self,
        visible: &str,
        ending: KnownEnding,
        commands: &[Invocation],
        work: &Work,
    ) -> Option<FinishedSheet> {
        match self {
            Self::User(filter) => Some(filter.apply(visible, ending, work)),
            Self::Family(filter) => {
                let (body, last) = match ending {
                    KnownEnding::Success => (visible, ""),
                    KnownEnding::Careful => split_last_lines(visible),
                };
                let mut sheet = Sheet::new(ending, work);
                if filter.shows_code() {
                    sheet = sheet.with_frames();
                }
                let input = FilterInput {
                    text: body,
                    commands,
                    work,
                };
                filter.apply(&input, &mut sheet);
                let mut written = sheet.finish();
                written.text.push_str(last);
                Some(written)
            }
            Self::Lossless => None,
        }
    }
}

/// Splits off the last lines that are not blank.
fn split_last_lines(text: &str) -> (&str, &str) {
    let end = text.trim_end().len();
    let before = text.get(..end).unwrap_or_default().rmatch_indices('\n');
    let at = before
        .map(|(at, _)| at + 1)
        .nth(LAST_LINES - 1)
        .unwrap_or(0);
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// Adds the visible changes of the lossless tier, and the line that describes what was done.
fn finished(written: &FinishedSheet, finish: VisibleChanges, work: &Work) -> Digest {
    let (text, reshaped) = lossless::reshape(&written.text, finish, work);
    let left_out = written.left_out.iter().map(|(_, lines)| lines).sum();
    let mut text = text.into_owned();
    let remarks = remarks(written, reshaped);
    if !remarks.is_empty() {
        while text.ends_with('\n') {
            text.pop();
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(MARKER);
        text.push_str(&remarks.join("; "));
        text.push_str("]\n");
    }
    Digest {
        text,
        filter: String::new(),
        left_out,
    }
}

/// What was done, in words.
fn remarks(written: &FinishedSheet, reshaped: Reshaped) -> Vec<String> {
    let mut remarks = Vec::new();
    if !written.left_out.is_empty() {
        let kinds = written.left_out.iter().map(|(kind, lines)| match lines {
            1 => format!("1 {}", one_of(kind)),
            _ => format!("{lines} {kind}"),
        });
        remarks.push(format!("left out {}", kinds.collect::<Vec<_>>().join(", ")));
    }
    if written.joined > 0 {
        remarks.push("similar lines joined".to_owned());
    }
    if written.skipped || reshaped.rules {
        remarks.push("layout removed".to_owned());
    }
    if written.said {
        remarks.push("lines shown above not repeated".to_owned());
    }
    remarks.extend(written.remark.map(str::to_owned));
    if reshaped.repeats > 0 {
        remarks.push("repeats counted".to_owned());
    }
    if reshaped.echoes > 0 {
        remarks.push("repeated blocks referenced".to_owned());
    }
    if reshaped.prefixes > 0 {
        remarks.push("common prefixes shown once".to_owned());
    }
    remarks
}

/// A kind of lines in the singular. Kinds with a capital are a tool's own words, and stay.
fn one_of(kind: &str) -> String {
    const AFTER_NOUN: [&str; 7] = [
        " of ", " about ", " to ", " that ", " with ", " for ", " known ",
    ];
    let ends = AFTER_NOUN.iter().filter_map(|word| kind.find(word));
    let (noun, rest) = kind.split_at(ends.min().unwrap_or(kind.len()));
    if kind.starts_with(char::is_uppercase) {
        return kind.to_owned();
    }
    let singular = match noun.strip_suffix('s') {
        Some(stem) => match stem.strip_suffix("ie") {
            Some(stem) => format!("{stem}y"),
            None => stem
                .strip_suffix('e')
                .filter(|stem| stem.ends_with("ss") || stem.ends_with("ch"))
                .unwrap_or(stem)
                .to_owned(),
        },
        None => noun.to_owned(),
    };
    singular + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_a_kind_is_singular() {
        for (kind, one) in [
            ("lines of code", "line of code"),
            ("progress bars", "progress bar"),
            ("links to lints", "link to lints"),
            ("classes that passed", "class that passed"),
            ("fetches", "fetch"),
            ("directories", "directory"),
            ("values known after apply", "value known after apply"),
            ("passed", "passed"),
            ("Processing triggers", "Processing triggers"),
        ] {
            assert_eq!(one_of(kind), one);
        }
    }

    #[test]
    fn the_last_lines_are_split_off() {
        assert_eq!(
            split_last_lines("a\nb\nc\nd\ne\nf\n\n"),
            ("a\n", "b\nc\nd\ne\nf\n\n")
        );
        assert_eq!(split_last_lines("a\nb"), ("", "a\nb"));
        assert_eq!(split_last_lines(""), ("", ""));
    }
}
