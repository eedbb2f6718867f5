//! Programs that run another one, or a script: where its words begin among theirs. Which programs,
//! and their options, is data: `wrappers.tsv`.

use super::beginnings::Beginnings;
use super::few::Few;
use super::name_hash::NameMap;
use super::view::{Assigned, Assignment, SimpleCommand};
use super::word::{Word, WordPart};
use std::sync::LazyLock;

/// A line a program.
const TABLE: &str = include_str!("wrappers.tsv");

/// Prefixes of their names.
pub(super) const NAMES: Beginnings = Beginnings::NONE.and_table(TABLE);

/// What follows the options of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Command,
    /// Words that are joined to a script.
    Script,
    /// Words each of which is a script.
    Scripts,
    /// A script if it is one word, otherwise a command.
    Either,
    Nothing,
    /// A command that begins behind an option.
    Option,
    /// Words of a shell, behind an option.
    Shell,
}

/// When a program starts a shell that reads its input.
enum StartsShell {
    Never,
    /// If it is given no command.
    Always,
    /// With one of these options, without dashes, if it is given no command.
    With(Vec<&'static str>),
}

/// A program that runs a command or a script.
struct Wrapper {
    /// Short options that take a value.
    values: &'static str,
    /// Long options that take values, without dashes, and how many; they may be abbreviated.
    long_values: Vec<(&'static str, usize)>,
    /// Operands before the command.
    operands: usize,
    /// Short options with which no command is run.
    instead: &'static str,
    /// Options whose value is a script, without dashes.
    scripts: Vec<&'static str>,
    behind: Behind,
    shell: StartsShell,
}

/// The words of a subcommand, and where in the list its wrapper is.
type WrapperSubcommand = (Vec<&'static str>, usize);

/// Every wrapper, and their names.
struct Wrappers(NameMap<Vec<WrapperSubcommand>>, Vec<Wrapper>);

static WRAPPERS: LazyLock<Wrappers> = LazyLock::new(|| {
    let mut by_name: NameMap<Vec<WrapperSubcommand>> = NameMap::default();
    let mut wrappers = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line
            .split('\t')
            .map(|column| if column == "-" { "" } else { column });
        let mut next = || columns.next().unwrap_or_default();
        let list = |column: &'static str| -> Vec<&'static str> {
            column.split(',').filter(|it| !it.is_empty()).collect()
        };
        let counted = |option: &'static str| match option.split_once(':') {
            Some((name, count)) => (name, count.parse().unwrap_or(1)),
            None => (option, 1),
        };
        let names = next();
        let wrapper = Wrapper {
            values: next(),
            long_values: list(next()).into_iter().map(counted).collect(),
            operands: next().parse().unwrap_or_default(),
            instead: next(),
            scripts: list(next()),
            behind: match next() {
                "command" => Behind::Command,
                "script" => Behind::Script,
                "scripts" => Behind::Scripts,
                "either" => Behind::Either,
                "option" => Behind::Option,
                "shell" => Behind::Shell,
                _ => Behind::Nothing,
            },
            shell: match next() {
                "" => StartsShell::Never,
                "always" => StartsShell::Always,
                options => StartsShell::With(list(options)),
            },
        };
        // A dash is a name as well: zsh's precommand.
        let names = if names.is_empty() { "-" } else { names };
        for name in names.split(',') {
            let mut words = name.split(' ');
            let name = words.next().unwrap_or_default();
            by_name
                .entry(name)
                .or_default()
                .push((words.collect(), wrappers.len()));
        }
        wrappers.push(wrapper);
    }
    Wrappers(by_name, wrappers)
});

/// The names of all wrappers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    WRAPPERS.0.keys().copied()
}

/// What a wrapper runs.
#[derive(Default)]
pub(super) struct Wrapped {
    /// Where the words of the command begin that it runs.
    pub(super) command: Option<usize>,
    /// Where the words begin that are joined to a script.
    pub(super) script: Option<usize>,
    /// Scripts that are values of its options, or words of their own.
    pub(super) scripts: Vec<Word>,
    /// Where the words begin of a shell that it starts; behind all of its words if that shell reads
    /// its input.
    pub(super) shell: Option<usize>,
}

/// What this command runs, if it is a wrapper.
pub(super) fn wrapped(command: &SimpleCommand) -> Option<Wrapped> {
    let first = command.words.first()?;
    if first.known().is_none() {
        // `$SUDO rm`: an unknown name may well be a wrapper.
        let inner = (command.words.len() > 1).then_some(1);
        return Some(Wrapped {
            command: inner,
            ..Wrapped::default()
        });
    }
    let Wrappers(by_name, wrappers) = &*WRAPPERS;
    let candidates = by_name.get(command.name()?)?;
    let (start, index) = candidates.iter().find_map(|(subcommand, index)| {
        let start = after_subcommand(command, subcommand)?;
        Some((start, *index))
    })?;
    let wrapper = wrappers.get(index)?;
    let mut found = read_options(command, wrapper, start)?;
    let is_given = found.command.is_some() || found.script.is_some() || !found.scripts.is_empty();
    if !is_given && found.shell.is_none() && starts_shell(wrapper, command.words.get(start..)?) {
        found.shell = Some(command.words.len());
    }
    Some(found)
}

/// Whether a wrapper without a command starts a shell that reads its input: `sudo -s <<< x`.
fn starts_shell(wrapper: &Wrapper, words: &[Word]) -> bool {
    match &wrapper.shell {
        StartsShell::Never => false,
        StartsShell::Always => true,
        StartsShell::With(options) => words.iter().any(|word| {
            let text = word.known_beginning();
            let given = text.strip_prefix('-').unwrap_or_default();
            options.iter().any(|option| match given.strip_prefix('-') {
                Some(long) => option.len() > 1 && long == *option,
                None => option.len() == 1 && given.contains(option),
            })
        }),
    }
}

/// The index after the words of a subcommand, between which options may stand.
fn after_subcommand(command: &SimpleCommand, subcommand: &[&str]) -> Option<usize> {
    let mut at = 1;
    for expected in subcommand {
        loop {
            let word = command.words.get(at)?;
            at += 1;
            if word.is(expected) {
                break;
            }
            let is_option = word.known_beginning().starts_with('-');
            let is_value = command
                .words
                .get(at - 2)
                .is_some_and(|before| before.known_beginning().starts_with('-') && at > 2);
            if !is_option && !is_value {
                return None;
            }
        }
    }
    Some(at)
}

fn read_options(command: &SimpleCommand, wrapper: &Wrapper, start: usize) -> Option<Wrapped> {
    let mut found = Wrapped::default();
    let is_env = matches!(command.name(), Some("env" | "genv"));
    let mut at = start;
    // Words that are neither options nor a command may stand anywhere.
    let is_free = matches!(
        wrapper.behind,
        Behind::Nothing | Behind::Option | Behind::Shell
    );
    let mut operands_left = wrapper.operands;
    let mut options_end = false;
    while let Some(word) = command.words.get(at) {
        let begins_with = word.known_beginning();
        if !options_end && is_free && wrapper.scripts.iter().any(|mark| word.is(mark)) {
            // `gnome-terminal -- rm`, `capsh -- -c rm`
            match wrapper.behind {
                Behind::Shell => found.shell = Some(at + 1),
                _ => found.command = Some(at + 1),
            }
            return Some(found);
        } else if !options_end && begins_with == "--" && word.is("--") {
            options_end = true;
            at += 1;
        } else if !options_end && begins_with.starts_with('-') && !word.is("-") {
            if let Some((script, length)) = script_option(command, wrapper, at) {
                if wrapper.behind == Behind::Option {
                    found.command = Some(at + 1);
                    return Some(found);
                }
                found.scripts.extend(script);
                at += length;
            } else {
                at += option_length(wrapper, begins_with, word.parts.len() == 1)?;
            }
        } else if is_assignment(begins_with) && wrapper.behind != Behind::Script
            || word.is("-") && is_env
            || is_free
        {
            at += 1;
        } else if operands_left > 0 {
            operands_left -= 1;
            at += 1;
        } else if is_only_expansion(word) && at + 1 < command.words.len() {
            // `sudo $OPTIONS rm`
            at += 1;
        } else {
            match wrapper.behind {
                Behind::Script => found.script = Some(at),
                Behind::Scripts => {
                    let words = command.words.get(at..).unwrap_or_default();
                    found.scripts.extend(words.iter().cloned());
                }
                // Both, since what stands before the script may be a command of the program's own.
                Behind::Either => {
                    found.script = Some(at);
                    found.command = (at + 1 < command.words.len()).then_some(at);
                }
                _ => found.command = Some(at),
            }
            return Some(found);
        }
    }
    Some(found)
}

/// The script that an option has as its value, and how many words both take.
fn script_option(
    command: &SimpleCommand,
    wrapper: &Wrapper,
    at: usize,
) -> Option<(Option<Word>, usize)> {
    let word = command.words.get(at)?;
    let text = word.known_beginning();
    let next = || command.words.get(at + 1).cloned();
    if let Some(long) = text.strip_prefix("--") {
        let (name, _) = long.split_once('=').unwrap_or((long, ""));
        let is_script = |known: &&str| known.len() > 1 && name.len() > 2 && known.starts_with(name);
        wrapper.scripts.iter().find(|known| is_script(known))?;
        return Some(match long.find('=') {
            Some(sign) => (Some(rest_of(word, sign + 3)?), 1),
            None => (next(), 2),
        });
    }
    let letters = text.strip_prefix('-')?;
    let is_value = |letter: char| wrapper.values.contains(letter);
    let position = letters.char_indices().find_map(|(position, letter)| {
        let mut scripts = wrapper.scripts.iter();
        let is_script = scripts.any(|known| known.chars().eq([letter]));
        (is_script || is_value(letter)).then_some((position + letter.len_utf8(), is_script))
    });
    let (end, true) = position? else { return None };
    let is_last = end == letters.len() && word.parts.len() == 1;
    // Their long options have one dash: `xterm -geometry 80x24 -e rm`.
    if wrapper.behind == Behind::Option && !(is_last && end == 1) {
        return None;
    }
    if is_last {
        Some((next(), 2))
    } else {
        Some((Some(rest_of(word, end + 1)?), 1))
    }
}

/// A word without the bytes at its beginning.
pub(super) fn rest_of(word: &Word, bytes: usize) -> Option<Word> {
    let mut rest = Word::of(word.known_beginning().get(bytes..)?, word.span);
    rest.parts.extend(word.parts.iter().skip(1).cloned());
    Some(rest)
}

/// How many words an option takes; `None` if no command is run with it.
fn option_length(wrapper: &Wrapper, option: &str, is_whole: bool) -> Option<usize> {
    if let Some(long) = option.strip_prefix("--") {
        let mut values = wrapper.long_values.iter();
        let exact = values.clone().find(|(known, _)| *known == long);
        let begun = || values.find(|(known, _)| long.len() > 1 && known.starts_with(long));
        let takes = exact.or_else(begun).map_or(0, |(_, count)| *count);
        return Some(if is_whole { takes + 1 } else { 1 });
    }
    let letters = option.strip_prefix('-').unwrap_or(option);
    // The rest of the cluster is the value, if there is a rest.
    let position = letters
        .chars()
        .position(|letter| wrapper.values.contains(letter));
    let flags = letters.chars().take(position.unwrap_or(usize::MAX));
    if flags
        .into_iter()
        .any(|letter| wrapper.instead.contains(letter))
    {
        return None;
    }
    let is_last = position.is_some_and(|position| position + 1 == letters.chars().count());
    Some(if is_last && is_whole { 2 } else { 1 })
}

/// Whether a word is `NAME=…`, as `env` and `sudo` take them before the command.
/// Variables that a command sets for the one it runs: `env x=y bash`, `sudo x=y bash`.
pub(super) fn given(command: &SimpleCommand) -> Vec<Assignment> {
    if !matches!(command.name(), Some("env" | "genv" | "sudo" | "doas")) {
        return Vec::new();
    }
    let words = command.arguments().iter();
    let words = words.take_while(|word| {
        let text = word.known_beginning();
        text.starts_with('-') || is_assignment(text)
    });
    let given = words.filter_map(|word| {
        let (name, _) = word.known_beginning().split_once('=')?;
        let value = rest_of(word, name.len() + 1).unwrap_or_default();
        is_assignment(word.known_beginning()).then(|| Assignment {
            name: name.into(),
            value: Assigned::Value(value),
            span: word.span,
        })
    });
    given.collect()
}

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
    with_placeholder(word, placeholder, None)
}

/// The word with every `placeholder` in it replaced by a text with holes, or something unknown.
pub(super) fn with_placeholder(word: &Word, placeholder: &str, known: Option<&str>) -> Word {
    let value = match known {
        Some(known) => super::printed::as_word(known),
        None => Word::unknown(word.span),
    };
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
                for part in &value.parts {
                    replaced.push(part.clone());
                }
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
