//! Filters with defects, for tests: one panics, one never ends by itself.

use super::super::sheet::Sheet;
use super::{Filter, FilterInput};

pub(super) struct Panicking;

impl Filter for Panicking {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["panicking-filter"]
    }

    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines().take(3) {
            sheet.keep(line);
        }
        panic!("a defect of a filter");
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
    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>) {
        while !input.work.is_exhausted() {
            for line in input.lines() {
                sheet.skip(line);
            }
        }
    }
}
