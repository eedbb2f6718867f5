//! A run in a terminal at which somebody sits: keys go to the command, its bytes to the screen.

use crate::run::live::CursorPosition;
use crate::terminal::{self, TakenTerminal};
use bashd::{Event, Reply, Running};
use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Lets a person type at a command until it ends. The terminal is taken when the command begins: a
/// question of a rule comes before that.
pub(super) async fn converse(mut running: Running) -> io::Result<(Reply, CursorPosition)> {
    let keyboard = running.keyboard();
    let mut resized = signal(SignalKind::window_change())?;
    let mut taken: Option<TakenTerminal> = None;
    loop {
        tokio::select! {
            biased;
            event = running.next() => match event {
                Some(Event::Started { .. }) if taken.is_none() => {
                    taken = Some(TakenTerminal::take()?);
                }
                Some(Event::Output { text, .. }) => {
                    let terminal = match &mut taken {
                        Some(terminal) => terminal,
                        None => taken.insert(TakenTerminal::take()?),
                    };
                    terminal.write(text.as_bytes());
                }
                Some(Event::Finished(reply)) => {
                    let is_at_start = taken.is_none_or(|taken| taken.is_at_line_start());
                    let cursor = if is_at_start {
                        CursorPosition::AtLineStart
                    } else {
                        CursorPosition::InLine
                    };
                    return Ok((*reply, cursor));
                }
                Some(_) => {}
                None => return Err(io::Error::other("the call ended without a reply")),
            },
            bytes = next_typed(&mut taken) => keyboard.type_bytes(bytes),
            _ = resized.recv() => if let Some(size) = terminal::size() {
                keyboard.resize(size);
                if let Some(taken) = &mut taken {
                    taken.resized(size);
                }
            },
        }
    }
}

/// What is typed next, once the terminal is taken.
async fn next_typed(taken: &mut Option<TakenTerminal>) -> Vec<u8> {
    match taken {
        Some(taken) => taken.typed().await,
        None => std::future::pending().await,
    }
}
