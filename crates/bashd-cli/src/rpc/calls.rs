//! The calls that run for one client.
//!
//! A limited number run at once, others wait their turn: every run has descriptors in this process.
//! The number of waiting calls and the bytes of their arguments are limited too.

use super::answer;
use super::message::Events;
use crate::serve::fair_turns::{ClientTurns, RunTurn};
use crate::serve::lines::Outbox;
use crate::serve::stored::{self, StoredPart};
use bashd::artifact::ArtifactStore;
use bashd::{Call, CancellationToken, Engine, Event, Reply};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Calls that a client may have in progress, running or waiting.
pub(super) const MOST_CALLS: usize = 4096;

/// Bytes of arguments that calls in progress may have.
const MOST_WAITING_BYTES: usize = 32 * 1024 * 1024;

/// The form of the response, and who may end the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// The older document's; `abort_bash` ends it.
    Bash,
    /// The full reply.
    Call,
    /// The job tool's.
    Job,
    /// A part of stored output.
    Artifact,
}

impl CallKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Call => "call",
            Self::Job => "job",
            Self::Artifact => "artifact",
        }
    }
}

/// What a call has the server do.
pub(super) enum CallWork {
    /// The engine runs a command, or manages jobs.
    Engine(Box<Call>),
    /// Files are read.
    Reading(Box<ArtifactStore>, Value),
}

/// What is known of a call before it runs.
pub(super) struct NewCall {
    pub(super) id: Option<Value>,
    pub(super) kind: CallKind,
    pub(super) work: CallWork,
    pub(super) events: Events,
    /// Bytes of its line.
    pub(super) bytes: usize,
}

/// A client's calls.
pub(super) struct ClientCalls {
    engine: Engine,
    outbox: Outbox,
    /// How long a `bash` may run.
    limit: Duration,
    turns: Arc<ClientTurns>,
    running: JoinSet<EndedCall>,
    under_way: HashMap<u64, RunningCall>,
    next: u64,
    bytes: usize,
}

struct RunningCall {
    id: Option<Value>,
    kind: CallKind,
    cancel: CancellationToken,
    bytes: usize,
}

/// The number of a call that is over.
struct EndedCall(u64);

impl ClientCalls {
    pub(super) fn new(engine: Engine, outbox: Outbox, limit: Duration, turns: ClientTurns) -> Self {
        Self {
            engine,
            outbox,
            limit,
            turns: Arc::new(turns),
            running: JoinSet::new(),
            under_way: HashMap::new(),
            next: 0,
            bytes: 0,
        }
    }

    /// Starts a call; fails with the reason why not.
    pub(super) fn start(&mut self, mut new: NewCall) -> Result<(), String> {
        if self.under_way.len() >= MOST_CALLS || self.bytes + new.bytes > MOST_WAITING_BYTES {
            return Err("too many calls at once: wait for some to end".into());
        }
        let has_id = |id: &Value| {
            let mut calls = self.under_way.values();
            calls.any(|call| call.id.as_ref() == Some(id))
        };
        if let Some(id) = new.id.as_ref().filter(|id| has_id(id)) {
            return Err(format!("a call with the id {id} is already in progress"));
        }
        let cancel = CancellationToken::new();
        let number = self.next;
        self.next += 1;
        self.bytes += new.bytes;
        self.under_way.insert(
            number,
            RunningCall {
                id: new.id.clone(),
                kind: new.kind,
                cancel: cancel.clone(),
                bytes: new.bytes,
            },
        );
        let (engine, outbox) = (self.engine.clone(), self.outbox.clone());
        let limit = self.limit;
        // Calls that only manage jobs, or read, need neither a turn nor a place in line.
        let runs_command = match &new.work {
            CallWork::Engine(call) => new.kind != CallKind::Job && !engine.manages_jobs(call),
            CallWork::Reading(..) => false,
        };
        let needs_turn = runs_command.then(|| Arc::clone(&self.turns));
        new.work = match new.work {
            CallWork::Engine(call) if runs_command => {
                CallWork::Engine(Box::new(engine.arrive(*call)))
            }
            other => other,
        };
        self.running.spawn(async move {
            let turn = tokio::select! {
                biased;
                turn = turn_of(needs_turn, (&engine, &outbox), &new.work) => turn,
                // A call that is cancelled while it waits needs no turn: nothing runs.
                () = cancel.cancelled() => Ok(None),
            };
            Box::pin(carry_out((&engine, &outbox), new, limit, cancel, turn)).await;
            EndedCall(number)
        });
        Ok(())
    }

    /// Waits until a call is over; forever, if there is none.
    pub(super) async fn one_ended(&mut self) {
        match self.running.join_next().await {
            Some(ended) => self.forget(ended.ok()),
            None => std::future::pending().await,
        }
    }

    /// Whether there are no calls.
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Waits until all are over.
    pub(super) async fn all_ended(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            self.forget(ended.ok());
        }
    }

    fn forget(&mut self, ended: Option<EndedCall>) {
        let call = ended.and_then(|EndedCall(number)| self.under_way.remove(&number));
        self.bytes -= call.map_or(0, |call| call.bytes);
    }

    /// Ends the call with this id; returns whether there was one.
    pub(super) fn cancel(&self, id: &Value) -> bool {
        let mut calls = self.under_way.values();
        let found = calls.find(|call| call.id.as_ref() == Some(id));
        found.inspect(|call| call.cancel.cancel()).is_some()
    }

    /// Ends all calls of a kind.
    pub(super) fn cancel_each(&self, kind: CallKind) {
        let of_kind = self.under_way.values().filter(|call| call.kind == kind);
        of_kind.for_each(|call| call.cancel.cancel());
    }

    /// Ends everything.
    pub(super) fn cancel_all(&self) {
        self.under_way
            .values()
            .for_each(|call| call.cancel.cancel());
    }
}

/// Waits for the right to run a command, if one is needed. A client that does not take its replies
/// starts nothing more.
///
/// `Err` is the reply to a call that came to no turn in all its time.
async fn turn_of(
    turns: Option<Arc<ClientTurns>>,
    (engine, outbox): (&Engine, &Outbox),
    work: &CallWork,
) -> Result<Option<RunTurn>, Box<Reply>> {
    loop {
        outbox.room().await;
        let (Some(turns), CallWork::Engine(call)) = (&turns, work) else {
            return Ok(None);
        };
        let turn = engine.queued(call, turns.take()).await?;
        // While it waited, replies of calls before it may have become too many.
        if outbox.has_room() {
            return Ok(Some(turn));
        }
    }
}

async fn carry_out(
    (engine, outbox): (&Engine, &Outbox),
    new: NewCall,
    limit: Duration,
    cancel: CancellationToken,
    turn: Result<Option<RunTurn>, Box<Reply>>,
) {
    let NewCall {
        id,
        kind,
        work,
        events,
        ..
    } = new;
    let call = match work {
        CallWork::Engine(call) => (*call).cancel_by(cancel),
        CallWork::Reading(store, arguments) => {
            let response = read(id.as_ref(), (engine.clone(), *store), arguments, cancel).await;
            outbox.send(&response).await;
            return;
        }
    };
    let (turn, reply) = match (turn, events) {
        (Err(reply), _) => (None, Some(*reply)),
        (Ok(turn), _) if kind == CallKind::Job => (turn, Some(engine.job(call).await)),
        (Ok(turn), Events::Untold) => (turn, Some(engine.run(call).await)),
        (Ok(turn), Events::Told) => (turn, told(engine, outbox, id.as_ref(), call).await),
    };
    let response = match (kind, reply) {
        (CallKind::Bash, Some(reply)) => answer::bash(id.as_ref(), &reply, limit),
        (CallKind::Call | CallKind::Job | CallKind::Artifact, Some(reply)) => {
            answer::full(id.as_ref(), kind.name(), &reply)
        }
        (_, None) => answer::failure(id.as_ref(), kind.name(), "the call ended without a reply"),
    };
    // Not kept until the client has taken the reply: others wait for their turns.
    drop(turn);
    outbox.send(&response).await;
}

/// Reads stored output in a thread that may wait for files.
async fn read(
    id: Option<&Value>,
    (engine, store): (Engine, ArtifactStore),
    arguments: Value,
    cancel: CancellationToken,
) -> Value {
    let name = CallKind::Artifact.name();
    let Value::Object(arguments) = arguments else {
        return answer::failure(id, name, "`arguments` must be an object");
    };
    let reading = tokio::task::spawn_blocking(move || stored::read((&engine, &store), arguments));
    let part = tokio::select! {
        biased;
        () = cancel.cancelled() => return answer::failure(id, name, "cancelled"),
        part = reading => part,
    };
    match part {
        Ok(Ok(StoredPart { text, mut data })) => {
            data["text"] = text.into();
            answer::success(id, name, Some(data))
        }
        Ok(Err(reason)) => answer::failure(id, name, &reason),
        Err(error) => answer::failure(id, name, &error.to_string()),
    }
}

async fn told(engine: &Engine, outbox: &Outbox, id: Option<&Value>, call: Call) -> Option<Reply> {
    let mut running = engine.stream(call);
    while let Some(event) = running.next().await {
        if let Some(message) = answer::event(id, &event) {
            outbox.send(&message).await;
        }
        if let Event::Finished(reply) = event {
            return Some(*reply);
        }
    }
    None
}
