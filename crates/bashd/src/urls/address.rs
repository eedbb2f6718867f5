//! The parts of an address, and which of them may lead anywhere.

use std::path::{Path, PathBuf};

/// An address: `scheme://host/path?query`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// `skill` in `skill://name/file`.
    pub scheme: String,
    /// The whole address.
    pub url: String,
    /// What is between `//` and the next `/`, `?` or `#`, as written.
    pub host: String,
    /// What follows, with its slash, up to `?` or `#`, as written.
    pub path: String,
    /// What follows the `?`, as written.
    pub query: Option<String>,
}

/// Why a path of an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadPath {
    Encoding,
    Absolute,
    Parent,
}

impl Address {
    /// Splits an address into its parts.
    pub fn new(scheme: &str, url: &str) -> Self {
        let rest = url.strip_prefix(scheme).unwrap_or(url);
        let rest = rest.strip_prefix("://").unwrap_or(rest);
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (place, query) = match rest.split_once('?') {
            Some((place, query)) => (place, Some(query.to_owned())),
            None => (rest, None),
        };
        let query = query.or_else(|| fragment.split_once('?').map(|(_, query)| query.to_owned()));
        let host_end = place.find('/').unwrap_or(place.len());
        let (host, path) = place.split_at(host_end);
        Self {
            scheme: scheme.to_owned(),
            url: url.to_owned(),
            host: host.to_owned(),
            path: path.to_owned(),
            query,
        }
    }

    /// A relative path that stays below its root, from a text that may be percent-encoded.
    pub(super) fn relative(text: &str) -> Result<PathBuf, BadPath> {
        let decoded = decoded(text).ok_or(BadPath::Encoding)?.replace('\\', "/");
        if decoded.starts_with('/') || is_drive(&decoded) {
            return Err(BadPath::Absolute);
        }
        if decoded.split('/').any(|part| part == "..") {
            return Err(BadPath::Parent);
        }
        let parts = decoded
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".");
        Ok(parts.collect())
    }

    /// The message about a bad path, the same for every scheme.
    pub(super) fn bad_path(&self, problem: BadPath) -> String {
        let (scheme, url) = (&self.scheme, &self.url);
        match problem {
            BadPath::Encoding => format!("Invalid {scheme}:// URL path encoding: {url}"),
            BadPath::Absolute => format!("Absolute paths are not allowed in {scheme}:// URLs"),
            BadPath::Parent => {
                format!("Path traversal (..) is not allowed in {scheme}:// URLs")
            }
        }
    }
}

fn is_drive(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && matches!(bytes.next(), None | Some(b'/'))
}

/// The percent-decoded text, if it is valid and has no NUL.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| (byte as char).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

/// Whether a path stays below its root when links are followed; for a missing path, as far as it
/// exists.
pub(super) fn stays_below(root: &Path, path: &Path) -> bool {
    let Ok(real_root) = existing(root) else {
        return false;
    };
    existing(path).is_ok_and(|real| real.starts_with(&real_root))
}

/// The path without links; a missing end stays as it is.
fn existing(path: &Path) -> std::io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut present = path;
    loop {
        match present.canonicalize() {
            Ok(real) => {
                return Ok(missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name)));
            }
            // A dangling link would be followed by the program that creates its target.
            Err(error) if present.is_symlink() => return Err(error),
            Err(error) => {
                let (Some(parent), Some(name)) = (present.parent(), present.file_name()) else {
                    return Err(error);
                };
                missing.push(name);
                present = parent;
            }
        }
    }
}

/// The names of a directory's entries with this ending, without the ending, sorted.
pub(super) fn names(directory: &Path, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(end)?.to_owned()))
        .filter(|name| !name.is_empty() && !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    names
}

/// A list for people: `a, b`, or `none`.
pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
