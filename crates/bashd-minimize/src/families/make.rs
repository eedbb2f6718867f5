//! make, gcc, clang and what they start: a recipe may print anything, so only make's own lines
//! about directories are noise, and only where all of them name the same one: what a compiler says
//! of `a.c` is about the directory that make has entered.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::collections::HashSet;
use std::sync::LazyLock;

pub(super) struct Make;

const FORMS: &[NoiseForm] = &[NoiseForm {
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
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        leave_directories(input, noise);
    }
}

/// Leaves out lines about directories, if there is but one.
pub(super) fn leave_directories(input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
    let directories: HashSet<&str> = input
        .numbered()
        .filter(|(_, line)| DIRECTORIES.find(line).is_some())
        .filter_map(|(_, line)| line.split_once(" directory "))
        .map(|(_, directory)| directory)
        .collect();
    if directories.len() == 1 {
        noise.leave_forms(0..input.lines.len(), &DIRECTORIES);
    }
}
