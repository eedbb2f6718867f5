//! From commands as written to all commands: through wrappers, and into scripts inside the script.

use super::Context;
use super::constants::Constants;
use super::view::{Bound, Command, Construct, Origin, RedirectOperator, Script, Span};
use super::word::{Part, Word};
use super::word_reader::HOLE;
use super::wrappers;

/// How deep scripts may be inside scripts (`bash -c 'bash -c …'`).
const MOST_SCRIPTS: usize = 8;

/// How many wrappers may stand in a row (`sudo env nice …`).
const MOST_WRAPPERS: usize = 24;

/// How many words may be read a second time because they are behind wrappers.
const MOST_WRAPPED_WORDS: usize = 200_000;

/// Bytes of words in which variables were filled in.
const MOST_FILLED_BYTES: usize = 8 << 20;

/// Scripts inside one script.
const MOST_INNER_SCRIPTS: usize = 20_000;

const SHELLS: [&str; 9] = [
    "bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "hush",
];

/// The view in the making.
pub(super) struct Lowering<'a> {
    pub(super) text: &'a str,
    pub(super) context: Context,
    pub(super) constants: Constants,
    pub(super) script: Script,
    /// Words that were read a second time because they are behind wrappers.
    pub(super) wrapped_words: usize,
    /// Bytes of words in which variables were filled in.
    pub(super) filled_bytes: usize,
    /// Scripts inside this one.
    pub(super) script_count: usize,
    /// Where in the list the commands of inner scripts are; only the last command's matter.
    pub(super) inner_scripts: Vec<std::ops::Range<usize>>,
}

/// A script inside the script.
struct Inner {
    text: String,
    /// Where it stands, and where in the text it begins if it stands there letter by letter.
    span: Span,
    exact_start: Option<usize>,
    positional: Option<Vec<Word>>,
    construct: Construct,
}

impl Lowering<'_> {
    /// Adds a command, and everything that it starts.
    pub(super) fn add(&mut self, mut command: Command) {
        let constants = std::mem::take(&mut self.constants);
        if constants.fill(&mut command) {
            let sizes = command.words.iter().map(Word::size);
            self.filled_bytes += sizes.sum::<usize>();
        }
        if self.filled_bytes > MOST_FILLED_BYTES || self.script_count > MOST_INNER_SCRIPTS {
            self.script.bound.get_or_insert(Bound::Size);
            return;
        }
        let first = self.script.commands.len();
        self.inner_scripts.clear();
        self.script.commands.push(command);
        let mut at = first;
        while at < self.script.commands.len() {
            // Commands of an inner script have been seen through when that was read.
            if self.inner_scripts.iter().all(|range| !range.contains(&at)) {
                self.see_through(at, &constants);
            }
            at += 1;
        }
        self.constants = constants;
        if let Some(command) = self.script.commands.get(first) {
            self.constants.learn(command);
        }
    }

    fn see_through(&mut self, at: usize, constants: &Constants) {
        let Some(command) = self.script.commands.get(at) else {
            return;
        };
        if self.wrappers_around(command) > MOST_WRAPPERS {
            self.script.bound.get_or_insert(Bound::Depth);
            return;
        }
        if self.wrapped_words > MOST_WRAPPED_WORDS {
            self.script.bound.get_or_insert(Bound::Size);
            return;
        }
        let started: Vec<Command> = self.started_by(at, command);
        let wrapped = started.iter().map(|command| command.words.len());
        self.wrapped_words += wrapped.sum::<usize>();
        let scripts = self.scripts_of(at, command);
        self.script.commands.extend(started);
        for inner in scripts {
            self.add_script(at, &inner, constants);
        }
    }

    fn wrappers_around(&self, command: &Command) -> usize {
        let mut count = 0;
        let mut origin = command.origin;
        while let Origin::StartedBy(by) = origin {
            count += 1;
            match self.script.commands.get(by) {
                Some(wrapper) => origin = wrapper.origin,
                None => break,
            }
        }
        count
    }

    /// Commands made of this one's own words.
    fn started_by(&self, at: usize, command: &Command) -> Vec<Command> {
        let start = |words: Vec<Word>| Command {
            span: Span {
                start: words
                    .first()
                    .map_or(command.span.start, |word| word.span.start),
                end: command.span.end,
            },
            words,
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: command.place,
            origin: Origin::StartedBy(at),
        };
        match command.name() {
            Some("find" | "gfind") => find_commands(command).into_iter().map(start).collect(),
            Some("fd" | "fdfind") => fd_command(command).into_iter().map(start).collect(),
            _ => {
                let Some(inner) = wrappers::inner_start(command) else {
                    return Vec::new();
                };
                let words = command.words.get(inner..).unwrap_or_default();
                let mut words = words.to_vec();
                if matches!(command.name(), Some("xargs" | "gxargs")) {
                    words = self.xargs_words(at, command, inner, words);
                }
                vec![start(words)]
            }
        }
    }

    fn xargs_words(
        &self,
        at: usize,
        command: &Command,
        inner: usize,
        words: Vec<Word>,
    ) -> Vec<Word> {
        if let Some(placeholder) = wrappers::xargs_placeholder(command, inner) {
            let words = words.iter();
            return words
                .map(|word| wrappers::without_placeholder(word, &placeholder))
                .collect();
        }
        let mut words = words;
        match self.known_input(at) {
            Some((text, span)) => {
                let given = text.split_whitespace().take(64);
                words.extend(given.map(|text| Word::of(text, span)));
            }
            None => words.push(Word::unknown(command.span)),
        }
        words
    }

    /// Scripts that this command runs.
    fn scripts_of(&self, at: usize, command: &Command) -> Vec<Inner> {
        let arguments = command.arguments();
        let inner = match command.name() {
            Some(name) if SHELLS.contains(&name) => match shell_script(arguments) {
                ShellScript::Word(index) => {
                    let positional = arguments.get(index + 1..).unwrap_or_default();
                    arguments
                        .get(index)
                        .and_then(|word| self.inner(word))
                        .map(|inner| Inner {
                            positional: Some(positional.to_vec()),
                            ..inner
                        })
                }
                ShellScript::Input => self.input_script(at),
                ShellScript::None => None,
            },
            Some("source" | ".") if reads_input(arguments) => self.input_script(at),
            Some("eval") => self.joined(arguments, command.span),
            Some("trap") => trap_script(arguments).and_then(|word| self.inner(word)),
            Some("su" | "runuser" | "script" | "sg" | "flock") => {
                let option = arguments
                    .iter()
                    .position(|word| matches!(word.known(), Some("-c" | "--command" | "-lc")));
                option
                    .and_then(|index| arguments.get(index + 1))
                    .and_then(|word| self.inner(word))
            }
            Some("env" | "genv") => env_string(arguments).and_then(|word| self.inner(&word)),
            Some("watch") => {
                let start = arguments
                    .iter()
                    .position(|word| !word.known_beginning().starts_with('-'));
                let words = start
                    .and_then(|start| arguments.get(start..))
                    .unwrap_or_default();
                self.joined(words, command.span)
            }
            Some("git") => git_script(arguments).and_then(|word| self.inner(word)),
            _ => None,
        };
        inner.into_iter().collect()
    }

    /// A word as a script.
    fn inner(&self, word: &Word) -> Option<Inner> {
        let text = script_text(word)?;
        let written = self.text.get(word.span.start..word.span.end);
        let is_exact = word.known().is_some();
        let exact_start = written
            .filter(|_| is_exact)
            .and_then(|written| written.find(&text))
            .filter(|offset| *offset <= 1)
            .map(|offset| word.span.start + offset);
        Some(Inner {
            text,
            span: word.span,
            exact_start,
            positional: None,
            construct: Construct::Quoted,
        })
    }

    /// Words that are joined by blanks to a script.
    fn joined(&self, words: &[Word], span: Span) -> Option<Inner> {
        if let [word] = words {
            return self.inner(word);
        }
        let texts: Vec<String> = words
            .iter()
            .map(|word| script_text(word).unwrap_or_default())
            .collect();
        let text = texts.join(" ");
        (!text.trim().is_empty()).then_some(Inner {
            text,
            span,
            exact_start: None,
            positional: None,
            construct: Construct::Quoted,
        })
    }

    /// What the command reads, as a script.
    fn input_script(&self, at: usize) -> Option<Inner> {
        let (text, span) = self.known_input(at)?;
        let written = self.text.get(span.start..span.end);
        let exact_start = written
            .filter(|written| **written == text)
            .map(|_| span.start);
        Some(Inner {
            text,
            span,
            exact_start,
            positional: None,
            construct: Construct::HereDoc,
        })
    }

    /// What the command reads, if that stands in the text: a here-document, or the words of an
    /// `echo` before it in the pipeline.
    fn known_input(&self, at: usize) -> Option<(String, Span)> {
        let command = self.written(at)?;
        if let Some(input) = here_text(command) {
            return Some(input);
        }
        let place = command.place;
        let before = place.stage.checked_sub(1)?;
        let earlier = self.script.commands.get(..at)?.iter().rev().take(16);
        let mut earlier = earlier
            .filter(|other| other.place.pipeline == place.pipeline && other.place.stage == before);
        let source = earlier.find(|other| other.origin == Origin::Written)?;
        match source.name()? {
            "cat" if source.arguments().is_empty() => here_text(source),
            "echo" => echoed(source.arguments()),
            "printf" => {
                echoed(source.arguments()).map(|(text, span)| (text.replace("\\n", "\n"), span))
            }
            _ => None,
        }
    }

    /// The command as written that this one is part of.
    fn written(&self, at: usize) -> Option<&Command> {
        let mut command = self.script.commands.get(at)?;
        while let Origin::StartedBy(by) = command.origin {
            command = self.script.commands.get(by)?;
        }
        Some(command)
    }

    fn add_script(&mut self, by: usize, inner: &Inner, constants: &Constants) {
        if self.context.depth >= MOST_SCRIPTS {
            self.script.bound.get_or_insert(Bound::Depth);
            return;
        }
        let written = self
            .written(by)
            .map(|command| command.assignments.as_slice());
        let context = Context {
            depth: self.context.depth + 1,
            parsers: self.context.parsers,
            constants: constants.hand_on(written.unwrap_or_default(), inner.positional.as_deref()),
        };
        let nested = super::parse_within(&inner.text, context);
        let place = self.script.commands.get(by).map(|command| command.place);
        let first = self.script.commands.len();
        for mut command in nested.commands {
            match inner.exact_start {
                Some(start) => command.shift(start),
                None => command.move_to(inner.span),
            }
            command.origin = match command.origin {
                Origin::Written => Origin::ScriptOf(by),
                Origin::StartedBy(index) => Origin::StartedBy(first + index),
                Origin::ScriptOf(index) => Origin::ScriptOf(first + index),
            };
            if let Some(place) = place {
                let inside = place.inside.with(inner.construct);
                command.place.inside = command.place.inside.union(inside);
            }
            self.script.commands.push(command);
        }
        self.inner_scripts.push(first..self.script.commands.len());
        self.script.constructs = self
            .script
            .constructs
            .union(nested.constructs)
            .with(inner.construct);
        self.script.functions.extend(nested.functions);
        if let Some(bound) = nested.bound {
            self.script.bound.get_or_insert(bound);
        }
    }
}

/// The text of a word as a script: what is not known in it becomes a hole.
fn script_text(word: &Word) -> Option<String> {
    let mut text = String::new();
    let mut has_text = false;
    let [open, close] = HOLE;
    for part in &word.parts {
        match part {
            Part::Text(known) | Part::Glob(known) => {
                has_text = true;
                text.push_str(known);
            }
            Part::Tilde(user) => {
                text.push('~');
                text.push_str(user);
            }
            Part::Variable { name, .. } => {
                let is_plain = name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_@*".contains(c));
                text.push(open);
                text.push_str(if is_plain { name } else { "" });
                text.push(close);
            }
            Part::Unknown { .. } => text.extend(HOLE),
        }
    }
    has_text.then_some(text)
}

/// Where a shell finds its script.
enum ShellScript {
    /// In this argument.
    Word(usize),
    /// On stdin.
    Input,
    /// In a file.
    None,
}

fn shell_script(arguments: &[Word]) -> ShellScript {
    let mut has_command = false;
    let mut has_input = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.known_beginning();
        at += 1;
        if word.is("--") || word.is("-") {
            break;
        } else if text.starts_with("--") {
            at += usize::from(matches!(text, "--rcfile" | "--init-file"));
        } else if text.len() > 1 && text.starts_with(['-', '+']) {
            has_command |= text.starts_with('-') && text.contains('c');
            has_input |= text.contains('s');
            at += text.matches(['o', 'O']).count();
        } else {
            at -= 1;
            break;
        }
    }
    match (has_command, arguments.get(at)) {
        (true, Some(_)) => ShellScript::Word(at),
        (false, None) => ShellScript::Input,
        (false, Some(word)) if has_input || is_input(word) => ShellScript::Input,
        (true, None) | (false, Some(_)) => ShellScript::None,
    }
}

fn is_input(word: &Word) -> bool {
    matches!(
        word.known(),
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
    )
}

fn reads_input(arguments: &[Word]) -> bool {
    arguments.first().is_some_and(is_input)
}

fn trap_script(arguments: &[Word]) -> Option<&Word> {
    let arguments = match arguments.first() {
        Some(first) if first.is("--") => arguments.get(1..)?,
        _ => arguments,
    };
    match arguments {
        [script, _, ..] if !script.known_beginning().starts_with('-') => Some(script),
        _ => None,
    }
}

/// The string that `env -S` splits into words.
fn env_string(arguments: &[Word]) -> Option<Word> {
    for (index, word) in arguments.iter().enumerate() {
        let beginning = word.known_beginning();
        let attached = beginning
            .strip_prefix("--split-string=")
            .or_else(|| beginning.strip_prefix("-S"))
            .or_else(|| beginning.strip_prefix("-vS"));
        match attached {
            Some("") if word.parts.len() == 1 => return arguments.get(index + 1).cloned(),
            Some(rest) => {
                let mut string = Word::of(rest, word.span);
                string.parts.extend_from_slice(word.parts.get(1..)?);
                return Some(string);
            }
            None if word.is("--split-string") => return arguments.get(index + 1).cloned(),
            None if beginning.starts_with('-') || wrappers::is_assignment(beginning) => {}
            None => return None,
        }
    }
    None
}

/// The script of `git submodule foreach`, and of an alias given on the spot.
fn git_script(arguments: &[Word]) -> Option<&Word> {
    let at = arguments.iter().position(|word| word.is("submodule"))?;
    let rest = arguments.get(at + 1..)?;
    let foreach = rest.iter().position(|word| word.is("foreach"))?;
    let mut words = rest.get(foreach + 1..)?.iter();
    words.find(|word| !word.known_beginning().starts_with('-'))
}

/// The commands of `find -exec … ;`, without the words that stand for files.
fn find_commands(command: &Command) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let mut current: Option<Vec<Word>> = None;
    for word in command.arguments() {
        match (&mut current, word.known()) {
            (None, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => current = Some(Vec::new()),
            (Some(_), Some(";" | "+")) => found.extend(current.take()),
            (Some(words), _) => words.push(wrappers::without_placeholder(word, "{}")),
            (None, _) => {}
        }
    }
    found.extend(current);
    found.retain(|words| !words.is_empty());
    found
}

fn fd_command(command: &Command) -> Option<Vec<Word>> {
    let is_exec =
        |word: &Word| matches!(word.known(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let arguments = command.arguments();
    let at = arguments.iter().position(is_exec)?;
    let words = arguments.get(at + 1..)?.iter();
    let words: Vec<Word> = words
        .map(|word| wrappers::without_placeholder(word, "{}"))
        .collect();
    (!words.is_empty()).then_some(words)
}

fn here_text(command: &Command) -> Option<(String, Span)> {
    let redirect = command.redirects.iter().rev().find(|redirect| {
        use RedirectOperator::{HereDoc, HereString};
        matches!(redirect.operator, HereDoc | HereString)
            && matches!(redirect.descriptor.as_deref(), None | Some("0"))
    })?;
    Some((script_text(&redirect.target)?, redirect.target.span))
}

/// What `echo` writes of these words, escapes aside.
fn echoed(words: &[Word]) -> Option<(String, Span)> {
    let is_option = |word: &&Word| matches!(word.known(), Some("-e" | "-n" | "-ne" | "-en" | "--"));
    let words: Vec<&Word> = words.iter().skip_while(is_option).collect();
    let texts: Vec<String> = words
        .iter()
        .map(|word| script_text(word).unwrap_or_default())
        .collect();
    let span = Span {
        start: words.first()?.span.start,
        end: words.last()?.span.end,
    };
    Some((texts.join(" "), span))
}
