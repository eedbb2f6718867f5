//! Which commands the rules see: most have a name that no rule is about.

use super::{Judge, RULES, Rule};
use crate::script::{Beginnings, Command, Script};

/// Prefixes of the names that any compiled-in rule is about.
static NAMES: Beginnings = names_of(RULES);

/// The commands that a rule may object to, in order.
pub(super) fn of(script: &Script) -> impl Iterator<Item = &Command> {
    script.commands.iter().filter(|command| is_suspect(command))
}

fn is_suspect(command: &Command) -> bool {
    let mut redirects = command.redirects.iter();
    command.name().is_some_and(|name| NAMES.may_have(name))
        || redirects.any(|redirect| redirect.operator.writes())
}

const fn names_of(rules: &[Rule]) -> Beginnings {
    let mut names_of_all = Beginnings::NONE;
    let mut rest = rules;
    while let [rule, after @ ..] = rest {
        if let Judge::Each { names, .. } = rule.judge {
            names_of_all = names_of_all.and(names);
        }
        rest = after;
    }
    names_of_all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(text: &str) -> usize {
        of(&Script::parse(text)).count()
    }

    #[test]
    fn what_a_rule_is_about_is_shown_to_it() {
        for rule in RULES {
            if let Judge::Each { names, .. } = rule.judge {
                for name in names {
                    assert_eq!(suspects(&format!("/bin/{name} x")), 1, "{name}");
                    assert_eq!(suspects(&format!("{name}-x")), 1, "{name}");
                }
            }
        }
        assert_eq!(suspects("echo x > y"), 1);
    }

    #[test]
    fn most_is_nobodys_business() {
        let script = "cd a && ls | cat; echo b; exit 1; make < z 2>&1; x=1; $y";
        assert_eq!(suspects(script), 0);
    }
}
