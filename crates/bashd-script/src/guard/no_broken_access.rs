//! `no_broken_access`: takes accounts, protection, scheduled work or traces away.

use super::code_parts::{CodeParts, code_has};
use super::concern::{ProgramCall, Sought, WholeConcern};
use super::no_dangerous_rm::resolved;
use super::options::operands;
use super::paths::PathStart;
use super::pipelines::{feeds, near};
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::{Script, ScriptText, SimpleCommand, Span, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_broken_access",
    denies: "asks about userdel, passwd -d, crontab -r, setenforce 0, setuid shells, all rights for an account, removal of system packages, cleared logs",
    message: "this removes accounts, protection, scheduled jobs or system packages",
    instead: "List what is there first, then let a person remove it",
    example: "crontab -r",
    judge: RuleJudge::Both(
        &[
            Concern::Tools(ROWS),
            Concern::Programs {
                names: &["chmod", "gchmod"],
                judge: sets_owner,
            },
            Concern::Programs {
                names: &[
                    "apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "zypper", "pacman",
                    "apk", "brew",
                ],
                judge: removes_packages,
            },
            Concern::Programs {
                names: &["crontab"],
                judge: |call| {
                    let empties = call.words.iter().any(|word| word.is("/dev/null"));
                    let empty_input = call
                        .command
                        .redirects
                        .iter()
                        .any(|redirect| redirect.target.is("/dev/null"))
                        && !call.words.iter().any(|word| word.is("-l"));
                    Decision::ask_if(empties || empty_input)
                },
            },
            Concern::Programs {
                names: &["rm", "shred", "unlink", "truncate", "ln", "cp"],
                judge: |call| {
                    let hides = operands(call.words).any(|word| {
                        let path = resolved(call, word);
                        let last = path.components.last().map(ScriptText::as_str);
                        path.start == PathStart::Home
                            && path.components.len() == 1
                            && matches!(last, Some(".bash_history" | ".zsh_history" | ".history"))
                            || path.start == PathStart::Root
                                && path.components.starts_with(&["var".into(), "log".into()])
                                && matches!(
                                    last,
                                    Some(
                                        "auth.log"
                                            | "secure"
                                            | "wtmp"
                                            | "btmp"
                                            | "lastlog"
                                            | "audit.log"
                                            | "syslog"
                                            | "messages"
                                            | "audit"
                                            | "utmp"
                                    )
                                )
                    });
                    Decision::ask_if(hides)
                },
            },
        ],
        WholeConcern {
            names: &[&["crontab"]],
            signs: &[],
            judge: replaces_crontab,
        },
    ),
};

const ROWS: &[ToolRow] = &[
    asks(&["userdel", "deluser", "groupdel", "delgroup"], ""),
    asks(&["passwd"], "").with(&["-d", "-l", "--delete", "--lock"]),
    asks(&["passwd"], "root"),
    asks(&["chpasswd"], ""),
    asks(&["usermod"], "").with(&["-L", "--lock", "-u", "--expiredate", "-p"]),
    asks(&["usermod", "gpasswd", "adduser"], "sudo|wheel|root|admin"),
    asks(&["useradd"], "").with(&["-o", "--non-unique"]),
    asks(&["dscl"], "").with(&["-delete"]),
    asks(&["sysadminctl"], "").with(&["-deleteUser"]),
    asks(&["crontab"], "")
        .with(&["-r", "-ri", "-ir"])
        .without(&["-i"]),
    asks(&["update-initramfs"], "").with(&["-d"]),
    asks(&["chattr"], "-i"),
    asks(&["atrm"], ""),
    asks(&["setenforce"], "0|permissive"),
    asks(&["aa-teardown", "aa-disable"], ""),
    asks(&["csrutil", "spctl"], "disable"),
    asks(&["spctl"], "").with(&["--master-disable", "--global-disable"]),
    asks(&["auditctl"], "").with(&["-D", "-e0"]),
    asks(&["auditctl"], "0").with(&["-e"]),
    asks(&["history"], "").with(&["-c"]),
    asks(&["journalctl"], "").with(&[
        "--vacuum-time=1s",
        "--vacuum-size=1",
        "--vacuum-time=0",
        "--vacuum-size=1K",
        "--vacuum-time=1seconds",
    ]),
    asks(&["wevtutil"], "cl|clear-log"),
    asks(
        &["setcap"],
        "cap_setuid*|cap_sys_admin*|cap_dac_override*|all*",
    ),
    asks(&["visudo"], "").without(&["-c", "--check"]),
    asks(&["gpg", "gpg2"], "").with(&[
        "--delete-secret-keys",
        "--delete-secret-key",
        "--delete-secret-and-public-key",
    ]),
    asks(&["pass"], "rm").with(&["-rf", "-r", "--recursive"]),
    asks(&["security"], "delete-keychain|dump-keychain"),
    asks(&["defaults"], "delete").with(&["-g", "-globalDomain"]),
    asks(&["defaults"], "delete NSGlobalDomain"),
    asks(&["snapper", "timeshift"], "delete|--delete-all|--delete"),
    asks(&["restic"], "forget").with(&["--prune"]),
    asks(&["restic"], "prune"),
    asks(&["borg"], "delete"),
    asks(&["duplicity"], "remove-all-but-n-full|remove-older-than").with(&["--force"]),
    asks(&["vssadmin"], "delete shadows"),
    asks(&["wbadmin"], "delete"),
    asks(&["bcdedit"], ""),
    // What gives everybody, or one account, all rights.
    asks(
        &["aws"],
        "iam attach-* *AdministratorAccess|*PowerUserAccess|*IAMFullAccess",
    ),
    asks(
        &["aws"],
        "iam attach-user-policy|put-user-policy|add-user-to-group|create-login-profile|update-assume-role-policy",
    ),
    asks(
        &["aws"],
        "ec2 authorize-security-group-ingress 0.0.0.0/0|::/0",
    ),
    asks(&["aws"], "s3api put-bucket-acl|put-object-acl public-read*"),
    asks(&["aws"], "s3api put-bucket-policy"),
    asks(&["gcloud", "gsutil"], "add-iam-policy-binding").with(&[
        "--role=roles/owner",
        "--role=roles/editor",
        "--role=roles/*.admin",
        "--member=allUsers",
        "--member=allAuthenticatedUsers",
        "roles/owner",
        "roles/editor",
        "allUsers",
        "allAuthenticatedUsers",
    ]),
    asks(&["az"], "role assignment create").with(&["Owner", "--role=Owner"]),
    asks(&["kubectl", "oc"], "create clusterrolebinding|rolebinding")
        .with(&["--clusterrole=cluster-admin", "cluster-admin"]),
    asks(&["gh"], "ssh-key|gpg-key add"),
    asks(&["gh"], "pr merge").with(&["--admin"]),
    asks(&["npm"], "token create"),
    asks(&["npm"], "owner|access add|grant"),
    // What watches over the machine.
    asks(
        &["pkill", "killall"],
        "falcon-sensor|auditd|osqueryd|wazuh-agentd|clamd|mdatp|wdavdaemon|fail2ban-server|cbagentd|sentinelone*|ossec*|crowdsec",
    ),
    asks(&["update-rc.d"], "ssh|sshd|cron|auditd|ufw disable|remove"),
    asks(
        &["sysctl"],
        "kernel.randomize_va_space=0|kernel.yama.ptrace_scope=0|kernel.sysrq=*|fs.protected_symlinks=0|kernel.panic=*|kernel.core_pattern=*|kernel.modules_disabled=*|vm.panic_on_oom=*",
    ),
    // A clock that is wrong breaks certificates, logs and builds.
    asks(&["timedatectl"], "set-time"),
    asks(&["hwclock"], "").with(&["--set"]),
    asks(&["date"], "").with(&["-s", "--set"]),
    // What starts later, when nobody looks.
    asks(&["at", "batch"], "").with(&["-f"]),
    asks(&["systemd-run"], "").with(&[
        "--on-boot",
        "--on-startup",
        "--on-calendar",
        "--on-unit-active",
        "--on-unit-inactive",
    ]),
    asks(&["schtasks", "schtasks.exe"], "/create"),
    asks(&["fwupdmgr"], "install-blob|downgrade"),
    asks(&["claude"], "").with(&["--dangerously-skip-permissions"]),
    asks(&["codex"], "").with(&["--dangerously-bypass-approvals-and-sandbox", "--yolo"]),
    asks(&["gemini", "qwen"], "").with(&["--yolo"]),
    asks(&["reg"], "delete"),
];

/// A shell or interpreter that runs as its owner, no matter who calls it.
fn sets_owner(call: &ProgramCall<'_>) -> Decision {
    let sets = |text: &str| {
        matches!(text, "u+s" | "+s" | "ug+s" | "g+s" | "a+s")
            || text.len() == 4
                && text.starts_with(['4', '6', '2'])
                && text.chars().all(|c| c.is_ascii_digit())
    };
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let is_program = |word: &Word| {
        let path = resolved(call, word);
        let last = path
            .components
            .last()
            .map(ScriptText::as_str)
            .unwrap_or_default();
        let runs = [
            "bash", "sh", "zsh", "dash", "python", "python3", "perl", "vim", "find", "cp", "nmap",
            "env", "node",
        ];
        let is_hidden = last.starts_with('.')
            || path.start == PathStart::Root
                && matches!(path.components.first().map(ScriptText::as_str), Some("tmp"));
        runs.contains(&last) || last.starts_with("rootbash") || is_hidden
    };
    Decision::ask_if(known.iter().any(|text| sets(text)) && operands(call.words).any(is_program))
}

/// Packages without which the system does not start or can't be mended.
const ESSENTIAL: &[&str] = &[
    "libc6",
    "glibc",
    "bash",
    "dash",
    "coreutils",
    "systemd",
    "sudo",
    "apt",
    "dpkg",
    "python3",
    "python",
    "python3-minimal",
    "util-linux",
    "openssh-server",
    "login",
    "passwd",
    "init",
    "kernel",
    "initramfs-tools",
    "grub-pc",
    "linux-image-*",
    "^linux-*",
    "kernel-*",
    "base",
    "filesystem",
    "ubuntu-desktop",
    "network-manager",
    "netplan.io",
    "libc-bin",
    "perl-base",
    "tar",
    "gzip",
    "rpm",
    "yum",
    "dnf",
    "musl",
    "busybox",
    "alpine-base",
    "openssl",
    "ca-certificates",
    "pacman",
    "linux",
    "gcc-libs",
    "libssl*",
    "*",
];

fn removes_packages(call: &ProgramCall<'_>) -> Decision {
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let has = |options: &[&str]| known.iter().any(|text| options.contains(text));
    let removes = has(&[
        "remove",
        "purge",
        "erase",
        "autoremove",
        "del",
        "rm",
        "uninstall",
        "-r",
        "-P",
        "--purge",
        "--remove",
        "-e",
        "--erase",
    ]) || known
        .iter()
        .any(|text| text.starts_with("-R") && matches!(call.command.name(), Some("pacman")));
    let only_shows = has(&["--dry-run", "-s", "--simulate", "--just-print", "--help"]);
    let is_essential = |word: &Word| {
        let text = word.literal_or_glob();
        let text = text.as_deref().unwrap_or(word.known_beginning());
        ESSENTIAL.iter().any(|name| match name.strip_suffix('*') {
            Some("") => text == "*" || text == "'*'",
            Some(beginning) => text.starts_with(beginning),
            None => *name == text.trim_end_matches('*') && !name.is_empty(),
        })
    };
    let forced = has(&[
        "--force-all",
        "--force-remove-essential",
        "--allow-remove-essential",
        "--nodeps",
        "-Rdd",
        "--force-depends",
    ]);
    let names = operands(call.words).skip(usize::from(!matches!(
        call.command.name(),
        Some("dpkg" | "rpm" | "pacman")
    )));
    let essential = names.into_iter().any(is_essential);
    let is_all = matches!(
        call.command.name(),
        Some("brew" | "rpm" | "dpkg" | "pacman")
    ) && call.words.iter().skip(1).any(|word| word.known().is_none());
    Decision::ask_if(removes && !only_shows && (essential || forced || is_all))
}

/// `echo … | crontab -`: what was there is gone, unless it is listed again.
fn replaces_crontab(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let found = sought.commands().find(|(at, command)| {
        let reads = || {
            let mut words = command.arguments().iter();
            words.any(|word| word.is("-")) || command.arguments().is_empty()
        };
        let is_typed = || {
            use crate::script::RedirectOperator::{HereDoc, HereString};
            let mut redirects = command.redirects.iter();
            redirects.any(|redirect| matches!(redirect.operator, HereDoc | HereString))
        };
        let lists = |other: &SimpleCommand| {
            matches!(other.name(), Some("crontab"))
                && other.arguments().iter().any(|word| word.is("-l"))
        };
        let is_printed = |other: &SimpleCommand| {
            feeds(other, command) && matches!(other.name(), Some("echo" | "printf"))
        };
        // What is added to the list, but starts with the machine or comes from elsewhere.
        let is_odd = |other: &SimpleCommand| {
            const SIGNS: CodeParts =
                CodeParts::new(&["@reboot", "/tmp/", "/dev/shm/", "curl ", "wget ", "base64"]);
            is_printed(other) && code_has(other, &SIGNS)
        };
        let near = near(script, *at);
        let replaces = is_typed() || near.iter().any(is_printed);
        reads() && (replaces && !near.iter().any(lists) || near.iter().any(is_odd))
    });
    found.map(|(_, command)| (Decision::Ask, command.span))
}
