//! A run at a terminal: its output as it arrives, and a status line while it is silent.
//!
//! The status line is on stderr, below output that ended its last line, and is removed before
//! anything else is written. So nothing of it stays. The output keeps its colours, and can't act
//! on the terminal otherwise: only `--pty` lets a command do that.

use crate::for_people;
use crate::print::{CommandOutput, Printer};
use crate::render::{StatusLine, StyledLine, Tone};
use crate::run::asking::PromptShown;
use bashd::Stream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a command is silent before the status line comes.
const SILENCE: Duration = Duration::from_secs(1);

/// Clears the line that the cursor is in.
const CLEAR: &str = "\r\u{1b}[K";

/// Where the output left the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CursorPosition {
    /// At the start of a line: there was no output, or it ended its last line.
    AtLineStart,
    /// After a line that the output did not end.
    InLine,
}

/// Shows one run to a person.
pub(super) struct LiveView<'a> {
    printer: &'a Printer,
    out: CommandOutput,
    err: CommandOutput,
    status: StatusLine,
    begun: Instant,
    last_output: Instant,
    cursor: CursorPosition,
    is_shown: bool,
    question: PromptShown,
    /// What is waited for before the command can begin.
    preparing: String,
}

impl<'a> LiveView<'a> {
    /// A run that begins now.
    pub(super) fn new(printer: &'a Printer, question: PromptShown) -> Self {
        let now = Instant::now();
        Self {
            printer,
            out: CommandOutput::to_stdout(),
            err: CommandOutput::to_stderr(),
            status: StatusLine::default(),
            begun: now,
            last_output: now,
            cursor: CursorPosition::AtLineStart,
            is_shown: false,
            question,
            preparing: String::new(),
        }
    }

    /// The place at which the command will run is being made ready, or is.
    pub(super) fn preparing(&mut self, text: String) {
        self.hide();
        self.preparing = text;
        (self.begun, self.last_output) = (Instant::now(), Instant::now());
        self.tick();
    }

    /// The command wrote something.
    pub(super) fn output(&mut self, stream: Stream, text: &str) {
        self.hide();
        match stream {
            // If the terminal is gone, the command continues: its reply is recorded.
            Stream::Out => drop(self.printer.out(&self.out.text(text))),
            Stream::Err => Printer::err(&self.err.text(text)),
        }
        self.status.output(text);
        self.cursor = if text.ends_with('\n') {
            CursorPosition::AtLineStart
        } else {
            CursorPosition::InLine
        };
        self.last_output = Instant::now();
    }

    /// Time passed.
    pub(super) fn tick(&mut self) {
        if self.question.load(Ordering::Relaxed) {
            // The person thinks; the command has not begun.
            (self.begun, self.last_output) = (Instant::now(), Instant::now());
            return;
        }
        let is_silent = self.last_output.elapsed() >= SILENCE || !self.preparing.is_empty();
        if self.cursor == CursorPosition::InLine || !is_silent {
            return;
        }
        // One column stays free: a terminal that wraps at its edge would begin another line.
        let Some(columns) = Printer::err_columns() else {
            return;
        };
        let columns = columns.saturating_sub(1);
        let line = match &*self.preparing {
            "" => self.status.line(self.begun.elapsed(), columns),
            preparing => {
                let line = for_people::one_line(preparing);
                StyledLine::new(Tone::Faint, line).cut(columns)
            }
        };
        let text = self.printer.err_text(&line);
        Printer::err(&format!("{CLEAR}{text}"));
        self.is_shown = true;
    }

    /// Ends the display; returns where the output left the cursor.
    pub(super) fn end(&mut self) -> CursorPosition {
        self.hide();
        let _ = self.printer.out(self.out.end());
        Printer::err(self.err.end());
        self.cursor
    }

    fn hide(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            Printer::err(CLEAR);
        }
    }
}
