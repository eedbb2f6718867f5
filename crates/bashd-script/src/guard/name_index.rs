//! Which rules are about a command, by its name: asked of every command, and answered by one look
//! into a table that is made of the rules' own lists.

use super::concern::{Concern, ConcernNames, NAMES, Sign, WholeConcern};
use super::tool_rows::ToolRow;
use super::{DOCUMENTED, RULES, Rule};
use crate::script::{NameMap, SimpleCommand};
use std::sync::OnceLock;

/// How far the bits of rules that look at a whole script are from those that look at each command.
const WHOLE: u32 = 32;
const _: () = assert!(
    RULES.len() <= WHOLE as usize,
    "there are more rules than bits"
);

/// The bit of a rule for what it looks for in the script as a whole.
pub(super) const fn whole_bit(bit: u64) -> u64 {
    bit << WHOLE
}

/// Words for the bits of all concerns.
const CONCERN_WORDS: usize = 4;
const _: () = assert!(
    concerns_before(usize::MAX) <= CONCERN_WORDS * 64,
    "there are more concerns than bits"
);

/// Which rules, and which of their concerns, are about something.
#[derive(Clone, Copy, Default)]
pub(super) struct About {
    /// A bit for each rule by its place in [`RULES`], and one for its look at the whole script.
    pub(super) rules: u64,
    /// A bit for each concern, in the order of all rules.
    concerns: [u64; CONCERN_WORDS],
    /// The rows about its name, with the number of the concern that has them.
    rows: &'static [(usize, &'static ToolRow)],
}

impl About {
    /// Whether the concern of this number is about it.
    pub(super) fn has(&self, concern: usize) -> bool {
        let word = self.concerns.get(concern / 64);
        word.is_some_and(|word| word & 1 << (concern % 64) != 0)
    }

    /// The rows that the concern of this number has about it.
    pub(super) fn rows(&self, concern: usize) -> impl Iterator<Item = &'static ToolRow> {
        let mine = self
            .rows
            .iter()
            .filter(move |(number, _)| *number == concern);
        mine.map(|(_, row)| *row)
    }

    fn of(rules: u64, concern: Option<usize>) -> Self {
        let mut about = Self {
            rules,
            ..Self::default()
        };
        if let Some(concern) = concern
            && let Some(word) = about.concerns.get_mut(concern / 64)
        {
            *word |= 1 << (concern % 64);
        }
        about
    }

    /// What either is about.
    pub(super) fn add(&mut self, other: &Self) {
        self.rules |= other.rules;
        for (own, more) in self.concerns.iter_mut().zip(other.concerns) {
            *own |= more;
        }
    }
}

/// How many concerns the rules have before the one at this place, the documents' behind ours.
pub(super) const fn concerns_before(place: usize) -> usize {
    let mut count = 0;
    let mut at = 0;
    while at < place && at < RULES.len() + DOCUMENTED.len() {
        let rule = if at < RULES.len() {
            &RULES[at]
        } else {
            &DOCUMENTED[at - RULES.len()]
        };
        count += rule.judge.concerns().len();
        at += 1;
    }
    count
}

/// What stands between the parts of a name.
const BETWEEN: [char; 3] = ['.', '-', '_'];

/// Which rules are about commands of a name.
pub(super) struct NameIndex {
    names: NameMap<About>,
    /// What is about calls of git with each subcommand.
    subcommands: NameMap<About>,
    /// The rows of tables about each name.
    rows: NameMap<Vec<(usize, &'static ToolRow)>>,
    beginnings: Vec<(&'static str, About)>,
    /// Of rules about files that are written.
    written: u64,
    /// Of rules that look for a sign.
    hidden_names: u64,
    redirects: u64,
    functions: u64,
}

impl NameIndex {
    pub(super) fn get() -> &'static Self {
        static INDEX: OnceLock<NameIndex> = OnceLock::new();
        INDEX.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut index = Self {
            names: NameMap::default(),
            subcommands: NameMap::default(),
            rows: NameMap::default(),
            beginnings: Vec::new(),
            written: 0,
            hidden_names: 0,
            redirects: 0,
            functions: 0,
        };
        for (place, rule) in RULES.iter().chain(DOCUMENTED).enumerate() {
            let bit = bit_of(rule);
            if let Some(whole) = rule.judge.whole() {
                index.add_whole(whole, whole_bit(bit));
            }
            let first = concerns_before(place);
            for (number, concern) in rule.judge.concerns().iter().enumerate() {
                let about = About::of(bit, Some(first + number));
                if let Concern::Git { subcommands, .. } = concern {
                    for name in *subcommands {
                        index.subcommands.entry(name).or_default().add(&about);
                    }
                    continue;
                }
                match concern.names() {
                    ConcernNames::Listed(names) => {
                        for name in names {
                            index.add(name, &about);
                        }
                    }
                    ConcernNames::OfRows(rows) => {
                        for (row, name) in rows.iter().flat_map(by_program) {
                            index.add(name, &about);
                            let mine = index.rows.entry(name).or_default();
                            mine.push((first + number, row));
                        }
                    }
                }
                if matches!(concern, Concern::Written(_)) {
                    index.written |= bit;
                }
            }
        }
        index
    }

    fn add_whole(&mut self, whole: &WholeConcern, bit: u64) {
        for name in whole.names.iter().copied().flatten() {
            self.add(name, &About::of(bit, None));
        }
        for sign in whole.signs {
            match sign {
                Sign::HiddenName => self.hidden_names |= bit,
                Sign::Redirect => self.redirects |= bit,
                Sign::Function => self.functions |= bit,
            }
        }
    }

    fn add(&mut self, name: &'static str, about: &About) {
        match name.strip_suffix('*') {
            Some(beginning) => self.beginnings.push((beginning, *about)),
            None => self.names.entry(name).or_default().add(about),
        }
    }

    fn of(&'static self, name: &str) -> About {
        let mut about = self.names.get(name).copied().unwrap_or_default();
        about.rows = self.rows.get(name).map_or(&[], Vec::as_slice);
        // Every beginning has one of these in it, and few names have.
        if name.contains(BETWEEN) {
            for (beginning, more) in &self.beginnings {
                if name.starts_with(beginning) {
                    about.add(more);
                }
            }
        }
        about
    }

    /// What is about a call of git with this subcommand.
    pub(super) fn of_subcommand(&self, subcommand: &str) -> About {
        let about = self.subcommands.get(subcommand);
        about.copied().unwrap_or_default()
    }

    /// The rules that look for functions.
    pub(super) fn functions(&self) -> u64 {
        self.functions
    }

    /// What is about a command with this name.
    pub(super) fn of_command(&'static self, command: &SimpleCommand, name: Option<&str>) -> About {
        let mut about = match name {
            Some(name) if NAMES.may_have(name) => self.of(name),
            Some(_) => About::default(),
            None if command.words.is_empty() => About::default(),
            None => About::of(self.hidden_names, None),
        };
        if command.words.first().is_some_and(|word| word.is_worked_out) {
            about.rules |= self.hidden_names;
        }
        if !command.redirects.is_empty() {
            about.rules |= self.redirects;
            let mut redirects = command.redirects.iter();
            if redirects.any(|redirect| redirect.operator.writes()) {
                about.rules |= self.written;
            }
        }
        about
    }
}

/// A row with each of its programs.
fn by_program(row: &'static ToolRow) -> impl Iterator<Item = (&'static ToolRow, &'static str)> {
    row.programs.iter().map(move |name| (row, *name))
}

/// The bit of a rule; a document's has that of the rule of the same name.
pub(super) fn bit_of(rule: &Rule) -> u64 {
    let place = RULES.iter().position(|known| known.name == rule.name);
    place.map_or(0, |place| 1 << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_has_what_names_are_looked_at_for() {
        for (beginning, _) in &NameIndex::get().beginnings {
            assert!(beginning.contains(BETWEEN), "{beginning}");
        }
    }

    impl About {
        /// What a concern that no rule has would be about, as the first of all.
        pub(in crate::guard) fn by_names(concern: &Concern, name: &str, subcommand: &str) -> Self {
            let is_called = |known: &str| match known.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == known,
            };
            let is_named = match (concern, concern.names()) {
                (Concern::Git { subcommands, .. }, _) => subcommands.contains(&subcommand),
                (_, ConcernNames::Listed(names)) => names.iter().any(|known| is_called(known)),
                (_, ConcernNames::OfRows(rows)) => {
                    rows.iter().any(|row| row.programs.contains(&name))
                }
            };
            Self::of(0, is_named.then_some(0))
        }
    }
}
