//! Failures of the binary: whose fault it was, the chain of causes, and hints; printed in one
//! place.

use crate::args;
use crate::exit_status::ExitStatus;
use crate::print::{Paint, Printer};
use std::ffi::OsString;
use std::fmt::Display;

/// What to do about a text that is no regular expression.
pub(crate) const A_PATTERN: &str =
    "it is a regular expression: a backslash before a character means that character, as in \\(";

/// Why a front end could not do its job.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    chain: anyhow::Error,
    hints: Vec<String>,
}

/// Whose fault it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The command line's.
    Usage,
    /// The configuration's.
    Config,
    /// The machine's.
    System,
    /// Nobody's: the reader of our output has stopped reading, and needs no message.
    ReaderGone,
}

impl Failure {
    /// A failure with a text that fits after "error: ".
    pub(crate) fn new(kind: FailureKind, message: impl Display) -> Self {
        Self::of(kind, anyhow::Error::msg(message.to_string()))
    }

    /// A failure with its causes.
    pub(crate) fn of(kind: FailureKind, chain: anyhow::Error) -> Self {
        Self {
            kind,
            chain,
            hints: Vec::new(),
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds where to look further, unless it says already what to do. These words are the command
    /// line.
    #[must_use]
    pub(crate) fn pointing_on(self, words: &[OsString]) -> Self {
        if !self.hints.is_empty() {
            return self;
        }
        let hint = match self.kind {
            FailureKind::Usage => format!("{} --help has examples", args::asked_for(words)),
            FailureKind::Config => "bashd config show says where each value comes from".to_owned(),
            FailureKind::System => "bashd doctor looks for what is wrong here".to_owned(),
            FailureKind::ReaderGone => return self,
        };
        self.hint(hint)
    }

    /// Whose fault it was.
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Prints it on stderr; returns the exit status.
    pub(crate) fn show(&self, printer: &Printer) -> ExitStatus {
        if self.kind == FailureKind::ReaderGone {
            return ExitStatus::Success;
        }
        let what = match self.kind {
            FailureKind::Usage => "usage error:",
            FailureKind::Config => "configuration error:",
            FailureKind::System | FailureKind::ReaderGone => "error:",
        };
        self.tell((Paint::Bad, what), printer);
        ExitStatus::Failed
    }

    /// Prints it on stderr as a warning.
    pub(crate) fn warn(&self, printer: &Printer) {
        self.tell((Paint::Warning, "warning:"), printer);
    }

    fn tell(&self, (paint, what): (Paint, &str), printer: &Printer) {
        printer.remark(paint, what, &format!("{:#}", self.chain));
        for hint in &self.hints {
            printer.remark(Paint::Hint, "hint:", hint);
        }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:#}", self.chain)
    }
}

impl From<bashd::Error> for Failure {
    fn from(error: bashd::Error) -> Self {
        let kind = match error.kind() {
            bashd::ErrorKind::Config => FailureKind::Config,
            _ => FailureKind::System,
        };
        // The library's messages already contain their cause.
        Self::new(kind, error)
    }
}
