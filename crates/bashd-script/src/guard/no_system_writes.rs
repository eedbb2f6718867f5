//! `no_system_writes`: overwrites accounts, permissions, what starts the system, or whole disks.

use super::concern::ProgramCall;
use super::directory::Directories;
use super::no_dangerous_rm::resolved;
use super::options::operands;
use super::paths::{Path, PathStart};
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{Redirect, RedirectOperator, ScriptText, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_system_writes",
    denies: "writes to account files such as /etc/passwd, to /boot, to the kernel's switches and to block devices; asks about authorized_keys, cron, services, autostart, an agent's own settings, logs",
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
            names: &["mount"],
            judge: covers,
        },
        Concern::Programs {
            names: &["sed", "perl", "gsed", "ed", "ex", "vim", "awk", "gawk"],
            judge: edits_in_place,
        },
        Concern::Programs {
            names: &["curl", "wget"],
            judge: downloads,
        },
        Concern::Git {
            subcommands: &["config"],
            judge: |call| {
                // Hooks outside of the project.
                let mut words = operands(&call.arguments);
                let is_key = |word: &&Word| {
                    let key = word.known().unwrap_or_default();
                    key.eq_ignore_ascii_case("core.hookspath")
                };
                let value = words.find(is_key).and_then(|_| words.next()).map(Path::of);
                let is_far = |path: Path| path.start != PathStart::Here;
                Decision::ask_if(value.is_some_and(is_far))
            },
        },
        Concern::Git {
            subcommands: &["log", "diff", "show", "format-patch"],
            judge: |call| {
                let decisions = call.arguments.iter().map(|word| {
                    let target = word.known().and_then(|it| it.strip_prefix("--output="));
                    target.map_or(Decision::Allow, |target| {
                        let word = Word::of(target, word.span);
                        of_write(&Path::of(&word), &word)
                    })
                });
                decisions.max().unwrap_or(Decision::Allow)
            },
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
    // `for f in ~/*; do : > "$f"; done`
    if empties && redirect.target.has_glob() && super::trees::is_tree(&path) {
        return Decision::Deny;
    }
    let names: Vec<&str> = path.components.iter().map(ScriptText::as_str).collect();
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

/// `mount --bind X FILE`: until it is taken away, everybody reads X there.
fn covers(call: &ProgramCall<'_>) -> Decision {
    let binds = call.words.iter().any(|word| {
        matches!(word.known(), Some("-B" | "--bind" | "--rbind" | "-R"))
            || word.known().is_some_and(|text| text.contains("bind"))
    });
    let last = operands(call.words).last().filter(|_| binds);
    last.map_or(Decision::Allow, |word| {
        of_write(&resolved(call, word), word)
    })
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
    let worst = decisions.max().unwrap_or(Decision::Allow);
    // In an editor a person sees what is there.
    let is_command = |word: &Word| word.known_beginning().starts_with(['-', '+']);
    let is_typed = matches!(call.command.name(), Some("vim")) && !call.words.iter().any(is_command);
    if is_typed && worst == Decision::Ask {
        return Decision::Allow;
    }
    worst
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

/// What is run for a user who signs in, or lets somebody sign in, by the path below a home.
fn is_run_for_user(names: &[&str]) -> bool {
    match names {
        [".ssh", name] => name.starts_with("authorized_keys") || name.starts_with("id_"),
        [".config", "systemd", "user", ..]
        | [".config", "autostart", ..]
        | ["Library", "LaunchAgents", ..] => true,
        _ => false,
    }
}

/// What is found before a program that everybody has, by its path below a home or `/usr`.
fn stands_before(names: &[&str]) -> bool {
    let everybodys = [
        "ls", "cat", "cp", "mv", "rm", "ps", "sh", "bash", "su", "sudo", "ssh", "login", "passwd",
    ];
    match names {
        ["bin", name] | [".local" | "local", "bin" | "sbin", name] => everybodys.contains(name),
        _ => false,
    }
}

/// Files that say what an agent may do, wherever they are.
fn is_agents_own(names: &[&str]) -> bool {
    match names {
        [.., ".claude", name] => name.starts_with("settings"),
        [.., ".codex", "config.toml"]
        | [.., ".gemini", "settings.json"]
        | [.., ".cursor", "permissions.json" | "cli-config.json"]
        | [.., ".config", "bashd", "config.toml"]
        | [.., "bashd", "grants.jsonl"]
        | [.., ".bashd.toml"] => true,
        _ => false,
    }
}

/// What writing to a path costs, whatever was in it.
#[expect(
    clippy::match_same_arms,
    reason = "a table: each place has an arm, in order"
)]
fn of_write(path: &Path, word: &Word) -> Decision {
    let names: Vec<&str> = path.components.iter().map(ScriptText::as_str).collect();
    if is_agents_own(&names) {
        return Decision::Ask;
    }
    if path.start == PathStart::Home {
        return Decision::ask_if(is_run_for_user(&names) || stands_before(&names));
    }
    if path.start != PathStart::Root {
        return Decision::Allow;
    }
    if let ["home" | "Users", _, rest @ ..] | ["root", rest @ ..] = names.as_slice()
        && is_run_for_user(rest)
    {
        return Decision::Ask;
    }
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
        [
            "etc",
            "cron.d" | "cron.daily" | "cron.hourly" | "cron.weekly" | "profile.d" | "rc.local"
            | "init.d" | "udev" | "selinux" | "apparmor.d",
            ..,
        ]
        | ["etc", "ssh", "sshd_config" | "sshd_config.d", ..]
        | ["etc", "xdg", "autostart", ..]
        | ["Library", "LaunchDaemons" | "LaunchAgents", ..] => Decision::Ask,
        ["var", "spool", "cron", ..] | ["etc", "systemd", "system", ..] => Decision::Ask,
        ["usr", rest @ ..] if stands_before(rest) => Decision::Ask,
        ["bin" | "sbin" | "lib" | "lib64", _] | ["usr", "bin" | "sbin" | "lib", _] => Decision::Ask,
        _ => match trees::of_file(path) {
            Decision::Ask => Decision::Ask,
            decision => decision,
        },
    }
}
