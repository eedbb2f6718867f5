//! `bashd console`: a terminal UI for people, to run commands, to watch them and to step in.
//!
//! `screen` takes and restores the terminal, `app` holds the state and what each key does, `draw`
//! shows it, `prompt` is the line below and `bar` the one above it, `runs` what runs here,
//! `overlay` the terminal of a command and `end_key` the key that ends it there, `pager` a page of
//! lines and `page_text` what it says, `history` what ran before, `jobs` what runs elsewhere,
//! `welcome` the first screen, `question` a command that waits for approval, `asked_elsewhere`
//! those of other processes, `asking` a command that waits for input, `words` what a line of the
//! prompt does, `palette` colors for terminals that have few. One loop handles keys, events of the
//! run and time. `plain` is the same without any drawing, and `plain_input` what it reads.

mod app;
mod asked_elsewhere;
mod asking;
mod bar;
mod complete;
mod draw;
mod end_key;
mod history;
mod jobs;
mod overlay;
mod page_text;
mod pager;
mod palette;
mod plain;
mod plain_input;
mod prompt;
mod question;
mod runs;
mod screen;
mod state;
mod welcome;
mod words;

use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::settings::ConfigInForce;
use crate::{serve, surroundings};
use app::App;
use bashd::exec::TerminalGuardian;
use bashd::{CancellationToken, Engine, KeeperSource};
use crossterm::event;
use end_key::ConsoleEndKey;
use runs::ConsoleRuns;
use std::io::{self, IsTerminal};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the screen is drawn while a command runs.
const TICK: Duration = Duration::from_millis(100);

/// Keys that may wait for a busy console.
const KEYS_AHEAD: usize = 256;

/// How long a directory may take that the person named: meanwhile the console stands still.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// What a look at a person's files finds; `None` if they do not answer in time.
fn in_time<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = std::sync::mpsc::channel();
    let looking = std::thread::Builder::new().spawn(move || tell.send(look()));
    looking.ok()?;
    told.recv_timeout(ANSWERS_WITHIN).ok()
}

/// Starts the guardian of a console's terminal, before any thread exists.
pub(crate) fn guard_early() -> Option<io::Result<TerminalGuardian>> {
    let mut words = std::env::args_os().skip(1);
    let is_console = words.any(|word| word == "console") && io::stdin().is_terminal();
    is_console.then(TerminalGuardian::start)
}

/// How the console shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleLook {
    /// In lines, one after the other.
    Plain,
    /// Drawn, in these colors.
    Drawn(draw::ColorUse),
}

impl ConsoleLook {
    /// What was asked for, in the colors that the terminal has.
    pub(crate) fn of(is_plain: bool, printer: &Printer) -> Self {
        if is_plain {
            Self::Plain
        } else {
            Self::Drawn(paint(printer))
        }
    }
}

/// Runs the console until its user leaves.
pub(crate) fn console(
    guardian: Option<io::Result<TerminalGuardian>>,
    settings: ConfigInForce,
    look: ConsoleLook,
) -> Result<ExitStatus, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if look != ConsoleLook::Plain && !is_terminal {
        let message = "the console needs a terminal";
        return Err(Failure::new(FailureKind::Usage, message)
            .hint("`bashd console --plain`, `bashd run` and `bashd rpc` work without one"));
    }
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let _guardian = guardian.transpose().map_err(failed)?;
    let surroundings = surroundings::for_commands(None)?;
    let cwd = surroundings.cwd.clone();
    let home = settings.places.home.clone();
    let ledger = bashd::ledger::Ledger::new(settings.config.ledger, settings.config.ledger_dir());
    let profile = settings.profile(&settings.config.profile)?;
    let configured = settings.config.console_end_key.as_deref();
    let end_key = ConsoleEndKey::of(configured, profile.terminal.end_key)
        .map_err(|problem| Failure::new(FailureKind::Usage, problem))?;
    let engine = Engine::new(settings.config, surroundings, KeeperSource::Hook)?;
    let runs = ConsoleRuns::new(engine.clone(), profile, cwd, home, end_key);
    let ConsoleLook::Drawn(colors) = look else {
        let (done, signal) =
            serve::until_done(&engine, move |token| plain::run(runs, ledger, token))?;
        done.map_err(failed)?;
        return Ok(signal.unwrap_or(ExitStatus::Success));
    };
    let mut app = App::new(runs, ledger);
    let mut screen = screen::Taken::take(colors).map_err(failed)?;
    let (app, drawn) = (&mut app, &mut screen);
    let (done, signal) = serve::until_done(&engine, move |token| run(app, drawn, token))?;
    drop(screen);
    done.map_err(failed)?;
    Ok(signal.unwrap_or(ExitStatus::Success))
}

fn paint(printer: &Printer) -> draw::ColorUse {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if printer.paints() {
        draw::ColorUse::of(&variable("TERM"), &variable("COLORTERM"))
    } else {
        draw::ColorUse::None
    }
}

async fn run(
    app: &mut App,
    screen: &mut screen::Taken,
    token: CancellationToken,
) -> io::Result<()> {
    let (sender, mut keys) = mpsc::channel(KEYS_AHEAD);
    // Reading the terminal blocks; the thread ends with the process.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                break;
            }
        }
    });
    let mut ticks = tokio::time::interval(TICK);
    while !app.is_leaving() {
        app.attend(screen.size()).await;
        screen.draw(app)?;
        tokio::select! {
            biased;
            () = token.cancelled() => break,
            key = keys.recv() => match key {
                Some(event) => {
                    app.input(&event, screen.size());
                    // What was typed meanwhile is drawn once.
                    while app.only_types()
                        && let Ok(event) = keys.try_recv()
                    {
                        app.input(&event, screen.size());
                    }
                }
                None => break,
            },
            happened = app.next() => app.happened(happened),
            _ = ticks.tick() => {}
        }
    }
    app.end_all().await;
    Ok(())
}
