//! Which commands the rules are shown: most have a name that no rule is about.

use super::{Judge, RULES, Rule};
use crate::script::{Command, Script};

/// How the names begin that any compiled-in rule is about.
const BEGINNINGS: Beginnings = Beginnings::of(RULES);

/// The commands that a rule may have something against, in their order.
pub(super) fn of(script: &Script) -> impl Iterator<Item = &Command> {
    script.commands.iter().filter(|command| is_suspect(command))
}

fn is_suspect(command: &Command) -> bool {
    let mut redirects = command.redirects.iter();
    command.name().is_some_and(|name| BEGINNINGS.may_have(name))
        || redirects.any(|redirect| redirect.operator.writes())
}

/// Beginnings of names by their first two letters: a row for the first, a bit for the second.
struct Beginnings([u32; 32]);

impl Beginnings {
    const fn of(rules: &[Rule]) -> Self {
        let mut rows = [0; 32];
        let mut rules = rules;
        while let [rule, after @ ..] = rules {
            if let Judge::Each { names, .. } = rule.judge {
                let mut names = names;
                while let [name, after @ ..] = names {
                    // A rule about a shorter name would not compile here.
                    let name = name.as_bytes();
                    rows[row(name[0])] |= bit(name[1]);
                    names = after;
                }
            }
            rules = after;
        }
        Self(rows)
    }

    /// Whether a name may begin like one of them; surely not where the answer is no.
    fn may_have(&self, name: &str) -> bool {
        match name.as_bytes() {
            [first, second, ..] => self.0[row(*first)] & bit(*second) != 0,
            _ => false,
        }
    }
}

const fn row(letter: u8) -> usize {
    (letter & 31) as usize
}

const fn bit(letter: u8) -> u32 {
    1 << (letter & 31)
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
        let script = "cd a && ls | cat; echo b; exit 1; [ x ]; . y; make < z 2>&1; x=1; $y";
        assert_eq!(suspects(script), 0);
    }
}
