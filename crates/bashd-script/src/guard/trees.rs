//! What is lost with a path: trees of the system, homes, what is precious in them, the project.

use super::paths::{Path, PathStart, UNKNOWN, could_match, is_many, matches_all_names};
use super::user_rule::Decision;
use crate::script::ScriptText;
use std::borrow::Cow;

/// Directories of the root without which a system or its data are lost.
const TOP: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "snap",
    "Users",
    "System",
    "Library",
    "Applications",
    "Volumes",
    "private",
    "data",
    "backup",
    "backups",
    "storage",
    "nix",
    "efi",
    "sdcard",
];

/// Directories below them that are as bad.
const SECOND: &[(&str, &[&str])] = &[
    (
        "usr",
        &[
            "bin", "sbin", "lib", "lib64", "lib32", "libexec", "share", "include", "local",
        ],
    ),
    (
        "var",
        &["lib", "log", "spool", "mail", "db", "backups", "www"],
    ),
    (
        "etc",
        &[
            "ssh",
            "ssl",
            "systemd",
            "pam.d",
            "sudoers.d",
            "security",
            "network",
            "init.d",
            "default",
        ],
    ),
    ("boot", &["efi", "grub", "grub2", "loader"]),
    ("System", &["Library", "Volumes"]),
    ("private", &["etc", "var"]),
];

/// Below `/var/lib`: the data of services.
const SERVICES: &[&str] = &[
    "mysql",
    "postgresql",
    "docker",
    "dpkg",
    "rpm",
    "mongodb",
    "redis",
    "etcd",
    "kubelet",
    "containerd",
    "postgres",
    "mariadb",
    "libvirt",
    "pgsql",
    "rancher",
];

/// Directories of the system whose files are programs, libraries or what starts it.
const PROGRAMS: &[&str] = &["bin", "boot", "sbin", "lib", "lib64", "lib32"];

/// What nobody can make again, directly below a home.
const PRECIOUS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".azure",
    ".password-store",
    ".config",
    ".local",
    ".mozilla",
    ".thunderbird",
    ".docker",
    "Documents",
    "Desktop",
    "Pictures",
    "Photos",
    "Music",
    "Movies",
    "Videos",
    "Library",
    "Mail",
];

/// Files by which accounts, permissions or the start of the system are decided.
const FILES: &[&str] = &[
    "passwd",
    "shadow",
    "group",
    "gshadow",
    "sudoers",
    "fstab",
    "crypttab",
    "ld.so.preload",
    "ld.so.conf",
    "inittab",
    "hosts.deny",
    "machine-id",
    "securetty",
    "crontab",
    "doas.conf",
    "nsswitch.conf",
];

/// What removing this path with everything in it would cost.
pub(super) fn of_removal(path: &Path) -> Decision {
    let path = at_home(path);
    let names = without_everything(&path.components);
    let has_all = names.len() < path.components.len();
    match path.start {
        // What is in there is nobody's for long.
        PathStart::Root if has_all && names.iter().map(ScriptText::as_str).eq(["tmp"]) => {
            Decision::Allow
        }
        PathStart::Root => of_system(names),
        PathStart::Home => of_home(names),
        PathStart::Here | PathStart::Worked if names.is_empty() => Decision::Ask,
        PathStart::Here | PathStart::Worked if names.iter().all(|name| name == "..") => {
            Decision::Deny
        }
        PathStart::Here | PathStart::Worked | PathStart::Unknown => {
            let last = path.components.last();
            let all_hidden = has_all && last.is_some_and(|last| last.starts_with('.'));
            if all_hidden || of_repository(&path.components) {
                Decision::Ask
            } else {
                Decision::Allow
            }
        }
    }
}

/// Whether everything of the system, a home or more is meant: what can't be taken back.
pub(super) fn is_tree(path: &Path) -> bool {
    of_removal(path) == Decision::Deny
}

/// What removing or overwriting this one file would cost.
#[expect(
    clippy::match_same_arms,
    reason = "a table: each place has an arm, in order"
)]
pub(super) fn of_file(path: &Path) -> Decision {
    let path = at_home(path);
    let names: Vec<&str> = path.components.iter().map(ScriptText::as_str).collect();
    match (path.start, names.as_slice()) {
        (PathStart::Root, ["etc", name]) if FILES.iter().any(|file| could_match(name, file)) => {
            Decision::Deny
        }
        (PathStart::Root, ["etc", "sudoers.d" | "pam.d" | "cron.d", _]) => Decision::Deny,
        (PathStart::Root, ["boot", ..]) => Decision::Deny,
        (PathStart::Root, [top, name]) if could_be(top, PROGRAMS) => {
            if is_many(name) {
                Decision::Deny
            } else {
                Decision::Ask
            }
        }
        (PathStart::Root, ["usr", "bin" | "sbin" | "lib" | "lib64", name]) if is_many(name) => {
            Decision::Deny
        }
        (PathStart::Root, ["etc", name]) if matches_all_names(name) => Decision::Deny,
        (PathStart::Home, [".ssh", name])
            if name.starts_with("id_") || matches!(*name, "authorized_keys" | "config" | "*") =>
        {
            Decision::Ask
        }
        (PathStart::Home, [".aws", "credentials" | "config"] | [".kube", "config"]) => {
            Decision::Ask
        }
        (PathStart::Home, [".gnupg", ..]) => Decision::Ask,
        _ => Decision::Allow,
    }
}

/// The same path, with homes and the ways around that the kernel offers as what they are.
fn at_home(path: &Path) -> Cow<'_, Path> {
    if path.start != PathStart::Root {
        return Cow::Borrowed(path);
    }
    let names: Vec<&str> = path.components.iter().map(ScriptText::as_str).collect();
    let (start, cut) = match (path.start, names.as_slice()) {
        (PathStart::Root, ["proc", _, "root", ..]) => (PathStart::Root, 3),
        (PathStart::Root, ["proc", _, "cwd", ..]) => (PathStart::Here, 3),
        // `/home/*` is all homes, which is at least one.
        (PathStart::Root, ["home" | "Users", name, ..]) if !matches!(*name, "Shared") => {
            (PathStart::Home, 2)
        }
        (PathStart::Root, ["var", "root", ..]) => (PathStart::Home, 2),
        (PathStart::Root, ["root", ..]) => (PathStart::Home, 1),
        _ => return Cow::Borrowed(path),
    };
    let components = path.components.get(cut..).unwrap_or_default().to_vec();
    let inner = Path { start, components };
    Cow::Owned(if start == PathStart::Root {
        at_home(&inner).into_owned()
    } else {
        inner
    })
}

/// The components before those at the end that mean everything.
fn without_everything(names: &[ScriptText]) -> &[ScriptText] {
    let last = names.iter().rposition(|name| !matches_all_names(name));
    names
        .get(..last.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

#[expect(
    clippy::match_same_arms,
    reason = "a table: each place has an arm, in order"
)]
fn of_system(names: &[ScriptText]) -> Decision {
    let names: Vec<&str> = names.iter().map(ScriptText::as_str).collect();
    let second = |top: &str| SECOND.iter().find(|(name, _)| could_match(top, name));
    match names.as_slice() {
        [] => Decision::Deny,
        [top] if could_be(top, TOP) => Decision::Deny,
        // `/${x}etc`: nobody writes that who does not mean `/etc`.
        [top] if is_top_with_hole(top) => Decision::Ask,
        // A disk of Windows.
        ["mnt", drive]
        | ["mnt", drive, "Users" | "Windows" | "Program Files"]
        | [drive, "Users" | "Windows" | "Program Files"]
            if drive.len() == 1 =>
        {
            Decision::Deny
        }
        ["tmp"] | ["var", "spool", "cron", ..] => Decision::Ask,
        // A whole disk.
        ["Volumes", _] => Decision::Deny,
        [top, name] if second(top).is_some_and(|(_, names)| could_be(name, names)) => {
            Decision::Deny
        }
        [top, _] if could_be(top, PROGRAMS) => Decision::Deny,
        ["etc" | "dev" | "sys" | "proc", _] => Decision::Ask,
        ["var", "lib", name] if could_be(name, SERVICES) => Decision::Deny,
        [
            "usr",
            "lib" | "share",
            "python3" | "x86_64-linux-gnu" | "systemd" | "modules",
        ]
        | ["lib" | "lib64" | "boot", ..] => Decision::Deny,
        [.., last] if *last == ".git" => Decision::Ask,
        _ => Decision::Allow,
    }
}

/// Whether the name of a directory of the root has something unknown in it that may be nothing.
fn is_top_with_hole(name: &str) -> bool {
    let known: String = name.chars().filter(|c| *c != UNKNOWN).collect();
    known.len() < name.len() && TOP.contains(&known.as_str())
}

fn of_home(names: &[ScriptText]) -> Decision {
    let names: Vec<&str> = names.iter().map(ScriptText::as_str).collect();
    match names.as_slice() {
        [] | ["..", ..] => Decision::Deny,
        [name] if PRECIOUS.contains(name) => Decision::Ask,
        [name] if !name.starts_with('.') && is_many(name) => Decision::Allow,
        [.., ".git"] => Decision::Ask,
        _ => Decision::Allow,
    }
}

/// Whether a repository's history is lost: `.git`, or what it is made of.
fn of_repository(names: &[ScriptText]) -> bool {
    let Some(at) = names.iter().position(|name| could_match(name, ".git")) else {
        return false;
    };
    let below = names.get(at + 1).map(ScriptText::as_str);
    match below {
        None => true,
        Some(name) => matches!(name, "objects" | "refs" | "logs" | "*"),
    }
}

fn could_be(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| could_match(name, known))
}

/// Whether a path is a file of the system or of an account, as [`of_file`] has them, or a tree.
pub(super) fn is_critical(path: &Path) -> bool {
    of_file(path).max(of_removal(path)) == Decision::Deny
}
