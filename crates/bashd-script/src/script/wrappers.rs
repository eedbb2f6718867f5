//! Programs that run another one: where its words begin among theirs.

use super::beginnings::Beginnings;
use super::few::Few;
use super::view::SimpleCommand;
use super::word::{Word, WordPart};

/// A program that runs the words after its options.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options that take a value.
    values: &'static str,
    /// Long options that take a value, without dashes; they may be abbreviated.
    long_values: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
    /// Short options with which no command is run.
    instead: &'static str,
}

const fn plain(names: &'static [&'static str]) -> Wrapper {
    with(names, "", &[], 0)
}

const fn with(
    names: &'static [&'static str],
    values: &'static str,
    long_values: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper {
        names,
        values,
        long_values,
        operands,
        instead: "",
    }
}

const SUDO_LONG: &[&str] = &[
    "user",
    "group",
    "prompt",
    "close-from",
    "role",
    "type",
    "command-timeout",
    "other-user",
    "chdir",
    "chroot",
    "host",
    "login-class",
    "auth-type",
];

const XARGS_LONG: &[&str] = &[
    "arg-file",
    "delimiter",
    "max-lines",
    "max-args",
    "max-procs",
    "max-chars",
    "eof",
    "process-slot-var",
];

/// Every wrapper. Those with their own syntax (`find`, shells) are in `shells.rs`.
const WRAPPERS: &[Wrapper] = &[
    with(&["sudo"], "ugpCrtTUDRhac", SUDO_LONG, 0),
    with(&["doas"], "uCa", &[], 0),
    with(&["pkexec"], "", &["user"], 0),
    with(&["env", "genv"], "uC", &["unset", "chdir"], 0),
    Wrapper {
        instead: "vV",
        ..plain(&["command"])
    },
    plain(&[
        "builtin", "nohup", "setsid", "busybox", "toybox", "coproc", "unbuffer", "fakeroot",
    ]),
    plain(&[
        "noglob",
        "nocorrect",
        "catchsegv",
        "dbus-run-session",
        "chronic",
        "-",
    ]),
    with(&["exec"], "a", &[], 0),
    with(&["time", "gtime"], "fo", &["format", "output"], 0),
    with(&["nice", "gnice"], "n", &["adjustment"], 0),
    Wrapper {
        instead: "pPu",
        ..with(&["ionice"], "cn", &["class", "classdata"], 0)
    },
    with(&["timeout", "gtimeout"], "ks", &["kill-after", "signal"], 1),
    with(
        &["stdbuf", "gstdbuf"],
        "ioe",
        &["input", "output", "error"],
        0,
    ),
    with(
        &["chrt"],
        "TPD",
        &["sched-runtime", "sched-period", "sched-deadline"],
        1,
    ),
    with(&["taskset"], "", &[], 1),
    with(&["chroot"], "", &["groups", "userspec"], 1),
    with(
        &["flock"],
        "wE",
        &["timeout", "wait", "conflict-exit-code"],
        1,
    ),
    with(
        &["strace", "ltrace"],
        "abeEIoOpPsSuXlnFA",
        &["output", "trace", "env", "user"],
        0,
    ),
    with(&["caffeinate"], "tw", &[], 0),
    with(
        &["systemd-run"],
        "puMEtH",
        &["property", "unit", "setenv", "uid", "gid", "slice"],
        0,
    ),
    with(&["unshare"], "RSGw", &["root", "wd", "setuid", "setgid"], 0),
    with(
        &["numactl"],
        "CNmpi",
        &["cpunodebind", "physcpubind", "membind"],
        0,
    ),
    with(&["xargs", "gxargs"], "IEdLnPsa", XARGS_LONG, 0),
];

/// Prefixes of their names.
pub(super) const NAMES: Beginnings = {
    let mut names = Beginnings::NONE;
    let mut rest = WRAPPERS;
    while let [wrapper, after @ ..] = rest {
        names = names.and(wrapper.names);
        rest = after;
    }
    names
};

/// The index of the first word of the command that this one runs, if it is a wrapper.
pub(super) fn inner_start(command: &SimpleCommand) -> Option<usize> {
    let first = command.words.first()?;
    if first.known().is_none() {
        // `$SUDO rm`: an unknown name may well be a wrapper.
        return (command.words.len() > 1).then_some(1);
    }
    let name = command.name()?;
    let wrapper = WRAPPERS
        .iter()
        .find(|wrapper| wrapper.names.contains(&name))?;
    let mut at = 1;
    let mut operands_left = wrapper.operands;
    let mut options_end = false;
    while let Some(word) = command.words.get(at) {
        let begins_with = word.known_beginning();
        if !options_end && begins_with == "--" && word.is("--") {
            options_end = true;
            at += 1;
        } else if !options_end && begins_with.starts_with('-') && !word.is("-") {
            at += option_length(wrapper, begins_with)?;
        } else if is_assignment(begins_with) || word.is("-") && name == "env" {
            at += 1;
        } else if operands_left > 0 {
            operands_left -= 1;
            at += 1;
        } else if is_only_expansion(word) && at + 1 < command.words.len() {
            // `sudo $OPTIONS rm`
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

/// How many words an option takes; `None` if no command is run with it.
fn option_length(wrapper: &Wrapper, option: &str) -> Option<usize> {
    if let Some(long) = option.strip_prefix("--") {
        let takes_value = |known: &&str| long.len() > 1 && known.starts_with(long);
        let takes_value = wrapper.long_values.iter().any(takes_value);
        return Some(if takes_value { 2 } else { 1 });
    }
    let letters = option.strip_prefix('-').unwrap_or(option);
    if letters
        .chars()
        .any(|letter| wrapper.instead.contains(letter))
    {
        return None;
    }
    // The rest of the cluster is the value, if there is a rest.
    let position = letters
        .chars()
        .position(|letter| wrapper.values.contains(letter));
    let is_last = position.is_some_and(|position| position + 1 == letters.chars().count());
    Some(if is_last { 2 } else { 1 })
}

/// Whether a word is `NAME=…`, as `env` and `sudo` take them before the command.
pub(super) fn is_assignment(beginning: &str) -> bool {
    let Some((name, _)) = beginning.split_once('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_name)
}

fn is_only_expansion(word: &Word) -> bool {
    matches!(
        *word.parts,
        [WordPart::Variable { quoted: false, .. } | WordPart::Unknown { quoted: false }]
    )
}

/// The text that marks the place of the input for `xargs`, if one was given.
pub(super) fn xargs_placeholder(command: &SimpleCommand, inner: usize) -> Option<String> {
    let options = command.words.get(1..inner)?;
    for (index, word) in options.iter().enumerate() {
        let text = word.known()?;
        match text
            .strip_prefix("-I")
            .or_else(|| text.strip_prefix("--replace="))
        {
            Some("") => return Some(options.get(index + 1)?.known()?.to_owned()),
            Some(placeholder) => return Some(placeholder.to_owned()),
            None if matches!(text, "-i" | "--replace") => return Some("{}".to_owned()),
            None => {}
        }
    }
    None
}

/// The word with every `placeholder` in it replaced by something unknown.
pub(super) fn without_placeholder(word: &Word, placeholder: &str) -> Word {
    let mut replaced = Word {
        parts: Few::default(),
        ..*word
    };
    for part in &word.parts {
        let WordPart::Text(text) = part else {
            replaced.push(part.clone());
            continue;
        };
        for (index, piece) in text.split(placeholder).enumerate() {
            if index > 0 {
                replaced.push(WordPart::Unknown { quoted: true });
            }
            replaced.push(WordPart::Text(piece.into()));
        }
    }
    replaced
}

/// The commands of `find -exec … ;`, without the words that stand for files.
pub(super) fn find_commands(command: &SimpleCommand) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let mut current: Option<Vec<Word>> = None;
    for word in command.arguments() {
        match (&mut current, word.known()) {
            (None, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => current = Some(Vec::new()),
            (Some(_), Some(";" | "+")) => found.extend(current.take()),
            (Some(words), _) => words.push(without_placeholder(word, "{}")),
            (None, _) => {}
        }
    }
    found.extend(current);
    found.retain(|words| !words.is_empty());
    found
}

/// The command of `fd --exec …`, likewise.
pub(super) fn fd_command(command: &SimpleCommand) -> Option<Vec<Word>> {
    let is_exec =
        |word: &Word| matches!(word.known(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let arguments = command.arguments();
    let at = arguments.iter().position(is_exec)?;
    let words = arguments.get(at + 1..)?.iter();
    let words: Vec<Word> = words.map(|word| without_placeholder(word, "{}")).collect();
    (!words.is_empty()).then_some(words)
}
