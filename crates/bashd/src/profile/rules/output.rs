//! How a profile captures and shows output.

use crate::artifact::KeptArtifact;
use crate::output::joined::Joined;
use crate::output::window::{self, TextReader, Window, Windowed};
use crate::output::{Captured, Source};
use crate::plan::Streams;
use serde::Deserialize;
use std::borrow::Cow;
use std::io;

/// How a profile captures and shows output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputRules {
    /// One pipe or two.
    pub streams: Streams,
    /// One text or two.
    pub show: StreamDisplay,
    /// What separates stdout and stderr when both are shown in one text.
    #[serde(default)]
    pub separator: String,
    /// What happens to escape sequences and `\r`.
    #[serde(default)]
    pub text: TextForm,
    /// Bytes of text after which a line is cut; needs rendered text. `None`: lines are not cut.
    #[serde(default)]
    pub line_bytes: Option<usize>,
    /// Whether secrets are replaced in everything that is shown of it (`docs/secrets.md`).
    #[serde(default)]
    pub hides_secrets: bool,
    /// When the whole output is stored.
    #[serde(default)]
    pub artifacts: ArtifactsWhen,
    /// Whether the whole output is stored with its times (`docs/recording.md`).
    #[serde(default)]
    pub recording: bool,
    /// Whether the output of known tools is shown in fewer tokens.
    #[serde(default)]
    pub minimize: MinimizeSwitch,
    /// What is cut from the ends of the shown text.
    #[serde(default)]
    pub trim: TrimRule,
    /// The window that each shown text passes.
    pub window: Window,
    /// Another one for a command that failed.
    #[serde(default)]
    pub failed_window: Option<Window>,
}

/// What is cut from the ends of a shown text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrimRule {
    /// Nothing.
    #[default]
    None,
    /// Newlines at the end.
    Newlines,
    /// All blanks at the end.
    End,
    /// These, and blank lines at the beginning.
    BlankLines,
    /// All blanks at both ends.
    Both,
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
pub enum ArtifactsWhen {
    /// Never.
    #[default]
    Never,
    /// When the reply does not show all of it.
    WhenCut,
}

/// Whether the output of known tools is shown in fewer tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MinimizeSwitch {
    /// It is shown as it is.
    #[default]
    Off,
    /// It is shortened, with the raw output stored.
    On,
}

/// Whether stdout and stderr are shown in one text or in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamDisplay {
    /// One text with one window: merged by the pipe, or stdout, the separator, stderr.
    Together,
    /// Two texts, each with its own window.
    Apart,
}

impl OutputRules {
    /// Cuts a run's streams to what the profile shows.
    pub(crate) fn cut<'w>(
        &'w self,
        out: &dyn Source,
        err: Option<&dyn Source>,
        within: Within<'w>,
    ) -> io::Result<CutOutput<'w>> {
        let window = self.window_for(within);
        let cut = |source: &dyn Source| window::cut_text(source, &window, self.form());
        let streams = match (self.show, err) {
            (StreamDisplay::Together, Some(err)) => {
                let joined = Joined::new([out, err], &self.separator);
                CutStreams::One(cut(&joined)?)
            }
            (StreamDisplay::Apart, Some(err)) => CutStreams::Apart(cut(out)?, Box::new(cut(err)?)),
            (StreamDisplay::Together | StreamDisplay::Apart, None) => CutStreams::One(cut(out)?),
        };
        Ok(CutOutput { window, streams })
    }

    /// Whether the words of a window name the file in which all of the output is.
    pub fn names_path(&self) -> bool {
        let windows = std::iter::once(&self.window).chain(&self.failed_window);
        windows
            .into_iter()
            .any(|window| window.artifact.contains("{path}"))
    }

    /// The window of a call.
    fn window_for<'w>(&'w self, within: Within<'w>) -> Cow<'w, Window> {
        let window = match (within.window, &self.failed_window) {
            (Some(window), _) => window,
            (None, Some(window)) if within.failed => window,
            (None, _) => &self.window,
        };
        match within.most {
            Some(most) if most < window.max => Cow::Owned(window.scaled_to(most)),
            _ => Cow::Borrowed(window),
        }
    }

    pub(crate) fn form(&self) -> TextReader {
        match self.text {
            TextForm::Decoded => TextReader::Decoded,
            TextForm::Rendered => TextReader::Rendered(self.line_bytes),
        }
    }
}

/// What a call says about how much of its output is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Within<'a> {
    /// Another window than the profile's.
    pub(crate) window: Option<&'a Window>,
    /// Whether its command failed.
    pub(crate) failed: bool,
    /// At most this many bytes, if the call says so.
    pub(crate) most: Option<usize>,
}

/// A run's streams, cut to the profile's window.
#[derive(Debug)]
pub(crate) struct CutOutput<'a> {
    window: Cow<'a, Window>,
    streams: CutStreams,
}

#[derive(Debug)]
enum CutStreams {
    One(Windowed),
    Apart(Windowed, Box<Windowed>),
}

impl CutOutput<'_> {
    /// Whether something of the streams is not shown, so that the whole should be kept.
    pub(crate) fn leaves_out(&self) -> bool {
        match &self.streams {
            CutStreams::One(both) => both.leaves_out(),
            CutStreams::Apart(out, err) => out.leaves_out() || err.leaves_out(),
        }
    }

    /// Puts them into the window's words. `kept` is where the whole output is stored.
    pub(crate) fn arrange(self, kept: Option<&KeptArtifact>) -> Captured {
        match self.streams {
            CutStreams::One(both) => Captured::One(both.arrange(&self.window, kept)),
            CutStreams::Apart(out, err) => Captured::Apart {
                out: out.arrange(&self.window, kept),
                err: err.arrange(&self.window, kept),
            },
        }
    }
}
