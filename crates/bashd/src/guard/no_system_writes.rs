//! `no_system_writes`: overwrites accounts, permissions or whole disks.

use super::options::operands;
use super::{Judge, Rule};
use crate::script::{Command, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_system_writes",
    denies: "writes to account files such as /etc/passwd, and to block devices",
    message: "permission denied: writing to account files or block devices is not allowed",
    judge: Judge::Each {
        names: &[
            "tee", "truncate", "shred", "sponge", "cp", "mv", "install", "ln", "sed", "perl",
        ],
        offends,
    },
};

const FILES: [&str; 6] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/fstab",
];

/// Prefixes of the names of block devices.
const BLOCK_DEVICES: [&str; 12] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "dm-", "md", "loop", "rdisk",
];

/// Devices that lose nothing when written to.
pub(super) fn is_harmless_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    let harmless = [
        "null", "zero", "full", "stdout", "stderr", "tty", "random", "urandom",
    ];
    harmless.contains(&name)
        || ["fd/", "shm/", "pts/"]
            .iter()
            .any(|place| name.starts_with(place))
}

fn offends(command: &Command) -> bool {
    let redirects = command.redirects.iter();
    let mut targets = redirects.filter(|redirect| redirect.operator.writes());
    if targets.any(|redirect| is_system(&redirect.target)) {
        return true;
    }
    let words = command.arguments();
    match command.name() {
        Some("tee" | "truncate" | "shred" | "sponge") => operands(words).any(is_system),
        Some("cp" | "mv" | "install" | "ln") => {
            let many = operands(words).count() > 1;
            many && operands(words).last().is_some_and(is_system)
        }
        Some("sed" | "perl") => {
            let in_place = |word: &Word| {
                let text = word.known_beginning();
                text.starts_with("-i") || text.starts_with("--in-place") || text.starts_with("-pi")
            };
            words.iter().any(in_place) && operands(words).any(is_system)
        }
        _ => false,
    }
}

fn is_system(word: &Word) -> bool {
    let path = word.known_beginning();
    // It remains the same path, however many slashes there are.
    if !path.starts_with('/') {
        return false;
    }
    let path = path.replace("//", "/");
    let device = path.strip_prefix("/dev/").unwrap_or_default();
    let is_block = BLOCK_DEVICES.iter().any(|name| device.starts_with(name));
    FILES.contains(&path.as_str()) || path.starts_with("/etc/sudoers.d/") || is_block
}
