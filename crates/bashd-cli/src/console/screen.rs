//! The user's terminal: taken for drawing, and restored whatever happens.

use super::app::App;
use super::draw::{self, ColorUse};
use bashd::exec::LEAVE_SCREEN;
use crossterm::event::{
    EnableBracketedPaste, EnableMouseCapture, KeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{EnterAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The terminal while it is ours.
pub(super) struct Taken {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    paint: ColorUse,
}

/// Whether the terminal is ours: the first that restores it clears this.
static IS_OURS: AtomicBool = AtomicBool::new(false);

impl Taken {
    /// Takes the terminal. A panic restores it before it prints its message.
    pub(super) fn take(colors: ColorUse) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                tell(panic);
            }));
        });
        IS_OURS.store(true, Ordering::Relaxed);
        enable_raw_mode()?;
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        let entered = execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableMouseCapture,
            PushKeyboardEnhancementFlags(flags),
            cursor::Hide,
        );
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match terminal {
            Ok(terminal) => Ok(Self {
                terminal,
                paint: colors,
            }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (u16, u16) {
        let size = self.terminal.size().unwrap_or_default();
        (size.width, size.height)
    }

    /// Draws what there is to see.
    pub(super) fn draw(&mut self, app: &App) -> io::Result<()> {
        let paint = self.paint;
        self.terminal
            .draw(|frame| draw::draw(frame, app, paint))
            .map(drop)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Resets every mode. Failures are ignored: there is no other way to report them.
fn give_back() {
    if !IS_OURS.swap(false, Ordering::Relaxed) {
        return;
    }
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE_SCREEN.as_bytes());
    let _ = out.flush();
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd_testkit::{Binary, Home, loudly};

    /// Set for the process that is to panic.
    const PANICS: &str = "BASHD_TEST_PANICS";

    #[test]
    fn a_panic_gives_the_terminal_back_and_then_tells_why() {
        if std::env::var_os(PANICS).is_some() {
            let _taken = Taken::take(ColorUse::None).unwrap();
            panic!("for the test");
        }
        let name = "console::screen::tests::a_panic_gives_the_terminal_back_and_then_tells_why";
        let program = std::env::current_exe().unwrap();
        // The same test again, in a terminal of its own.
        let words = format!(
            "stty rows 24 cols 80; {PANICS}=1 '{}' --exact {name} --nocapture; stty -a",
            program.display()
        );
        let script = "/usr/bin/script";
        if !std::path::Path::new(script).exists() {
            loudly("script is missing: a panic in the console");
            return;
        }
        let home = Home::new();
        let ran = Binary::new(script, &home)
            .args(["-qec", &words, "/dev/null"])
            .run();
        let shown = ran.out();
        let at = |text: &str| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("{text:?}: {shown}"))
        };
        assert!(at("\x1b[?1049h") < at(LEAVE_SCREEN), "{shown}");
        assert!(at(LEAVE_SCREEN) < at("for the test"), "{shown}");
        assert_eq!(shown.matches(LEAVE_SCREEN).count(), 1, "{shown}");
        let (_, after) = shown.split_once("for the test").unwrap();
        for mode in ["icanon", "echo", "opost"] {
            let is_on = after.split_whitespace().any(|word| word == mode);
            assert!(is_on, "{mode}: {shown}");
        }
    }
}
