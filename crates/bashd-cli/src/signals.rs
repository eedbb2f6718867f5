//! The signals that end bashd early.

use crate::exit_status::ExitStatus;
use bashd::CancellationToken;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals by which people and systems end a program.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the signal is ignored (`nohup`): then commands are to outlive their terminal.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Starts to listen; needs the runtime.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if bashd::signals::is_hang_up_ignored() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
        })
    }

    /// Waits for a call; a signal cancels the token and decides bashd's exit status.
    pub(crate) async fn heed<T>(
        mut self,
        token: &CancellationToken,
        call: impl Future<Output = T>,
    ) -> (T, Option<ExitStatus>) {
        let mut call = std::pin::pin!(call);
        let mut signal = None;
        loop {
            tokio::select! {
                biased;
                ended = &mut call => return (ended, signal),
                status = self.next() => {
                    signal.get_or_insert(status);
                    token.cancel();
                }
            }
        }
    }

    /// Waits for a signal, and returns the exit status for it.
    async fn next(&mut self) -> ExitStatus {
        let number = |kind: SignalKind| ExitStatus::Signal(kind.as_raw_value() as u8);
        tokio::select! {
            _ = self.interrupt.recv() => ExitStatus::Interrupted,
            _ = self.terminate.recv() => number(SignalKind::terminate()),
            () = hung_up(self.hang_up.as_mut()) => number(SignalKind::hangup()),
        }
    }
}

/// Waits until the terminal is gone; forever if that is to be ignored.
async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
