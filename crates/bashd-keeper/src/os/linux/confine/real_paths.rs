//! Where paths lead. Many of a confinement's paths share their directories, which are looked at
//! once.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What was found so far, by the path as it was given; `None` if nothing is there.
#[derive(Default)]
pub(super) struct RealPaths(HashMap<PathBuf, Option<PathBuf>>);

impl RealPaths {
    /// A path with all links resolved, if something is there.
    pub(super) fn of(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let found = self.look(path);
        self.0.insert(path.to_owned(), found.clone());
        found
    }

    fn look(&mut self, path: &Path) -> Option<PathBuf> {
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), is_plain) else {
            return fs::canonicalize(path).ok();
        };
        let path = self.of(parent)?.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        if found.is_symlink() {
            return fs::canonicalize(path).ok();
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_lead_where_the_system_says() {
        let made = tempfile::tempdir().unwrap();
        let root = made.path().canonicalize().unwrap();
        for name in ["a/b", "c"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("a/b/file"), "").unwrap();
        let links = [
            ("a", "link"),
            ("../a/b", "c/up"),
            ("nowhere", "lost"),
            ("loop", "loop"),
        ];
        for (target, link) in links {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let mut real = RealPaths::default();
        for path in [
            "",
            "a",
            "a/b/file",
            "link",
            "link/b/file",
            "c/up/file",
            "c/up/../b",
            "lost",
            "lost/x",
            "loop",
            "a/b/file/x",
            "a/./b",
            "missing/x",
            "link/missing",
        ] {
            let path = root.join(path);
            assert_eq!(
                real.of(&path),
                fs::canonicalize(&path).ok(),
                "{}",
                path.display()
            );
        }
        assert_eq!(real.of(Path::new("/")), Some("/".into()));
    }
}
