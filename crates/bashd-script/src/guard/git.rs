//! A git command line: its subcommand, whatever precedes it.

use crate::script::{SimpleCommand, Word, WordPart};

/// Global options whose value is the next word.
const WITH_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// What git is called by, with its subcommand as a word of its own or in the name.
pub(super) const NAMES: &[&str] = &[GIT, "git-*"];
const GIT: &str = "git";

/// A call of git.
pub(super) struct GitCall<'a> {
    pub(super) subcommand: &'a str,
    pub(super) arguments: &'a [Word],
}

/// The call that a command is, if it is one of git.
pub(super) fn call(command: &SimpleCommand) -> Option<GitCall<'_>> {
    let name = command.name()?;
    if let Some(subcommand) = name.strip_prefix("git-") {
        return Some(GitCall {
            subcommand,
            arguments: command.arguments(),
        });
    }
    if name != GIT {
        return None;
    }
    let mut rest = command.arguments();
    while let Some((word, after)) = rest.split_first() {
        let Some(text) = word.known() else {
            // `git $OPTIONS push`, `git -c user.name="$x" push`
            let is_option = word.known_beginning().starts_with('-') || is_expansion(word);
            if !is_option {
                return None;
            }
            rest = after;
            continue;
        };
        if WITH_VALUE.contains(&text) {
            rest = after.get(1..).unwrap_or_default();
        } else if text.starts_with('-') {
            rest = after;
        } else {
            return Some(GitCall {
                subcommand: text,
                arguments: after,
            });
        }
    }
    None
}

fn is_expansion(word: &Word) -> bool {
    matches!(
        *word.parts,
        [WordPart::Variable { quoted: false, .. } | WordPart::Unknown { quoted: false }]
    )
}
