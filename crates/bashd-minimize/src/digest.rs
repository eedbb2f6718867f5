//! One text through its filter and the exact tier: everything that may panic or take too long.

use super::exact::{self, Notation, PlainForm, Reshaped};
use super::families::{self, Filter, FilterInput};
use super::noise::{KeptText, KnownEnding, NoiseMarks};
use super::places::LineOrigins;
use super::reading::{ScriptReading, StatusMeaning};
use super::user::UserFilter;
use super::work::{Work, lines};
use super::{
    Digest, EXACT, FilterSettings, LEAST_SAVED, LEAST_SHARE, MARKER, Reach, References, Subject,
    Unchanged,
};
use std::fmt::Write as _;

/// The filter for a text.
#[derive(Clone, Copy)]
enum Chosen<'a> {
    User(&'a UserFilter),
    Family(&'static dyn Filter),
    Exact,
}

impl Chosen<'_> {
    fn name(&self) -> &str {
        match self {
            Self::User(filter) => filter.name(),
            Self::Family(filter) => filter.name(),
            Self::Exact => EXACT,
        }
    }
}

pub(super) fn digest(
    subject: Subject<'_>,
    reading: &ScriptReading,
    settings: &FilterSettings,
) -> Result<Digest, Unchanged> {
    let work = Work::for_input(subject.text.len());
    let plain = exact::plain(subject.text)?;
    let commands = reading.commands.as_slice();
    let chosen = match settings.user_filters.find(commands, subject.exit) {
        Some(filter) => Chosen::User(filter),
        None => families::for_all(commands).map_or(Chosen::Exact, Chosen::Family),
    };
    let notation = match chosen {
        Chosen::User(_) => Notation::Nothing,
        Chosen::Family(filter) => filter.notation(commands),
        Chosen::Exact => Notation::Whole,
    };
    let ending = match (subject.exit, reading.status) {
        (Some(0), StatusMeaning::Theirs) => KnownEnding::Success,
        _ => KnownEnding::Careful,
    };
    let page = Page {
        raw: subject.text,
        plain: &plain,
        references: settings.references,
        work: &work,
    };
    let mut best = match chosen {
        Chosen::User(filter) if settings.reach == Reach::All => page.by_user(filter, ending),
        Chosen::Family(filter)
            if settings.reach == Reach::All && ending == KnownEnding::Success =>
        {
            let input_lines: Vec<&str> = lines(&plain.text).collect();
            let mut noise = NoiseMarks::new(&input_lines, &work);
            let input = FilterInput {
                lines: &input_lines,
                commands,
                work: &work,
            };
            filter.mark(&input, &mut noise);
            match noise.finish(plain.text.ends_with('\n')) {
                Some(kept) => page.written(&kept.text, Some(&kept), notation),
                None => page.written(&plain.text, None, notation),
            }
        }
        _ => page.written(&plain.text, None, notation),
    };
    if work.is_exhausted() {
        return Err(Unchanged::TooMuchWork);
    }
    chosen.name().clone_into(&mut best.filter);
    Ok(best)
}

/// A text, and what it is made of.
struct Page<'a> {
    raw: &'a str,
    plain: &'a PlainForm<'a>,
    references: References,
    work: &'a Work,
}

impl Page<'_> {
    /// A text in the notation of the exact tier, with the line that describes what was done.
    fn written(&self, text: &str, kept: Option<&KeptText>, notation: Notation) -> Digest {
        let (reshaped, changes) = exact::reshape(text, notation, self.references, self.work);
        // A form that people know how to read is not changed for next to nothing.
        let least = LEAST_SAVED + text.len() / LEAST_SHARE;
        let (reshaped, changes) = if reshaped.len() + least > text.len() {
            (text.into(), Reshaped::default())
        } else {
            (reshaped, changes)
        };
        let left_out: &[(&str, u64)] = kept.map_or(&[], |kept| &kept.left_out);
        let mut text = reshaped.into_owned();
        self.push_footer(&mut text, left_out, changes);
        Digest {
            text,
            filter: String::new(),
            left_out: left_out.iter().map(|(_, lines)| lines).sum(),
            origins: LineOrigins::new(
                self.plain.raw_lines.clone(),
                kept.map(|kept| kept.plain_lines.clone()),
            ),
        }
    }

    fn by_user(&self, filter: &UserFilter, ending: KnownEnding) -> Digest {
        let written = filter.apply(&self.plain.text, ending, self.work);
        let left_out = [("lines", written.left_out)];
        let left_out: &[_] = if written.left_out > 0 { &left_out } else { &[] };
        let mut text = written.text;
        self.push_footer(&mut text, left_out, Reshaped::default());
        Digest {
            text,
            filter: String::new(),
            left_out: written.left_out,
            origins: LineOrigins::Unknown,
        }
    }

    /// Adds the line that describes what was done.
    fn push_footer(&self, text: &mut String, left_out: &[(&str, u64)], changes: Reshaped) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let mut remarks = Vec::new();
        if !left_out.is_empty() {
            let kinds = left_out.iter().map(|(kind, lines)| match lines {
                1 => format!("1 {}", one_of(kind)),
                _ => format!("{lines} {kind}"),
            });
            remarks.push(format!("left out {}", kinds.collect::<Vec<_>>().join(", ")));
        }
        if self.plain.has_frames {
            remarks.push("overwritten frames left out".to_owned());
        } else if self.plain.has_colours {
            remarks.push("colours kept only where nothing else tells".to_owned());
        } else if self.plain.text.len() < self.raw.len() {
            remarks.push("colours removed".to_owned());
        }
        if self.plain.has_links {
            remarks.push("addresses of links in <>".to_owned());
        }
        if changes.repeats > 0 {
            remarks.push(exact::REPEATS.to_owned());
        }
        if let Some(mark) = changes.echo_mark {
            remarks.push(format!("{mark}{}, {mark}2 for 2 lines", exact::ECHOES));
        }
        if let Some(mark) = changes.line_mark {
            remarks.push(format!("{mark}{}", exact::GROUPS));
        }
        if let Some(mark) = changes.word_mark {
            remarks.push(format!("{mark}{}", exact::WORDS));
        }
        text.push_str(MARKER);
        if !remarks.is_empty() {
            text.push_str(&remarks.join("; "));
            text.push_str("; ");
        }
        let raw_lines = line_count(self.raw);
        let _ = writeln!(text, "raw text has {raw_lines} lines]");
    }
}

/// How many lines a text has. A last one without an end is one.
fn line_count(text: &str) -> usize {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// A kind of lines in the singular. Kinds with a capital are a tool's own words, and stay.
fn one_of(kind: &str) -> String {
    const AFTER_NOUN: [&str; 4] = [" of ", " said ", " built", " entered "];
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
            ("lines of dots", "line of dots"),
            ("progress bars", "progress bar"),
            (
                "descriptions of passed tests",
                "description of passed tests",
            ),
            ("lines said again later", "line said again later"),
            ("directories entered and left", "directory entered and left"),
            ("objects built", "object built"),
            ("passed", "passed"),
            ("Compiling", "Compiling"),
        ] {
            assert_eq!(one_of(kind), one);
        }
    }

    #[test]
    fn lines_are_counted_with_the_last() {
        assert_eq!(
            ["", "a", "a\n", "a\nb", "\n\n"].map(line_count),
            [0, 1, 1, 2, 2]
        );
    }
}
