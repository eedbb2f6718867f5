//! `bashd acp`: an agent of the Agent Client Protocol whose prompts are commands.
//!
//! The text of a prompt runs as one command, in one of the client's terminals if it offers them,
//! otherwise here. The client sees a tool call with its terminal or its output, and the reply's
//! text as the agent's message. `prompt` is one turn, `content` reads its command, `record` writes
//! it down, `permission` asks the client's user, `terminal` is the client's terminals.
//!
//! Handlers block the dispatch of the protocol's crate: none of them waits for the client, and
//! anything that takes time is spawned.

mod content;
mod params;
mod permission;
mod prompt;
mod record;
mod terminal;

use crate::args::Acp;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::serve::client::ServedClient;
use crate::serve::lines::{self, ClientLine, Outbox};
use crate::serve::{self, ServerBase};
use crate::settings::ConfigInForce;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionId,
    SessionNotification, SessionResumeCapabilities,
};
use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
};
use bashd::CancellationToken;
use record::{RecordedTurn, SessionRecords};
use serde_json::json;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long writing the last messages may take after the client is done with us.
const FLUSHED_WITHIN: Duration = Duration::from_secs(5);

/// The most sessions that a client may open; each is only a directory.
const MOST_SESSIONS: usize = 10_000;

/// What the handlers share.
struct AcpServer {
    server: ServerBase,
    timeout: Option<Duration>,
    /// Whether the client runs commands in terminals of its own.
    has_terminals: AtomicBool,
    sessions: Mutex<HashMap<SessionId, AcpSession>>,
    records: SessionRecords,
    /// The last number given to a tool call.
    last: AtomicU64,
}

/// A conversation: a client with its directory, and the command that it runs now.
struct AcpSession {
    client: Arc<ServedClient>,
    cwd: PathBuf,
    running: Option<CancellationToken>,
    /// Whether the shell that is kept for it is in its directory.
    has_entered: bool,
}

/// What a turn begins with.
struct TurnBeginning {
    client: Arc<ServedClient>,
    cwd: PathBuf,
    token: CancellationToken,
}

impl AcpServer {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, AcpSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn open(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        if !request.cwd.is_absolute() {
            return Err(Error::invalid_params().data(json!("`cwd` must be absolute")));
        }
        let id = record::new_id();
        self.add(&id, request.cwd)?;
        Ok(NewSessionResponse::new(id))
    }

    /// Adds a session, and returns whose it is.
    fn add(&self, id: &SessionId, cwd: PathBuf) -> Result<Arc<ServedClient>, Error> {
        let mut sessions = self.sessions();
        if sessions.len() >= MOST_SESSIONS {
            return Err(Error::invalid_request().data(json!("too many sessions")));
        }
        let client = Arc::new(self.server.client_named_in(&id.0, &cwd));
        let session = AcpSession {
            client: Arc::clone(&client),
            cwd,
            running: None,
            has_entered: false,
        };
        sessions.insert(id.clone(), session);
        Ok(client)
    }

    /// Goes on with a session of before; what was said in it. One of this process still has its
    /// shell; of one of another process the directory is known, and the first reply says that the
    /// shell is another one.
    async fn go_on(&self, id: &SessionId, cwd: &Path) -> Result<Vec<RecordedTurn>, Error> {
        let refused = |reason: String| Err(Error::invalid_params().data(json!(reason)));
        let turns = self.records.turns(id).await.unwrap_or_default();
        let here = self.sessions().get(id).map(|session| session.cwd.clone());
        let last = turns.last();
        let Some(known) = here.clone().or_else(|| Some(last?.cwd.clone())) else {
            return refused(format!(
                "there is no session {id}: no command ran in it, or it is not among the last {} sessions",
                record::MOST_RECORDS
            ));
        };
        if known != cwd {
            return refused(format!("this session is in {}", known.display()));
        }
        if here.is_none() {
            let client = self.add(id, known)?;
            let directory = last.and_then(|last| last.directory.as_deref());
            // Whether it is still there is found out when the shell begins.
            let base = &client.base;
            base.engine
                .continue_session(&base.defaults, directory.unwrap_or(cwd));
            // It begins there.
            self.is_entered(id);
        }
        Ok(turns)
    }

    /// Whether a session's shell is in its directory already; from now on it is.
    fn is_entered(&self, id: &SessionId) -> bool {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(id);
        session.is_none_or(|session| std::mem::replace(&mut session.has_entered, true))
    }

    /// Begins a session's turn; a session runs one command at a time.
    fn begin(&self, id: &SessionId) -> Result<TurnBeginning, Error> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(id).ok_or_else(|| {
            Error::invalid_params().data(json!(format!("there is no session {id}")))
        })?;
        if session.running.is_some() {
            let reason = "a command is already running in this session: cancel it first";
            return Err(Error::invalid_request().data(json!(reason)));
        }
        let token = CancellationToken::new();
        session.running = Some(token.clone());
        Ok(TurnBeginning {
            client: Arc::clone(&session.client),
            cwd: session.cwd.clone(),
            token,
        })
    }

    fn end(&self, id: &SessionId) {
        if let Some(session) = self.sessions().get_mut(id) {
            session.running = None;
        }
    }

    fn cancel(&self, id: &SessionId) {
        let sessions = self.sessions();
        let running = sessions
            .get(id)
            .and_then(|session| session.running.as_ref());
        running.inspect(|token| token.cancel());
    }
}

/// Serves one client on stdin and stdout until it is gone or a signal arrives.
pub(crate) fn acp(
    arguments: &Acp,
    settings: ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let server = ServerBase::start("acp", &arguments.serving, settings, printer)?;
    let state = server.engine.config().state_dir.clone();
    let shared = Arc::new(AcpServer {
        server,
        timeout: arguments.timeout,
        has_terminals: AtomicBool::new(false),
        sessions: Mutex::default(),
        records: SessionRecords::below(&state),
        last: AtomicU64::new(0),
    });
    let engine = shared.server.engine.clone();
    serve::greet(
        printer,
        "a client of the Agent Client Protocol",
        "docs/acp.md",
    );
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let (input, output) = lines::stdio().map_err(failed)?;
    let (ended, signal) = serve::until_done(&engine, |stop| {
        serve::say_warnings(&engine, printer);
        async move {
            let lines = lines::read(File::from(input));
            let (outbox, flushed) = lines::write(File::from(output));
            let ended = tokio::select! {
                ended = serve_client(shared, lines, outbox) => ended,
                () = stop.cancelled() => Ok(()),
            };
            let _ = tokio::time::timeout(FLUSHED_WITHIN, flushed.cancelled()).await;
            ended
        }
    })?;
    for warning in engine.take_warnings() {
        printer.warn(&warning);
    }
    ended.map_err(|error| {
        Failure::new(
            FailureKind::System,
            format!("the connection failed: {error}"),
        )
    })?;
    Ok(signal.unwrap_or(ExitStatus::Success))
}

async fn serve_client(
    shared: Arc<AcpServer>,
    lines: mpsc::Receiver<ClientLine>,
    outbox: Outbox,
) -> Result<(), Error> {
    let refusing = outbox.clone();
    let incoming = futures::stream::unfold((lines, refusing), async |(mut lines, refusing)| {
        loop {
            let text = match lines.recv().await? {
                // Both are answered as unparsable; a repaired text would be another command.
                ClientLine::Text(bytes) => String::from_utf8(bytes)
                    .unwrap_or_else(|_| "a line that is not text".to_owned()),
                ClientLine::TooLong(_) => "a line that is too long".to_owned(),
            };
            match params::refusal(&text) {
                Some(refusal) => refusing.send(&refusal).await,
                None => break Some((Ok(text), (lines, refusing))),
            }
        }
    });
    let outgoing = futures::sink::unfold(outbox, async |outbox: Outbox, line: String| {
        outbox.send_line(line.into_bytes()).await;
        Ok::<_, io::Error>(outbox)
    });
    let (greeted, opened) = (shared.clone(), shared.clone());
    let (loaded, resumed) = (shared.clone(), shared.clone());
    let (prompted, cancelled) = (shared.clone(), shared);
    Agent
        .v1()
        .name("bashd")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _connection| {
                let has_terminals = request.client_capabilities.terminal;
                greeted
                    .has_terminals
                    .store(has_terminals, Ordering::Relaxed);
                responder.respond(greeting())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, _connection| {
                responder.respond_with_result(opened.open(request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, connection| {
                let turns = loaded.go_on(&request.session_id, &request.cwd).await;
                if let Ok(turns) = &turns {
                    tell_again(&connection, &request.session_id, turns);
                }
                responder.respond_with_result(turns.map(|_| LoadSessionResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, _connection| {
                let turns = resumed.go_on(&request.session_id, &request.cwd).await;
                responder.respond_with_result(turns.map(|_| ResumeSessionResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection| {
                let turn = prompted.begin(&request.session_id);
                match turn {
                    Ok(turn) => {
                        prompt::start(prompted.clone(), request, turn, responder, &connection)
                    }
                    Err(error) => responder.respond_with_error(error),
                }
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _connection| {
                cancelled.cancel(&cancel.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(Lines::new(Box::pin(outgoing), Box::pin(incoming)))
        .await
}

/// Tells the client what was said in a session, as the protocol wants it of `session/load`.
fn tell_again(connection: &ConnectionTo<Client>, id: &SessionId, turns: &[RecordedTurn]) {
    for (number, turn) in turns.iter().enumerate() {
        for update in turn.updates(number) {
            // That the client is gone is noticed elsewhere.
            let _ = connection.send_notification(SessionNotification::new(id.clone(), update));
        }
    }
}

fn greeting() -> InitializeResponse {
    let itself = Implementation::new("bashd", env!("CARGO_PKG_VERSION"));
    let sessions = SessionCapabilities::new().resume(SessionResumeCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .session_capabilities(sessions);
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(itself)
}
