//! `bashd mcp`: the tools of a profile for clients of the Model Context Protocol.
//!
//! Both lifecycles are served: the handshake up to 2025-11-25, and the stateless requests of
//! 2026-07-28; rmcp tells them apart. This file chooses the transport. `handler` answers requests,
//! `bash` runs commands.

pub(crate) mod access;
mod approval;
mod artifact;
mod bash;
mod ends;
mod handler;
mod http;
mod instructions;
mod job;
mod load;
mod log;
mod message;
mod news;
mod outlet;
mod params;
mod progress;
mod resources;
mod result;
mod resumption;
mod stdio;
mod tasks;

use crate::args::Mcp;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::serve::{self, ServerBase};
use crate::settings::ConfigInForce;
use crate::tape::{self, TapeRecorder, TapedIn, TapedOut, TapedProtocol, TapedServer};
use access::Access;
use bashd::CancellationToken;
use handler::{Handler, McpServer};
use load::Load;
use result::ResultForm;
use rmcp::service::{QuitReason, ServerInitializeError};
use std::sync::Arc;

/// Serves until the client is gone, or a signal ends it.
pub(crate) fn mcp(
    arguments: &Mcp,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let tape = match tape::begin(TapedProtocol::Mcp, &arguments.tape, &settings, printer)? {
        TapedServer::Played(status) => return Ok(status),
        TapedServer::Serves(tape) => tape,
    };
    let form = if arguments.structured || settings.config.mcp_structured {
        ResultForm::Structured
    } else {
        ResultForm::Text
    };
    let mut server = ServerBase::start("mcp", &arguments.serving, settings, printer)?;
    server.defaults.wait_max = Some(arguments.wait_max);
    let engine = server.engine.clone();
    let (outcome, signal) = if let Some(address) = arguments.http {
        let access = Access::of(arguments, address)?;
        let shared = McpServer::new(server, form);
        serve::until_done(&engine, |stop| http::serve(shared, access, stop, printer))?
    } else {
        let whom = "a client of the Model Context Protocol";
        serve::greet(printer, whom, "docs/mcp.md");
        let recorded = tape.clone();
        let done = serve::until_done(&engine, |stop| {
            on_stdio(McpServer::new(server, form), recorded, stop)
        });
        if let Some(tape) = &tape {
            tape.finish();
        }
        done?
    };
    if let Err(failure) = outcome {
        return Ok(failure.show(printer));
    }
    Ok(signal.unwrap_or(ExitStatus::Success))
}

/// One client on stdin and stdout.
async fn on_stdio(
    shared: Arc<McpServer>,
    tape: Option<Arc<TapeRecorder>>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let load = Arc::new(Load::default());
    let (mut read, mut write) = (serve::stdio::reader(), serve::stdio::writer());
    if let Some(tape) = tape {
        read = Box::new(TapedIn(read, Arc::clone(&tape)));
        write = Box::new(TapedOut(write, tape));
    }
    let transport = stdio::Stdio::new(read, write, Arc::clone(&load));
    let handler = Handler::new(shared, Arc::clone(&load), None);
    let connecting = rmcp::service::serve_server_with_ct(handler, transport, stop);
    let running = match Box::pin(connecting).await {
        Ok(running) => running,
        // There was no client, or it left before it asked for anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return gave_up(&load);
        }
        Err(error) => return Err(Failure::new(FailureKind::System, error)),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(Failure::new(FailureKind::System, error))
        }
        Ok(_) => gave_up(&load),
    }
}

/// Whether it was us who ended the connection.
fn gave_up(load: &Load) -> Result<(), Failure> {
    match load.complaint() {
        Some(complaint) => Err(Failure::new(FailureKind::System, complaint)),
        None => Ok(()),
    }
}
