//! The lines that changed in one path, in the form that `git apply` and `patch` read.

use crate::failure::Failure;
use crate::for_people;
use crate::print::{BufferedStdout, Paint};
use bashd::changes::{ChangedPath, PathSide};
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
}

/// Writes the difference of a path.
pub(super) fn write(
    path: &ChangedPath,
    directory: &Path,
    page: &mut BufferedStdout,
) -> Result<(), Failure> {
    // A directory is the way to its files, unless it is empty or has other attributes.
    if path.is_directory() && path.remarks().is_empty() && path.below > 0 {
        return Ok(());
    }
    let short = path.path.strip_prefix(directory).unwrap_or(&path.path);
    let name = for_people::one_line(&short.to_string_lossy());
    let title = page.paint(Paint::Title, &format!("diff --git a/{name} b/{name}"));
    page.line(title)?;
    match (&path.old, &path.new) {
        (None, Some(new)) => page.line(format_args!("new file mode {}", git_mode(new)))?,
        (Some(old), None) => page.line(format_args!("deleted file mode {}", git_mode(old)))?,
        (Some(old), Some(new)) if git_mode(old) != git_mode(new) => {
            page.line(format_args!("old mode {}", git_mode(old)))?;
            page.line(format_args!("new mode {}", git_mode(new)))?;
        }
        _ => {}
    }
    let (old, new) = (text(path.old.as_ref()), text(path.new.as_ref()));
    let (SideText::Lines(old), SideText::Lines(new)) = (old, new) else {
        return page.line(format_args!("Binary files a/{name} and b/{name} differ"));
    };
    let header = |side: &Option<PathSide>, letter: char| match side {
        Some(_) => format!("{letter}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let diff = lines(&old, &new);
    let mut unified = diff.unified_diff();
    unified.header(&header(&path.old, 'a'), &header(&path.new, 'b'));
    for line in unified.to_string().lines() {
        let paint = match line.as_bytes().first() {
            Some(b'+') => Some(Paint::Good),
            Some(b'-') => Some(Paint::Bad),
            _ => None,
        };
        let line = for_people::one_line_keeping_blanks(line);
        let line = paint.map_or(line.clone(), |paint| page.paint(paint, &line));
        page.line(line)?;
    }
    Ok(())
}

/// How many lines came and went.
pub(super) fn count(path: &ChangedPath) -> (usize, usize) {
    let (old, new) = (text(path.old.as_ref()), text(path.new.as_ref()));
    let (SideText::Lines(old), SideText::Lines(new)) = (old, new) else {
        return (0, 0);
    };
    let diff = lines(&old, &new);
    let tags = diff.iter_all_changes().map(|change| change.tag());
    tags.fold((0, 0), |(more, less), tag| match tag {
        ChangeTag::Insert => (more + 1, less),
        ChangeTag::Delete => (more, less + 1),
        ChangeTag::Equal => (more, less),
    })
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
            _ => SideText::Binary,
        },
        "file" => SideText::Binary,
        // There is nothing to be read in it.
        _ => SideText::Lines(String::new()),
    }
}
