//! `no_shutdown`: stops or restarts the machine, or the services that it needs.

use super::concern::ProgramCall;
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_shutdown",
    denies: "asks about shutdown, reboot, poweroff, init 0, systemctl stop of ssh, network and the like",
    message: "this stops or restarts the machine or a service that it needs",
    instead: "Let a person do it; systemctl restart NAME restarts one service",
    example: "sudo shutdown -h now",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &[
                "shutdown",
                "reboot",
                "halt",
                "poweroff",
                "pm-hibernate",
                "pm-suspend",
                "kexec",
            ],
            judge: |call| {
                let harmless = |word: &Word| {
                    matches!(word.known(), Some("-c" | "--help" | "--show" | "--version"))
                };
                Decision::ask_if(!call.words.iter().any(harmless))
            },
        },
        Concern::Programs {
            names: &["init", "telinit"],
            judge: |call| {
                let level = call.words.first().and_then(Word::known);
                Decision::ask_if(matches!(level, Some("0" | "1" | "6" | "s" | "S")))
            },
        },
        Concern::Programs {
            names: &["systemctl", "service", "rc-service", "launchctl"],
            judge: services,
        },
        Concern::Tools(ROWS),
    ]),
};

const ROWS: &[ToolRow] = &[
    asks(
        &["systemctl"],
        "poweroff|reboot|halt|kexec|rescue|emergency|suspend|hibernate|hybrid-sleep|soft-reboot|exit",
    ),
    asks(&["systemctl"], "isolate"),
    asks(&["systemctl"], "set-default"),
    asks(&["loginctl"], "poweroff|reboot|suspend|hibernate"),
    asks(&["ipmitool"], "power off|cycle|reset|soft"),
    asks(
        &["virsh"],
        "destroy|undefine|shutdown|vol-delete|pool-destroy|pool-delete",
    ),
    asks(&["launchctl"], "bootout system"),
    asks(&["rmmod"], ""),
    asks(&["modprobe"], "").with(&["-r", "--remove"]),
    asks(&["mount"], "/").with(&["-o"]),
    asks(&["osascript"], "").with(&["tell app \"System Events\" to shut down*"]),
    asks(&["rtcwake"], "").with(&["-m"]),
];

/// Services by which people and programs reach the machine, or that hold its data.
const NEEDED: &[&str] = &[
    "ssh",
    "sshd",
    "NetworkManager",
    "networking",
    "network",
    "systemd-networkd",
    "systemd-resolved",
    "firewalld",
    "ufw",
    "iptables",
    "nftables",
    "auditd",
    "rsyslog",
    "systemd-journald",
    "dbus",
    "apparmor",
    "fail2ban",
    "cron",
    "crond",
    "kubelet",
    "containerd",
    "systemd-logind",
    "docker",
    "postgresql",
    "mysql",
    "mysqld",
    "mariadb",
    "selinux",
    "chronyd",
    "clamav-daemon",
    "falcon-sensor",
    "crowdstrike",
];

fn services(call: &ProgramCall<'_>) -> Decision {
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let stops = known
        .iter()
        .any(|text| matches!(*text, "stop" | "disable" | "mask" | "kill"));
    let is_user = known.contains(&"--user");
    let is_needed = |text: &&str| {
        let name = text
            .trim_end_matches(".service")
            .trim_end_matches(".socket");
        let is_database = matches!(
            name,
            "docker" | "postgresql" | "mysql" | "mysqld" | "mariadb"
        );
        let for_good = known.iter().any(|text| matches!(*text, "disable" | "mask"));
        NEEDED.contains(&name) && (!is_database || for_good)
    };
    let all = call
        .words
        .iter()
        .any(|word| word.known().is_none() && word.has_glob())
        || known.contains(&"*");
    Decision::ask_if(stops && !is_user && (known.iter().any(is_needed) || all))
}
