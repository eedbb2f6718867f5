//! A run as an asciicast, the format of asciinema: version 2 or 3.

use super::{Happening, Pauses, RecordedRun, Timing};
use crate::screen::Size;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::Duration;

/// Which version of the format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CastVersion {
    /// Times since the start; every player takes it.
    #[default]
    Two,
    /// Times since the event before, and the exit status; asciinema 3 and newer.
    Three,
}

/// The terminal that is named to players.
const TERMINAL: &str = "xterm-256color";

/// What stands for something typed that must not be known.
const UNSEEN: &str = "[not recorded]";

/// Writes the cast; pauses are at most so long.
pub fn write(
    run: &RecordedRun,
    version: CastVersion,
    idle: Option<Duration>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = Lines {
        out,
        version,
        last: Duration::ZERO,
    };
    lines.line(&header(run, version))?;
    let mut pauses = Pauses::at_most(idle);
    run.events(&mut |event| {
        let at = pauses.shown(event.at);
        match event.what {
            Happening::Wrote(text) => lines.event(at, "o", &text),
            Happening::Typed(text) => lines.event(at, "i", text.as_deref().unwrap_or(UNSEEN)),
            Happening::Resized(size) => lines.event(at, "r", &size_of(size)),
        }
    })?;
    if run.about.is_running {
        return Ok(());
    }
    let end = pauses.shown(run.about.ran_for);
    match (version, run.about.exit_code) {
        (CastVersion::Three, Some(code)) => lines.event(end, "x", &code.to_string()),
        (CastVersion::Two, Some(code)) => lines.event(end, "m", &format!("exit {code}")),
        (_, None) => lines.event(end, "m", "end"),
    }
}

fn size_of(size: Size) -> String {
    format!("{}x{}", size.columns(), size.rows())
}

fn header(run: &RecordedRun, version: CastVersion) -> Value {
    let (about, size) = (&run.about, run.size());
    let mut header = match version {
        CastVersion::Two => json!({
            "version": 2,
            "width": size.columns(),
            "height": size.rows(),
            "env": {"TERM": TERMINAL},
        }),
        CastVersion::Three => json!({
            "version": 3,
            "term": {"cols": size.columns(), "rows": size.rows(), "type": TERMINAL},
        }),
    };
    if let Some(started) = about.started {
        header["timestamp"] = json!(started.as_second());
    }
    if !about.command.is_empty() {
        header["command"] = json!(about.command);
    }
    if about.timing != Timing::Recorded {
        header["title"] = json!(about.timing.remark());
    }
    header
}

/// The lines of a cast.
struct Lines<'a> {
    out: &'a mut dyn Write,
    version: CastVersion,
    last: Duration,
}

impl Lines<'_> {
    fn line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.out, "{value}")
    }

    fn event(&mut self, at: Duration, code: &str, data: &str) -> io::Result<()> {
        let time = match self.version {
            CastVersion::Two => at,
            CastVersion::Three => at.saturating_sub(self.last),
        };
        self.last = at;
        // Microseconds, written exactly.
        let (seconds, micros) = (time.as_secs(), time.subsec_micros());
        let (code, data) = (Value::from(code), Value::from(data));
        writeln!(self.out, "[{seconds}.{micros:06}, {code}, {data}]")
    }
}
