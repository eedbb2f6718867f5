//! `no_system_writes`: overwrites accounts, permissions or whole disks.

use super::options::operands;
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_system_writes",
    denies: "writes to account files such as /etc/passwd, and to block devices",
    message: "permission denied: writing to account files or block devices is not allowed",
    judge: RuleJudge::Each(&[
        Concern::Written(is_system),
        Concern::Programs {
            names: &["tee", "truncate", "shred", "sponge"],
            offends: |words| operands(words).any(is_system),
        },
        Concern::Programs {
            names: &["cp", "mv", "install", "ln"],
            offends: puts_last,
        },
        Concern::Programs {
            names: &["sed", "perl"],
            offends: edits_in_place,
        },
    ]),
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

/// What they write is named last.
fn puts_last(words: &[Word]) -> bool {
    let many = operands(words).count() > 1;
    many && operands(words).last().is_some_and(is_system)
}

fn edits_in_place(words: &[Word]) -> bool {
    let in_place = |word: &Word| {
        let text = word.known_beginning();
        text.starts_with("-i") || text.starts_with("--in-place") || text.starts_with("-pi")
    };
    words.iter().any(in_place) && operands(words).any(is_system)
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
