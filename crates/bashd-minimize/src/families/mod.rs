//! The filters, one file per tool family, and the one table of them.
//!
//! A filter reads the visible text line by line and says of each line to its [`Sheet`] what it is. To add one: a file here, a
//! line in [`FILTERS`], a folder of recorded cases in `tests/cases/`.

mod ansible;
mod apt;
mod arrows;
mod cargo;
mod cmake;
mod containers;
#[cfg(test)]
mod defective;
mod findings;
mod git;
mod git_diff;
mod git_log;
mod go;
mod infrastructure;
mod jvm;
mod lint;
mod listings;
mod logs;
mod make;
mod node_packages;
mod node_tests;
mod outline;
mod pytest;
mod python_packages;
mod search;
mod tables;
mod transfers;

use super::invocation::Invocation;
use super::lossless::VisibleChanges;
use super::sheet::Sheet;
use super::work::Work;
use std::collections::HashMap;
use std::hash::Hash;

/// Classifies each line of a known tool's output.
pub(crate) trait Filter: Sync {
    /// The family's name.
    fn name(&self) -> &'static str;

    /// The programs whose output it knows.
    fn programs(&self) -> &'static [&'static str];

    /// Whether it knows this command, whether or not it is one of its programs.
    fn knows(&self, command: &Invocation) -> bool {
        self.programs().contains(&command.program.as_str())
    }

    /// Which visible changes of the lossless tier suit the output.
    fn finish(&self, _commands: &[Invocation]) -> VisibleChanges {
        VisibleChanges::Whole
    }

    /// Whether the tools show source text with line numbers beside their findings.
    fn shows_code(&self) -> bool {
        false
    }

    /// Writes the lines of the input to the sheet.
    fn apply<'a>(&self, input: &FilterInput<'a>, sheet: &mut Sheet<'a>);
}

/// What a filter reads.
#[derive(Clone, Copy)]
pub(crate) struct FilterInput<'a> {
    /// The visible text; for a failed run, without its last lines.
    pub(crate) text: &'a str,
    /// The commands that wrote it, at least one.
    pub(crate) commands: &'a [Invocation],
    pub(crate) work: &'a Work,
}

impl<'a> FilterInput<'a> {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.work.lines(self.text)
    }

    /// Whether all commands have this subcommand.
    pub(crate) fn is(&self, subcommands: &[&str]) -> bool {
        self.commands
            .iter()
            .all(|command| subcommands.contains(&command.subcommand()))
    }

    /// Whether any command has this option.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|command| options.iter().any(|option| command.has(option)))
    }
}

/// Every filter; the first that knows a command gets it.
pub(super) const FILTERS: &[&dyn Filter] = &[
    &logs::Logs,
    &git::Git,
    &cargo::Cargo,
    &node_tests::NodeTests,
    &node_packages::NodePackages,
    &pytest::Pytest,
    &python_packages::PythonPackages,
    &lint::Lint,
    &go::Go,
    &cmake::Cmake,
    &make::Make,
    &jvm::Jvm,
    &containers::Containers,
    &infrastructure::Infrastructure,
    &ansible::Ansible,
    &apt::Apt,
    &transfers::Transfers,
    &search::Search,
    &listings::Listings,
    &outline::Outlines,
    &tables::Tables,
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

/// Groups items by what they share, in the order of the first of each.
fn in_groups<T, K: Clone + Eq + Hash>(items: Vec<T>, shared: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = shared(&item);
        let at = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// What follows one of these prefixes, and its kind.
fn after_any<'a>(line: &'a str, kinds: &[(&str, &'static str)]) -> Option<(&'static str, &'a str)> {
    kinds
        .iter()
        .find_map(|(start, kind)| Some((*kind, line.strip_prefix(start)?.trim_start())))
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
    use super::*;

    #[test]
    fn names_are_unique() {
        let all: Vec<&str> = FILTERS.iter().map(|filter| filter.name()).collect();
        let unique: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), unique.len());
    }
}
