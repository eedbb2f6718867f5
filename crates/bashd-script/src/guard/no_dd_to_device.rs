//! `no_dd_to_device`: dd overwrites a device.

use super::no_system_writes::is_harmless_device;
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_dd_to_device",
    denies: "dd of=/dev/…",
    message: "permission denied: writing to a device with dd is not allowed. Write to a regular file",
    judge: RuleJudge::Each(&[Concern::Programs {
        names: &["dd", "gdd"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let is_device = |text: &str| {
        let target = text.strip_prefix("of=").unwrap_or_default();
        target.starts_with("/dev/") && !is_harmless_device(target)
    };
    let mut words = words.iter();
    words.any(|word| is_device(word.known_beginning()))
}
