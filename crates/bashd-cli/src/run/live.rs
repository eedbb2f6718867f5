//! A run at a terminal: its output as it comes, and a status line while it is silent.
//!
//! The status line stands on stderr, below output that ended its last line, and is taken away
//! before anything else is written. So nothing of it stays, and the output is what the command
//! wrote.

use crate::print::Printer;
use bashd::Stream;
use bashd::render::Status;
use std::time::{Duration, Instant};

/// How long a command is silent before the status line comes.
const SILENCE: Duration = Duration::from_secs(1);

/// Clears the line that the cursor is in.
const CLEAR: &str = "\r\u{1b}[K";

/// Where the output left the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    /// Where a line begins: there was no output, or it ended its last line.
    AtLineStart,
    /// Behind a line that the output did not end.
    InLine,
}

/// Shows one run to a person.
pub(super) struct Live<'a> {
    printer: &'a Printer,
    status: Status,
    begun: Instant,
    last_output: Instant,
    cursor: Cursor,
    is_shown: bool,
}

impl<'a> Live<'a> {
    /// A run that begins now.
    pub(super) fn new(printer: &'a Printer) -> Self {
        let now = Instant::now();
        Self {
            printer,
            status: Status::default(),
            begun: now,
            last_output: now,
            cursor: Cursor::AtLineStart,
            is_shown: false,
        }
    }

    /// The command wrote something.
    pub(super) fn output(&mut self, stream: Stream, text: &str) {
        self.hide();
        match stream {
            // A terminal that is gone is no reason to end the command: its reply is recorded.
            Stream::Out => drop(self.printer.out(text)),
            Stream::Err => Printer::err(text),
        }
        self.status.output(text);
        self.cursor = if text.ends_with('\n') {
            Cursor::AtLineStart
        } else {
            Cursor::InLine
        };
        self.last_output = Instant::now();
    }

    /// Time passed.
    pub(super) fn tick(&mut self) {
        if self.cursor == Cursor::InLine || self.last_output.elapsed() < SILENCE {
            return;
        }
        // One column stays free: a terminal that wraps at its edge would begin another line.
        let Some(columns) = Printer::err_columns() else {
            return;
        };
        let line = self
            .status
            .line(self.begun.elapsed(), columns.saturating_sub(1));
        let text = self.printer.err_text(&line);
        Printer::err(&format!("{CLEAR}{text}"));
        self.is_shown = true;
    }

    /// The run is over: tells where its output left the cursor.
    pub(super) fn end(&mut self) -> Cursor {
        self.hide();
        self.cursor
    }

    fn hide(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            Printer::err(CLEAR);
        }
    }
}
