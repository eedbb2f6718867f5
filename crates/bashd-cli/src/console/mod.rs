//! `bashd console`: a terminal UI for people, to run commands, to watch them and to step in.
//!
//! `screen` takes and restores the terminal, `app` holds the state and what each key does, `draw`
//! shows it, `prompt` is the line below, `runs` what runs here, `overlay` the terminal of a command
//! and `end_key` the key that ends it there, `pager` a page of lines, `history` what ran before,
//! `jobs` what runs elsewhere. One loop handles keys, events of the run and time.

mod app;
mod complete;
mod draw;
mod end_key;
mod history;
mod jobs;
mod overlay;
mod pager;
mod prompt;
mod runs;
mod screen;
mod state;

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

/// Starts the guardian of a console's terminal, before any thread exists.
pub(crate) fn guard_early() -> Option<io::Result<TerminalGuardian>> {
    let mut words = std::env::args_os().skip(1);
    let is_console = words.any(|word| word == "console") && io::stdin().is_terminal();
    is_console.then(TerminalGuardian::start)
}

/// Runs the console until its user leaves.
pub(crate) fn console(
    guardian: Option<io::Result<TerminalGuardian>>,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let message = "the console needs a terminal";
        return Err(Failure::new(FailureKind::Usage, message)
            .hint("`bashd run`, `bashd log` and `bashd rpc` work without one"));
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
    let mut app = App::new(runs, ledger);
    let mut screen = screen::Taken::take(paint(printer)).map_err(failed)?;
    let (app, drawn) = (&mut app, &mut screen);
    let (done, signal) = serve::until_done(&engine, move |token| run(app, drawn, token))?;
    drop(screen);
    done.map_err(failed)?;
    Ok(signal.unwrap_or(ExitStatus::Success))
}

fn paint(printer: &Printer) -> draw::ColorUse {
    if printer.paints() {
        draw::ColorUse::Colours
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
                Some(event) => app.input(&event, screen.size()),
                None => break,
            },
            happened = app.next() => app.happened(happened),
            _ = ticks.tick() => {}
        }
    }
    app.end_all().await;
    Ok(())
}
