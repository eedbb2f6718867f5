//! `no_kill_all`: kills every process of the user, the system's own, or bashd's.

use super::concern::{ProgramCall, WholeConcern};
use super::no_dangerous_rm::resolved;
use super::options::{has_short, operands};
use super::{Ancestor, Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{Word, WordPart};
use regex::Regex;

pub(super) const RULE: Rule = Rule {
    name: "no_kill_all",
    denies: "kill -1, killall5, pkill of everything; asks about processes above bashd",
    message: "this would end all processes of the user, system processes, or those that bashd runs under",
    instead: "End one process by its id",
    example: "kill -9 -1",
    judge: RuleJudge::Both(
        &[
            Concern::Programs {
                names: &["kill"],
                judge: kill,
            },
            Concern::Programs {
                names: &["pkill", "killall", "skill", "slay", "fkill"],
                judge: by_name,
            },
            Concern::Programs {
                names: &["killall5"],
                judge: |call| Decision::deny_if(!call.words.iter().any(|word| word.is("-l"))),
            },
            Concern::Programs {
                names: &["fuser"],
                judge: |call| {
                    let kills = call.words.iter().any(|word| has_short(word, "k", "n"));
                    let mut places = operands(call.words).map(|word| resolved(call, word));
                    Decision::ask_if(kills && places.any(|place| trees::is_tree(&place)))
                },
            },
            Concern::Programs {
                names: &["loginctl"],
                judge: |call| {
                    let ends = [
                        "terminate-user",
                        "kill-user",
                        "terminate-session",
                        "kill-session",
                    ];
                    Decision::ask_if(
                        call.words
                            .iter()
                            .any(|word| ends.iter().any(|end| word.is(end))),
                    )
                },
            },
        ],
        WholeConcern {
            names: &[&["kill"]],
            signs: &[],
            judge: super::listed_processes::killed,
        },
    ),
};

/// Programs without which nobody can log in or work.
const ESSENTIAL: &[&str] = &[
    "systemd",
    "init",
    "sshd",
    "dbus-daemon",
    "launchd",
    "Xorg",
    "gnome-shell",
    "WindowServer",
    "loginwindow",
    "tmux",
    "login",
    "bash",
    "sh",
    "zsh",
    "systemd-logind",
    "NetworkManager",
    "dockerd",
    "containerd",
    "kubelet",
];

/// Options of `pkill` and `killall` that take the next word.
const WITH_VALUE: &str = "usgGUPtnoyZFdc";

/// Most processes that somebody names one by one.
const MOST_PROCESSES: usize = 200;

fn is_number(word: &Word) -> bool {
    let text = word.known().unwrap_or_default();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn kill(call: &ProgramCall<'_>) -> Decision {
    let targets = targets(call.words);
    let is = |pid: &str| targets.iter().any(|word| word.is(pid));
    // `kill -1` alone names no process, and is not meant as a signal.
    let is_alone = matches!(call.words, [word] if word.is("-1"));
    if is("-1") || is("1") || is_alone {
        return Decision::Deny;
    }
    let names_parent = |word: &Word| {
        let is_parent = |part: &WordPart| matches!(part, WordPart::Variable { name, .. } if matches!(name.as_str(), "PPID"));
        word.parts.iter().any(is_parent)
    };
    let is_above = |word: &Word| {
        let pid = word.known().map(|text| text.trim_start_matches('-'));
        let pid = pid.and_then(|text| text.parse::<u32>().ok());
        pid.is_some_and(|pid| (call.ancestors)().iter().any(|above| above.pid == pid))
    };
    // `kill [0-9]*`: names of processes are not files. `kill -$s` with one of many numbers is a
    // signal.
    let is_signal = |word: &Word| {
        let text = word.literal_or_glob();
        text.is_some_and(|text| text.starts_with('-'))
    };
    let is_pattern = |word: &Word| word.has_glob() && !is_signal(word);
    // Numbers by the hundred are no list of processes.
    if targets.len() > MOST_PROCESSES && targets.iter().all(is_number) {
        return Decision::Ask;
    }
    let mut targets = targets.iter();
    Decision::ask_if(targets.any(|word| names_parent(word) || is_above(word) || is_pattern(word)))
}

/// The words after the signal.
fn targets(words: &[Word]) -> &[Word] {
    let signal = words.get(1).and_then(Word::known);
    let after = match words.first().and_then(Word::known) {
        // Signal 0 only asks whether a process is there.
        Some("-l" | "-L" | "--list" | "--table" | "-0") => return &[],
        Some("-s" | "-n" | "--signal") if signal == Some("0") => return &[],
        Some("-s" | "-n" | "--signal") => words.get(2..),
        Some("--") => words.get(1..),
        Some(first) if first.starts_with('-') => words.get(1..),
        _ => return words,
    };
    after.unwrap_or_default()
}

fn by_name(call: &ProgramCall<'_>) -> Decision {
    let only_shows = |word: &Word| matches!(word.known(), Some("-l" | "--list" | "--help" | "-V"));
    if call.words.iter().any(only_shows) || has_signal_zero(call.words) {
        return Decision::Allow;
    }
    let is_exact = matches!(call.command.name(), Some("killall"))
        && !call
            .words
            .iter()
            .any(|word| has_short(word, "r", WITH_VALUE));
    let mut patterns = patterns(call.words);
    let Some(first) = patterns.next() else {
        // A user alone, or a terminal.
        let by_user =
            |word: &Word| has_short(word, "uU", "") || word.known_beginning().starts_with("--u");
        return Decision::deny_if(call.words.iter().any(by_user));
    };
    let decisions = std::iter::once(first).chain(patterns).map(|word| {
        let Some(pattern) = word.literal_or_glob() else {
            return Decision::Allow;
        };
        let stripped = pattern.trim_matches(['^', '$']);
        if matches!(stripped, "" | "." | ".*" | "*" | ".+" | "..*") {
            return Decision::Deny;
        }
        if ESSENTIAL.contains(&stripped) {
            return Decision::Ask;
        }
        let whole = call
            .words
            .iter()
            .any(|word| has_short(word, "f", WITH_VALUE));
        let exact = is_exact
            || call
                .words
                .iter()
                .any(|word| has_short(word, "x", WITH_VALUE));
        let above = (call.ancestors)();
        // A pattern is compiled only if there is something to compare it with.
        let is_above = || {
            let names = Match::new(&pattern, exact, whole);
            above.iter().any(|above| names.has(above))
        };
        Decision::ask_if(!above.is_empty() && is_above())
    });
    decisions.max().unwrap_or(Decision::Allow)
}

fn has_signal_zero(words: &[Word]) -> bool {
    words.iter().any(|word| word.is("-0"))
}

/// The words that name processes.
fn patterns(words: &[Word]) -> impl Iterator<Item = &Word> {
    let takes = |word: &Word| {
        let text = word.known_beginning();
        matches!(
            text,
            "--signal" | "--uid" | "--euid" | "--parent" | "--user" | "--group"
        ) || text.len() == 2
            && has_short(word, WITH_VALUE, "")
            && !matches!(text, "-n" | "-o" | "-c")
    };
    let mut is_value = false;
    let mine = words.iter().filter(move |word| {
        let was_value = is_value;
        is_value = !was_value && takes(word);
        !was_value
    });
    let mine: Vec<&Word> = mine.collect();
    let is_option = |word: &&Word| word.known_beginning().starts_with('-');
    mine.into_iter().filter(move |word| !is_option(word))
}

/// What a pattern is compared with.
struct Match {
    regex: Option<Regex>,
    whole: bool,
}

impl Match {
    fn new(pattern: &str, exact: bool, whole: bool) -> Self {
        let text = if exact {
            format!("^(?:{pattern})$")
        } else {
            pattern.to_owned()
        };
        Self {
            regex: Regex::new(&text).ok(),
            whole,
        }
    }

    fn has(&self, process: &Ancestor) -> bool {
        let text = if self.whole {
            &process.command_line
        } else {
            &process.name
        };
        self.regex
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}
