//! A run's output as its profile reads it: one stack of readers for each stream, then the window.

use super::Profile;
use super::finished::ShownOutput;
use super::rules::{CutOutput, Within};
use crate::artifact::KeptArtifact;
use crate::exec::Run;
use crate::output::line_limits::{Hidden, Limited, LineLimits};
use crate::output::run_output::RunOutput;
use crate::output::view::{View, count_hidden};
use crate::output::{Source, WrittenCounts};
use crate::plan::Outline;
use std::io;

/// The streams of a run as they may be shown.
pub(crate) struct Views<'a> {
    out: View<'a>,
    err: Option<View<'a>>,
}

/// The streams of a run, cut to the profile's windows.
pub(crate) struct CutViews<'a> {
    cut: CutOutput<'a>,
    /// What the call's line limits left out of each.
    hidden: [Hidden; 2],
}

impl<'a> Views<'a> {
    /// Those of a run.
    pub(crate) fn of(profile: &Profile, outline: &Outline, run: &'a Run) -> io::Result<Self> {
        let veil = &outline.veil;
        let view = |stream: &'a RunOutput| {
            if run.goes_on {
                View::of_growing(stream, stream.len(), veil)
            } else {
                Ok(View::of(stream, veil))
            }
        };
        let carriage_return = profile.terminal.carriage_return;
        let out = match outline.terminal {
            Some(size) => View::of_terminal(&run.out, size, carriage_return, veil)?,
            None => view(&run.out)?,
        };
        let err = run.err.as_ref().filter(|_| outline.terminal.is_none());
        Ok(Self {
            out,
            err: err.map(view).transpose()?,
        })
    }

    /// One stream, which is already as it may be shown.
    pub(crate) fn of_one(out: View<'a>) -> Self {
        Self { out, err: None }
    }

    /// Two streams, which are already as they may be shown.
    pub(crate) fn of_streams(out: View<'a>, err: Option<View<'a>>) -> Self {
        Self { out, err }
    }

    /// What was written to them.
    pub(crate) fn written(&self) -> WrittenCounts {
        let err = self.err.as_ref().map(View::source);
        WrittenCounts::of(self.out.source(), err)
    }

    /// stdout, or both streams merged.
    pub(crate) fn out(&self) -> &View<'a> {
        &self.out
    }

    /// What the profile's windows show of the lines that the call wants.
    pub(crate) fn cut<'p>(
        &self,
        profile: &'p Profile,
        lines: LineLimits,
        within: Within<'p>,
    ) -> io::Result<CutViews<'p>> {
        let out = self.out.limited(lines)?;
        let err = self
            .err
            .as_ref()
            .map(|err| err.limited(lines))
            .transpose()?;
        let err_source = err.as_ref().map(|err| err as &dyn Source);
        let of_err = err.as_ref().map_or(Hidden::default(), Limited::hidden);
        Ok(CutViews {
            cut: profile.output.cut(&out, err_source, within)?,
            hidden: [out.hidden(), of_err],
        })
    }
}

impl CutViews<'_> {
    /// Whether something is not shown, so that the whole should be kept.
    pub(crate) fn leaves_out(&self) -> bool {
        self.cut.leaves_out() || self.hidden.iter().any(|hidden| !hidden.is_nothing())
    }

    /// Puts them into the windows' words. `kept` is where the whole output is stored.
    pub(crate) fn arrange(self, kept: Option<KeptArtifact>) -> ShownOutput {
        let [out, err] = self.hidden;
        let mut captured = self.cut.arrange(kept.as_ref());
        count_hidden(&mut captured, out, err);
        ShownOutput {
            captured,
            hidden: out.and(err),
            minimized_by: None,
            digest: None,
            kept,
        }
    }
}
