//! The one truncation algorithm: which part of a stream a reply shows.

use super::{Capture, Source};
use serde::Deserialize;
use std::io;

/// How much of a text is shown, and what stands in for the rest.
///
/// Every strategy of every profile is a value of this: keep the head (`tail = 0`), keep both ends,
/// keep a middle snip. A text of at most `max` bytes is shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// A decoded text of at most so many bytes is shown whole.
    pub max: usize,
    /// Of a longer one, at most the first so many bytes,
    pub head: usize,
    /// and at most the last so many bytes.
    pub tail: usize,
    /// Their arrangement. Placeholders: `{head}`, `{tail}`, `{got}` and `{max}` (sizes for people,
    /// `195kB`), `{omitted_bytes}`, `{omitted_lines}`.
    pub template: String,
}

/// Cuts `source` to `window`.
pub fn capture(_source: &dyn Source, _window: &Window) -> io::Result<Capture> {
    unimplemented!()
}
