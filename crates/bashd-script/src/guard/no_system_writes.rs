//! `no_system_writes`: overwrites accounts, permissions, what starts the system, or whole disks.

use super::concern::ProgramCall;
use super::directory::Directories;
use super::no_dangerous_rm::resolved;
use super::options::operands;
use super::paths::{Path, PathStart};
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{Redirect, RedirectOperator, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_system_writes",
    denies: "writes to account files such as /etc/passwd, to /boot, to the kernel's switches and to block devices; asks about authorized_keys, cron, services, logs",
    message: "this writes to a device, an account file or a file that the system runs",
    instead: "Write to a file in the project, then let a person install it",
    example: "echo x >> /etc/passwd",
    judge: RuleJudge::Each(&[
        Concern::Written(written),
        Concern::Programs {
            names: &[
                "tee", "truncate", "shred", "sponge", "chsh", "vipw", "vigr", "visudo",
            ],
            judge: |call| {
                let decisions =
                    operands(call.words).map(|word| of_write(&resolved(call, word), word));
                decisions.max().unwrap_or(Decision::Allow)
            },
        },
        Concern::Programs {
            names: &["cp", "mv", "install", "ln", "gcp", "gmv", "scp"],
            judge: puts_last,
        },
        Concern::Programs {
            names: &["sed", "perl", "gsed", "ed", "ex", "vim", "awk", "gawk"],
            judge: edits_in_place,
        },
        Concern::Programs {
            names: &["curl", "wget"],
            judge: downloads,
        },
    ]),
};

/// Prefixes of the names of block devices and of memory.
const DEVICES: [&str; 17] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "dm-", "md", "loop", "rdisk",
    "mem", "kmem", "port", "sr", "block/",
];

/// Devices that lose nothing when written to.
pub(super) fn is_harmless_device(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    let harmless = [
        "null", "zero", "full", "stdout", "stderr", "tty", "random", "urandom", "stdin", "ptmx",
        "console",
    ];
    harmless.contains(&name)
        || [
            "fd/", "shm/", "pts/", "ttyUSB", "ttyACM", "ttyS", "tcp/", "udp/", "mqueue/",
        ]
        .iter()
        .any(|place| name.starts_with(place))
}

#[expect(
    clippy::match_same_arms,
    reason = "a table: each place has an arm, in order"
)]
fn written(redirect: &Redirect, directory: &Directories) -> Decision {
    let path = directory.resolve(Path::of(&redirect.target));
    let decision = of_write(&path, &redirect.target);
    let empties = matches!(
        redirect.operator,
        RedirectOperator::Write | RedirectOperator::Clobber | RedirectOperator::WriteBoth
    );
    let names: Vec<&str> = path.components.iter().map(String::as_str).collect();
    let loses = match (path.start, names.as_slice()) {
        (
            PathStart::Root,
            [
                "etc",
                "hosts" | "resolv.conf" | "hostname" | "profile" | "bashrc" | "bash.bashrc"
                | "environment",
            ]
            | ["etc", "ssh", "sshd_config"]
            | ["var", "log", ..],
        ) => empties,
        (
            PathStart::Home,
            [".ssh", "config" | "known_hosts"] | [".bash_history" | ".zsh_history"],
        ) => empties,
        _ => false,
    };
    decision.max(Decision::ask_if(loses))
}

/// What they write is named last.
fn puts_last(call: &ProgramCall<'_>) -> Decision {
    let many = operands(call.words).count() > 1;
    let by_option = call.words.windows(2).find_map(|pair| match pair {
        [option, target] if option.is("-t") || option.is("--target-directory") => Some(target),
        _ => None,
    });
    let last = by_option.or_else(|| operands(call.words).last().filter(|_| many));
    last.map_or(Decision::Allow, |word| {
        of_write(&resolved(call, word), word)
    })
}

fn edits_in_place(call: &ProgramCall<'_>) -> Decision {
    let in_place = |word: &Word| {
        let text = word.known_beginning();
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains('i');
        short || text.starts_with("--in-place") || text == "inplace"
    };
    let edits = match call.command.name() {
        Some("ed" | "ex" | "vim") => true,
        _ => call.words.iter().any(in_place),
    };
    if !edits {
        return Decision::Allow;
    }
    let decisions = operands(call.words).map(|word| of_write(&resolved(call, word), word));
    decisions.max().unwrap_or(Decision::Allow)
}

fn downloads(call: &ProgramCall<'_>) -> Decision {
    let decisions = call.words.windows(2).map(|pair| match pair {
        [option, target]
            if matches!(
                option.known(),
                Some("-o" | "-O" | "--output" | "--output-document")
            ) =>
        {
            of_write(&resolved(call, target), target)
        }
        _ => Decision::Allow,
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// What writing to a path costs, whatever was in it.
#[expect(
    clippy::match_same_arms,
    reason = "a table: each place has an arm, in order"
)]
fn of_write(path: &Path, word: &Word) -> Decision {
    if path.start == PathStart::Home {
        let names: Vec<&str> = path.components.iter().map(String::as_str).collect();
        return Decision::ask_if(
            matches!(names.as_slice(), [".ssh", name] if name.starts_with("authorized_keys") || name.starts_with("id_")),
        );
    }
    if path.start != PathStart::Root {
        return Decision::Allow;
    }
    let names: Vec<&str> = path.components.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["dev", ..] => {
            let device = path.components.get(1..).unwrap_or_default().join("/");
            let is_block = DEVICES.iter().any(|name| device.starts_with(name));
            let is_pattern =
                word.has_glob() && !device.starts_with("shm") && !device.starts_with("pts");
            Decision::deny_if(is_block || is_pattern)
        }
        ["proc", "sysrq-trigger"]
        | [
            "proc",
            "sys",
            "kernel",
            "sysrq" | "core_pattern" | "panic" | "randomize_va_space",
        ] => Decision::Deny,
        [
            "sys",
            "firmware" | "kernel" | "power" | "block" | "class",
            ..,
        ] => Decision::Ask,
        ["root", ".ssh", ..] => Decision::Ask,
        ["home" | "Users", _, ".ssh", name]
            if name.starts_with("authorized_keys") || name.starts_with("id_") =>
        {
            Decision::Ask
        }
        [
            "etc",
            "cron.d" | "cron.daily" | "cron.hourly" | "profile.d" | "rc.local" | "init.d",
            ..,
        ] => Decision::Ask,
        ["var", "spool", "cron", ..] | ["etc", "systemd", "system", ..] => Decision::Ask,
        ["bin" | "sbin" | "lib" | "lib64", _] | ["usr", "bin" | "sbin" | "lib", _] => Decision::Ask,
        _ => match trees::of_file(path) {
            Decision::Ask => Decision::Ask,
            decision => decision,
        },
    }
}
