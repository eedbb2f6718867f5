//! `no_recursive_chmod`: rights or owners of the whole system are changed.

use super::options::{has_short, is_long, operands};
use super::paths::Path;
use super::{Concern, Judge, Rule};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_recursive_chmod",
    denies: "chmod, chown or chgrp -R on /",
    message: "permission denied: changing rights or owners of everything below the root is not allowed. Name a directory below it",
    judge: Judge::Each(&[Concern::Programs {
        names: &["chmod", "chown", "chgrp"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let is_recursive = |word: &Word| has_short(word, "R", "") || is_long(word, "recursive", 3);
    words.iter().any(is_recursive) && operands(words).any(|word| Path::of(word).is_root())
}
