//! make, gcc, clang and what they start: a recipe may print anything, so only make's own lines about
//! directories are noise.

use super::super::noise::{Form, FormSet, FormWords, Noise};
use super::{Filter, FilterInput};
use std::sync::LazyLock;

pub(super) struct Make;

const FORMS: &[Form] = &[Form {
    kind: "directories entered and left",
    whose: "make",
    pattern: r"g?make\[\d+\]: (?:Entering|Leaving) directory '[^']+'",
    words: FormWords::Telling,
    case: "make[1]: Entering directory '/tmp/project/src'",
}];

static DIRECTORIES: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Make {
    fn name(&self) -> &'static str {
        "make"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "make", "gmake", "gcc", "g++", "cc", "c++", "clang", "clang++", "just", "task",
            "scons", "bazel",
        ]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [Form] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut Noise<'_>) {
        noise.leave_forms(0..input.lines.len(), &DIRECTORIES);
    }
}
