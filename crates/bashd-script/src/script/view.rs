//! The types of the view: what other stages read of a script.

use super::builtins::is_only_in_bash;
use super::word::{ScriptText, Word};

/// A range of bytes in the text that was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// A script as the guard sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script {
    /// Every simple command in the order of the text; a command that another one starts (`sudo rm`)
    /// follows that one.
    pub commands: Vec<SimpleCommand>,
    /// Names of the functions that it defines.
    pub functions: Vec<String>,
    /// What else the script is made of.
    pub constructs: Constructs,
    /// Who could read it.
    pub readings: Readings,
    /// The bound that it breaks: what is beyond was not read, so nobody may call it harmless.
    pub bound: Option<Bound>,
    /// Whether the scan found nothing that bash would not accept.
    pub(super) is_sound: bool,
    /// Where the bodies of its functions are; used up when the view is made.
    pub(super) function_bodies: Vec<FunctionBody>,
    /// The scope around each scope; used up when the view is made.
    pub(super) scopes: Vec<u32>,
}

/// Where the body of a function is in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionBody {
    pub(super) name: String,
    pub(super) span: Span,
}

impl Script {
    /// A script of which nothing was read.
    pub(super) fn beyond(bound: Bound) -> Self {
        Self {
            commands: Vec::new(),
            functions: Vec::new(),
            constructs: Constructs::default(),
            readings: Readings::ScanOnly,
            bound: Some(bound),
            is_sound: false,
            function_bodies: Vec::new(),
            scopes: Vec::new(),
        }
    }

    /// The names of the commands that it would execute, where they are known, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let names = self.commands.iter().filter_map(SimpleCommand::name);
        names.filter(|name| seen.insert(*name)).collect()
    }
}

/// Reserved words that the view has as commands of their own, which start the next one.
const NAMED_WORDS: [&str; 2] = ["coproc", "time"];

impl Script {
    /// The names of the programs that it would start, where they are known, each once: no functions
    /// of its own, no words of bash, nothing that only may be a program (`$x name`).
    pub fn programs(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let is_certain = |command: &&SimpleCommand| match command.origin {
            CommandOrigin::StartedBy(by) => self
                .commands
                .get(by)
                .is_none_or(|starter| starter.name().is_some()),
            CommandOrigin::Written | CommandOrigin::ScriptOf(_) => true,
        };
        let names = self.commands.iter().filter(is_certain);
        let names = names.filter_map(SimpleCommand::name);
        let is_program = |name: &&str| {
            let is_word = is_only_in_bash(name) || NAMED_WORDS.contains(name);
            !is_word && !self.functions.iter().any(|function| function == name)
        };
        names
            .filter(is_program)
            .filter(|name| seen.insert(*name))
            .collect()
    }
}

/// Which bound a script breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It is too long.
    Size,
    /// Too much is nested in it.
    Depth,
}

/// Who could read the script whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readings {
    /// The scan, and our own check of what bash accepts.
    ScanAndCheck,
    /// The scan, and tree-sitter without an error, where the check knows no answer.
    ScanAndTree,
    /// The scan alone: nobody else vouches for the text, or it is too large to be asked about.
    ScanOnly,
}

/// A simple command: an optional name with words, assignments and redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimpleCommand {
    /// The name, then the arguments. Empty for bare assignments and bare redirects.
    pub words: Vec<Word>,
    /// Assignments before the name, and those that `for` makes.
    pub assignments: Vec<Assignment>,
    /// Its redirects. Those of a compound command are on a command of their own, without words.
    pub redirects: Vec<Redirect>,
    /// Where it stands.
    pub place: CommandPlace,
    /// Whether it is written as such, or started by another command.
    pub origin: CommandOrigin,
    /// Whether it is only what an unknown name may stand for (`$x -rf /`): whoever would deny it
    /// should ask.
    pub is_guess: bool,
    /// Where it is in the text. For a command inside a quoted script this may be the whole
    /// quotation.
    pub span: Span,
}

impl SimpleCommand {
    /// The name without its directory (`rm` for `/bin/rm`), if it is known.
    pub fn name(&self) -> Option<&str> {
        let name = self.words.first()?.known()?;
        // Most names have none, are short, and asked for often.
        let name = if name.as_bytes().contains(&b'/') {
            name.rsplit('/').next()?
        } else {
            name
        };
        (!name.is_empty()).then_some(name)
    }

    /// The words after the name.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl SimpleCommand {
    /// Says of everything in it that it is somewhere in `span`.
    pub(super) fn move_to(&mut self, span: Span) {
        self.visit_spans(&mut |own| *own = span);
    }

    /// Moves everything in it by so many bytes.
    pub(super) fn shift(&mut self, bytes: usize) {
        self.visit_spans(&mut |own| {
            own.start += bytes;
            own.end += bytes;
        });
    }

    fn visit_spans(&mut self, visit: &mut dyn FnMut(&mut Span)) {
        visit(&mut self.span);
        for word in &mut self.words {
            visit(&mut word.span);
        }
        for assignment in &mut self.assignments {
            visit(&mut assignment.span);
            match &mut assignment.value {
                Assigned::Value(word) | Assigned::Appended(word) | Assigned::Element(_, word) => {
                    visit(&mut word.span);
                }
                Assigned::EachOf(words) | Assigned::List(words) | Assigned::AppendedList(words) => {
                    for word in words {
                        visit(&mut word.span);
                    }
                }
            }
        }
        for redirect in &mut self.redirects {
            visit(&mut redirect.span);
            visit(&mut redirect.target.span);
        }
    }
}

/// Whether a command is written as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOrigin {
    /// In the text.
    Written,
    /// The argument of the command with this index in [`Script::commands`] (`sudo rm`).
    StartedBy(usize),
    /// In a script that the command with this index runs (`bash -c '…'`, a here-document).
    ScriptOf(usize),
}

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assignment {
    /// The variable.
    pub name: ScriptText,
    /// What it gets.
    pub value: Assigned,
    /// Where the assignment is.
    pub span: Span,
}

/// What a variable gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assigned {
    /// One value.
    Value(Word),
    /// Each of these in turn (`for x in …`).
    EachOf(Vec<Word>),
    /// This behind what it has (`x+=y`).
    Appended(Word),
    /// These as an array (`x=(…)`).
    List(Vec<Word>),
    /// These behind those of its array (`x+=(…)`).
    AppendedList(Vec<Word>),
    /// One element of its array (`x[1]=y`), by the index as written.
    Element(ScriptText, Word),
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// What it does.
    pub operator: RedirectOperator,
    /// The descriptor before the operator, if there is one: a number, or `{name}`.
    pub descriptor: Option<ScriptText>,
    /// The file, the descriptor (`1` in `2>&1`), or the text of a here-document or here-string.
    pub target: Word,
    /// Where it is.
    pub span: Span,
}

/// What a redirect does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectOperator {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&` with a descriptor
    DuplicateOutput,
    /// `&>`, or `>&` with a file
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<<`, `<<-`
    HereDoc,
    /// `<<<`
    HereString,
}

impl RedirectOperator {
    /// Whether a file that the target names may be written.
    pub fn writes(self) -> bool {
        match self {
            Self::Write
            | Self::Clobber
            | Self::Append
            | Self::ReadWrite
            | Self::WriteBoth
            | Self::AppendBoth => true,
            Self::Read
            | Self::DuplicateInput
            | Self::DuplicateOutput
            | Self::HereDoc
            | Self::HereString => false,
        }
    }
}

/// Where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandPlace {
    /// The pipeline that it is a stage of; a command alone is one, too.
    pub pipeline: u32,
    /// The outermost pipeline around it.
    pub outermost_pipeline: u32,
    /// Its stage, from 0.
    pub stage: u32,
    /// Whether its stdin may be a pipe: it is a later stage, or inside of one.
    pub reads_pipe: bool,
    /// How it is joined to what comes before it in its list.
    pub joint: Joint,
    /// Whether it runs in the background.
    pub background: bool,
    /// What it is inside of.
    pub inside: Constructs,
    /// Which shell's variables it changes: a subshell, a substitution and a function's body are
    /// each a scope of their own.
    pub(super) scope: u32,
}

/// How a command is joined to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// There is none before it in its list.
    First,
    /// `;`, `&` or a new line.
    Sequence,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|` or `|&`
    Pipe,
}

/// Something that commands can be inside of, or that a script can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Construct {
    /// `$(…)`, backticks, `<(…)`, `>(…)`
    Substitution,
    /// The body of a function.
    Function,
    /// `for`, `while`, `until`, `select`
    Loop,
    /// `if`, `case`
    Condition,
    /// `(…)`
    Subshell,
    /// `{ …; }`
    Group,
    /// A here-document that a shell executes.
    HereDoc,
    /// A script inside a word: `bash -c '…'`, `eval '…'`, `trap '…'`.
    Quoted,
    /// `((…))`, `$((…))`, `let`
    Arithmetic,
    /// `[[ … ]]`
    Test,
    /// `!`
    Negation,
    /// `name=(…)`
    Array,
    /// `coproc`
    Coprocess,
}

/// A set of [`Construct`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Constructs(u16);

impl Constructs {
    /// Adds one more.
    #[must_use]
    pub fn with(self, construct: Construct) -> Self {
        Self(self.0 | 1 << construct as u8)
    }

    /// All of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is one of them.
    pub fn contains(self, construct: Construct) -> bool {
        self.0 & 1 << construct as u8 != 0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::fmt::Debug for Constructs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use Construct as C;
        let all = [
            C::Substitution,
            C::Function,
            C::Loop,
            C::Condition,
            C::Subshell,
            C::Group,
            C::HereDoc,
            C::Quoted,
            C::Arithmetic,
            C::Test,
            C::Negation,
            C::Array,
            C::Coprocess,
        ];
        let mine = all
            .into_iter()
            .filter(|construct| self.contains(*construct));
        formatter.debug_set().entries(mine).finish()
    }
}
