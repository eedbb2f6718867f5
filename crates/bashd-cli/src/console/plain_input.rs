//! The lines that the console without drawing reads: from a person's terminal, or from a pipe.

use std::io::{self, BufRead, IsTerminal};
use tokio::sync::mpsc;

/// Lines that may wait for a busy console.
const LINES_AHEAD: usize = 256;

/// Something that came in.
pub(super) enum PlainInput {
    Line(String),
    /// The end of a pipe; at a terminal Ctrl-D, after which more may come.
    End,
}

/// Where lines come from.
pub(super) struct PlainLines {
    lines: mpsc::Receiver<PlainInput>,
    /// Whether somebody types them while commands run.
    pub(super) is_terminal: bool,
}

impl PlainLines {
    /// The lines of stdin.
    pub(super) fn of_stdin() -> Self {
        let is_terminal = io::stdin().is_terminal();
        let (sender, lines) = mpsc::channel(LINES_AHEAD);
        // Reading blocks; the thread ends with the process.
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                let read = stdin.read_until(b'\n', &mut line);
                let is_over = !matches!(read, Ok(1..));
                let input = if is_over {
                    PlainInput::End
                } else {
                    let text = String::from_utf8_lossy(&line);
                    PlainInput::Line(text.trim_end_matches(['\n', '\r']).to_owned())
                };
                let is_gone = sender.blocking_send(input).is_err();
                if is_gone || is_over && !(is_terminal && read.is_ok()) {
                    break;
                }
            }
        });
        Self { lines, is_terminal }
    }

    /// The next line, or the end.
    pub(super) async fn next(&mut self) -> PlainInput {
        self.lines.recv().await.unwrap_or(PlainInput::End)
    }
}
