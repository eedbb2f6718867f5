//! cmake, ninja, meson, ctest: objects that were compiled, probes whose result is said later.
//!
//! Steps of the user's own print what they like, so only the whole forms of cmake's own steps are
//! known.

use super::super::noise::{Form, FormSet, FormWords, Noise};
use super::{Filter, FilterInput};
use std::collections::HashSet;
use std::sync::LazyLock;

pub(super) struct Cmake;

const FORMS: &[Form] = &[
    Form {
        kind: "objects built",
        whose: "cmake",
        pattern: r"\[ *\d+%\] Building (?:C|CXX|ASM) object (?:[\w./+-]+/)?CMakeFiles/[\w./+-]+\.o",
        words: FormWords::Fixed,
        case: "[ 10%] Building C object CMakeFiles/app.dir/src/errors.c.o",
    },
    Form {
        kind: "objects built",
        whose: "ninja, for cmake",
        pattern: r"\[\d+/\d+\] Building (?:C|CXX|ASM) object (?:[\w./+-]+/)?CMakeFiles/[\w./+-]+\.o",
        words: FormWords::Fixed,
        case: "[3/40] Building C object CMakeFiles/app.dir/src/errors.c.o",
    },
    Form {
        kind: "objects built",
        whose: "ninja, for meson",
        pattern: r"\[\d+/\d+\] Compiling (?:C|C\+\+) object (?:[\w./+-]+/)?[\w.+-]+\.p/[\w./+-]+\.o",
        words: FormWords::Fixed,
        case: "[1/98] Compiling C object tests/test_errors.p/errors.c.o",
    },
    Form {
        kind: "probes of the compiler",
        whose: "cmake",
        pattern: r"-- Detecting (?:C|CXX|ASM) (?:compiler ABI info|compile features)(?: - done)?",
        words: FormWords::Telling,
        case: "-- Detecting C compiler ABI info - done",
    },
    Form {
        kind: "steps within cmake",
        whose: "cmake --verbose",
        pattern: r#"cd \S+ && \S+/cmake -E cmake_depends "Unix Makefiles" \S+ \S+ \S+ \S+ \S+/DependInfo\.cmake(?: "?--color=\w*"?)?(?: \w*)?|\S+/cmake -E cmake_(?:link_script|progress_start) \S+(?: --verbose=\S+| \d+)|\S+/g?make +-f CMakeFiles/\S+ \S+/(?:depend|build)"#,
        words: FormWords::Fixed,
        case: "/usr/bin/gmake  -f CMakeFiles/app.dir/build.make CMakeFiles/app.dir/depend",
    },
];

/// Lines that a later one repeats with a result.
const ANNOUNCED: &[Form] = &[Form {
    kind: "probes announced",
    whose: "cmake",
    pattern: r"-- (?:Looking for|Performing Test|Check size of|Checking for) \S+",
    words: FormWords::Fixed,
    case: "-- Looking for sys/types.h",
}];

static PROBES: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(ANNOUNCED));

#[cfg(test)]
static ALL: LazyLock<Vec<Form>> =
    LazyLock::new(|| FORMS.iter().chain(ANNOUNCED).copied().collect());

static STEPS: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Cmake {
    fn name(&self) -> &'static str {
        "cmake"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["cmake", "ninja", "meson", "ctest", "cpack"]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [Form] {
        &ALL
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut Noise<'_>) {
        noise.leave_forms(0..input.lines.len(), &STEPS);
        super::make::leave_directories(input, noise);
        let results: HashSet<&str> = input
            .numbered()
            .filter_map(|(_, line)| line.rsplit_once(" - "))
            .map(|(probe, _)| probe)
            .collect();
        for (at, line) in input.numbered() {
            if results.contains(line)
                && let Some(form) = PROBES.find(line)
            {
                noise.leave(at, form);
            }
        }
    }
}
