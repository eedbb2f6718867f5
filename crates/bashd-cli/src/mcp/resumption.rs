//! Sessions over HTTP whose answers survive a broken connection.
//!
//! rmcp forgets the events of a request once it is answered, so that a client whose connection
//! broke before would never see the answer. Here the events of the last requests are kept, and a
//! client that comes back with the id of the last event that it saw gets what came after.

use futures::stream::{self, Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Answered requests of a session whose events are kept: what one client may cost is bounded.
const ANSWERED: usize = 16;

/// How long they are.
const KEPT_FOR: Duration = Duration::from_mins(10);

/// Events of a request that are kept; the oldest are progress.
const EVENTS: usize = 256;

type SseStream = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The sessions of a server.
pub(super) struct ResumableSessions {
    sessions: Arc<LocalSessionManager>,
    kept: Mutex<HashMap<SessionId, VecDeque<Arc<KeptEvents>>>>,
}

impl ResumableSessions {
    /// No session yet.
    pub(super) fn new(sessions: Arc<LocalSessionManager>) -> Self {
        Self {
            sessions,
            kept: Mutex::default(),
        }
    }

    /// Keeps the events of one more request.
    fn keep(&self, id: &SessionId) -> Arc<KeptEvents> {
        let events = Arc::new(KeptEvents::default());
        let mut kept = lock(&self.kept);
        let of_session = kept.entry(id.clone()).or_default();
        of_session.retain(|one| !one.is_stale());
        let answered = of_session.iter().filter(|one| one.is_over()).count();
        if answered >= ANSWERED
            && let Some(oldest) = of_session.iter().position(|one| one.is_over())
        {
            of_session.remove(oldest);
        }
        of_session.push_back(Arc::clone(&events));
        events
    }

    /// The request that this event belongs to, and the number of the next one.
    fn after(&self, id: &SessionId, event: &str) -> Option<(Arc<KeptEvents>, usize)> {
        let kept = lock(&self.kept);
        let mut of_session = kept.get(id)?.iter();
        of_session.find_map(|one| Some((Arc::clone(one), one.after(event)?)))
    }
}

impl SessionManager for ResumableSessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.sessions.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        lock(&self.kept).remove(id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let told = self.sessions.create_stream(id, message).await?;
        let events = self.keep(id);
        let keeping = Arc::clone(&events);
        // It goes on when nobody listens.
        tokio::spawn(async move {
            let mut told = std::pin::pin!(told);
            while let Some(event) = told.next().await {
                keeping.add(event);
            }
            keeping.end();
        });
        Ok(follow(events, 0))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if let Some((events, next)) = self.after(id, &last_event_id) {
            return Ok(follow(events, next));
        }
        let resumed = self.sessions.resume(id, last_event_id).await?;
        Ok(Box::pin(resumed) as SseStream)
    }
}

/// The events of one request.
#[derive(Default)]
struct KeptEvents {
    state: Mutex<EventsState>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct EventsState {
    events: VecDeque<ServerSseMessage>,
    /// Events that are no longer kept.
    forgotten: usize,
    ended: Option<Instant>,
}

impl KeptEvents {
    fn add(&self, event: ServerSseMessage) {
        let mut state = lock(&self.state);
        if state.events.len() == EVENTS {
            state.events.pop_front();
            state.forgotten += 1;
        }
        state.events.push_back(event);
        drop(state);
        self.changed.send_replace(());
    }

    fn end(&self) {
        lock(&self.state).ended = Some(Instant::now());
        self.changed.send_replace(());
    }

    fn is_over(&self) -> bool {
        lock(&self.state).ended.is_some()
    }

    fn is_stale(&self) -> bool {
        let ended = lock(&self.state).ended;
        ended.is_some_and(|ended| ended.elapsed() > KEPT_FOR)
    }

    /// The number of the event after this one, if it is ours.
    fn after(&self, id: &str) -> Option<usize> {
        let state = lock(&self.state);
        let mut events = state.events.iter();
        let place = events.position(|event| event.event_id.as_deref() == Some(id))?;
        Some(state.forgotten + place + 1)
    }

    /// The first event from this number on, with its number; or whether there will be one.
    fn get(&self, number: usize) -> Result<(usize, ServerSseMessage), bool> {
        let state = lock(&self.state);
        let place = number.saturating_sub(state.forgotten);
        match state.events.get(place) {
            Some(event) => Ok((state.forgotten + place, event.clone())),
            None => Err(state.ended.is_none()),
        }
    }
}

/// The events from a number on, as they come.
fn follow(events: Arc<KeptEvents>, from: usize) -> SseStream {
    let changes = events.changed.subscribe();
    Box::pin(stream::unfold(
        (events, from, changes),
        async |(events, next, mut changes)| loop {
            changes.mark_unchanged();
            match events.get(next) {
                Ok((number, event)) => return Some((event, (events, number + 1, changes))),
                Err(true) => changes.changed().await.ok()?,
                Err(false) => return None,
            }
        },
    ))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
