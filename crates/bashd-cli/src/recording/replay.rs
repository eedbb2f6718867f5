//! `bashd replay`: a run in the terminal as it was, or faster.

use super::find;
use crate::args::ReplayOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::terminal::{self, TakenTerminal};
use bashd::recording::{Happening, Pauses, RecordedRun, RunEvent};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Events that are read ahead.
const AHEAD: usize = 64;

const CTRL_C: u8 = 3;

/// Plays a run.
pub(crate) fn replay(
    arguments: &ReplayOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let run = find(&arguments.id, settings)?;
    if let Some(remark) = run.about.timing.remark() {
        printer.note(remark);
    }
    let is_interactive = terminal::is_ours();
    if is_interactive {
        let (size, ours) = (run.about.terminal, terminal::size());
        if let (Some(size), Some(ours)) = (size, ours)
            && (size.columns() > ours.columns() || size.rows() > ours.rows())
        {
            let (columns, rows) = (size.columns(), size.rows());
            printer.note(&format!(
                "it had a terminal of {columns} columns and {rows} rows"
            ));
        }
        printer.note("space pauses · q or Ctrl-C ends it");
    }
    let about = run.about.clone();
    let runtime =
        runtime::build().map_err(|error| Failure::of(FailureKind::System, error.into()))?;
    let reel = ReplayReel {
        speed: arguments.speed,
        pauses: Pauses::at_most(arguments.idle),
        end: about.ran_for,
        has_end: !about.is_running && about.timing.remark().is_none(),
    };
    let outcome = runtime.block_on(async {
        let events = read_ahead(run);
        if is_interactive {
            let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
            let mut ours = TakenTerminal::take().map_err(failed)?;
            let outcome = reel.at_terminal(events, &mut ours).await;
            if !ours.is_at_line_start() {
                ours.write(b"\r\n");
            }
            Ok(outcome)
        } else {
            reel.on_stdout(events, printer).await
        }
    });
    // The thread that reads ends with its channel.
    runtime.shutdown_background();
    match outcome? {
        Played::Whole => match about.exit_code {
            Some(code) => printer.note(&format!("it exited with status {code}")),
            None if about.is_running => printer.note("it is still running"),
            None => {}
        },
        Played::Ended => {}
    }
    Ok(ExitStatus::Success)
}

/// Whether all of it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Played {
    Whole,
    Ended,
}

/// Events in order, read by a thread of their own, a few ahead.
fn read_ahead(run: RecordedRun) -> mpsc::Receiver<io::Result<RunEvent>> {
    let (sender, events) = mpsc::channel(AHEAD);
    std::thread::spawn(move || {
        let told = run.events(&mut |event| {
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            sender.blocking_send(Ok(event)).map_err(gone)
        });
        if let Err(error) = told {
            // Nobody listens if nobody wants more.
            let _ = sender.blocking_send(Err(error));
        }
    });
    events
}

struct ReplayReel {
    speed: f64,
    pauses: Pauses,
    end: Duration,
    /// Whether the time after the last output is known, and waited for.
    has_end: bool,
}

impl ReplayReel {
    /// How far into the play something happens.
    fn moment(&mut self, at: Duration) -> Duration {
        self.pauses.shown(at).div_f64(self.speed)
    }

    async fn on_stdout(
        mut self,
        mut events: mpsc::Receiver<io::Result<RunEvent>>,
        printer: &Printer,
    ) -> Result<Played, Failure> {
        let begun = Instant::now();
        while let Some(event) = events.recv().await {
            let event = event.map_err(|error| Failure::of(FailureKind::System, error.into()))?;
            let due = self.moment(event.at);
            if let Happening::Wrote(text) = event.what {
                tokio::time::sleep_until(begun + due).await;
                printer.out(&text)?;
            }
        }
        Ok(Played::Whole)
    }

    async fn at_terminal(
        mut self,
        mut events: mpsc::Receiver<io::Result<RunEvent>>,
        ours: &mut TakenTerminal,
    ) -> Played {
        let mut clock = PlayClock::start();
        loop {
            let event = events.recv().await;
            let (due, text) = match event {
                Some(Ok(event)) => match event.what {
                    Happening::Wrote(text) => (self.moment(event.at), text),
                    Happening::Typed(_) | Happening::Resized(_) => continue,
                },
                Some(Err(error)) => (Duration::ZERO, format!("\r\n[{error}]\r\n")),
                None if self.has_end => (self.moment(self.end), String::new()),
                None => return Played::Whole,
            };
            let is_end = text.is_empty();
            if clock.wait(due, ours).await == Played::Ended {
                return Played::Ended;
            }
            if is_end {
                return Played::Whole;
            }
            ours.write(text.as_bytes());
        }
    }
}

/// Time as it passes while nobody has paused it.
struct PlayClock {
    /// When the play would have begun without pauses; `None` while it is paused.
    begun: Option<Instant>,
    played: Duration,
}

impl PlayClock {
    fn start() -> Self {
        Self {
            begun: Some(Instant::now()),
            played: Duration::ZERO,
        }
    }

    /// Waits for a moment of the play, and does what is typed meanwhile.
    async fn wait(&mut self, due: Duration, ours: &mut TakenTerminal) -> Played {
        loop {
            let moment = async {
                match self.begun {
                    Some(begun) => tokio::time::sleep_until(begun + due).await,
                    None => std::future::pending().await,
                }
            };
            let typed = tokio::select! {
                biased;
                typed = ours.typed() => typed,
                () = moment => return Played::Whole,
            };
            if typed.iter().any(|byte| matches!(*byte, b'q' | CTRL_C)) {
                return Played::Ended;
            }
            if typed.contains(&b' ') {
                self.toggle();
            }
        }
    }

    fn toggle(&mut self) {
        match self.begun.take() {
            Some(begun) => self.played = begun.elapsed(),
            None => self.begun = Instant::now().checked_sub(self.played),
        }
    }
}
