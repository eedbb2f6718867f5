//! Filters with defects, for tests: one panics, one never ends by itself.

use super::super::noise::NoiseMarks;
use super::{Filter, FilterInput};

pub(super) struct Panicking;

impl Filter for Panicking {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["panicking-filter"]
    }

    fn mark(&self, input: &FilterInput<'_>, _noise: &mut NoiseMarks<'_>) {
        assert!(input.numbered().count() == 0, "a defect of a filter");
    }
}

pub(super) struct Endless;

impl Filter for Endless {
    fn name(&self) -> &'static str {
        "endless"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["endless-filter"]
    }

    /// Reads the text again and again, like a filter that is not linear.
    fn mark(&self, input: &FilterInput<'_>, _noise: &mut NoiseMarks<'_>) {
        while !input.work.is_exhausted() {
            input.numbered().for_each(drop);
        }
    }
}
