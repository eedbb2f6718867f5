//! The Streamable HTTP transport: one path, a token before everything else.
//!
//! rmcp speaks the protocol, and checks Host and Origin; this file has the listener and the token
//! check.

use super::access::{Access, Admission};
use super::handler::{Handler, McpServer};
use super::load::Load;
use super::message::LONGEST;
use super::resumption::ResumableSessions;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::serve::door::{Door, Guest};
use anyhow::Context;
use bashd::CancellationToken;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// The path of the protocol.
const PATH: &str = "/mcp";

/// How long a request's head may take.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Sessions of clients with a handshake at the same time; of more than these the one that was idle
/// longest gives way.
const SESSIONS: usize = 256;

/// What pages of other origins may send and read, if their origin is allowed.
const CORS: &[(&str, &str)] = &[
    ("access-control-allow-methods", "GET, POST, DELETE, OPTIONS"),
    (
        "access-control-allow-headers",
        "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name",
    ),
    (
        "access-control-expose-headers",
        "mcp-session-id, www-authenticate",
    ),
    ("access-control-max-age", "600"),
    ("vary", "origin"),
];

/// How long such a session may be silent: longer than any command may run.
const SESSION_SILENCE: Duration = Duration::from_mins(65);

/// Pause after the system had no descriptor for a connection.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Handler, ResumableSessions>;

/// Serves until a signal ends it.
pub(super) async fn serve(
    shared: Arc<McpServer>,
    access: Access,
    stop: CancellationToken,
    printer: &Printer,
) -> Result<(), Failure> {
    let listener = TcpListener::bind(access.address)
        .await
        .with_context(|| format!("can't listen on {}", access.address))
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let address = listener.local_addr().unwrap_or(access.address);
    printer.note(&format!("listening on http://{address}{PATH}"));
    if let Some(token) = access.news() {
        printer.note(&format!("bearer token: {token}"));
    }
    let service = service(shared, &access, stop.clone());
    let access = Arc::new(access);
    let door = Arc::new(Door::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return Ok(()),
        };
        match accepted {
            Ok((stream, _)) => {
                let guest = Guest::new(&door);
                let connection = connection(stream, service.clone(), Arc::clone(&access), guest);
                tokio::spawn(connection);
            }
            // The client left at once, or there is no descriptor left: go on in both cases.
            Err(_) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
        }
    }
}

fn service(shared: Arc<McpServer>, access: &Access, stop: CancellationToken) -> Service {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(access.hosts())
        .with_allowed_origins(access.origins())
        .enforce_origin_validation()
        .with_max_request_body_bytes(LONGEST)
        .with_cancellation_token(stop);
    let mut session_config = SessionConfig::default();
    session_config.keep_alive = Some(SESSION_SILENCE);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = session_config;
    let sessions = Arc::new(sessions);
    let by_token = Arc::new(shared.server.client_named(&access.client()));
    let counted = Arc::clone(&sessions);
    let handler = move || {
        let count = counted.sessions.try_read().map(|sessions| sessions.len());
        // All of them are busy: none could give way.
        if count.is_ok_and(|count| count > SESSIONS) {
            return Err(io::Error::other("too many sessions"));
        }
        let (shared, by_token) = (Arc::clone(&shared), Arc::clone(&by_token));
        Ok(Handler::new(
            shared,
            Arc::new(Load::default()),
            Some(by_token),
        ))
    };
    let sessions = Arc::new(ResumableSessions::new(sessions, SESSIONS));
    StreamableHttpService::new(handler, sessions, config)
}

/// Serves one connection to its end.
async fn connection(stream: TcpStream, service: Service, access: Arc<Access>, guest: Arc<Guest>) {
    let _ = stream.set_nodelay(true);
    let sent_away = Arc::clone(&guest.sent_away);
    let answering = service_fn(move |request| {
        let (service, access, guest) = (service.clone(), Arc::clone(&access), Arc::clone(&guest));
        async move { Ok::<_, Infallible>(answer(&service, &access, &guest, request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), answering);
    // How a connection ends is up to its client, unless others need the place.
    tokio::select! {
        _ = serving => {}
        () = sent_away.cancelled() => {}
    }
}

async fn answer(
    service: &Service,
    access: &Access,
    guest: &Guest,
    request: Request<Incoming>,
) -> HttpAnswer {
    let origin = access.allowed_origin(request.headers());
    // A browser asks before it sends the token.
    let mut answer = match &origin {
        Some(_) if request.method() == Method::OPTIONS => plain(StatusCode::NO_CONTENT, ""),
        _ => admitted(service, access, guest, request).await,
    };
    if let Some(origin) = origin {
        let headers = answer.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        for (name, value) in CORS {
            headers.insert(*name, HeaderValue::from_static(value));
        }
    }
    answer
}

async fn admitted(
    service: &Service,
    access: &Access,
    guest: &Guest,
    request: Request<Incoming>,
) -> HttpAnswer {
    let refused = match access.admits(request.headers()) {
        Admission::Yes => None,
        Admission::NoToken => Some(("Bearer", "a bearer token is needed\n")),
        Admission::WrongToken => Some((
            "Bearer error=\"invalid_token\"",
            "the bearer token is wrong\n",
        )),
    };
    if let Some((scheme, text)) = refused {
        let mut refusal = plain(StatusCode::UNAUTHORIZED, text);
        let scheme = HeaderValue::from_static(scheme);
        refusal.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        return refusal;
    }
    guest.welcome().await;
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "the path is /mcp\n");
    }
    let is_delete = request.method() == Method::DELETE;
    let answer = service.handle(request).await;
    if is_delete && answer.status() == StatusCode::ACCEPTED {
        // The session is gone; clients of the SDKs' first line complain about a 202.
        return plain(StatusCode::NO_CONTENT, "");
    }
    answer
}

fn plain(status: StatusCode, text: &'static str) -> HttpAnswer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
