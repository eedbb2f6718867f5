//! Ends of jobs: told once, at the head of the client's next reply; and, as they come, by a log
//! message to those who listen.

#![expect(
    deprecated,
    reason = "clients of the handshake still read log messages"
)]

use super::handler::McpServer;
use super::log::{ClientLogLevel, LOGGER};
use crate::serve::ServerBase;
use bashd::jobs::{Delivery, FarJob, Job};
use bashd::{FarDelivery, Reply};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::Peer;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;

/// What a reply begins with, because nobody was told of it.
pub(super) struct UntoldEnds {
    text: String,
    delivery: Option<Delivery>,
    /// Those of jobs at other places.
    there: Option<FarDelivery>,
}

impl UntoldEnds {
    /// What this client was not told of before this reply, if its profile tells of that.
    pub(super) async fn before_reply(
        shared: &McpServer,
        server: &ServerBase,
        reply: &Reply,
    ) -> Option<Self> {
        let left_a_job = reply.left_behind.iter().any(|left| left.job.is_some());
        if reply.job.is_some() || left_a_job {
            server.jobs_begun.note();
        }
        // A reply that says that a job has started does not begin with its end.
        Self::but_for(shared, server, reply.job.as_deref()).await
    }

    /// The same before an answer that is no reply.
    pub(super) async fn before_answer(shared: &McpServer, server: &ServerBase) -> Option<Self> {
        Self::but_for(shared, server, None).await
    }

    async fn but_for(shared: &McpServer, server: &ServerBase, job: Option<&str>) -> Option<Self> {
        if !server.profile.tells_ends() || !server.jobs_begun.is_so() {
            return None;
        }
        shared.tasks.forget_left_ones();
        let (engine, profile) = (&server.engine, &server.profile.name);
        let delivery = engine.jobs().ended(server.owner(), job);
        let there = engine.ends_there(profile, server.owner()).await;
        let mut texts = Vec::new();
        if let Some(delivery) = &delivery {
            texts.push(engine.job_notice(profile, delivery.ended()).await);
        }
        texts.extend(there.as_ref().map(FarDelivery::text));
        (!texts.is_empty()).then(|| Self {
            text: texts.join("\n\n"),
            delivery,
            there,
        })
    }

    /// The text of a reply with the ends before it; from now on they are told.
    pub(super) fn before(self, reply: &str) -> String {
        self.delivery.map(Delivery::done);
        if let Some(there) = self.there {
            there.done();
        }
        format!("{}\n\n{reply}", self.text)
    }

    /// The same for a result of text.
    pub(super) fn before_text_of(self, answer: &mut CallToolResult) {
        if let Some(ContentBlock::Text(shown)) = answer.content.first_mut() {
            shown.text = self.before(&shown.text);
        }
    }
}

/// A job of which it is said that it ended.
struct EndedJob {
    id: String,
    alias: String,
    state: String,
    exit_code: Option<i32>,
}

impl EndedJob {
    fn of(job: &Job) -> Self {
        Self {
            id: job.id.clone(),
            alias: job.alias.clone(),
            state: job.state.name().to_owned(),
            exit_code: job.exit_code,
        }
    }
}

impl From<FarJob> for EndedJob {
    fn from(job: FarJob) -> Self {
        Self {
            id: job.id,
            alias: job.alias,
            state: job.state,
            exit_code: job.exit_code,
        }
    }
}

/// Sends a log message about each end, until the client is gone.
pub(super) async fn tell(server: ServerBase, log: Arc<ClientLogLevel>, peer: Peer<RoleServer>) {
    if !server.profile.tells_ends() {
        return;
    }
    server.jobs_begun.until_so().await;
    let Ok(mut ends) = server.engine.jobs().completions(server.owner()) else {
        return;
    };
    let mut known = HashSet::new();
    loop {
        let (profile, owner) = (&server.profile.name, server.owner());
        let ended = tokio::select! {
            here = ends.next_untold(&known) => here.iter().map(EndedJob::of).collect(),
            there = server.engine.next_ends_there(profile, owner, &known) => {
                there.into_iter().map(EndedJob::from).collect::<Vec<EndedJob>>()
            }
        };
        for job in ended {
            let data = json!({
                "job": job.id,
                "alias": job.alias,
                "state": job.state,
                "exit_code": job.exit_code,
            });
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Notice, data)
                .with_logger(LOGGER);
            known.insert(job.id);
            if log.wants_ends() && peer.notify_logging_message(message).await.is_err() {
                return;
            }
        }
    }
}
