//! What a check found.

use serde::Serialize;

/// One finding about this machine.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) name: &'static str,
    /// How it is.
    pub(super) verdict: Verdict,
    /// What was found.
    pub(super) finding: String,
    /// What follows from it.
    pub(super) consequence: &'static str,
}

/// How a finding is for bashd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Good,
    /// bashd works, with less.
    Weaker,
    /// bashd needs it.
    Missing,
}

impl Check {
    pub(super) fn good(
        name: &'static str,
        finding: impl Into<String>,
        consequence: &'static str,
    ) -> Self {
        Self {
            name,
            verdict: Verdict::Good,
            finding: finding.into(),
            consequence,
        }
    }

    pub(super) fn weaker(
        name: &'static str,
        finding: impl Into<String>,
        consequence: &'static str,
    ) -> Self {
        Self {
            name,
            verdict: Verdict::Weaker,
            finding: finding.into(),
            consequence,
        }
    }

    pub(super) fn missing(
        name: &'static str,
        finding: impl Into<String>,
        consequence: &'static str,
    ) -> Self {
        Self {
            name,
            verdict: Verdict::Missing,
            finding: finding.into(),
            consequence,
        }
    }
}
