//! Which programs may run in strict safe mode, and who judges their arguments: one table.

use super::options::{Long, Operands, Options, Short};
use super::{StepWord, find, git, runners};

/// Why arguments are refused, and what would be accepted.
#[derive(Debug)]
pub(super) struct PolicyDenial {
    pub(super) why: String,
    pub(super) accepted: String,
}

impl PolicyDenial {
    pub(super) fn new(why: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            accepted: accepted.into(),
        }
    }
}

/// Who judges a program's arguments.
pub(super) enum PolicyJudge {
    /// All are harmless: the program only reads and prints, whatever its arguments.
    Nothing,
    /// This function.
    Arguments(fn(&[StepWord]) -> Result<(), PolicyDenial>),
    /// This function, which may also add some.
    Changing(fn(&[StepWord]) -> Result<Vec<StepWord>, PolicyDenial>),
}

/// Every program, in the document's order.
pub(super) const PROGRAMS: &[(&str, PolicyJudge)] = &[
    ("git", PolicyJudge::Changing(git::check)),
    ("grep", PolicyJudge::Nothing),
    ("rg", PolicyJudge::Arguments(ripgrep)),
    ("find", PolicyJudge::Arguments(find::check)),
    ("ls", PolicyJudge::Nothing),
    ("cat", PolicyJudge::Nothing),
    ("head", PolicyJudge::Nothing),
    // Following a file is reading it; the deadline ends it.
    ("tail", PolicyJudge::Nothing),
    ("wc", PolicyJudge::Nothing),
    ("swift", PolicyJudge::Arguments(runners::swift)),
    ("xcodebuild", PolicyJudge::Arguments(runners::xcodebuild)),
    ("npm", PolicyJudge::Arguments(runners::npm)),
    ("pytest", PolicyJudge::Arguments(runners::pytest)),
];

/// These options of ripgrep start programs: a preprocessor, one that prints the host's name,
/// decompressors.
const RIPGREP: Options = Options {
    short: Short::AllBut {
        refused: "z",
        valued: "ABCEMTdefgjmrt",
    },
    long: Long::AllBut(&["pre", "hostname-bin", "search-zip"]),
    operands: Operands::Any,
};

fn ripgrep(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let read = RIPGREP.read(arguments).map(drop);
    read.map_err(|what| {
        PolicyDenial::new(
            format!("rg with {what}"),
            "rg without --pre, --hostname-bin, -z",
        )
    })
}

/// Judges a program and its arguments; returns the arguments to run it with.
pub(super) fn check(program: &str, arguments: &[StepWord]) -> Result<Vec<StepWord>, PolicyDenial> {
    let Some((_, judge)) = PROGRAMS.iter().find(|(name, _)| *name == program) else {
        return Err(PolicyDenial::new(
            format!("`{program}` is not an allowed command"),
            accepted(),
        ));
    };
    match judge {
        PolicyJudge::Nothing => Ok(arguments.to_vec()),
        PolicyJudge::Arguments(judge) => judge(arguments).map(|()| arguments.to_vec()),
        PolicyJudge::Changing(judge) => judge(arguments),
    }
}

/// What may run at all.
pub(super) fn accepted() -> String {
    "git (read-only), grep, rg, find, ls, cat, head, tail, wc, swift test, xcodebuild test, npm test and pytest, alone or joined by |, && or ;".to_owned()
}
