//! What a rule is about: the commands that it is shown, by their names, and what it is shown of them.
//!
//! The names stand in the rule's table and nowhere else. What judges gets the words after the name, and so
//! can't ask for a name that the table lacks; the filter that spares most commands every question is made
//! of the same table.

use super::git::{self, GitCall};
use super::{RULES, Rule, RuleJudge};
use crate::script::{Beginnings, Script, SimpleCommand, Word};

/// Something that a rule is about, and when that offends.
#[derive(Debug)]
pub(super) enum Concern {
    /// Programs of these names. `mkfs.*` is every name that begins so; two letters must stand before the star.
    Programs {
        names: &'static [&'static str],
        /// Judges the words after the name.
        offends: fn(&[Word]) -> bool,
    },
    /// Subcommands of git, however it is called.
    Git {
        subcommands: &'static [&'static str],
        /// Judges the words after the subcommand.
        offends: fn(&[Word]) -> bool,
    },
    /// The files that a command writes by a redirect, whatever its name.
    Written(fn(&Word) -> bool),
}

impl Concern {
    /// Whether a command is what the rule is about, and offends.
    pub(super) fn offends(&self, suspect: &Suspect<'_>) -> bool {
        let Suspect { command, name, git } = suspect;
        match self {
            Self::Programs { names, offends } => {
                let is_named = |name: &str| names.iter().any(|known| is_called(name, known));
                name.is_some_and(is_named) && offends(command.arguments())
            }
            Self::Git {
                subcommands,
                offends,
            } => git.as_ref().is_some_and(|call| {
                subcommands.contains(&call.subcommand) && offends(call.arguments)
            }),
            Self::Written(offends) => {
                let redirects = command.redirects.iter();
                let mut written = redirects.filter(|redirect| redirect.operator.writes());
                written.any(|redirect| offends(&redirect.target))
            }
        }
    }

    /// How the names begin of the commands that it is about; none for what it finds by redirects.
    const fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Programs { names, .. } => names,
            Self::Git { .. } => git::NAMES,
            Self::Written(_) => &[],
        }
    }
}

fn is_called(name: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == known,
    }
}

/// How the names begin that any compiled-in rule is about.
static NAMES: Beginnings = names_of(RULES);

/// A command that a rule may have something against, with what every rule asks of it.
pub(super) struct Suspect<'a> {
    pub(super) command: &'a SimpleCommand,
    name: Option<&'a str>,
    /// The call that it is, if it is one of git.
    git: Option<GitCall<'a>>,
}

/// The commands that a rule may have something against, in their order: most have a name that no rule is about.
pub(super) fn suspects(script: &Script) -> impl Iterator<Item = Suspect<'_>> {
    script.commands.iter().filter_map(suspect)
}

fn suspect(command: &SimpleCommand) -> Option<Suspect<'_>> {
    let name = command.name();
    let mut redirects = command.redirects.iter();
    let is_suspect = name.is_some_and(|name| NAMES.may_have(name))
        || redirects.any(|redirect| redirect.operator.writes());
    is_suspect.then(|| Suspect {
        command,
        name,
        git: git::call(command),
    })
}

const fn names_of(rules: &[Rule]) -> Beginnings {
    let mut names_of_all = Beginnings::NONE;
    let mut rest = rules;
    while let [rule, after @ ..] = rest {
        if let RuleJudge::Each(concerns) = rule.judge {
            let mut concerns = concerns;
            while let [concern, others @ ..] = concerns {
                let names = concern.names();
                // Fails the build: the filter would pass over what it can't tell by two letters.
                assert!(all_begin(names), "a name needs two letters before its star");
                names_of_all = names_of_all.and(names);
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

    fn count(text: &str) -> usize {
        suspects(&Script::parse(text)).count()
    }

    fn concerns() -> impl Iterator<Item = &'static Concern> {
        let of_rule = |rule: &'static Rule| match rule.judge {
            RuleJudge::Each(concerns) => concerns,
            RuleJudge::Whole(_) => &[],
        };
        RULES.iter().flat_map(of_rule)
    }

    #[test]
    fn what_a_rule_is_about_is_shown_to_it() {
        for name in concerns().flat_map(Concern::names) {
            let name = name.trim_end_matches('*');
            assert_eq!(count(&format!("/bin/{name} x")), 1, "{name}");
            assert_eq!(count(&format!("{name}-x")), 1, "{name}");
        }
        assert_eq!(count("echo x > y"), 1);
    }

    #[test]
    fn most_is_nobodys_business() {
        let script = "cd a && ls | cat; echo b; exit 1; make < z 2>&1; x=1; $y";
        assert_eq!(count(script), 0);
    }

    /// A rule of another name than `x` is never asked about it, so that a list of names that lacks one is
    /// seen by the rule's own cases: nothing else could make them come out right.
    #[test]
    fn a_name_that_the_list_lacks_is_judged_by_nobody() {
        let offends_by = |about: &Concern, text: &str| {
            let script = Script::parse(text);
            let command = script.commands.first().unwrap();
            let (name, git) = (command.name(), git::call(command));
            about.offends(&Suspect { command, name, git })
        };
        let offends = |_: &[Word]| true;
        let about = |names| Concern::Programs { names, offends };
        assert!(offends_by(&about(&["rm", "mkfs.*"]), "/sbin/mkfs.ext4 x"));
        assert!(offends_by(&about(&["rm", "mkfs.*"]), "rm"));
        for other in ["rmdir x", "mkfs x", "xrm", "$rm x"] {
            assert!(!offends_by(&about(&["rm", "mkfs.*"]), other), "{other}");
        }
        let subcommands = &["push"];
        let git = Concern::Git {
            subcommands,
            offends,
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
                Concern::Written(_) => false,
            };
            assert!(!is_empty, "{concern:?}");
        }
    }
}
