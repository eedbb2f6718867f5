//! The user's terminal while somebody types at a program that runs elsewhere: bytes go through as
//! they are, and the terminal is given back whatever happens.

use bashd::exec::{LEAVE_SCREEN, PLAIN_MODES, TerminalGuardian};
use bashd::screen::{Cell, Colour, Screen, Size};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// Pieces of input that may wait for a busy program.
const PIECES_AHEAD: usize = 64;

/// Bytes that are read at once.
const AT_ONCE: usize = 4096;

/// How often the reader looks whether it is still wanted.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Starts the guardian of a terminal that is about to be taken, before any thread exists.
pub(crate) fn guard_early() -> Option<io::Result<TerminalGuardian>> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    let takes = (has("run") && has("--pty"))
        || (has("jobs") && has("attach"))
        || has("top")
        || has("replay");
    (takes && is_ours()).then(TerminalGuardian::start)
}

/// Whether stdin and stdout are a terminal.
pub(crate) fn is_ours() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The size of the terminal behind stdout.
pub(crate) fn size() -> Option<Size> {
    crate::print::Printer::size().map(Into::into)
}

/// The terminal in raw mode, for as long as this value lives.
pub(crate) struct TakenTerminal {
    typed: mpsc::Receiver<Vec<u8>>,
    is_over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    /// What the program made of the terminal.
    screen: Screen,
    has_escapes: bool,
}

impl TakenTerminal {
    /// Takes the terminal.
    pub(crate) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let (sender, typed) = mpsc::channel(PIECES_AHEAD);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        Ok(Self {
            typed,
            is_over,
            reader: Some(std::thread::spawn(move || read(&sender, &ends))),
            screen: Screen::new(size().unwrap_or_default()),
            has_escapes: false,
        })
    }

    /// What is typed next. Never ends if the terminal is gone: then a hang-up ends us, or the
    /// deadline the command.
    pub(crate) async fn typed(&mut self) -> Vec<u8> {
        match self.typed.recv().await {
            Some(bytes) => bytes,
            None => std::future::pending().await,
        }
    }

    /// Shows what the program wrote.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.has_escapes |= bytes.contains(&0x1b);
        self.screen.feed(bytes);
        // If the terminal is gone, the program goes on: whoever looks next sees all of it.
        let mut out = io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    /// Shows a program's screen as it is by now. It is drawn, not played again: a program's old
    /// questions to its terminal would be answered once more.
    pub(crate) fn paint(&mut self, screen: &Screen) {
        if self.screen.is_alternate() && !screen.is_alternate() {
            self.write(LEAVE_SCREEN.as_bytes());
        } else if self.has_escapes {
            // What was switched on for an earlier picture is switched on once.
            self.write(PLAIN_MODES.as_bytes());
        }
        self.write(painting(screen).as_bytes());
    }

    /// The terminal has another size.
    pub(crate) fn resized(&mut self, size: Size) {
        self.screen.resize(size);
    }

    /// Whether the cursor is at the start of a line.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.screen.cursor().column == 0
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        // What is typed from here on is for the shell.
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            self.typed.close();
            let _ = reader.join();
        }
        let mut out = io::stdout().lock();
        if self.screen.is_alternate() {
            let _ = out.write_all(LEAVE_SCREEN.as_bytes());
        } else if self.has_escapes {
            let _ = out.write_all(PLAIN_MODES.as_bytes());
        }
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}

/// Reads what is typed until it is over.
fn read(sender: &mpsc::Sender<Vec<u8>>, is_over: &AtomicBool) {
    let stdin = rustix::stdio::stdin();
    let mut buffer = [0; AT_ONCE];
    while !is_over.load(Ordering::Relaxed) {
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&LOOK_EVERY)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        match rustix::io::read(stdin, &mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let typed = buffer.get(..count).unwrap_or_default().to_vec();
                if sender.blocking_send(typed).is_err() {
                    return;
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// What puts a terminal into the state of this screen, without asking it anything.
fn painting(screen: &Screen) -> String {
    let mut text = String::new();
    if screen.is_alternate() {
        text.push_str("\x1b[?1049h");
    }
    text.push_str("\x1b[2J\x1b[H");
    for row in 0..screen.size().rows() {
        let cells = screen.cells(row);
        let end = cells
            .iter()
            .rposition(|cell| !is_blank(cell))
            .map_or(0, |last| last + 1);
        let mut last = None;
        // A string takes any text.
        let _ = write!(text, "\x1b[{};1H", row + 1);
        for cell in cells.get(..end).unwrap_or_default() {
            let style = style(cell);
            if last.as_ref() != Some(&style) {
                text.push_str(&style);
            }
            last = Some(style);
            text.push_str(if cell.text.is_empty() {
                " "
            } else {
                &cell.text
            });
        }
        text.push_str("\x1b[0m");
    }
    let (cursor, modes) = (screen.cursor(), screen.key_modes());
    let _ = write!(text, "\x1b[{};{}H", cursor.row + 1, cursor.column + 1);
    let switches = [
        (!cursor.is_visible, "\x1b[?25l"),
        (modes.application_cursor, "\x1b[?1h"),
        (modes.bracketed_paste, "\x1b[?2004h"),
    ];
    let on = switches.into_iter().filter(|(is_on, _)| *is_on);
    text.extend(on.map(|(_, switch)| switch));
    if modes.kitty > 0 {
        let _ = write!(text, "\x1b[>{}u", modes.kitty);
    }
    text
}

fn is_blank(cell: &Cell) -> bool {
    let is_plain = matches!(cell.background, Colour::Default) && !cell.is_inverse;
    cell.text.trim().is_empty() && is_plain && !cell.is_underlined
}

fn style(cell: &Cell) -> String {
    let mut style = "\x1b[0".to_owned();
    let switches = [
        (cell.is_bold, ";1"),
        (cell.is_dim, ";2"),
        (cell.is_italic, ";3"),
        (cell.is_underlined, ";4"),
        (cell.is_inverse, ";7"),
    ];
    let on = switches.into_iter().filter(|(is_on, _)| *is_on);
    style.extend(on.map(|(_, switch)| switch));
    for (ground, colour) in [(38, cell.foreground), (48, cell.background)] {
        // A string takes any text.
        let _ = match colour {
            Colour::Default => Ok(()),
            Colour::Indexed(index) => write!(style, ";{ground};5;{index}"),
            Colour::Rgb(red, green, blue) => write!(style, ";{ground};2;{red};{green};{blue}"),
        };
    }
    style.push('m');
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_painted_is_the_screen_again() {
        let mut screen = Screen::new(Size::new(20, 5));
        screen
            .feed(b"\x1b[?1049h\x1b[?2004h\x1b[2;3H\x1b[1;31mred\x1b[0m and\x1b[4;1H\xe6\x97\xa5x");
        let mut again = Screen::new(Size::new(20, 5));
        again.feed(painting(&screen).as_bytes());
        for row in 0..5 {
            assert_eq!(
                format!("{:?}", again.cells(row)),
                format!("{:?}", screen.cells(row)),
                "row {row}"
            );
        }
        assert_eq!(
            (again.cursor().row, again.cursor().column),
            (screen.cursor().row, screen.cursor().column)
        );
        assert!(again.is_alternate() && again.key_modes().bracketed_paste);
    }
}
