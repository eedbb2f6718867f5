//! Rules that users write: `[[rules]]` in the configuration, each with examples that are checked.

use super::Objection;
use super::options::{has_short, is_long, operands};
use crate::script::{Script, SimpleCommand, Span, Word, WordPart};
use serde::Deserialize;

/// A user's own rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UserRule {
    /// Its name.
    pub name: String,
    /// What happens to a script that it matches.
    pub decision: Decision,
    /// If it asks: about what.
    #[serde(default)]
    pub ask: AskBy,
    /// What the caller is told, one line.
    #[serde(default)]
    pub message: String,
    /// Names of programs, any of which matches.
    #[serde(default)]
    pub command: Names,
    /// The words after the program that are not options; any of these sequences matches.
    #[serde(default)]
    pub subcommand: Names,
    /// Options, all of which must be present: `-f` is also found in `-rf`, `--force` is not in
    /// `--forced`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Path prefixes: an argument or a written file is below one of them.
    #[serde(default)]
    pub paths: Vec<String>,
    /// A pattern over the whole text, instead of the parsed view.
    #[serde(default)]
    pub regex: Option<Pattern>,
    /// Scripts that show what it means; checked when the configuration is read.
    #[serde(default)]
    pub examples: Examples,
}

/// What happens to a script that a rule matches; the later ones are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run, as far as this rule is concerned: a stricter rule wins.
    Allow,
    /// The approver is asked.
    Ask,
    /// It may not run.
    Deny,
}

/// What the approver of a command is shown; the earlier ones come first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AskBy {
    /// Its text, before it runs.
    #[default]
    Text,
    /// What it did to files, before that is real.
    Effects,
}

impl AskBy {
    /// Whether it is what rules ask by unless they say something else.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes what it asks about by reference"
    )]
    pub(super) fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

impl Decision {
    /// Denies if something holds.
    pub(super) const fn deny_if(holds: bool) -> Self {
        if holds { Self::Deny } else { Self::Allow }
    }

    /// Asks if something holds.
    pub(super) const fn ask_if(holds: bool) -> Self {
        if holds { Self::Ask } else { Self::Allow }
    }
}

/// Examples of a rule.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Examples {
    /// Scripts that it denies, or asks about.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Scripts that it lets pass.
    #[serde(default)]
    pub allow: Vec<String>,
}

/// One name, or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Names(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)] // how people write it; never written back
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Names {
    fn from(written: OneOrMany) -> Self {
        match written {
            OneOrMany::One(name) => Self(vec![name]),
            OneOrMany::Many(names) => Self(names),
        }
    }
}

/// A compiled pattern.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(regex::Regex);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(pattern: String) -> Result<Self, Self::Error> {
        regex::Regex::new(&pattern).map(Self)
    }
}

impl UserRule {
    /// Describes what is wrong with the rule, if anything: it matches nothing, or not what its
    /// examples say.
    pub fn problem(&self) -> Option<String> {
        let has_view = !self.command.0.is_empty()
            || !self.subcommand.0.is_empty()
            || !self.flags.is_empty()
            || !self.paths.is_empty();
        if has_view == self.regex.is_some() {
            let problem = "must match either by command, subcommand, flags and paths, or by regex";
            return Some(format!("rule `{}` {problem}", self.name));
        }
        if self.message.is_empty() && self.decision != Decision::Allow {
            return Some(format!("rule `{}` has no message", self.name));
        }
        if self.ask == AskBy::Effects && self.decision != Decision::Ask {
            return Some(format!(
                "rule `{}` says what it asks about (ask), but its decision is not `ask`",
                self.name
            ));
        }
        let (matching, passing) = match self.decision {
            Decision::Ask | Decision::Deny => (&self.examples.deny, &self.examples.allow),
            Decision::Allow => (&self.examples.allow, &self.examples.deny),
        };
        let matches = |text: &&String| self.find(&Script::parse(text), text).is_some();
        let missed = matching.iter().find(|text| !matches(text));
        let caught = passing.iter().find(matches);
        let name = &self.name;
        match (missed, caught) {
            (Some(text), _) => Some(format!("rule `{name}` does not match its example {text:?}")),
            (None, Some(text)) => Some(format!(
                "rule `{name}` matches {text:?}, which its examples say it should not"
            )),
            (None, None) => None,
        }
    }

    /// What it has against a script; a rule that allows has nothing.
    pub(super) fn objection(&self, script: &Script, text: &str) -> Option<Objection> {
        if self.decision == Decision::Allow {
            return None;
        }
        let span = self.find(script, text)?;
        Some(Objection {
            rule: self.name.clone(),
            message: self.message.clone(),
            decision: self.decision,
            ask: self.ask,
            instead: None,
            span: Some(span),
        })
    }

    fn find(&self, script: &Script, text: &str) -> Option<Span> {
        if let Some(Pattern(pattern)) = &self.regex {
            let found = pattern.find(text)?;
            return Some(Span {
                start: found.start(),
                end: found.end(),
            });
        }
        let mut commands = script.commands.iter();
        commands
            .find(|command| self.matches(command))
            .map(|command| command.span)
    }

    fn matches(&self, command: &SimpleCommand) -> bool {
        let names = &self.command.0;
        let is_named = names.is_empty()
            || command
                .name()
                .is_some_and(|name| names.iter().any(|known| known == name));
        is_named
            && (self.subcommand.0.is_empty() || self.has_subcommand(command))
            && self.flags.iter().all(|flag| has_flag(command, flag))
            && (self.paths.is_empty() || self.touches_path(command))
    }

    fn has_subcommand(&self, command: &SimpleCommand) -> bool {
        let words: Vec<&str> = match super::git::plain_call(command) {
            // git's own options come with values.
            Some(call) => {
                let rest = operands(call.1).filter_map(Word::known);
                [call.0].into_iter().chain(rest).collect()
            }
            None => operands(command.arguments())
                .filter_map(Word::known)
                .collect(),
        };
        self.subcommand.0.iter().any(|row| {
            let row: Vec<&str> = row.split_whitespace().collect();
            words.starts_with(&row)
        })
    }

    fn touches_path(&self, command: &SimpleCommand) -> bool {
        let redirects = command.redirects.iter();
        let written = redirects.filter(|redirect| redirect.operator.writes());
        let written = written.map(|redirect| &redirect.target);
        let mut words = command.arguments().iter().chain(written);
        words.any(|word| self.paths.iter().any(|prefix| is_below(word, prefix)))
    }
}

fn has_flag(command: &SimpleCommand, flag: &str) -> bool {
    command
        .arguments()
        .iter()
        .take_while(|word| !word.is("--"))
        .any(
            |word| match (flag.strip_prefix("--"), flag.strip_prefix('-')) {
                (Some(long), _) => {
                    let text = word.known_beginning();
                    is_long(word, long, long.len()) || text.starts_with(&format!("{flag}="))
                }
                (None, Some(short)) if short.chars().count() == 1 => has_short(word, short, ""),
                (None, _) => word.is(flag),
            },
        )
}

/// Whether a word names a path, or something below it. `~` is any spelling of a home.
fn is_below(word: &Word, prefix: &str) -> bool {
    let is_inside = |path: &str, prefix: &str| {
        let prefix = prefix.trim_end_matches('/');
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let Some(below_home) = prefix.strip_prefix('~') else {
        let text = word.known_beginning();
        // `--file=/etc/x` and `of=/etc/x` name a path, too.
        let value = text.split_once('=').map_or("", |(_, value)| value);
        return is_inside(text, prefix) || is_inside(value, prefix);
    };
    word.after_home().is_some_and(|rest| {
        let text = match rest.first() {
            Some(WordPart::Text(text)) => text,
            _ => "",
        };
        is_inside(text, below_home)
    })
}
