//! What a person does to a call of any bashd process: answers its question, or ends it.

use bashd::approval::{ApprovalAnswer, AskingCalls};
use bashd::config::Config;
use bashd::jobs::{Jobs, Whose};
use std::time::Duration;

/// How long an answer may take to arrive: who asked may stand still.
const ARRIVES_WITHIN: Duration = Duration::from_secs(6);

/// Reaches the calls of all processes that share a state directory.
#[derive(Clone)]
pub(crate) struct CallDeeds {
    pub(crate) jobs: Jobs,
    pub(crate) questions: AskingCalls,
}

impl CallDeeds {
    /// For the calls below this configuration's state directory.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            jobs: Jobs::new(config).by(&crate::jobs::owner()),
            questions: AskingCalls::of(config),
        }
    }

    /// Answers the question of a call; what to say of it, or why it was not taken.
    pub(crate) async fn answer(
        &self,
        id: &str,
        answer: ApprovalAnswer,
    ) -> Result<&'static str, String> {
        let (questions, id) = (self.questions.clone(), id.to_owned());
        let giving = tokio::task::spawn_blocking(move || questions.answer(&id, answer));
        match tokio::time::timeout(ARRIVES_WITHIN, giving).await {
            Ok(Ok(Ok(()))) if answer.is_yes() => Ok("allowed"),
            Ok(Ok(Ok(()))) => Ok("denied"),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("who asked does not take the answer".to_owned()),
        }
    }

    /// Ends a call with everything that it started; one that asks is denied.
    pub(crate) async fn end(&self, id: &str) -> Result<&'static str, String> {
        let (deeds, name) = (self.clone(), id.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            let is_asking = deeds.questions.is_open(&name);
            let found = (!is_asking).then(|| deeds.jobs.find(Whose::Everybody, &name));
            (is_asking, found.and_then(Result::ok))
        });
        let (is_asking, job) = looking.await.map_err(|error| error.to_string())?;
        if is_asking {
            return self.answer(id, ApprovalAnswer::Refused).await;
        }
        let Some(job) = job else {
            return Err("it can't be reached yet: try again in a second".to_owned());
        };
        match self.jobs.kill(&job).await {
            Ok(_) => Ok("it was ended, with everything it started"),
            Err(error) => Err(error.to_string()),
        }
    }
}
