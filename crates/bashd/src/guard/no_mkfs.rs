//! `no_mkfs`: creates a file system over an existing one.

use super::{Judge, Rule};
use crate::script::Command;

pub(super) const RULE: Rule = Rule {
    name: "no_mkfs",
    denies: "mkfs, mkfs.*, mke2fs, mkswap, wipefs -a",
    message: "permission denied: creating a file system destroys everything on the device",
    judge: Judge::Each {
        names: &["mkfs", "mke2fs", "mkswap", "wipefs"],
        offends,
    },
};

fn offends(command: &Command) -> bool {
    let Some(name) = command.name() else {
        return false;
    };
    let has = |options: &[&str]| {
        let mut words = command.arguments().iter();
        words.any(|word| word.known().is_some_and(|text| options.contains(&text)))
    };
    let only_asks = has(&["--help", "--version", "-V", "-h", "-n", "--no-act"]);
    let wipes = name == "wipefs" && has(&["-a", "--all", "-af", "-fa"]);
    let makes = name == "mkfs" || name.starts_with("mkfs.") || matches!(name, "mke2fs" | "mkswap");
    (makes && !command.arguments().is_empty() || wipes) && !only_asks
}
