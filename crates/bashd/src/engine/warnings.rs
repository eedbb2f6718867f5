//! What the people who run an engine should know, and no call's reply is the place for.

use super::{Engine, EngineCore};
use std::sync::PoisonError;

impl Engine {
    /// What the people who run this engine should know (a ledger that cannot be written), each
    /// once.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut warnings = self
            .0
            .warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut warnings)
    }

    /// Waits until there are some, and takes them.
    pub async fn next_warnings(&self) -> Vec<String> {
        loop {
            let warned = self.0.warned.notified();
            let warnings = self.take_warnings();
            if !warnings.is_empty() {
                return warnings;
            }
            warned.await;
        }
    }
}

impl EngineCore {
    pub(super) fn warn(&self, warning: Option<String>) {
        let Some(warning) = warning else { return };
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning);
        self.warned.notify_one();
    }
}
