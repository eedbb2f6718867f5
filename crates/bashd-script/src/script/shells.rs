//! From commands as written to all commands: through wrappers, and into inner scripts.

use super::Context;
use super::beginnings::Beginnings;
use super::constants::Constants;
use super::inner_scripts::{
    SHELLS, ShellScript, echoed, env_string, git_script, here_text, reads_input, script_text,
    shell_script, trap_script,
};
use super::view::{Bound, CommandOrigin, Construct, Script, SimpleCommand, Span};
use super::word::Word;
use super::wrappers;

/// How deep inner scripts may nest (`bash -c 'bash -c …'`).
const MOST_SCRIPTS: usize = 8;

/// How many wrappers may follow each other (`sudo env nice …`).
const MOST_WRAPPERS: usize = 24;

/// How many words may be read again because they come after wrappers.
const MOST_WRAPPED_WORDS: usize = 200_000;

/// Most bytes of words in which variables were filled in.
const MOST_FILLED_BYTES: usize = 8 << 20;

/// Most inner scripts in one script.
const MOST_INNER_SCRIPTS: usize = 20_000;

/// Prefixes of the names of programs that start others, or run scripts: most commands do neither.
static STARTING: Beginnings = wrappers::NAMES
    .and(&["find", "gfind", "fd", "fdfind"])
    .and(&SHELLS)
    .and(&SCRIPT_RUNNERS);

/// Programs besides shells that run a script, each in its own way.
const SCRIPT_RUNNERS: [&str; 13] = [
    "source", ".", "eval", "trap", "su", "runuser", "script", "sg", "flock", "env", "genv",
    "watch", "git",
];

/// The view in the making.
pub(super) struct Lowering<'a> {
    pub(super) text: &'a str,
    pub(super) context: Context,
    pub(super) constants: Constants,
    pub(super) script: Script,
    /// Words that were read again because they come after wrappers.
    pub(super) wrapped_words: usize,
    /// Bytes of words in which variables were filled in.
    pub(super) filled_bytes: usize,
    /// Scripts inside this one.
    pub(super) script_count: usize,
    /// Where in the list the commands of inner scripts are; only the last command's matter.
    pub(super) inner_scripts: Vec<std::ops::Range<usize>>,
}

/// An inner script.
struct Inner {
    text: String,
    /// Where it is, and where in the text it begins if it appears there literally.
    span: Span,
    exact_start: Option<usize>,
    positional: Option<Vec<Word>>,
    construct: Construct,
}

impl Lowering<'_> {
    /// Adds a command, and everything that it starts.
    pub(super) fn add(&mut self, mut command: SimpleCommand) {
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
            // Commands of an inner script were already seen through when it was read.
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
        if command.name().is_some_and(|name| !STARTING.may_have(name)) {
            return;
        }
        let started: Vec<SimpleCommand> = self.started_by(at, command);
        let wrapped = started.iter().map(|command| command.words.len());
        self.wrapped_words += wrapped.sum::<usize>();
        let scripts = self.scripts_of(at, command);
        self.script.commands.extend(started);
        for inner in scripts {
            self.add_script(at, &inner, constants);
        }
    }

    fn wrappers_around(&self, command: &SimpleCommand) -> usize {
        let mut count = 0;
        let mut origin = command.origin;
        while let CommandOrigin::StartedBy(by) = origin {
            count += 1;
            match self.script.commands.get(by) {
                Some(wrapper) => origin = wrapper.origin,
                None => break,
            }
        }
        count
    }

    /// Commands made of this one's own words.
    fn started_by(&self, at: usize, command: &SimpleCommand) -> Vec<SimpleCommand> {
        let start = |words: Vec<Word>| SimpleCommand {
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
            origin: CommandOrigin::StartedBy(at),
        };
        match command.name() {
            Some("find" | "gfind") => wrappers::find_commands(command)
                .into_iter()
                .map(start)
                .collect(),
            Some("fd" | "fdfind") => wrappers::fd_command(command)
                .into_iter()
                .map(start)
                .collect(),
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
        command: &SimpleCommand,
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
    fn scripts_of(&self, at: usize, command: &SimpleCommand) -> Vec<Inner> {
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

    /// Words that are joined by blanks into a script.
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

    /// What the command reads, if it is in the text: a here-document, or the words of an `echo`
    /// before it in the pipeline.
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
        let source = earlier.find(|other| other.origin == CommandOrigin::Written)?;
        match source.name()? {
            "cat" if source.arguments().is_empty() => here_text(source),
            "echo" => echoed(source.arguments()),
            "printf" => {
                echoed(source.arguments()).map(|(text, span)| (text.replace("\\n", "\n"), span))
            }
            _ => None,
        }
    }

    /// The written command that this one is part of.
    fn written(&self, at: usize) -> Option<&SimpleCommand> {
        let mut command = self.script.commands.get(at)?;
        while let CommandOrigin::StartedBy(by) = command.origin {
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
            parser: self.context.parser,
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
                CommandOrigin::Written => CommandOrigin::ScriptOf(by),
                CommandOrigin::StartedBy(index) => CommandOrigin::StartedBy(first + index),
                CommandOrigin::ScriptOf(index) => CommandOrigin::ScriptOf(first + index),
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
