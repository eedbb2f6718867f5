//! What a rule is about: the commands that it is shown, by their names, and what it is shown of
//! them.
//!
//! The names are in the rule's table and nowhere else. What judges gets the words after the name,
//! and so can't ask for a name that the table lacks; the filter that spares most commands every
//! question is made of the same table.

use super::directory::Directories;
use super::git::{self, GitCall};
use super::name_index::{About, NameIndex, whole_bit};
use super::tool_rows::{self, ToolRow};
use super::user_rule::Decision;
use super::{Ancestors, DOCUMENTED, RULES, Rule};
use crate::script::{Assigned, Beginnings, Redirect, Script, SimpleCommand, Span, Word};

/// Something that a rule is about, and when that offends.
#[derive(Debug)]
pub(super) enum Concern {
    /// Programs of these names. `mkfs.*` is every name that begins so; two letters must stand
    /// before the star.
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
    /// What it has against a command; `number` is its own, among all concerns.
    pub(super) fn judge(
        &self,
        suspect: &Suspect<'_>,
        number: usize,
        ancestors: Ancestors,
    ) -> Decision {
        let Suspect {
            about,
            command,
            git,
            directory,
            ..
        } = suspect;
        match self {
            Self::Programs { judge, .. } if about.has(number) => judge(&ProgramCall {
                words: command.arguments(),
                command,
                directory,
                ancestors,
            }),
            Self::Git { judge, .. } => match git {
                Some(call) if about.has(number) => judge(call),
                _ => Decision::Allow,
            },
            // `RAILS_ENV=test` and the like: what is lost was made for a test.
            Self::Tools(_) if about.has(number) && !is_for_tests(command) => {
                tool_rows::judge(about.rows(number), command.arguments())
            }
            Self::Programs { .. } | Self::Tools(_) => Decision::Allow,
            Self::Written(judge) => {
                let redirects = command.redirects.iter();
                let written = redirects.filter(|redirect| redirect.operator.writes());
                let decisions = written.map(|redirect| judge(redirect, directory));
                decisions.max().unwrap_or(Decision::Allow)
            }
        }
    }

    /// How the names begin of the commands that it is about; none for what it finds by redirects.
    pub(super) const fn names(&self) -> ConcernNames {
        match self {
            Self::Programs { names, .. } => ConcernNames::Listed(names),
            Self::Git { .. } => ConcernNames::Listed(git::NAMES),
            Self::Tools(rows) => ConcernNames::OfRows(rows),
            Self::Written(_) => ConcernNames::Listed(&[]),
        }
    }
}

/// What a rule looks for in the script as a whole: it is asked only if one of these commands is
/// there.
#[derive(Debug)]
pub(super) struct WholeConcern {
    /// Names of programs, in lists.
    pub(super) names: &'static [&'static [&'static str]],
    /// What else it looks for, whatever the name.
    pub(super) signs: &'static [Sign],
    /// Judges those commands, with the script around them.
    pub(super) judge: fn(&Script, Sought<'_>) -> Option<(Decision, Span)>,
}

/// What makes a command worth a look, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Its name is unknown, or worked out from what others print.
    HiddenName,
    /// It has a redirect.
    Redirect,
    /// The script defines functions; this is about no single command.
    Function,
}

/// The commands that a rule looks for in a script.
#[derive(Clone, Copy)]
pub(super) struct Sought<'a> {
    suspects: &'a [Suspect<'a>],
    rules: &'a [u64],
    bit: u64,
}

impl<'a> Sought<'a> {
    /// They, with their places among all commands.
    pub(super) fn commands(self) -> impl Iterator<Item = (usize, &'a SimpleCommand)> {
        let mine = self.rules.iter().zip(self.suspects);
        let mine = mine.filter(move |(rules, _)| **rules & self.bit != 0);
        mine.map(|(_, suspect)| (suspect.at, suspect.command))
    }
}

/// The names of the commands that a concern is about.
pub(super) enum ConcernNames {
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

/// How the names begin that any compiled-in rule is about.
pub(super) static NAMES: Beginnings = names_of(DOCUMENTED, names_of(RULES, Beginnings::NONE));

/// A command that a rule may have something against, with what every rule asks of it.
pub(super) struct Suspect<'a> {
    /// The rules and concerns that are about it.
    about: About,
    /// Its place among all commands.
    at: usize,
    pub(super) command: &'a SimpleCommand,
    name: Option<&'a str>,
    /// The call that it is, if it is one of git.
    pub(super) git: Option<GitCall<'a>>,
    directory: Directories,
}

/// The commands that a rule may have something against, in their order: most have a name that no
/// rule is about.
pub(super) struct Suspects<'a> {
    list: Vec<Suspect<'a>>,
    /// The rules that are about each of them: every rule goes through these, and most rules are
    /// about few.
    rules_of: Vec<u64>,
    /// The rules that are about any of them, or about the script.
    rules: u64,
}

impl<'a> Suspects<'a> {
    /// Those of a script.
    pub(super) fn of(script: &'a Script) -> Self {
        let index = NameIndex::get();
        let mut directories = Directories::default();
        let mut settings = git::Settings::new(script);
        let mut list = Vec::new();
        let mut rules_of = Vec::new();
        let mut rules = 0;
        for (at, command) in script.commands.iter().enumerate() {
            directories.enter(command);
            let name = command.name();
            settings.see(command, name);
            let about = index.of_command(command, name);
            if about.rules != 0 || name.is_some_and(git::is_name) {
                rules |= about.rules;
                rules_of.push(about.rules);
                list.push(Suspect {
                    about,
                    at,
                    command,
                    name,
                    git: None,
                    directory: directories.of_wrapped(script, command),
                });
            }
            directories.leave(command, name);
        }
        // What a later command sets counts, too.
        settings.end();
        for (suspect, rules_of) in list.iter_mut().zip(&mut rules_of) {
            if suspect.name.is_some_and(git::is_name)
                && let Some(call) = git::call(suspect.command, &settings)
            {
                suspect.about.add(&index.of_subcommand(&call.subcommand));
                *rules_of = suspect.about.rules;
                rules |= *rules_of;
                suspect.git = Some(call);
            }
        }
        if !script.functions.is_empty() {
            rules |= index.functions();
        }
        Self {
            list,
            rules_of,
            rules,
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Suspect<'a>> {
        self.list.iter()
    }

    /// Whether the rule with this bit is about any of them, or looks for something that is there.
    pub(super) fn has_any_of(&self, bit: u64) -> bool {
        self.rules & (bit | whole_bit(bit)) != 0
    }

    /// Those that the rule with this bit is about, one by one.
    pub(super) fn about(&self, bit: u64) -> impl Iterator<Item = &Suspect<'a>> {
        let bit = bit & self.rules;
        let rules: &[u64] = if bit == 0 { &[] } else { &self.rules_of };
        let mine = rules.iter().zip(&self.list);
        mine.filter(move |(rules, _)| **rules & bit != 0)
            .map(|(_, suspect)| suspect)
    }

    /// Those that the rule with this bit looks for in the script as a whole; none if there is
    /// nothing for it.
    pub(super) fn sought_by(&self, bit: u64) -> Option<Sought<'_>> {
        let bit = whole_bit(bit);
        (self.rules & bit != 0).then_some(Sought {
            suspects: &self.list,
            rules: &self.rules_of,
            bit,
        })
    }
}

const fn names_of(rules: &[Rule], others: Beginnings) -> Beginnings {
    let mut names_of_all = others;
    let mut rest = rules;
    while let [rule, after @ ..] = rest {
        let mut concerns = rule.judge.concerns();
        while let [concern, others @ ..] = concerns {
            match concern.names() {
                ConcernNames::Listed(names) => names_of_all = and_names(names_of_all, names),
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
        if let Some(whole) = rule.judge.whole() {
            let mut lists = whole.names;
            while let [names, more @ ..] = lists {
                names_of_all = and_names(names_of_all, names);
                lists = more;
            }
        }
        rest = after;
    }
    names_of_all
}

const fn and_names(known: Beginnings, names: &[&str]) -> Beginnings {
    // Fails the build: the filter would pass over what it can't tell by two letters.
    assert!(all_begin(names), "a name needs two letters before its star");
    known.and(names)
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
        Suspects::of(&Script::parse(text)).list.len()
    }

    fn concerns() -> impl Iterator<Item = &'static Concern> {
        let all = RULES.iter().chain(DOCUMENTED);
        all.flat_map(|rule| rule.judge.concerns())
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
        let script = "jq . a && ls | wc; echo b; exit 1; x=1; touch z";
        assert_eq!(count(script), 0);
    }

    /// A rule of another name than `x` is never asked about it, so that a list of names that lacks
    /// one is seen by the rule's own cases: nothing else could make them come out right.
    #[test]
    fn a_name_that_the_list_lacks_is_judged_by_nobody() {
        let offends_by = |about: &Concern, text: &str| {
            let script = Script::parse(text);
            let suspects = Suspects::of(&script);
            let decisions = suspects.list.into_iter().map(|mut suspect| {
                let name = suspect.name.unwrap_or_default();
                let call = suspect.git.as_ref().map(|call| &*call.subcommand);
                suspect.about = About::by_names(about, name, call.unwrap_or_default());
                about.judge(&suspect, 0, no_ancestors)
            });
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
