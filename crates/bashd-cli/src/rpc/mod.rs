//! `bashd rpc`: JSON lines on stdin and stdout, or on a Unix socket.
//!
//! One line is one message, in both directions; `docs/rpc.md` describes the protocol. This file
//! starts what the command line asks for. `connection` is one client from its first line to its
//! last, `message` what it may send, `calls` what runs for it, `answer` what we send it, `requests`
//! what we ask it, `socket` many clients, `description` all messages as data.
//!
//! Memory is bounded whatever a client does: a line has a limit, and so have running and waiting
//! calls. A client that does not read gets only a few messages ahead. Meanwhile output waits in the
//! spools, and nothing is lost.

mod answer;
mod calls;
mod connection;
pub(crate) mod description;
mod message;
mod requests;
mod socket;

use crate::args::Rpc;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::serve::fair_turns::FairTurns;
use crate::serve::own_socket::Listening;
use crate::serve::{self, ServerBase};
use crate::settings::ConfigInForce;
use crate::tape::{self, TapedProtocol, TapedServer};
use bashd::profile::library::Library;
use connection::ConnectionEnds;
use std::sync::Arc;
use std::time::Duration;

/// What every connection of a server shares.
#[derive(Clone)]
pub(crate) struct RpcServer {
    server: ServerBase,
    /// For tool definitions of other profiles than the server's own.
    profiles: Arc<Library>,
    /// Limits how many commands run at once.
    turns: FairTurns,
    /// For what the person who runs the server should know.
    printer: Printer,
    /// How long calls may still run when the client has closed its end.
    linger: Duration,
    /// How long one client of many may leave its replies.
    patience: Duration,
}

/// Serves until stdin closes or a signal arrives; on a socket, until a signal arrives.
pub(crate) fn rpc(
    arguments: &Rpc,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let tape = match tape::begin(TapedProtocol::Rpc, &arguments.tape, &settings, printer)? {
        TapedServer::Played(status) => return Ok(status),
        TapedServer::Serves(tape) => tape,
    };
    let profiles = Library::new(settings.config.profiles_dir.clone());
    let server = ServerBase::start("rpc", &arguments.serving, settings, printer)?;
    let host = RpcServer {
        profiles: Arc::new(profiles),
        turns: FairTurns::new(serve::RUN_AT_ONCE),
        printer: printer.clone(),
        server,
        linger: arguments.linger,
        patience: arguments.patience,
    };
    let engine = host.server.engine.clone();
    let (ended, signal) = if let Some(path) = &arguments.socket {
        let listening = Listening::at(path)?;
        serve::until_done(&engine, |stop| {
            serve::say_warnings(&engine, printer);
            socket::serve(host, listening, stop)
        })?
    } else {
        serve::greet(
            printer,
            "requests, one JSON object per line,",
            "docs/rpc.md",
        );
        let ends = ConnectionEnds::stdio(tape.clone())
            .map_err(|error| Failure::of(FailureKind::System, error.into()))?;
        let done = serve::until_done(&engine, |stop| {
            serve::say_warnings(&engine, printer);
            async move {
                connection::serve(host, ends, stop).await;
                Ok(())
            }
        });
        if let Some(tape) = &tape {
            tape.finish();
        }
        done?
    };
    for warning in engine.take_warnings() {
        printer.warn(&warning);
    }
    ended?;
    Ok(signal.unwrap_or(ExitStatus::Success))
}
