//! Where paths lead. Many of a confinement's paths share their directories, which are looked at
//! once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Most links on one way, as the kernel has it.
const MOST_LINKS: usize = 40;

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

    /// The links through which a path leads to where it leads, each at its own real place; none if
    /// it leads nowhere.
    pub(super) fn links(&mut self, path: &Path) -> Vec<PathBuf> {
        match self.of(path) {
            Some(real) if real != path => links(path).unwrap_or_default(),
            _ => Vec::new(),
        }
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

/// What is still to be walked of a path, its first part last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    let parts = parts.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

fn links(path: &Path) -> Option<Vec<PathBuf>> {
    let (mut here, mut links) = (PathBuf::from("/"), Vec::new());
    let mut ahead = parts(path);
    while let Some(part) = ahead.pop() {
        if part == ".." {
            here.pop();
            continue;
        }
        here.push(part);
        if !fs::symlink_metadata(&here).ok()?.is_symlink() {
            continue;
        }
        if links.len() == MOST_LINKS {
            return None;
        }
        let target = fs::read_link(&here).ok()?;
        ahead.extend(parts(&target));
        links.push(here.clone());
        if target.is_absolute() {
            here = PathBuf::from("/");
        } else {
            here.pop();
        }
    }
    Some(links)
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

    #[test]
    fn every_link_on_the_way_is_found_where_it_is() {
        let made = tempfile::tempdir().unwrap();
        let root = made.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        let links = [
            ("a", "first"),
            ("../first/b", "a/second"),
            ("loop", "loop"),
            ("lost", "nowhere"),
        ];
        for (target, link) in links {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("a/second"), root.join("third")).unwrap();
        let mut real = RealPaths::default();
        let mut of = |path: &str| -> Vec<String> {
            let links = real.links(&root.join(path)).into_iter();
            let names = links.map(|link| link.strip_prefix(&root).unwrap().to_owned());
            names.map(|name| name.display().to_string()).collect()
        };
        assert!(of("a/b/file").is_empty() && of("a/missing").is_empty());
        assert_eq!(of("first/b/file"), ["first"]);
        assert_eq!(of("third/file"), ["third", "a/second", "first"]);
        assert_eq!(of("a/../first"), ["first"]);
        assert!(of("loop").is_empty() && of("nowhere").is_empty());
    }
}
