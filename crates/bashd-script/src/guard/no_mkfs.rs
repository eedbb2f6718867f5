//! `no_mkfs`: creates a file system over an existing one.

use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_mkfs",
    denies: "mkfs, mkfs.*, mke2fs, mkswap, wipefs -a",
    message: "permission denied: creating a file system destroys everything on the device",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["mkfs", "mkfs.*", "mke2fs", "mkswap"],
            offends: |words| !words.is_empty() && !only_asks(words),
        },
        Concern::Programs {
            names: &["wipefs"],
            offends: |words| has(words, &["-a", "--all", "-af", "-fa"]) && !only_asks(words),
        },
    ]),
};

fn only_asks(words: &[Word]) -> bool {
    has(
        words,
        &["--help", "--version", "-V", "-h", "-n", "--no-act"],
    )
}

fn has(words: &[Word], options: &[&str]) -> bool {
    let mut known = words.iter().filter_map(Word::known);
    known.any(|text| options.contains(&text))
}
