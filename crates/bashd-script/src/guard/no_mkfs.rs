//! `no_mkfs`: creates a file system over an existing one, or takes partitions and volumes away.

use super::concern::ProgramCall;
use super::no_dd_to_device::is_device;
use super::options::{has_short, operands};
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_mkfs",
    denies: "mkfs, mkswap, wipefs -a, blkdiscard, partition tables, luksFormat, zpool and lvm removal on devices; asks about umount -a, subvolumes, boot entries",
    message: "this destroys everything on the device",
    instead: "Use an image file: truncate -s 1G disk.img, then mkfs.ext4 disk.img",
    example: "mkfs.ext4 /dev/sda1",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &[
                "mkfs",
                "mkfs.*",
                "mke2fs",
                "mkswap",
                "mkntfs",
                "mkdosfs",
                "newfs",
                "newfs_*",
                "mkreiserfs",
                "bcachefs",
            ],
            judge: |call| {
                // For FAT, exFAT and others `-n` is a name.
                let is_label = |word: &Word| word.is("-n") && !is_extended(call);
                let words: Vec<Word> = call
                    .words
                    .iter()
                    .filter(|it| !is_label(it))
                    .cloned()
                    .collect();
                Decision::deny_if(!only_asks(&words) && names_device(call))
            },
        },
        Concern::Programs {
            names: &["wipefs"],
            judge: |call| {
                let erases = |word: &Word| has_short(word, "ao", "t") || word.is("--all");
                Decision::deny_if(call.words.iter().any(erases) && !only_asks(call.words))
            },
        },
        Concern::Programs {
            names: &["blkdiscard", "scrub", "nwipe"],
            judge: |call| Decision::deny_if(!call.words.is_empty() && !only_asks(call.words)),
        },
        Concern::Programs {
            names: &[
                "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "cgdisk",
            ],
            judge: partitions,
        },
        Concern::Tools(ROWS),
    ]),
};

const ROWS: &[ToolRow] = &[
    asks(
        &["cryptsetup"],
        "luksFormat|luksErase|erase|reencrypt|format|luksKillSlot|luksRemoveKey",
    )
    .denies(),
    asks(&["cryptsetup"], "luks").with(&["--type"]).denies(),
    asks(&["zpool"], "destroy|labelclear|create").denies(),
    asks(&["zfs"], "destroy"),
    asks(&["zfs"], "rollback").with(&["-r", "-R"]),
    asks(&["lvremove", "vgremove", "pvremove", "lvreduce"], "").denies(),
    asks(&["mdadm"], "")
        .with(&["--zero-superblock", "--stop", "--fail", "--create", "-C"])
        .denies(),
    asks(&["pvcreate", "vgcreate"], "/dev/*")
        .with(&["-f", "-ff", "--force"])
        .denies(),
    asks(&["pvcreate"], "/dev/*"),
    asks(&["xfs_repair"], "").with(&["-L"]),
    asks(&["nvme"], "format|sanitize|delete-ns").denies(),
    asks(&["sg_format", "sg_sanitize"], "").denies(),
    asks(&["btrfs"], "su* d*"),
    asks(
        &["diskutil"],
        "eraseDisk|eraseVolume|partitionDisk|zeroDisk|secureErase|reformat|randomDisk",
    )
    .denies(),
    asks(&["diskutil"], "apfs deleteContainer|deleteVolume").denies(),
    asks(&["btrfs"], "dev* rem*|del*"),
    asks(
        &["flash_erase", "flash_eraseall", "flashcp", "nandwrite"],
        "/dev/*",
    )
    .denies(),
    asks(&["gpart"], "destroy|delete").denies(),
    asks(&["bmaptool"], "copy /dev/*").denies(),
    asks(&["ntfsclone"], "/dev/*").with(&["--overwrite", "-O"]),
    asks(&["losetup"], "").with(&["-D", "--detach-all"]),
    asks(&["tmutil"], "delete*"),
    asks(&["grub-install", "grub2-install"], ""),
    asks(&["efibootmgr"], "").with(&["-B", "--delete-bootnum"]),
    asks(&["swapoff"], "").with(&["-a"]),
    asks(&["umount"], "").with(&["-a", "-af", "-fa", "--all"]),
    asks(&["umount"], "/|/home|/usr|/boot|/var"),
    // What is mounted there hides what was there.
    asks(
        &["mount"],
        "/etc|/usr|/bin|/sbin|/lib|/lib64|/home|/var|/root|/boot",
    )
    .with(&["--bind", "-B", "--rbind", "--move", "tmpfs"]),
    asks(&["debugfs"], "").with(&["-w"]),
    asks(&["tune2fs"], "").with(&["-O"]),
    asks(&["resize2fs"], "").with(&["-M"]),
    asks(&["fsck", "fsck.ext4", "e2fsck"], "")
        .with(&["-y", "-a", "-p"])
        .without(&["-n"]),
    asks(&["flashrom"], "").with(&["-w", "-E"]),
    asks(&["format"], "c:|C:"),
    asks(&["format.com"], ""),
];

/// Whether an ext file system is made: of the others none has `-n` for trying.
fn is_extended(call: &ProgramCall<'_>) -> bool {
    let name = call.command.name().unwrap_or_default();
    let is_other = |word: &Word| {
        ["fat", "ntfs"]
            .iter()
            .any(|kind| word.known_beginning().ends_with(kind))
    };
    match name {
        "mkfs" => !call.words.iter().any(is_other),
        name => name.starts_with("mkfs.ext") || name == "mke2fs",
    }
}

fn only_asks(words: &[Word]) -> bool {
    let asks = [
        "--help",
        "--version",
        "-V",
        "-h",
        "-n",
        "--no-act",
        "--dry-run",
    ];
    let mut known = words.iter().filter_map(Word::known);
    words.is_empty() || known.any(|text| asks.contains(&text))
}

/// Whether a word names a device, or what only running can tell. An image file is nobody's loss.
fn names_device(call: &ProgramCall<'_>) -> bool {
    operands(call.words).any(|word| {
        if let Some(text) = word.known() {
            is_device(text)
        } else {
            let beginning = word.known_beginning();
            beginning.is_empty() && !word.has_glob() || is_device(beginning) || beginning == "/dev"
        }
    })
}

/// Partition tables: what only lists them is fine.
fn partitions(call: &ProgramCall<'_>) -> Decision {
    let lists = |word: &Word| {
        matches!(
            word.known(),
            Some(
                "-l" | "--list"
                    | "-p"
                    | "--print"
                    | "print"
                    | "-d"
                    | "--dump"
                    | "-v"
                    | "--verify"
                    | "-s"
                    | "--help"
                    | "-V"
                    | "--version"
                    | "-L"
            )
        )
    };
    let changes = |word: &Word| {
        matches!(
            word.known(),
            Some(
                "-Z" | "-o"
                    | "--zap-all"
                    | "--zap"
                    | "--clear"
                    | "mklabel"
                    | "mktable"
                    | "rm"
                    | "mkpart"
                    | "--delete"
                    | "resizepart"
                    | "-n"
                    | "-t"
            )
        ) || word.known_beginning().starts_with("--delete=")
            || word.known_beginning().starts_with("--new=")
            || word.known_beginning().contains("mklabel")
    };
    // What lists for one of them deletes for another.
    let deletes =
        |word: &Word| matches!(call.command.name(), Some("sgdisk")) && has_short(word, "dG", "");
    let is_changed = call.words.iter().any(|word| changes(word) || deletes(word));
    if is_changed && names_device(call) {
        return Decision::Deny;
    }
    let fed = call.command.place.reads_pipe || !call.command.redirects.is_empty();
    let only_lists = call.words.iter().any(lists) || call.words.is_empty();
    Decision::deny_if(names_device(call) && !only_lists && fed)
        .max(Decision::ask_if(names_device(call) && !only_lists))
}
