//! What a rule is about: the commands that it is shown, by their names, and what it is shown of them.
//!
//! The names stand in the rule's table and nowhere else. What judges gets the words after the name, and so
//! can't ask for a name that the table lacks; the filter that spares most commands every question is made
//! of the same table.

use super::directory::Directories;
use super::git::{self, GitCall};
use super::tool_rows::{self, ToolRow};
use super::user_rule::Decision;
use super::{Ancestors, DOCUMENTED, RULES, Rule, RuleJudge};
use crate::script::{Assigned, Beginnings, Redirect, Script, SimpleCommand, Word};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Something that a rule is about, and when that offends.
#[derive(Debug)]
pub(super) enum Concern {
    /// Programs of these names. `mkfs.*` is every name that begins so; two letters must stand before the star.
    Programs {
        names: &'static [&'static str],
        /// Judges the words after the name.
        judge: fn(&ProgramCall<'_>) -> Decision,
    },
    /// Subcommands of git, however it is called.
    Git {
        subcommands: &'static [&'static str],
        /// Judges the words after the subcommand, and git's own settings.
        judge: fn(&GitCall<'_>) -> Decision,
    },
    /// Rows of a table: program, its words, its options.
    Tools(&'static [ToolRow]),
    /// The files that a command writes by a redirect, whatever its name.
    Written(fn(&Redirect, &Directories) -> Decision),
}

/// A call of a program, as a rule sees it.
pub(super) struct ProgramCall<'a> {
    /// The words after the name.
    pub(super) words: &'a [Word],
    /// The whole command.
    pub(super) command: &'a SimpleCommand,
    /// Where the shell is at that point of the script, as far as the text tells.
    pub(super) directory: &'a Directories,
    /// The processes above bashd.
    pub(super) ancestors: Ancestors,
}

impl Concern {
    /// What it has against a command.
    pub(super) fn judge(&self, suspect: &Suspect<'_>, ancestors: Ancestors) -> Decision {
        let Suspect {
            command,
            name,
            git,
            directory,
            ..
        } = suspect;
        match self {
            Self::Programs { names, judge } => {
                let is_named = |name: &str| names.iter().any(|known| is_called(name, known));
                if !name.is_some_and(is_named) {
                    return Decision::Allow;
                }
                judge(&ProgramCall {
                    words: command.arguments(),
                    command,
                    directory,
                    ancestors,
                })
            }
            Self::Git { subcommands, judge } => match git {
                Some(call) if subcommands.contains(&&*call.subcommand) => judge(call),
                _ => Decision::Allow,
            },
            Self::Tools(rows) => match name {
                // `RAILS_ENV=test` and the like: what is lost was made for a test.
                Some(_) if is_for_tests(command) => Decision::Allow,
                Some(name) => tool_rows::judge(rows, name, command.arguments()),
                None => Decision::Allow,
            },
            Self::Written(judge) => {
                let redirects = command.redirects.iter();
                let written = redirects.filter(|redirect| redirect.operator.writes());
                let decisions = written.map(|redirect| judge(redirect, directory));
                decisions.max().unwrap_or(Decision::Allow)
            }
        }
    }

    /// How the names begin of the commands that it is about; none for what it finds by redirects.
    const fn names(&self) -> ConcernNames {
        match self {
            Self::Programs { names, .. } => ConcernNames::Listed(names),
            Self::Git { .. } => ConcernNames::Listed(git::NAMES),
            Self::Tools(rows) => ConcernNames::OfRows(rows),
            Self::Written(_) => ConcernNames::Listed(&[]),
        }
    }
}

/// The names of the commands that a concern is about.
enum ConcernNames {
    Listed(&'static [&'static str]),
    OfRows(&'static [ToolRow]),
}

fn is_for_tests(command: &SimpleCommand) -> bool {
    command.assignments.iter().any(|assignment| {
        let is_test = |word: &Word| word.is("test");
        assignment.name.ends_with("_ENV")
            && matches!(&assignment.value, Assigned::Value(word) if is_test(word))
    })
}

fn is_called(name: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == known,
    }
}

/// How the names begin that any compiled-in rule is about.
static NAMES: Beginnings = names_of(DOCUMENTED, names_of(RULES, Beginnings::NONE));

/// Which rules are about commands of a name, as a bit for each by its place in [`RULES`].
struct NameIndex {
    names: HashMap<&'static str, u64>,
    beginnings: Vec<(&'static str, u64)>,
    redirects: u64,
}

impl NameIndex {
    fn get() -> &'static Self {
        static INDEX: OnceLock<NameIndex> = OnceLock::new();
        INDEX.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut index = Self {
            names: HashMap::new(),
            beginnings: Vec::new(),
            redirects: 0,
        };
        for rule in RULES.iter().chain(DOCUMENTED) {
            let (RuleJudge::Each(concerns) | RuleJudge::Both(concerns, _)) = rule.judge else {
                continue;
            };
            let bit = bit_of(rule);
            for concern in concerns {
                match concern.names() {
                    ConcernNames::Listed(names) => {
                        for name in names {
                            index.add(name, bit);
                        }
                    }
                    ConcernNames::OfRows(rows) => {
                        let names = rows.iter().flat_map(|row| row.programs);
                        for name in names {
                            index.add(name, bit);
                        }
                    }
                }
                if matches!(concern, Concern::Written(_)) {
                    index.redirects |= bit;
                }
            }
        }
        index
    }

    fn add(&mut self, name: &'static str, bit: u64) {
        match name.strip_suffix('*') {
            Some(beginning) => self.beginnings.push((beginning, bit)),
            None => *self.names.entry(name).or_default() |= bit,
        }
    }

    fn of(&self, name: &str) -> u64 {
        let exact = self.names.get(name).copied().unwrap_or_default();
        let beginnings = self.beginnings.iter();
        let beginnings = beginnings.filter(|(beginning, _)| name.starts_with(beginning));
        beginnings.fold(exact, |bits, (_, bit)| bits | bit)
    }
}

/// The bit of a rule; a document's has that of the rule of the same name.
pub(super) fn bit_of(rule: &Rule) -> u64 {
    let place = RULES.iter().position(|known| known.name == rule.name);
    place.map_or(0, |place| 1 << place)
}

/// A command that a rule may have something against, with what every rule asks of it.
pub(super) struct Suspect<'a> {
    /// The rules that are about it.
    pub(super) rules: u64,
    pub(super) command: &'a SimpleCommand,
    name: Option<&'a str>,
    /// The call that it is, if it is one of git.
    pub(super) git: Option<GitCall<'a>>,
    directory: Directories,
}

/// The commands that a rule may have something against, in their order: most have a name that no rule is about.
pub(super) fn suspects(script: &Script) -> Vec<Suspect<'_>> {
    let mut directories = Directories::default();
    let settings = git::Settings::of(script);
    let mut suspects = Vec::new();
    for command in &script.commands {
        directories.enter(command);
        suspects.extend(suspect(command, &directories, &settings));
        directories.leave(command);
    }
    suspects
}

fn suspect<'a>(
    command: &'a SimpleCommand,
    directory: &Directories,
    settings: &git::Settings<'a>,
) -> Option<Suspect<'a>> {
    let index = NameIndex::get();
    let name = command.name();
    let named = name.filter(|name| NAMES.may_have(name));
    let mut rules = named.map_or(0, |name| index.of(name));
    let mut redirects = command.redirects.iter();
    if redirects.any(|redirect| redirect.operator.writes()) {
        rules |= index.redirects;
    }
    (rules != 0).then(|| Suspect {
        rules,
        command,
        name,
        git: git::call(command, settings),
        directory: directory.clone(),
    })
}

const fn names_of(rules: &[Rule], others: Beginnings) -> Beginnings {
    let mut names_of_all = others;
    let mut rest = rules;
    while let [rule, after @ ..] = rest {
        if let RuleJudge::Each(concerns) | RuleJudge::Both(concerns, _) = rule.judge {
            let mut concerns = concerns;
            while let [concern, others @ ..] = concerns {
                match concern.names() {
                    ConcernNames::Listed(names) => {
                        // Fails the build: the filter would pass over what it can't tell by two letters.
                        assert!(all_begin(names), "a name needs two letters before its star");
                        names_of_all = names_of_all.and(names);
                    }
                    ConcernNames::OfRows(rows) => {
                        let mut rows = rows;
                        while let [row, more @ ..] = rows {
                            names_of_all = names_of_all.and(row.programs);
                            rows = more;
                        }
                    }
                }
                concerns = others;
            }
        }
        rest = after;
    }
    names_of_all
}

const fn all_begin(names: &[&str]) -> bool {
    let mut rest = names;
    while let [name, after @ ..] = rest {
        if let [] | [b'*', ..] | [_, b'*', ..] = name.as_bytes() {
            return false;
        }
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::ancestors::no_ancestors;

    fn count(text: &str) -> usize {
        suspects(&Script::parse(text)).len()
    }

    fn concerns() -> impl Iterator<Item = &'static Concern> {
        let of_rule = |rule: &'static Rule| match rule.judge {
            RuleJudge::Each(concerns) | RuleJudge::Both(concerns, _) => concerns,
            RuleJudge::Whole(_) => &[],
        };
        RULES.iter().chain(DOCUMENTED).flat_map(of_rule)
    }

    fn names(concern: &Concern) -> Vec<&'static str> {
        match concern.names() {
            ConcernNames::Listed(names) => names.to_vec(),
            ConcernNames::OfRows(rows) => {
                rows.iter().flat_map(|row| row.programs).copied().collect()
            }
        }
    }

    #[test]
    fn what_a_rule_is_about_is_shown_to_it() {
        for name in concerns().flat_map(names) {
            let name = name.trim_end_matches('*');
            assert!(count(&format!("/bin/{name} x")) >= 1, "{name}");
        }
        assert_eq!(count("echo x > y"), 1);
    }

    #[test]
    fn most_is_nobodys_business() {
        let script = "jq . a && ls | wc; echo b; exit 1; x=1; $y; touch z";
        assert_eq!(count(script), 0);
    }

    /// A rule of another name than `x` is never asked about it, so that a list of names that lacks one is
    /// seen by the rule's own cases: nothing else could make them come out right.
    #[test]
    fn a_name_that_the_list_lacks_is_judged_by_nobody() {
        let offends_by = |about: &Concern, text: &str| {
            let script = Script::parse(text);
            let suspects = suspects(&script);
            let decisions = suspects
                .iter()
                .map(|suspect| about.judge(suspect, no_ancestors));
            decisions.max() == Some(Decision::Deny)
        };
        let about = |names| Concern::Programs {
            names,
            judge: |_| Decision::Deny,
        };
        assert!(offends_by(&about(&["rm", "mkfs.*"]), "/sbin/mkfs.ext4 x"));
        assert!(offends_by(&about(&["rm", "mkfs.*"]), "rm"));
        for other in ["rmdir x", "mkfs x", "xrm", "$rm"] {
            assert!(!offends_by(&about(&["rm", "mkfs.*"]), other), "{other}");
        }
        let git = Concern::Git {
            subcommands: &["push"],
            judge: |_| Decision::Deny,
        };
        assert!(offends_by(&git, "git -C x push") && offends_by(&git, "git-push"));
        assert!(!offends_by(&git, "git pull") && !offends_by(&git, "push"));
    }

    #[test]
    fn a_name_that_the_filter_could_not_tell_does_not_build() {
        assert!(all_begin(&["rm", "mkfs.*", "x"]));
        for bad in ["", "*", "x*"] {
            assert!(!all_begin(&["rm", bad]), "{bad}");
        }
    }

    #[test]
    fn every_rule_is_about_something() {
        for concern in concerns() {
            let is_empty = match concern {
                Concern::Programs { names, .. } => names.is_empty(),
                Concern::Git { subcommands, .. } => subcommands.is_empty(),
                Concern::Tools(rows) => rows.is_empty(),
                Concern::Written(_) => false,
            };
            assert!(!is_empty, "{concern:?}");
        }
    }
}
