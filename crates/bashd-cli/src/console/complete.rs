//! Completion of paths.

use super::in_time;
use std::path::Path;

/// What a completion adds to the line, and what else it could be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// Text to put in at the cursor.
    pub(super) added: String,
    /// The names to choose from, where there are several.
    pub(super) choices: Vec<String>,
}

/// Completes the path that ends a line.
/// Nothing is, where that takes long.
pub(super) fn complete(line: &str, cwd: &Path, home: Option<&Path>) -> Completion {
    let mut words = line.rsplit([' ', '\t', '\n', '=', ';', '|', '&', '<', '>', '(', '!']);
    let word = words.next().unwrap_or_default();
    let (directory, start) = word
        .rsplit_once('/')
        .map_or(("", word), |(directory, start)| {
            if directory.is_empty() {
                ("/", start)
            } else {
                (directory, start)
            }
        });
    let path = match (directory.strip_prefix('~'), home) {
        (Some(below), Some(home)) => home.join(below.trim_start_matches('/')),
        _ => cwd.join(directory),
    };
    let wanted = start.to_owned();
    let mut names = in_time(move || names_in(&path, &wanted)).unwrap_or_default();
    let common = common_start(&names);
    let mut added = common
        .strip_prefix(start)
        .unwrap_or_default()
        .replace(' ', "\\ ");
    if names.len() == 1 && !common.ends_with('/') {
        added.push(' ');
    }
    if names.len() < 2 {
        names.clear();
    }
    Completion {
        added,
        choices: names,
    }
}

/// The names in a directory that begin like this, each directory with a slash.
fn names_in(directory: &Path, start: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_wanted = name.starts_with(start) && (!start.is_empty() || !name.starts_with('.'));
        let end = if is_wanted && entry.path().is_dir() {
            "/"
        } else {
            ""
        };
        is_wanted.then(|| format!("{name}{end}"))
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn common_start(names: &[String]) -> String {
    let mut common = names.first().cloned().unwrap_or_default();
    for name in names {
        while !name.starts_with(&common) {
            common.pop();
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_as_far_as_they_are_sure() {
        let place = tempfile::tempdir().unwrap();
        for name in ["alpha", "alpine", "beta", ".hidden"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        std::fs::create_dir(place.path().join("dir")).unwrap();
        let at = |line: &str| complete(line, place.path(), Some(place.path()));
        assert_eq!(at("!cat be").added, "ta ");
        assert_eq!(at("!cat al").added, "p");
        assert_eq!(at("!cat al").choices, ["alpha", "alpine"]);
        assert_eq!(at("!ls di").added, "r/");
        assert_eq!(at("!ls ~/be").added, "ta ");
        assert_eq!(at("!ls .h").added, "idden ");
        assert_eq!(at("!ls nothing"), Completion::default());
    }

    #[test]
    fn who_waits_for_a_directory_does_not_wait_for_long() {
        let (_held, never) = std::sync::mpsc::channel::<()>();
        let begun = std::time::Instant::now();
        assert_eq!(in_time(move || never.recv()), None);
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
        assert_eq!(in_time(|| 7), Some(7));
    }
}
