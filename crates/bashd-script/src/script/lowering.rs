//! From commands as written to all commands: with known values, through wrappers, into inner
//! scripts.

use super::Context;
use super::beginnings::Beginnings;
use super::constants::{Constants, Known, NamedText};
use super::inner_scripts::{self, SHELLS};
use super::loops::OpenLoop;
use super::name_hash::NameSet;
use super::view::{
    Assignment, Bound, CommandOrigin, Construct, FunctionBody, Script, SimpleCommand, Span,
};
use super::word::{ScriptText, Word, WordPart};
use super::{decoders, deferred, handed_scripts, interpreters, matched, started, wrappers};
use std::sync::LazyLock;

/// How deep inner scripts may nest (`bash -c 'bash -c …'`).
pub(super) const MOST_SCRIPTS: usize = 8;

/// How many wrappers may follow each other (`sudo env nice …`).
const MOST_WRAPPERS: usize = 24;

/// How many words may be read again because they come after wrappers.
const MOST_WRAPPED_WORDS: usize = 200_000;

/// Most bytes of words in which variables were filled in.
const MOST_FILLED_BYTES: usize = 8 << 20;

/// Most inner scripts in one script.
const MOST_INNER_SCRIPTS: usize = 20_000;

/// Prefixes of the names of programs that start others, run scripts, or run where they are told to:
/// most commands do nothing of that.
static STARTING: Beginnings = wrappers::NAMES
    .and(&SHELLS)
    .and(&interpreters::NAMES)
    .and(&started::NAMES)
    .and(&handed_scripts::NAMES);

/// These names in full: the prefixes leave a few that only begin like them.
static STARTING_NAMES: LazyLock<NameSet> = LazyLock::new(|| {
    let names = wrappers::names().chain(interpreters::names());
    let names = names.chain(SHELLS).chain(started::NAMES);
    names.chain(handed_scripts::NAMES).collect()
});

/// Whether a program of this name may start others, or run scripts.
fn starts(name: &str) -> bool {
    if !STARTING.may_have(name) {
        return false;
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    STARTING_NAMES.contains(name) || STARTING_NAMES.contains(plain)
}

/// The view in the making.
pub(super) struct Lowering<'a> {
    pub(super) text: &'a str,
    pub(super) context: Context,
    pub(super) constants: Constants,
    pub(super) script: Script,
    /// The commands that are still to be added.
    pub(super) coming: std::vec::IntoIter<SimpleCommand>,
    /// Bodies of functions that are defined further on.
    functions: std::iter::Peekable<std::vec::IntoIter<FunctionBody>>,
    scopes: Vec<u32>,
    /// Whether `$_` is anywhere in it.
    has_last_word: bool,
    /// Whether it uses what a regular expression matched.
    has_matches: bool,
    /// Words that were read again because they come after wrappers.
    wrapped_words: usize,
    /// Bytes of words in which variables were filled in.
    filled_bytes: usize,
    /// Scripts inside this one.
    script_count: usize,
    /// The first number that no pipeline has, once a script inside this one needs some.
    free_pipeline: Option<u32>,
    /// A loop that is gone through, and what it leaves behind.
    pub(super) open_loop: Option<OpenLoop>,
    /// Where in the list the commands of inner scripts are; only the last command's matter.
    inner_scripts: Vec<std::ops::Range<usize>>,
}

/// Who runs an inner script.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InnerShell {
    /// In this shell: what it changes stays (`eval`, `source`).
    Same,
    /// In this shell, with other positional parameters: the body of a function.
    Function,
    /// Another one.
    Other,
}

/// An inner script.
pub(super) struct InnerScript {
    pub(super) text: String,
    /// Where it is, and where in the text it begins if it appears there literally.
    pub(super) span: Span,
    pub(super) exact_start: Option<usize>,
    pub(super) positional: Option<Vec<Word>>,
    pub(super) construct: Construct,
    pub(super) shell: InnerShell,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        text: &'a str,
        context: Context,
        constants: Constants,
        mut script: Script,
    ) -> Self {
        let commands = std::mem::take(&mut script.commands);
        script.commands.reserve(commands.len());
        Self {
            text,
            context,
            constants,
            coming: commands.into_iter(),
            functions: std::mem::take(&mut script.function_bodies)
                .into_iter()
                .peekable(),
            scopes: std::mem::take(&mut script.scopes),
            has_last_word: has_last_word(text.as_bytes()),
            has_matches: matched::is_in(text),
            script,
            wrapped_words: 0,
            filled_bytes: 0,
            script_count: 0,
            free_pipeline: None,
            open_loop: None,
            inner_scripts: Vec::new(),
        }
    }

    /// The whole view, and what is known of variables behind it.
    pub(super) fn finish(mut self) -> (Script, Constants) {
        while let Some(command) = self.coming.next() {
            self.add(command);
        }
        self.end_loop();
        self.add_evaluated();
        (self.script, self.constants)
    }

    /// Adds a command, and everything that it starts.
    fn add(&mut self, mut command: SimpleCommand) {
        self.define_functions(command.span.start);
        if self
            .open_loop
            .as_ref()
            .is_some_and(|it| self.coming.len() < it.left)
        {
            self.end_loop();
        }
        let is_new = self.constants.enter(command.place.scope, &self.scopes);
        self.constants.is_in_function = command.place.inside.contains(Construct::Function);
        if is_new && self.constants.is_in_function {
            self.constants.forget("@");
        }
        if self.has_matches {
            self.learn_matched(command.span.start, command.span.end);
        }
        let filled = self.constants.fill(&mut command);
        self.filled_bytes += filled.bytes;
        if self.filled_bytes > MOST_FILLED_BYTES || self.script_count > MOST_INNER_SCRIPTS {
            self.script.bound.get_or_insert(Bound::Size);
            return;
        }
        let first = self.script.commands.len();
        self.inner_scripts.clear();
        self.script.commands.push(command);
        let is_printf = |words: &Vec<Word>| words.first().is_some_and(|name| name.is("printf"));
        let printing: Vec<Vec<Word>> = filled
            .others
            .iter()
            .filter(|words| is_printf(words))
            .cloned()
            .collect();
        for words in filled.others {
            self.add_started(first, words, false);
        }
        let mut at = first;
        while at < self.script.commands.len() {
            // Commands of an inner script were already seen through when it was read.
            if self.inner_scripts.iter().all(|range| !range.contains(&at)) {
                self.see_through(at);
            }
            at += 1;
        }
        self.learn(first);
        self.constants.learn_possible_prints(&printing);
        self.learn_last_word(first);
        self.begin_loop(first);
        self.learn_behind(first);
        for command in self.script.commands.iter_mut().skip(first) {
            give_up_on_deferred(command);
        }
    }

    /// `command read -r x`, `sudo mount --bind x y`: what a command behind the one with this index
    /// changes.
    fn learn_behind(&mut self, first: usize) {
        let started = self
            .script
            .commands
            .get(first + 1)
            .filter(|command| command.origin == CommandOrigin::StartedBy(first));
        let name = self
            .script
            .commands
            .get(first)
            .and_then(SimpleCommand::name);
        let changes = match started.and_then(SimpleCommand::name) {
            Some("read") => matches!(name, Some("command" | "builtin")),
            Some("ln" | "mount" | "mkfifo") => name.is_some_and(starts),
            _ => false,
        };
        if changes {
            self.learn(first + 1);
        }
    }

    /// `$_` is the last word of the command before.
    fn learn_last_word(&mut self, at: usize) {
        let command = self.script.commands.get(at);
        if let Some(last) = command.and_then(|command| command.words.last())
            && self.has_last_word
        {
            let name = ScriptText::const_new("_");
            let known = Known::OneOf(vec![last.clone()]);
            self.constants.set(name, known);
        }
    }

    /// Functions whose bodies begin before this place can be called from here on.
    fn define_functions(&mut self, place: usize) {
        while let Some(body) = self.functions.next_if(|body| body.span.start <= place) {
            let length = body.span.end.saturating_sub(body.span.start);
            if length > handed_scripts::MOST_CALLED {
                continue;
            }
            if let Some(text) = self.text.get(body.span.start..body.span.end) {
                self.constants.define(NamedText::Function, &body.name, text);
            }
        }
    }

    /// Records what the command with this index changes.
    fn learn(&mut self, at: usize) {
        let Some(command) = self.script.commands.get(at) else {
            return;
        };
        if command.words.is_empty() && !command.redirects.is_empty() {
            self.learn_group_written(at);
        }
        let Some(command) = self.script.commands.get(at) else {
            return;
        };
        // What most programs write is theirs to know.
        let may_print = || {
            command
                .name()
                .is_some_and(|name| deferred::prints(name) || self.constants.may_be_text(command))
        };
        let mut redirects = command.redirects.iter();
        let writes = redirects.any(|redirect| redirect.operator.writes()) && may_print();
        let (reads, writes) = match command.name() {
            Some("read" | "mapfile" | "readarray") => (true, writes),
            Some("tee") => (true, true),
            _ => (writes && command.place.stage > 0, writes),
        };
        let input = if reads { self.known_input(at) } else { None };
        let input = input.as_ref().map(|(text, _)| text.as_str());
        if let Some(command) = self.script.commands.get(at) {
            // A filter prints what it reads.
            let is_unknown = input.is_none()
                && command.place.stage > 0
                && !self.constants.has_texts()
                && command
                    .name()
                    .is_some_and(|name| decoders::NAMES.contains(&name));
            let writes = writes && !is_unknown;
            self.constants.learn_reader(command);
            self.constants.learn(command, input);
            if writes {
                self.constants.learn_written(command, input);
            }
        }
    }

    /// Adds a command that the one with this index starts.
    pub(super) fn add_started(&mut self, by: usize, words: Vec<Word>, is_guess: bool) {
        let Some(command) = self.script.commands.get(by) else {
            return;
        };
        let start = words.first().map(|word| word.span.start);
        let is_somewhere = |start: &usize| *start >= command.span.start;
        let started = SimpleCommand {
            span: Span {
                start: start.filter(is_somewhere).unwrap_or(command.span.start),
                end: command.span.end,
            },
            words,
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: command.place,
            origin: CommandOrigin::StartedBy(by),
            is_guess: is_guess || command.is_guess,
        };
        self.wrapped_words += started.words.len();
        self.script.commands.push(started);
    }

    fn see_through(&mut self, at: usize) {
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
        let is_idle = match command.words.first() {
            None => command.assignments.is_empty(),
            Some(first) if first.is_alternative => false,
            Some(_) => command.name().is_some_and(|name| !starts(name)),
        };
        let is_plain = command.redirects.is_empty() && command.name() != Some("tee");
        let is_idle = is_idle
            && (is_plain
                || !inner_scripts::writes_startup(command)
                    && inner_scripts::fed_scripts(command).is_empty());
        if is_idle && command.assignments.is_empty() && !self.constants.may_be_text(command) {
            return;
        }
        self.add_all_started(at);
        for inner in self.scripts_of(at) {
            self.add_script(at, &inner);
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

    fn add_script(&mut self, by: usize, inner: &InnerScript) {
        if self.context.depth >= MOST_SCRIPTS {
            self.script.bound.get_or_insert(Bound::Depth);
            return;
        }
        self.script_count += 1;
        let nested = self.read_inner(by, inner);
        let Some(starter) = self.script.commands.get(by) else {
            return;
        };
        let (place, is_guess) = (starter.place, starter.is_guess);
        // It reads the pipe of what runs it, unless the script itself came that way.
        let is_within =
            starter.span.start <= inner.span.start && inner.span.end <= starter.span.end;
        let reads_pipe = place.reads_pipe && is_within && inner.construct != Construct::HereDoc;
        let free = self.take_pipelines(&nested.commands);
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
            command.is_guess |= is_guess;
            let own = &mut command.place;
            own.inside = own.inside.union(place.inside.with(inner.construct));
            own.pipeline += free;
            own.outermost_pipeline = if reads_pipe {
                place.outermost_pipeline
            } else {
                own.outermost_pipeline + free
            };
            own.reads_pipe |= reads_pipe;
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

    /// Numbers for the pipelines of these commands that nobody else has; the first of them.
    fn take_pipelines(&mut self, nested: &[SimpleCommand]) -> u32 {
        let last = |commands: &[SimpleCommand]| {
            let numbers = commands.iter().map(|command| command.place.pipeline);
            numbers.max().unwrap_or(0)
        };
        let free = self
            .free_pipeline
            .unwrap_or_else(|| 1 + last(&self.script.commands).max(last(self.coming.as_slice())));
        self.free_pipeline = Some(free + 1 + last(nested));
        free
    }

    /// The assignments for the command with this index: before the written one, and behind `env`.
    fn assignments_around(&self, at: usize) -> Vec<Assignment> {
        let mut own = Vec::new();
        let mut at = at;
        while let Some(command) = self.script.commands.get(at) {
            own.extend(command.assignments.iter().cloned());
            own.extend(wrappers::given(command));
            match command.origin {
                CommandOrigin::StartedBy(by) => at = by,
                CommandOrigin::Written | CommandOrigin::ScriptOf(_) => break,
            }
        }
        own
    }

    /// Reads an inner script with what is known where it runs.
    fn read_inner(&mut self, by: usize, inner: &InnerScript) -> Script {
        let own = self.assignments_around(by);
        let is_same = inner.shell != InnerShell::Other;
        let mut outer = None;
        let mut constants = if is_same {
            let mut constants = std::mem::take(&mut self.constants);
            outer = Some(constants.begin_script());
            constants
        } else {
            self.constants.hand_on(&own, inner.positional.as_deref())
        };
        let before = constants.known("@").cloned();
        if inner.shell == InnerShell::Function
            && let Some(positional) = &inner.positional
        {
            constants.begin_function();
            constants.set_positional(positional);
            constants.calls.push(inner.text.as_str().into());
        }
        let context = Context {
            // A function is as deep as where it is called: it was judged where it is defined.
            depth: self.context.depth + usize::from(inner.shell != InnerShell::Function),
            parser: self.context.parser,
            constants,
        };
        let (nested, mut constants) = super::parse_within(&inner.text, context);
        if inner.shell == InnerShell::Function {
            constants.calls.pop();
            constants.end_function();
            match before {
                Some(before) => constants.set("@".into(), before),
                None => constants.forget("@"),
            }
        }
        match outer {
            Some(outer) => {
                constants.end_script(outer);
                self.constants = constants;
            }
            None => self.constants.spend_as(&constants),
        }
        nested
    }
}

/// The written command that the one with this index is part of.
pub(super) fn written(commands: &[SimpleCommand], at: usize) -> Option<&SimpleCommand> {
    let mut command = commands.get(at)?;
    while let CommandOrigin::StartedBy(by) = command.origin {
        command = commands.get(by)?;
    }
    Some(command)
}

/// Whether `$_` is in a text.
fn has_last_word(text: &[u8]) -> bool {
    let mut dollars = memchr::memchr_iter(b'$', text);
    dollars.any(|at| text.get(at + 1) == Some(&b'_'))
}

/// What could not be worked out is unknown.
fn give_up_on_deferred(command: &mut SimpleCommand) {
    let give_up = |word: &mut Word| {
        for part in &mut word.parts {
            if let WordPart::Variable { name, quoted, .. } = part
                && deferred::is_deferred(name)
            {
                *part = WordPart::Unknown { quoted: *quoted };
            }
        }
    };
    command.words.iter_mut().for_each(give_up);
    for redirect in &mut command.redirects {
        give_up(&mut redirect.target);
    }
    for assignment in &mut command.assignments {
        use super::view::Assigned;
        match &mut assignment.value {
            Assigned::Value(word) | Assigned::Appended(word) | Assigned::Element(_, word) => {
                give_up(word);
            }
            Assigned::EachOf(words) | Assigned::List(words) | Assigned::AppendedList(words) => {
                words.iter_mut().for_each(give_up);
            }
        }
    }
}
