//! The filters, one file per tool family that has noise, and the one table of all of them.
//!
//! A filter lists the forms of its tools' own lines ([`NoiseForm`]), and says of a text which lines
//! of these forms are the tool's: lines of a program that the tool started never are. To add one: a
//! file here, a line in [`FILTERS`], a folder of recorded cases in `tests/cases/`.

mod apt;
mod cargo;
mod cmake;
#[cfg(test)]
mod defective;
mod exact_only;
mod go;
mod infrastructure;
mod logs;
mod make;
mod node_tests;
mod pytest;
mod python_packages;
mod transfers;

use super::exact::Notation;
use super::invocation::Invocation;
#[cfg(test)]
use super::noise::NoiseForm;
use super::noise::NoiseMarks;
use super::work::Work;

/// Knows one family of tools.
pub(crate) trait Filter: Sync {
    /// The family's name.
    fn name(&self) -> &'static str;

    /// The programs whose output it knows.
    fn programs(&self) -> &'static [&'static str];

    /// Whether it knows this command, whether or not it is one of its programs.
    fn knows(&self, command: &Invocation) -> bool {
        self.programs().contains(&command.program.as_str())
    }

    /// Which parts of the exact tier's notation suit the output.
    fn notation(&self, _commands: &[Invocation]) -> Notation {
        Notation::Whole
    }

    /// The forms of the tools' own lines, for tests.
    #[cfg(test)]
    fn forms(&self) -> &'static [NoiseForm] {
        &[]
    }

    /// Says which lines of a successful run are noise.
    fn mark(&self, _input: &FilterInput<'_>, _noise: &mut NoiseMarks<'_>) {}
}

/// What a filter reads.
#[derive(Clone, Copy)]
pub(crate) struct FilterInput<'a> {
    /// The lines of the plain form.
    pub(crate) lines: &'a [&'a str],
    /// The commands that wrote it, at least one.
    pub(crate) commands: &'a [Invocation],
    pub(crate) work: &'a Work,
}

impl<'a> FilterInput<'a> {
    /// The lines with their numbers, each charged; they end early when the budget does.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let (lines, work) = (self.lines, self.work);
        let charged = lines
            .iter()
            .take_while(move |line| work.charge(line.len() + 1));
        charged.copied().enumerate()
    }

    /// Whether all commands have one of these subcommands.
    pub(crate) fn is(&self, subcommands: &[&str]) -> bool {
        self.commands
            .iter()
            .all(|command| subcommands.contains(&command.subcommand()))
    }

    /// Whether any command has one of these options.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|command| options.iter().any(|option| command.has(option)))
    }
}

/// Every filter; the first that knows a command gets it.
pub(super) const FILTERS: &[&dyn Filter] = &[
    &logs::Logs,
    &exact_only::GIT,
    &cargo::Cargo,
    &node_tests::NodeTests,
    &exact_only::NODE_PACKAGES,
    &pytest::Pytest,
    &python_packages::PythonPackages,
    &exact_only::LINT,
    &go::Go,
    &cmake::Cmake,
    &make::Make,
    &exact_only::JVM,
    &exact_only::CONTAINERS,
    &infrastructure::Infrastructure,
    &exact_only::ANSIBLE,
    &apt::Apt,
    &transfers::Transfers,
    &exact_only::SEARCH,
    &exact_only::LISTINGS,
    &exact_only::OUTLINES,
    &exact_only::TABLES,
    #[cfg(test)]
    &defective::Panicking,
    #[cfg(test)]
    &defective::Endless,
];

/// The filter that knows a command.
pub(super) fn find(command: &Invocation) -> Option<&'static dyn Filter> {
    FILTERS.iter().copied().find(|filter| filter.knows(command))
}

/// The filter that knows every one of these commands.
pub(super) fn for_all(commands: &[Invocation]) -> Option<&'static dyn Filter> {
    let (first, others) = commands.split_first()?;
    let filter = find(first)?;
    let is_same =
        |other: &Invocation| find(other).is_some_and(|found| found.name() == filter.name());
    others.iter().all(is_same).then_some(filter)
}

/// The number before these words, as in `34 passed`.
fn number_before(line: &str, words: &str) -> Option<u64> {
    let (before, _) = line.split_once(words)?;
    let before = before.trim_end();
    let from = before.rfind(|c: char| !c.is_ascii_digit());
    let digits = before.get(from.map_or(0, |at| at + 1)..)?;
    digits.parse().ok()
}

/// Whether `yarn NAME` runs a tool known by that name.
pub(super) fn is_node_tool(name: &str) -> bool {
    [
        "jest",
        "vitest",
        "mocha",
        "eslint",
        "tsc",
        "prettier",
        "biome",
        "oxlint",
        "playwright",
    ]
    .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::super::names::has_kept_name;
    use super::super::noise::{FormSet, FormWords};
    use super::super::trouble::is_trouble;
    use super::*;

    #[test]
    fn names_are_unique() {
        let all: Vec<&str> = FILTERS.iter().map(|filter| filter.name()).collect();
        let unique: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), unique.len());
    }

    /// Every form says whose line it is, and has a case that is left out by nothing but that form.
    #[test]
    fn every_form_is_a_tools_whole_line() {
        for filter in FILTERS {
            let set = FormSet::of(filter.forms());
            for form in filter.forms() {
                assert!(!form.whose.is_empty() && !form.kind.is_empty());
                let found = set.find(form.case).map(|found| found.kind);
                assert_eq!(found, Some(form.kind), "{}", form.case);
                assert!(!has_kept_name(form.case), "{}", form.case);
                let tells = form.words == FormWords::Telling && is_trouble(form.case);
                assert!(!tells, "{}", form.case);
                // The name of a test may be a sentence.
                let ends = if form.pattern.ends_with(".*") {
                    ""
                } else {
                    " x"
                };
                for (before, after) in [("x ", ""), ("note: ", ""), ("", ends)] {
                    if before.len() + after.len() == 0 {
                        continue;
                    }
                    let other = format!("{before}{}{after}", form.case);
                    assert!(set.find(&other).is_none(), "{other}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(number_before("== 34 passed in 1s ==", " passed"), Some(34));
        assert_eq!(number_before("none passed", " passed"), None);
    }
}
