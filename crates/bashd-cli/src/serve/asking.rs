//! Whom a call asks where a rule wants approval: the client that made it.
//!
//! An engine has one approver for all its calls; a value of the call's own task says whose call it
//! is.

use bashd::guard::{Answer, Approval, Approver};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long a user may think about it.
const PATIENCE: Duration = Duration::from_mins(10);

tokio::task_local! {
    /// Who is asked in the call that this task makes.
    static CLIENT: Arc<dyn CanBeAsked>;
}

/// A client whose user can be asked.
pub(crate) trait CanBeAsked: Send + Sync {
    /// Asks whether the command may run.
    fn ask(self: Arc<Self>, approval: Approval) -> Pin<Box<dyn Future<Output = Answer> + Send>>;
}

/// Asks the client of the task; where there is none, the answer is no.
pub(crate) fn approver() -> Approver {
    Arc::new(|approval| {
        let client = CLIENT.try_with(Arc::clone);
        Box::pin(async move {
            let Ok(client) = client else {
                return Answer::Refused;
            };
            let answer = tokio::time::timeout(PATIENCE, client.ask(approval)).await;
            answer.unwrap_or(Answer::Refused)
        })
    })
}

/// Makes a call for a client, if it can be asked.
pub(crate) async fn on_behalf_of<T>(
    client: Option<Arc<dyn CanBeAsked>>,
    call: impl Future<Output = T>,
) -> T {
    match client {
        Some(client) => CLIENT.scope(client, call).await,
        None => call.await,
    }
}
