//! Our own scan of a script: lists, pipelines and where commands are in them.
//!
//! It reads as bash does if the text is correct, and continues if it is not: a stray `)` or `fi` is
//! skipped, an open quote ends with the text. Each byte is read once, except for a `((` that turns
//! out to be two subshells, and for that there is a budget. Words are in `word_reader.rs`, simple
//! commands in `simple.rs`, reserved words in `keywords.rs`.

use super::frames::CompoundFrame;
use super::here_doc::PendingHereDoc;
use super::view::{
    Bound, CommandPlace, Construct, Constructs, FunctionBody, Joint, Readings, Script,
    SimpleCommand, Span,
};
use super::word::Word;
use std::collections::{HashMap, HashSet};

/// How deep substitutions and subshells may be nested. People stop at five.
pub(super) const MOST_DEPTH: usize = 50;

/// How often the whole text may be read again, on average, before the scan gives up.
const MOST_REREADS: usize = 8;

/// Bytes of an average command, so that their list rarely has to grow.
const BYTES_PER_COMMAND: usize = 24;

/// Most commands in one script: beyond that it is data, not a script that somebody could judge.
const MOST_COMMANDS: usize = 200_000;

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// The end of the text.
    End,
    /// A closing parenthesis, which is left to the caller.
    Parenthesis,
    /// A closing brace where a command could begin, which is left to the caller.
    Brace,
}

/// The scan, at some position of the text.
pub(super) struct ScriptReader<'a> {
    pub(super) text: &'a str,
    pub(super) position: usize,
    /// Reading stops here: at the end of the text, or of a here-document's body.
    pub(super) end: usize,
    /// How many scripts are around this text.
    pub(super) scripts_around: usize,
    pub(super) place: CommandPlace,
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) functions: Vec<String>,
    /// Names of functions that are defined outside the text.
    pub(super) outer_functions: Vec<String>,
    pub(super) constructs: Constructs,
    pub(super) frames: Vec<CompoundFrame>,
    pub(super) pending: Vec<PendingHereDoc>,
    /// Bodies of here-documents, by the position of their operator.
    pub(super) bodies: HashMap<usize, Word>,
    /// Whether the next compound command is the body of a function.
    pub(super) function_comes: bool,
    /// Where the bodies of functions are.
    pub(super) function_bodies: Vec<FunctionBody>,
    /// The scope around each scope; the first is its own.
    pub(super) scopes: Vec<u32>,
    /// Whether bash would accept the text so far, as far as the scan checks.
    pub(super) is_sound: bool,
    /// Whether a command must or may come next, rather than an operator.
    pub(super) expects: Expects,
    pub(super) depth: usize,
    pipelines: u32,
    /// The first command of the list that `&` would put into the background.
    pub(super) list_start: usize,
    bound: Option<Bound>,
    rereads_left: usize,
}

/// Whether a command comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expects {
    /// After `|`, `&&`, `||`.
    MustCome,
    /// At the beginning, after `;` and `&`.
    MayCome,
    /// There was one just now.
    Came,
}

/// Which compound command is open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    If,
    Loop,
    CasePatterns,
    CaseBody,
    Group,
}

impl<'a> ScriptReader<'a> {
    pub(super) fn new(text: &'a str, scripts_around: usize) -> Self {
        Self {
            text,
            position: 0,
            end: text.len(),
            scripts_around,
            place: CommandPlace {
                pipeline: 0,
                outermost_pipeline: 0,
                stage: 0,
                reads_pipe: false,
                joint: Joint::First,
                background: false,
                inside: Constructs::default(),
                scope: 0,
            },
            commands: Vec::with_capacity(text.len() / BYTES_PER_COMMAND + 1),
            functions: Vec::new(),
            outer_functions: Vec::new(),
            constructs: Constructs::default(),
            frames: Vec::new(),
            pending: Vec::new(),
            bodies: HashMap::new(),
            function_comes: false,
            function_bodies: Vec::new(),
            scopes: vec![0],
            is_sound: true,
            expects: Expects::MayCome,
            depth: 0,
            pipelines: 0,
            list_start: 0,
            bound: None,
            rereads_left: MOST_REREADS * text.len() + 4096,
        }
    }

    /// Reads the whole text.
    pub(super) fn read_all(&mut self) {
        while self.position < self.end {
            self.read_list(ListEnd::End);
        }
    }

    /// Reads simple commands that only a parser has seen, wherever they are.
    pub(super) fn read_missing(&mut self, starts: Vec<usize>) {
        let mut known: HashSet<usize> = self.command_starts().collect();
        for start in starts {
            if self.bound.is_some() || !known.insert(start) {
                continue;
            }
            let before = self.commands.len();
            (self.position, self.end) = (start, self.text.len());
            self.place.pipeline = self.next_pipeline();
            self.place.outermost_pipeline = self.place.pipeline;
            (self.place.stage, self.place.joint) = (0, Joint::Sequence);
            self.read_simple();
            self.spend(self.position - start);
            self.pending.clear();
            let added = self.commands.split_off(before);
            // Substitutions in its words may have been seen before.
            for command in added {
                let name = command.words.first().map(|word| word.span.start);
                if name.is_some_and(|name| name == start || known.insert(name)) {
                    self.commands.push(command);
                }
            }
        }
    }

    /// What was read, with the bodies of here-documents in place.
    pub(super) fn finish(mut self, readings: Readings) -> Script {
        if !self.bodies.is_empty() {
            let redirects = self.commands.iter_mut();
            for redirect in redirects.flat_map(|command| &mut command.redirects) {
                if let Some(body) = self.bodies.remove(&redirect.span.start) {
                    redirect.target = body;
                }
            }
        }
        self.commands.sort_by_key(|command| command.span.start);
        Script {
            commands: self.commands,
            functions: self.functions,
            constructs: self.constructs,
            readings,
            bound: self.bound,
            is_sound: self.is_sound,
            function_bodies: self.function_bodies,
            scopes: self.scopes,
        }
    }

    /// Where the names of the commands begin.
    pub(super) fn command_starts(&self) -> impl Iterator<Item = usize> + '_ {
        let commands = self.commands.iter();
        commands.filter_map(|command| command.words.first().map(|word| word.span.start))
    }

    /// Whether the text is correct, so a parser will not try to recover from errors.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Records something that bash would not accept.
    pub(super) fn unsound(&mut self) {
        self.is_sound = false;
    }

    /// Records a command or the end of a compound one.
    pub(super) fn command_came(&mut self) {
        if self.commands.len() > MOST_COMMANDS {
            self.give_up(Bound::Size);
        }
        self.expects = Expects::Came;
    }

    /// Records a word such as `then`, after which a list begins.
    pub(super) fn begin_list(&mut self) {
        self.is_sound &= self.expects != Expects::MustCome;
        self.expects = Expects::MayCome;
    }

    /// Records an operator, before which a command must have come.
    fn operator_came(&mut self, expects: Expects) {
        self.is_sound &= self.expects == Expects::Came;
        self.expects = expects;
    }

    /// The byte `ahead` of this position.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        let index = self.position + ahead;
        if index < self.end {
            self.text.as_bytes().get(index).copied()
        } else {
            None
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    /// Whether this comes next.
    pub(super) fn sees(&self, expected: &str) -> bool {
        let rest = self.text.as_bytes().get(self.position..self.end);
        rest.is_some_and(|rest| rest.starts_with(expected.as_bytes()))
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.position = (self.position + bytes).min(self.end);
    }

    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.position).unwrap_or_default()
    }

    pub(super) fn span_since(&self, start: usize) -> Span {
        Span {
            start,
            end: self.position,
        }
    }

    /// Skips blanks and line continuations.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.skip(1),
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.skip(2),
                _ => break,
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = self.text.as_bytes().get(self.position..self.end);
        let line = rest.and_then(|rest| memchr::memchr(b'\n', rest));
        self.position = line.map_or(self.end, |length| self.position + length);
    }

    /// Reads commands until the list ends.
    pub(super) fn read_list(&mut self, stop: ListEnd) {
        let base = self.frames.len();
        while self.bound.is_none() {
            if self.in_case_patterns(base) {
                self.read_case_patterns();
                continue;
            }
            self.skip_blanks();
            let Some(byte) = self.peek() else { break };
            match byte {
                b'\n' => {
                    self.skip(1);
                    self.read_here_docs();
                    // After `|`, `&&` and `||` a list continues on the next line.
                    if self.expects != Expects::MustCome {
                        self.separate(Joint::Sequence);
                    }
                }
                b'#' => self.skip_comment(),
                b';' => self.read_semicolons(base),
                b'&' if self.sees("&&") => self.join(2, Joint::And),
                b'&' if !self.sees("&>") => {
                    self.mark_background();
                    self.join(1, Joint::Sequence);
                }
                b'|' if self.sees("||") => self.join(2, Joint::Or),
                b'|' => {
                    self.operator_came(Expects::MustCome);
                    self.skip(if self.sees("|&") { 2 } else { 1 });
                    self.place.stage += 1;
                    self.place.joint = Joint::Pipe;
                    self.place.reads_pipe = true;
                }
                b')' if stop == ListEnd::Parenthesis => break,
                b')' => {
                    self.unsound();
                    self.skip(1);
                }
                b'(' => self.read_parenthesis(),
                b'}' if stop == ListEnd::Brace && !self.is_in_group(base) => break,
                _ => self.read_command(base),
            }
        }
        if self.bound.is_some() {
            self.position = self.end;
        }
        self.is_sound &= self.expects != Expects::MustCome && self.frames.len() == base;
        while self.frames.len() > base {
            self.close_frame();
        }
    }

    fn join(&mut self, bytes: usize, joint: Joint) {
        let must_come = matches!(joint, Joint::And | Joint::Or);
        self.operator_came(if must_come {
            Expects::MustCome
        } else {
            Expects::MayCome
        });
        self.skip(bytes);
        self.separate(joint);
    }

    /// A new pipeline begins.
    pub(super) fn separate(&mut self, joint: Joint) {
        let around = self.frames.last().map(|frame| frame.around);
        self.place.pipeline = self.next_pipeline();
        if self.depth == 0 && around.is_none() {
            self.place.outermost_pipeline = self.place.pipeline;
        }
        // What the surrounding list gets on stdin, all its commands get.
        self.place.reads_pipe = self.place.stage_zero_reads_pipe(around);
        self.place.stage = 0;
        self.place.joint = joint;
        if joint == Joint::Sequence {
            self.list_start = self.commands.len();
        }
    }

    pub(super) fn next_pipeline(&mut self) -> u32 {
        self.pipelines += 1;
        self.pipelines
    }

    fn mark_background(&mut self) {
        for command in self.commands.iter_mut().skip(self.list_start) {
            command.place.background = true;
        }
    }

    fn read_semicolons(&mut self, base: usize) {
        let is_case = [";;&", ";;", ";&"].into_iter().find(|end| self.sees(end));
        self.skip(is_case.map_or(1, str::len));
        match is_case {
            Some(_) => self.expects = Expects::MayCome,
            None => self.operator_came(Expects::MayCome),
        }
        if is_case.is_some()
            && let Some(frame) = self.frames.get_mut(base..).and_then(<[_]>::last_mut)
            && frame.kind == FrameKind::CaseBody
        {
            frame.kind = FrameKind::CasePatterns;
        }
        self.separate(Joint::Sequence);
    }

    fn is_in_group(&self, base: usize) -> bool {
        let open = self.frames.get(base..).unwrap_or_default();
        open.iter().any(|frame| frame.kind == FrameKind::Group)
    }

    fn in_case_patterns(&self, base: usize) -> bool {
        let open = self.frames.get(base..).and_then(<[_]>::last);
        open.is_some_and(|frame| frame.kind == FrameKind::CasePatterns)
    }

    /// `((…))`, or a subshell.
    fn read_parenthesis(&mut self) {
        if self.sees("((") && self.try_arithmetic(2) {
            self.constructs = self.constructs.with(Construct::Arithmetic);
            self.function_comes = false;
            self.command_came();
            return;
        }
        let function = self.coming_function();
        self.skip(1);
        self.nested(Construct::Subshell, |reader| {
            reader.read_list(ListEnd::Parenthesis);
        });
        self.skip_closing_parenthesis();
        self.end_function(function);
        self.command_came();
    }

    pub(super) fn skip_closing_parenthesis(&mut self) {
        self.is_sound &= self.peek() == Some(b')');
        self.skip(usize::from(self.peek() == Some(b')')));
    }

    /// Takes over the nesting depth of the surrounding reader.
    pub(super) fn continue_from(&mut self, outer: &mut ScriptReader<'_>) {
        (self.place, self.depth) = (outer.place, outer.depth);
        self.pipelines = outer.pipelines;
        self.scopes = std::mem::take(&mut outer.scopes);
    }

    pub(super) fn is_beyond(&self) -> bool {
        self.bound.is_some()
    }

    pub(super) fn give_up(&mut self, bound: Bound) {
        self.bound.get_or_insert(bound);
        self.position = self.end;
    }

    /// Counts bytes that are read once more.
    pub(super) fn spend(&mut self, bytes: usize) {
        match self.rereads_left.checked_sub(bytes + 1) {
            Some(left) => self.rereads_left = left,
            None => self.give_up(Bound::Size),
        }
    }
}

impl CommandPlace {
    /// Whether a first stage in the same list has a pipe on stdin: only if the surrounding list
    /// has.
    fn stage_zero_reads_pipe(self, around: Option<Self>) -> bool {
        match (self.stage, around) {
            (0, _) => self.reads_pipe,
            (_, Some(around)) => around.reads_pipe,
            (_, None) => false,
        }
    }
}
