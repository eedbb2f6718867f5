//! What a person or a program types at a run's terminal, on its way to the keeper.

use super::connection::KeeperConnection;
use crate::screen::Size;
use bashd_keeper::keeper::protocol::{ResizeMessage, TypedMessage};
use std::convert::Infallible;
use tokio::sync::mpsc;

/// Keystrokes that may queue for a busy keeper.
const STROKES_AHEAD: usize = 256;

/// Types at the terminal of a running command, and changes its size. Cheap to clone.
///
/// Has no effect on a command that has no terminal or has ended.
#[derive(Debug, Clone)]
pub struct Keyboard(mpsc::Sender<Stroke>);

/// The other end.
#[derive(Debug)]
pub(crate) struct Strokes(mpsc::Receiver<Stroke>);

#[derive(Debug)]
enum Stroke {
    Typed(Vec<u8>),
    Resized(Size),
}

impl Keyboard {
    pub(crate) fn new() -> (Self, Strokes) {
        let (sender, receiver) = mpsc::channel(STROKES_AHEAD);
        (Self(sender), Strokes(receiver))
    }

    /// Sends bytes as if they were typed; [`crate::screen::keys`] has the bytes of keys. Input that
    /// comes too fast for the command is dropped, as a terminal would.
    pub fn type_bytes(&self, bytes: impl Into<Vec<u8>>) {
        let _ = self.0.try_send(Stroke::Typed(bytes.into()));
    }

    /// Resizes the terminal; the command is notified.
    pub fn resize(&self, size: Size) {
        let _ = self.0.try_send(Stroke::Resized(size));
    }
}

impl Strokes {
    /// Passes on what is typed, as long as there is a receiver.
    pub(super) async fn pass_on(
        strokes: Option<Self>,
        connection: &KeeperConnection,
    ) -> Infallible {
        match strokes {
            Some(mut strokes) => strokes.pass_all_on(connection).await,
            None => std::future::pending().await,
        }
    }

    /// Like `pass_on`, for callers that poll repeatedly.
    pub(crate) async fn pass_all_on(&mut self, connection: &KeeperConnection) -> Infallible {
        while let Some(stroke) = self.0.recv().await {
            stroke.pass_on(connection).await;
        }
        std::future::pending().await
    }

    /// Passes on what was typed so far.
    pub(crate) async fn pass_typed_on(&mut self, connection: &KeeperConnection) {
        while let Ok(stroke) = self.0.try_recv() {
            stroke.pass_on(connection).await;
        }
    }
}

impl Stroke {
    async fn pass_on(self, connection: &KeeperConnection) {
        // A command that has ended gets nothing more.
        let _ = match self {
            Self::Typed(bytes) => connection.send(&TypedMessage { bytes }, &[]).await,
            Self::Resized(size) => connection.send(&ResizeMessage { size }, &[]).await,
        };
    }
}
