//! `no_dd_to_device`: dd overwrites a device.

use super::no_system_writes::is_harmless_device;
use super::{Judge, Rule};
use crate::script::Command;

pub(super) const RULE: Rule = Rule {
    name: "no_dd_to_device",
    denies: "dd of=/dev/…",
    message: "permission denied: writing to a device with dd is not allowed. Write to a regular file",
    judge: Judge::Each {
        names: &["dd", "gdd"],
        offends,
    },
};

fn offends(command: &Command) -> bool {
    let is_device = |text: &str| {
        let target = text.strip_prefix("of=").unwrap_or_default();
        target.starts_with("/dev/") && !is_harmless_device(target)
    };
    let mut words = command.arguments().iter();
    matches!(command.name(), Some("dd" | "gdd"))
        && words.any(|word| is_device(word.known_beginning()))
}
