//! A small process that restores a terminal after its user was killed.
//!
//! A program that draws on a terminal puts it into raw mode and onto the alternate screen, and must
//! undo that. A killed process cannot: its guardian sees the pipe between them close without a last
//! word, and does it instead.

use bashd_keeper::os::{descriptors, fork, signals};
use rustix::pipe::PipeFlags;
use rustix::termios::{OptionalActions, OutputModes, Termios};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The last word of a process that has restored its terminal itself.
const DONE: &[u8] = b".";

/// Keyboard (Kitty's protocol, other keys, keypad, cursor keys), mouse, focus, paste, cursor (seen,
/// shape), insertion, breaking of lines, letters.
macro_rules! plain_modes {
    () => {
        "\x1b[<u\x1b[>4m\x1b>\x1b[?1l\x1b[?1015l\x1b[?1006l\x1b[?1005l\x1b[?1003l\x1b[?1002l\x1b[?1000l\
         \x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0 q\x1b[4l\x1b[?7h\x1b(B\x0f"
    };
}

/// The whole screen scrolls again. That would move the cursor, which therefore is kept meanwhile.
macro_rules! whole_screen {
    () => {
        "\x1b7\x1b[r\x1b8\x1b[0m"
    };
}

/// Undoes every mode that a program at a terminal may have set, except for the alternate screen.
pub const PLAIN_MODES: &str = concat!(plain_modes!(), whole_screen!());

/// Undoes every mode that a full-screen program may have set, and leaves the alternate screen.
pub const LEAVE_SCREEN: &str = concat!(plain_modes!(), "\x1b[?1049l", whole_screen!());

/// The guardian of the terminal that is this process's stdin, for as long as this value lives.
#[derive(Debug)]
pub struct TerminalGuardian {
    link: OwnedFd,
}

impl TerminalGuardian {
    /// Starts the guardian. The process must have a single thread, and its terminal must be in the
    /// state to restore.
    pub fn start() -> io::Result<Self> {
        fork::check_single_thread()?;
        let terminal = rustix::stdio::stdin();
        let modes = rustix::termios::tcgetattr(terminal)?;
        let terminal = rustix::io::fcntl_dupfd_cloexec(terminal, 3)?;
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        match fork::fork()? {
            fork::Forked::Parent(_) => Ok(Self { link: write }),
            fork::Forked::Child => {
                drop(write);
                let status = i32::from(watch(&read, &terminal, &modes).is_err());
                fork::exit_now(status)
            }
        }
    }
}

impl Drop for TerminalGuardian {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.link, DONE);
    }
}

/// Runs in the guardian: waits for the last word, or for the end without one.
fn watch(link: &OwnedFd, terminal: &OwnedFd, modes: &Termios) -> io::Result<()> {
    // What ends its user must not end the guardian: it has its own session and ignores every signal
    // but KILL.
    let _ = rustix::process::setsid();
    let _signals = signals::take_over()?;
    descriptors::keep_only(&[link.as_raw_fd(), terminal.as_raw_fd()])?;
    let mut word = [0; 1];
    loop {
        match rustix::io::read(link, &mut word) {
            Ok(0) => break,
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A shell that already has its terminal back has set it as it likes, and never to raw mode.
    let now = rustix::termios::tcgetattr(terminal)?;
    if !now.output_modes.contains(OutputModes::OPOST) {
        rustix::termios::tcsetattr(terminal.as_fd(), OptionalActions::Now, modes)?;
    }
    rustix::io::write(terminal, LEAVE_SCREEN.as_bytes())?;
    Ok(())
}
