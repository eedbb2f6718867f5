//! `no_force_push`: overwrites history that others have.

use super::options::{has_short, is_long};
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_force_push",
    denies: "git push with --force, -f, --mirror or a +refspec",
    message: "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["push", "send-pack"],
        offends,
    }]),
};

/// Options whose value is the next word.
const WITH_VALUE: [&str; 6] = [
    "-o",
    "--push-option",
    "--repo",
    "--receive-pack",
    "--exec",
    "--recurse-submodules",
];

/// Of an option and its negation the last counts.
fn offends(words: &[Word]) -> bool {
    let (mut is_forced, mut by_option, mut is_dry) = (false, false, false);
    let mut options_end = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if options_end {
            is_forced |= is_forced_ref(word);
        } else if word.known().is_some_and(|text| WITH_VALUE.contains(&text)) {
            words.next();
        } else if has_short(word, "n", "o") || is_long(word, "dry-run", 2) {
            is_dry = true;
        } else if is_long(word, "no-dry-run", 4) {
            is_dry = false;
        } else if has_short(word, "f", "o") || is_long(word, "force", 2) {
            by_option = true;
        } else if is_long(word, "no-force", 5) {
            by_option = false;
        } else {
            options_end = word.is("--");
            is_forced |= is_forced_ref(word) || is_long(word, "mirror", 1);
        }
    }
    (is_forced || by_option) && !is_dry
}

fn is_forced_ref(word: &Word) -> bool {
    word.known_beginning().starts_with('+')
}
