//! The terminal while `bashd top` draws on it, given back whatever happens.

use super::app::TopApp;
use super::view::{self, TopColours};
use bashd::exec::LEAVE_SCREEN;
use bashd::ledger::Timestamp;
use crossterm::terminal::{EnterAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout, Write};

/// The terminal while it is ours.
pub(super) struct TopScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TopScreen {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws what there is to see.
    pub(super) fn draw(&mut self, app: &TopApp, colours: TopColours) -> io::Result<()> {
        let now = Timestamp::now();
        let drawn = |frame: &mut ratatui::Frame<'_>| view::draw(frame, app, colours, now);
        self.terminal.draw(drawn).map(drop)
    }
}

impl Drop for TopScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Resets every mode. Failures are ignored: there is no other way to report them.
fn give_back() {
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE_SCREEN.as_bytes());
    let _ = out.flush();
    let _ = disable_raw_mode();
}
