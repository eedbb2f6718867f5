//! `no_network_loss`: takes the firewall or the network away.

use super::tool_rows::{ToolRow, asks};
use super::{Concern, Rule, RuleJudge};

pub(super) const RULE: Rule = Rule {
    name: "no_network_loss",
    denies: "asks about iptables -F, nft flush ruleset, ufw disable, ip link set down, route deletion",
    message: "this switches off the machine's firewall or network",
    instead: "Look at the rules first (iptables -S, nft list ruleset), then change one of them",
    example: "iptables -F",
    judge: RuleJudge::Each(&[Concern::Tools(ROWS)]),
};

const TABLES: &[&str] = &[
    "iptables",
    "ip6tables",
    "iptables-legacy",
    "iptables-nft",
    "ebtables",
    "arptables",
];

const ROWS: &[ToolRow] = &[
    asks(TABLES, "").with(&["-F", "--flush", "-X", "--delete-chain"]),
    asks(TABLES, "DROP|REJECT|ACCEPT").with(&["-P", "--policy"]),
    // Without anything that selects, it is everything.
    asks(TABLES, "INPUT|OUTPUT DROP|REJECT")
        .with(&["-A", "-I", "--append", "--insert"])
        .without(&[
            "-s",
            "-p",
            "-i",
            "-d",
            "-o",
            "-m",
            "--source",
            "--protocol",
            "--match",
        ]),
    asks(&["iptables-restore", "ip6tables-restore"], "").without(&["--test", "-t"]),
    asks(&["nft"], "flush"),
    asks(&["nft"], "delete table"),
    asks(&["ipset"], "destroy|flush"),
    asks(&["ufw"], "disable|reset"),
    asks(&["firewall-cmd"], "").with(&[
        "--panic-on",
        "--complete-reload",
        "--set-default-zone=trusted",
        "--set-default-zone",
    ]),
    asks(&["pfctl"], "").with(&["-d", "-F"]),
    asks(&["ifdown"], ""),
    asks(&["ip"], "link set down"),
    asks(&["ip"], "link delete|del"),
    asks(&["ip"], "addr|address|a flush"),
    asks(&["ip"], "route|r flush"),
    asks(&["ip"], "route|r del|delete default"),
    asks(&["ifconfig"], "down"),
    asks(&["route"], "del|delete default"),
    asks(&["route"], "flush"),
    asks(&["nmcli"], "networking|radio off"),
    asks(&["nmcli"], "con|connection delete|down"),
    asks(&["networksetup"], "off").with(&["-setairportpower", "-setnetworkserviceenabled"]),
    asks(&["tc"], "qdisc add").with(&["loss"]),
    asks(&["netsh"], "advfirewall off"),
];
