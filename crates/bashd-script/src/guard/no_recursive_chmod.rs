//! `no_recursive_chmod`: changes permissions or ownership of the whole system.

use super::options::{has_short, is_long, operands};
use super::paths::Path;
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_recursive_chmod",
    denies: "chmod, chown or chgrp -R on /",
    message: "permission denied: changing permissions or ownership of everything under / is not allowed. Name a subdirectory",
    judge: RuleJudge::Each(&[Concern::Programs {
        names: &["chmod", "chown", "chgrp"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let is_recursive = |word: &Word| has_short(word, "R", "") || is_long(word, "recursive", 3);
    words.iter().any(is_recursive) && operands(words).any(|word| Path::of(word).is_root())
}
