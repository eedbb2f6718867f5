//! grep and rg: nothing is left out; the lossless tier says each file's name once.

use super::super::sheet::Sheet;
use super::{Filter, Input};

pub(super) struct Search;

impl Filter for Search {
    fn name(&self) -> &'static str {
        "search"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["grep", "egrep", "fgrep", "rg", "ag", "ack"]
    }

    fn apply<'a>(&self, input: &Input<'a>, sheet: &mut Sheet<'a>) {
        for line in input.lines() {
            sheet.keep(line);
        }
    }
}
