//! One run as a single line: a spinner, how long it has been running, its last line.

use super::store::LineStore;
use super::{StyledLine, Tone, clamp, width};
use std::time::Duration;

/// The spinner's frames.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// How long each is shown.
const FRAME: Duration = Duration::from_millis(100);

/// Lines among which the last non-blank one is looked for.
const LINES: usize = 16;

/// A running command in one line.
pub(crate) struct StatusLine {
    last: LineStore,
}

impl Default for StatusLine {
    fn default() -> Self {
        Self {
            last: LineStore::keeping(LINES),
        }
    }
}

impl StatusLine {
    /// Takes a piece of output.
    pub(crate) fn output(&mut self, text: &str) {
        self.last.push(text);
    }

    /// The line, at most this many columns wide.
    pub(crate) fn line(&self, elapsed: Duration, columns: usize) -> StyledLine {
        let line = StyledLine::new(Tone::Active, spinner(elapsed));
        let last = self.last.lines().filter(|line| !line.trim().is_empty());
        match last.last() {
            Some(last) => {
                let left = columns.saturating_sub(width(&line.text()) + 2);
                line.and(Tone::Faint, format!("  {}", clamp(&last, left).text))
            }
            None => line,
        }
        .cut(columns)
    }
}

/// The spinner and its words.
pub(super) fn spinner(elapsed: Duration) -> String {
    let frame = elapsed.as_millis() / FRAME.as_millis() % FRAMES.len() as u128;
    let picture = FRAMES.get(frame as usize).copied().unwrap_or('•');
    format!("{picture} running {}", duration(elapsed))
}

fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds}.{}s", elapsed.subsec_millis() / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
