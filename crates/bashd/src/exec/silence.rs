//! How long a command may be silent, where its contract limits that.

use crate::plan::Plan;
use crate::request::SilenceLimit;
use tokio::time::Instant;

/// When a command has been silent for too long.
pub(super) struct SilenceTimer {
    limit: Option<SilenceLimit>,
    /// When it was last heard of; nothing before its start.
    heard: Option<Instant>,
}

impl SilenceTimer {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            limit: plan.silence,
            heard: None,
        }
    }

    /// Whether anybody wants to know when it writes.
    pub(super) fn is_awaited(&self) -> bool {
        self.limit.is_some()
    }

    /// It has begun, or written something.
    pub(super) fn heard(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// Its silence has no consequences any more.
    pub(super) fn give_up(&mut self) {
        self.limit = None;
    }

    /// Resolves when it has been silent for too long; never, if it may be.
    pub(super) async fn comes(&self) {
        match (self.heard, self.limit) {
            (Some(heard), Some(limit)) => tokio::time::sleep_until(heard + limit.after).await,
            _ => std::future::pending().await,
        }
    }
}
