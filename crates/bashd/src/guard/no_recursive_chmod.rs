//! `no_recursive_chmod`: changes permissions or ownership of the whole system.

use super::options::{has_short, is_long, operands};
use super::paths::Path;
use super::{Judge, Rule};
use crate::script::{Command, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_recursive_chmod",
    denies: "chmod, chown or chgrp -R on /",
    message: "permission denied: changing permissions or ownership of everything under / is not allowed. Name a subdirectory",
    judge: Judge::Each {
        names: &["chmod", "chown", "chgrp"],
        offends,
    },
};

fn offends(command: &Command) -> bool {
    if !matches!(command.name(), Some("chmod" | "chown" | "chgrp")) {
        return false;
    }
    let words = command.arguments();
    let is_recursive = |word: &Word| has_short(word, "R", "") || is_long(word, "recursive", 3);
    words.iter().any(is_recursive) && operands(words).any(|word| Path::of(word).is_root())
}
