//! What a check found.

use serde::Serialize;

/// One finding about this machine.
#[derive(Debug, Serialize)]
pub(super) struct DoctorCheck {
    /// What was looked at.
    pub(super) name: &'static str,
    /// Whether that is good for bashd.
    pub(super) verdict: CheckGrade,
    /// What was found.
    pub(super) finding: String,
    /// What that means for bashd.
    pub(super) consequence: &'static str,
}

/// What a finding means for bashd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CheckGrade {
    /// As it should be.
    Good,
    /// bashd works, with restrictions.
    Limited,
    /// bashd needs it.
    Missing,
}

impl DoctorCheck {
    pub(super) fn good(
        name: &'static str,
        finding: impl Into<String>,
        consequence: &'static str,
    ) -> Self {
        Self {
            name,
            verdict: CheckGrade::Good,
            finding: finding.into(),
            consequence,
        }
    }

    pub(super) fn limited(
        name: &'static str,
        finding: impl Into<String>,
        consequence: &'static str,
    ) -> Self {
        Self {
            name,
            verdict: CheckGrade::Limited,
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
            verdict: CheckGrade::Missing,
            finding: finding.into(),
            consequence,
        }
    }
}
