//! How a profile captures and shows output.

use crate::output::joined::Joined;
use crate::output::rendered;
use crate::output::window::{self, Keep, Window};
use crate::output::{Capture, Captured, Source};
use crate::plan::Streams;
use serde::Deserialize;
use std::io;

/// How a profile captures and shows output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputRules {
    /// One pipe or two.
    pub streams: Streams,
    /// One text or two.
    pub show: Show,
    /// What separates stdout and stderr when both are shown in one text.
    #[serde(default)]
    pub separator: String,
    /// What happens to escape sequences and `\r`.
    #[serde(default)]
    pub text: TextForm,
    /// Bytes of text after which a line is cut; needs rendered text. `None`: lines are not cut.
    #[serde(default)]
    pub line_bytes: Option<usize>,
    /// When the whole output is stored.
    #[serde(default)]
    pub artifacts: Artifacts,
    /// Whether the output of known tools is shown in fewer tokens.
    #[serde(default)]
    pub minimize: Minimize,
    /// The window that each shown text passes.
    pub window: Window,
}

/// What happens to text that programs write for terminals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextForm {
    /// It stays.
    #[default]
    Decoded,
    /// Escape sequences and control characters are removed, and an overwritten line shows its last
    /// frame.
    Rendered,
}

/// When a run's output is stored as an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Artifacts {
    /// Never.
    #[default]
    Never,
    /// When the reply does not show all of it.
    WhenCut,
}

/// Whether the output of known tools is shown in fewer tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Minimize {
    /// It is shown as it is.
    #[default]
    Off,
    /// It is shortened, with the raw output stored.
    On,
}

/// Whether stdout and stderr are shown in one text or in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// One text with one window: merged by the pipe, or stdout, the separator, stderr.
    Together,
    /// Two texts, each with its own window.
    Apart,
}

impl OutputRules {
    /// Cuts a run's streams to what the profile shows.
    pub(crate) fn capture(
        &self,
        out: &dyn Source,
        err: Option<&dyn Source>,
        keep: &mut Keep<'_>,
    ) -> io::Result<Captured> {
        Ok(match (self.show, err) {
            (Show::Together, Some(err)) => {
                let joined = Joined::new([out, err], &self.separator);
                Captured::One(self.window_of(&joined, keep)?)
            }
            (Show::Apart, Some(err)) => Captured::Apart {
                out: self.window_of(out, keep)?,
                err: self.window_of(err, keep)?,
            },
            (Show::Together | Show::Apart, None) => Captured::One(self.window_of(out, keep)?),
        })
    }

    fn window_of(&self, source: &dyn Source, keep: &mut Keep<'_>) -> io::Result<Capture> {
        match self.text {
            TextForm::Decoded => window::capture(source, &self.window, keep),
            TextForm::Rendered => rendered::capture(source, &self.window, self.line_bytes, keep),
        }
    }
}
