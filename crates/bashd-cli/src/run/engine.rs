//! One call through the engine, with the signals that end it early.
//!
//! The keeper is forked before anything else is done, so that no fork server is needed for a single
//! call, and it gets ready while the command line and the configuration are being read.

use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::run::live::{CursorPosition, LiveView};
use crate::run::typing;
use crate::runtime;
use crate::signals::Signals;
use bashd::{
    Call, CancellationToken, Config, Engine, Event, ForkedKeeper, KeeperSource, Reply, Running,
    Surroundings,
};
use std::io;
use std::time::Duration;

/// How often a person sees that time passes.
const TICK: Duration = Duration::from_millis(100);

/// A call that is over.
pub(super) struct FinishedCall {
    pub(super) reply: Reply,
    /// What people should know beside the reply.
    pub(super) warnings: Vec<String>,
    /// The exit status for a signal to bashd itself, if one ended the call.
    pub(super) signal: Option<ExitStatus>,
    /// Where the output that a person saw left the cursor.
    pub(super) cursor: CursorPosition,
}

/// Who hears of the command's output while it runs.
pub(super) enum Watcher<'a> {
    /// Nobody: the output is never read as a whole.
    Nobody,
    /// Somebody at a terminal, who types at the command's own.
    Typist,
    /// Somebody at a terminal, who sees every piece of output, and how long it takes.
    Person(Box<LiveView<'a>>),
}

/// Forks a keeper. Without one the call still gets its reply, in the profile's form, and its
/// record.
pub(crate) fn fork_keeper() -> KeeperSource {
    ForkedKeeper::fork().map_or_else(KeeperSource::Unavailable, KeeperSource::Forked)
}

/// Makes one call.
pub(super) fn run(
    keeper: KeeperSource,
    call: Call,
    config: Config,
    surroundings: Surroundings,
    watcher: Watcher<'_>,
) -> Result<FinishedCall, Failure> {
    let engine = Engine::new(config, surroundings, keeper)?;
    let runtime = match runtime::build() {
        Ok(runtime) => runtime,
        Err(error) => return Ok(not_begun(&engine, &call, error)),
    };
    let ended = runtime.block_on(async {
        let ended = one_call(&engine, call, watcher).await;
        engine.leave_places().await;
        ended
    });
    // The process ends after this, so nothing needs to be cleaned up.
    std::mem::forget((engine, runtime));
    ended.map_err(|error| Failure::of(FailureKind::System, error.into()))
}

/// A call for which there was no runtime. Its caller still reads a reply in the profile's form.
fn not_begun(engine: &Engine, call: &Call, error: io::Error) -> FinishedCall {
    let error = bashd::Error::io(bashd::ErrorKind::Spawn, "prepare the call", error);
    FinishedCall {
        reply: engine.fail(call, error),
        warnings: engine.take_warnings(),
        signal: None,
        cursor: CursorPosition::AtLineStart,
    }
}

async fn one_call(engine: &Engine, call: Call, watcher: Watcher<'_>) -> io::Result<FinishedCall> {
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return Ok(not_begun(engine, &call, error)),
    };
    let token = CancellationToken::new();
    let call = call.cancel_by(token.clone());
    let (reply, cursor, signal) = match watcher {
        Watcher::Nobody => {
            let (reply, signal) = signals.heed(&token, engine.run(call)).await;
            (reply, CursorPosition::AtLineStart, signal)
        }
        Watcher::Typist => {
            let typed = typing::converse(engine.stream(call));
            let (ended, signal) = signals.heed(&token, typed).await;
            let (reply, cursor) = ended?;
            (reply, cursor, signal)
        }
        Watcher::Person(live) => {
            let shown = show(engine.stream(call), live);
            let (ended, signal) = signals.heed(&token, shown).await;
            let (reply, cursor) = ended?;
            (reply, cursor, signal)
        }
    };
    Ok(FinishedCall {
        cursor,
        signal: signal.filter(|_| reply.cancelled),
        warnings: engine.take_warnings(),
        reply,
    })
}

async fn show(
    mut running: Running,
    mut live: Box<LiveView<'_>>,
) -> io::Result<(Reply, CursorPosition)> {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let event = tokio::select! {
            biased;
            event = running.next() => event,
            _ = ticks.tick() => {
                live.tick();
                continue;
            }
        };
        match event {
            Some(Event::Output { stream, text, .. }) => live.output(stream, &text),
            Some(Event::Preparing { text }) => live.preparing(text),
            Some(Event::Finished(reply)) => {
                let cursor = live.end();
                return Ok((*reply, cursor));
            }
            Some(_) => {}
            None => return Err(io::Error::other("the call ended without a reply")),
        }
    }
}
