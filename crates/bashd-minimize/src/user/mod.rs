//! The user's filters: stages in TOML, with their own tests.
//!
//! A file has `schema_version = 1`, may set `enabled`, `only`, `except` and `max_capture_bytes`,
//! and has a table `[filters.NAME]` for each filter and `[[tests.NAME]]` for each of its tests.
//! Every test is run when a file is loaded. A filter that fails one of its own tests is not used.

mod file;
mod stages;

use super::invocation::Invocation;
use super::noise::KnownEnding;
use super::work::Work;
use file::FilterFile;
use regex::Regex;
use stages::{Stages, UserText};

/// The user's filters, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct UserFilters {
    filters: Vec<UserFilter>,
}

/// What a file of filters holds besides them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The filters whose tests pass.
    pub filters: UserFilters,
    /// What is wrong with the file, and with which filter; such filters are not used.
    pub problems: Vec<String>,
    /// How many tests were run.
    pub tests: usize,
    /// Whether the file enables or disables the minimizer.
    pub enabled: Option<bool>,
    /// Only these programs' output is minimized.
    pub only: Vec<String>,
    /// These programs' output never is.
    pub except: Vec<String>,
    /// Longer output never is.
    pub max_capture_bytes: Option<usize>,
}

/// One of the user's filters.
#[derive(Debug, Clone)]
pub struct UserFilter {
    name: String,
    program: Regex,
    subcommand: Option<Regex>,
    stages: Stages,
}

impl UserFilters {
    /// Reads a file's text and runs every test in it.
    pub fn load(text: &str) -> Loaded {
        let file = match FilterFile::parse(text) {
            Ok(file) => file,
            Err(problem) => {
                return Loaded {
                    problems: vec![problem],
                    ..Loaded::default()
                };
            }
        };
        let mut loaded = Loaded {
            enabled: file.enabled,
            only: file.only,
            except: file.except,
            max_capture_bytes: file.max_capture_bytes,
            ..Loaded::default()
        };
        for (name, definition) in file.filters {
            match UserFilter::new(&name, definition) {
                Ok(filter) => loaded.filters.filters.push(filter),
                Err(problem) => loaded.problems.push(format!("filter `{name}`: {problem}")),
            }
        }
        for (name, tests) in file.tests {
            loaded.tests += tests.len();
            let Some(at) = loaded
                .filters
                .filters
                .iter()
                .position(|filter| filter.name == name)
            else {
                loaded
                    .problems
                    .push(format!("tests of `{name}`: there is no such filter"));
                continue;
            };
            let failures = loaded
                .filters
                .filters
                .get(at)
                .map(|filter| filter.failures(&tests))
                .unwrap_or_default();
            if !failures.is_empty() {
                loaded.filters.filters.remove(at);
                loaded.problems.extend(failures);
            }
        }
        loaded
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|filter| filter.name.as_str())
    }

    /// The first filter that wants this output. A script of several commands has no such filter.
    pub(super) fn find(&self, commands: &[Invocation], exit: Option<i32>) -> Option<&UserFilter> {
        let [command] = commands else {
            return None;
        };
        self.filters
            .iter()
            .find(|filter| filter.wants(command, exit))
    }
}

impl UserFilter {
    fn new(name: &str, definition: file::Definition) -> Result<Self, String> {
        let pattern = |text: &str| Regex::new(text).map_err(|error| error.to_string());
        let subcommand = definition
            .match_subcommand
            .as_deref()
            .map(pattern)
            .transpose()?;
        Ok(Self {
            name: name.to_owned(),
            program: pattern(&definition.match_command)?,
            subcommand,
            stages: Stages::new(definition)?,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, command: &Invocation, exit: Option<i32>) -> bool {
        let subcommand_fits = self
            .subcommand
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(command.subcommand()));
        self.program.is_match(&command.program) && subcommand_fits && self.stages.wants(exit)
    }

    pub(super) fn apply(&self, text: &str, ending: KnownEnding, work: &Work) -> UserText {
        self.stages.apply(text, ending, work)
    }

    /// What its tests object to.
    fn failures(&self, tests: &[file::Test]) -> Vec<String> {
        let failed = tests.iter().filter_map(|test| {
            let exit = test.exit.unwrap_or(0);
            let ending = if exit == 0 {
                KnownEnding::Success
            } else {
                KnownEnding::Careful
            };
            let work = Work::for_input(test.input.len());
            let found = self.stages.apply(&test.input, ending, &work).text;
            let is_right = found.trim_end() == test.expected.trim_end();
            (!is_right).then(|| {
                format!(
                    "filter `{}`, test `{}`: expected {:?}, found {:?}",
                    self.name, test.name, test.expected, found
                )
            })
        });
        failed.collect()
    }
}

#[cfg(test)]
mod tests;
