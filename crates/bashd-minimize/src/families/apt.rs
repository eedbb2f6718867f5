//! apt, dpkg: steps of a package that a later line about the same package and version confirms.

use super::super::noise::{FormSet, FormWords, NoiseForm, NoiseMarks};
use super::{Filter, FilterInput};
use std::collections::HashSet;
use std::sync::LazyLock;

pub(super) struct Apt;

const FORMS: &[NoiseForm] = &[
    NoiseForm {
        kind: "selected packages",
        whose: "dpkg",
        pattern: r"Selecting previously unselected package [\w.+:-]+\.",
        words: FormWords::Fixed,
        case: "Selecting previously unselected package liberror-perl.",
    },
    NoiseForm {
        kind: "preparations",
        whose: "dpkg",
        pattern: r"Preparing to unpack \.\.\./\S+\.deb \.\.\.",
        words: FormWords::Fixed,
        case: "Preparing to unpack .../3-figlet_2.2.5-3+b1_amd64.deb ...",
    },
    NoiseForm {
        kind: "unpacked packages",
        whose: "dpkg",
        pattern: r"Unpacking [\w.+:-]+ \([\w.+:~-]+\) \.\.\.",
        words: FormWords::Fixed,
        case: "Unpacking figlet (2.2.5-3+b1) ...",
    },
    NoiseForm {
        kind: "lines of progress",
        whose: "apt",
        pattern: r"(?:Reading package lists|Building dependency tree|Reading state information)\.\.\.(?: Done)?",
        words: FormWords::Telling,
        case: "Reading package lists... Done",
    },
];

static STEPS: LazyLock<FormSet> = LazyLock::new(|| FormSet::of(FORMS));

impl Filter for Apt {
    fn name(&self) -> &'static str {
        "apt"
    }

    fn programs(&self) -> &'static [&'static str] {
        &[
            "apt",
            "apt-get",
            "aptitude",
            "dpkg",
            "brew",
            "apk",
            "dnf",
            "yum",
            "apt-cache",
        ]
    }

    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        FORMS
    }

    fn mark(&self, input: &FilterInput<'_>, noise: &mut NoiseMarks<'_>) {
        let set_up: HashSet<&str> = input
            .numbered()
            .filter_map(|(_, line)| line.strip_prefix("Setting up "))
            .collect();
        let set_up_names: HashSet<&str> = set_up.iter().filter_map(|item| name_of(item)).collect();
        for (at, line) in input.numbered() {
            let Some(form) = STEPS.find(line) else {
                continue;
            };
            let is_confirmed = if let Some(item) = line.strip_prefix("Unpacking ") {
                set_up.contains(item)
            } else if let Some(item) = line.strip_prefix("Selecting previously unselected package ")
            {
                let name = item.trim_end_matches('.');
                set_up_names.contains(name.split(':').next().unwrap_or(name))
            } else if line.starts_with("Preparing to unpack ") {
                // The next line says what of it is unpacked.
                let next = input.lines.get(at + 1).copied().unwrap_or_default();
                let item = next.strip_prefix("Unpacking ").unwrap_or_default();
                name_of(item).is_some_and(|name| line.contains(name))
            } else {
                true
            };
            if is_confirmed {
                noise.leave(at, form);
            }
        }
    }
}

/// The package of `figlet:amd64 (2.2.5-3) ...`.
fn name_of(item: &str) -> Option<&str> {
    let (name, _) = item.split_once(" (")?;
    name.split(':').next()
}
