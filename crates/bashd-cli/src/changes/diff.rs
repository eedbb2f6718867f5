//! The lines that changed in one path, in the form that `git apply` and `patch` read.

use crate::failure::Failure;
use crate::for_people;
use crate::print::{BufferedStdout, Paint};
use bashd::changes::{ChangedPath, EffectKind, PathSide};
use similar::{ChangeTag, TextDiff};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A file that is larger is not compared line by line.
const MOST_COMPARED: u64 = 4 << 20;

/// How long the shortest difference of one file is looked for; then a longer one does.
const LONGEST: Duration = Duration::from_secs(1);

/// What is compared of one side.
enum SideText {
    Lines(String),
    Binary,
    /// Lines, perhaps, but more than anybody wants to wait for.
    TooLarge,
    /// Why it can't be read.
    Closed(String),
}

/// What came and went in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiffCount {
    Lines(usize, usize),
    /// Bytes before and after, of what is not compared line by line.
    Bytes(u64, u64),
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffTone {
    Title,
    Plain,
    Good,
    Bad,
    Warning,
    Faint,
}

impl DiffTone {
    /// That of what happened to a path.
    pub(super) fn of(kind: EffectKind) -> Self {
        match kind {
            EffectKind::Created => Self::Good,
            EffectKind::Modified => Self::Warning,
            EffectKind::Deleted => Self::Bad,
        }
    }

    /// Its name, for the page.
    #[cfg(feature = "web")]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Warning => "warning",
            Self::Faint => "faint",
        }
    }
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct DiffLine {
    pub(crate) tone: DiffTone,
    pub(crate) text: String,
}

impl DiffLine {
    pub(super) fn new(tone: DiffTone, text: impl Into<String>) -> Self {
        Self {
            tone,
            text: text.into(),
        }
    }
}

/// Writes the difference of a path.
pub(super) fn write(
    path: &ChangedPath,
    directory: &Path,
    page: &mut BufferedStdout,
) -> Result<(), Failure> {
    for line in of(path, directory) {
        let paint = match line.tone {
            DiffTone::Title => Some(Paint::Title),
            DiffTone::Good => Some(Paint::Good),
            DiffTone::Bad => Some(Paint::Bad),
            DiffTone::Plain | DiffTone::Warning | DiffTone::Faint => None,
        };
        let line = paint.map_or(line.text.clone(), |paint| page.paint(paint, &line.text));
        page.line(line)?;
    }
    Ok(())
}

/// The difference of a path.
pub(super) fn of(path: &ChangedPath, directory: &Path) -> Vec<DiffLine> {
    // A directory is the way to its files, unless it is empty or has other attributes.
    if path.is_directory() && path.remarks().is_empty() && path.below > 0 {
        return Vec::new();
    }
    let short = path.path.strip_prefix(directory).unwrap_or(&path.path);
    let name = for_people::one_line(&short.to_string_lossy());
    let title = format!("diff --git a/{name} b/{name}");
    let mut found = vec![DiffLine::new(DiffTone::Title, title)];
    let mut say = |text: String| found.push(DiffLine::new(DiffTone::Plain, text));
    match (&path.old, &path.new) {
        (None, Some(new)) => say(format!("new file mode {}", git_mode(new))),
        (Some(old), None) => say(format!("deleted file mode {}", git_mode(old))),
        (Some(old), Some(new)) if git_mode(old) != git_mode(new) => {
            say(format!("old mode {}", git_mode(old)));
            say(format!("new mode {}", git_mode(new)));
        }
        _ => {}
    }
    let (old, new) = (text(path.old.as_ref()), text(path.new.as_ref()));
    let (old, new) = match (old, new) {
        (SideText::Lines(old), SideText::Lines(new)) => (old, new),
        (SideText::Closed(why), _) | (_, SideText::Closed(why)) => {
            say(format!("a/{name} and b/{name} can't be compared: {why}"));
            return found;
        }
        (SideText::Binary, _) | (_, SideText::Binary) => {
            say(format!("Binary files a/{name} and b/{name} differ"));
            return found;
        }
        (SideText::TooLarge, _) | (_, SideText::TooLarge) => {
            let (old, new) = sizes(path);
            say(format!(
                "Large files a/{name} and b/{name} differ: {old} and {new} bytes"
            ));
            return found;
        }
    };
    let header = |side: &Option<PathSide>, letter: char| match side {
        Some(_) => format!("{letter}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let diff = lines(&old, &new);
    let mut unified = diff.unified_diff();
    unified.header(&header(&path.old, 'a'), &header(&path.new, 'b'));
    found.extend(unified.to_string().lines().map(|line| {
        let tone = match line.as_bytes().first() {
            Some(b'+') => DiffTone::Good,
            Some(b'-') => DiffTone::Bad,
            _ => DiffTone::Plain,
        };
        DiffLine::new(tone, for_people::one_line_keeping_blanks(line))
    }));
    found
}

/// How many lines came and went, or bytes.
pub(super) fn count(path: &ChangedPath) -> DiffCount {
    let (old, new) = (text(path.old.as_ref()), text(path.new.as_ref()));
    let (SideText::Lines(old), SideText::Lines(new)) = (old, new) else {
        let (old, new) = sizes(path);
        return DiffCount::Bytes(old, new);
    };
    let diff = lines(&old, &new);
    let tags = diff.iter_all_changes().map(|change| change.tag());
    let (more, less) = tags.fold((0, 0), |(more, less), tag| match tag {
        ChangeTag::Insert => (more + 1, less),
        ChangeTag::Delete => (more, less + 1),
        ChangeTag::Equal => (more, less),
    });
    DiffCount::Lines(more, less)
}

/// The lengths of both sides.
fn sizes(path: &ChangedPath) -> (u64, u64) {
    let size = |side: &Option<PathSide>| side.as_ref().map_or(0, |side| side.size);
    (size(&path.old), size(&path.new))
}

fn lines<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, 'a, str> {
    TextDiff::configure().timeout(LONGEST).diff_lines(old, new)
}

fn git_mode(side: &PathSide) -> String {
    let kind = match side.kind {
        "symlink" => "120",
        "directory" => "040",
        _ => "100",
    };
    format!("{kind}{:03o}", side.mode & 0o777)
}

fn text(side: Option<&PathSide>) -> SideText {
    let Some(side) = side else {
        return SideText::Lines(String::new());
    };
    match side.kind {
        "symlink" => {
            let target = fs::read_link(&side.at).unwrap_or_default();
            let target = String::from_utf8_lossy(target.as_os_str().as_bytes());
            SideText::Lines(target.into_owned())
        }
        "file" if side.size <= MOST_COMPARED => match fs::read(&side.at) {
            Ok(bytes) if memchr::memchr(0, &bytes).is_none() => {
                String::from_utf8(bytes).map_or(SideText::Binary, SideText::Lines)
            }
            Ok(_) => SideText::Binary,
            Err(error) => SideText::Closed(error.to_string()),
        },
        "file" => SideText::TooLarge,
        // There is nothing to be read in it.
        _ => SideText::Lines(String::new()),
    }
}
