//! Log messages to the client, for people: what does not belong in the reply.

#![expect(
    deprecated,
    reason = "clients of the handshake still read them; new ones ask for them request by request"
)]

use super::handler::is_stateless;
use bashd::Reply;
use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The name under which we log.
pub(super) const LOGGER: &str = "bashd";

/// The lowest level that the client wants.
pub(super) struct ClientLogLevel {
    least: AtomicU8,
    is_set: AtomicBool,
}

impl Default for ClientLogLevel {
    fn default() -> Self {
        Self {
            least: AtomicU8::new(LoggingLevel::Warning as u8),
            is_set: AtomicBool::new(false),
        }
    }
}

impl ClientLogLevel {
    /// The client set its level.
    pub(super) fn set(&self, level: LoggingLevel) {
        self.least.store(level as u8, Ordering::Relaxed);
        self.is_set.store(true, Ordering::Relaxed);
    }

    /// Whether the client has not said that it does not want to hear of ends of jobs.
    pub(super) fn wants_ends(&self) -> bool {
        let least = self.least.load(Ordering::Relaxed);
        !self.is_set.load(Ordering::Relaxed) || LoggingLevel::Notice as u8 >= least
    }

    /// Logs a finished call, and the engine's warnings.
    pub(super) async fn tell(
        &self,
        context: &RequestContext<RoleServer>,
        reply: &Reply,
        warnings: Vec<String>,
    ) {
        for warning in warnings {
            let data = || json!(warning);
            self.send(context, LoggingLevel::Warning, data).await;
        }
        if let Some(denied) = &reply.denied {
            let data = || json!({"denied": denied.rule, "message": denied.message});
            self.send(context, LoggingLevel::Notice, data).await;
        } else if let Some(error) = &reply.error {
            let data = || json!({"error": error});
            self.send(context, LoggingLevel::Error, data).await;
        } else {
            let data = || {
                json!({
                    "exit_code": reply.exit_code,
                    "timed_out": reply.timed_out,
                    "output_bytes": reply.output_bytes,
                    "wall_ms": reply.wall_ms,
                })
            };
            self.send(context, LoggingLevel::Debug, data).await;
        }
    }

    /// Sends a message, which is made only if the client wants it.
    async fn send(
        &self,
        context: &RequestContext<RoleServer>,
        level: LoggingLevel,
        data: impl FnOnce() -> Value,
    ) {
        if self.is_wanted(context, level) {
            let message = LoggingMessageNotificationParam::new(level, data()).with_logger(LOGGER);
            // A client that does not listen loses only this.
            let _ = context.peer.notify_logging_message(message).await;
        }
    }

    /// Requests without a handshake name their own level; without one, they get no messages.
    fn is_wanted(&self, context: &RequestContext<RoleServer>, level: LoggingLevel) -> bool {
        let least = if is_stateless(context) {
            context.meta.log_level().map(|level| level as u8)
        } else {
            Some(self.least.load(Ordering::Relaxed))
        };
        least.is_some_and(|least| level as u8 >= least)
    }
}
