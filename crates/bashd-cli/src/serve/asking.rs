//! Whom a call asks if a rule wants approval: the client that made it.
//!
//! A protocol only puts the question into its own words and reads the answer ([`CanBeAsked`]). The
//! call brings its client along; one that brings nobody is denied what a rule wants approval for.

use crate::changes::question as effects_question;
use bashd::Call;
use bashd::approval::{Approval, ApprovalAnswer};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long a user may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// A client whose user can be asked.
pub(crate) trait CanBeAsked: Send + Sync {
    /// Asks whether the command may run. Nobody waits for the answer longer than [`PATIENCE`].
    fn ask(
        self: Arc<Self>,
        approval: Approval,
    ) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>;
}

/// The question, for a person. About what a command did, it reads the files that changed.
pub(crate) fn question(approval: &Approval) -> String {
    let objection = &approval.objection;
    if let Some(effects) = &approval.effects {
        return format!(
            "May what this command did become real?\n\n{}\n\n{} ({})\n\n{}",
            approval.command,
            objection.message,
            objection.rule,
            effects_question::text(effects)
        );
    }
    format!(
        "May this command run?\n\n{}\n\n{} ({})",
        approval.command, objection.message, objection.rule
    )
}

/// Likewise, on a thread of its own where files are read for it.
pub(crate) async fn question_in_time(approval: &Approval) -> String {
    if approval.effects.is_none() {
        return question(approval);
    }
    let asked = approval.clone();
    let reading = tokio::task::spawn_blocking(move || question(&asked)).await;
    reading.unwrap_or_else(|_| approval.command.clone())
}

/// The reason alone, with what the command did if it is about that.
pub(crate) async fn reason_in_time(approval: &Approval) -> String {
    let message = &approval.objection.message;
    let Some(effects) = approval.effects.clone() else {
        return message.clone();
    };
    let reading = tokio::task::spawn_blocking(move || effects_question::text(&effects)).await;
    format!("{message}\n\n{}", reading.unwrap_or_default())
}

/// What a choice means, for a person.
pub(crate) fn meaning(approval: &Approval, answer: ApprovalAnswer) -> &'static str {
    // What is granted there are the things that the question names, whatever the command.
    let is_for_things = approval.objection.rule == "confinement";
    if approval.effects.is_some() {
        return if answer.is_yes() {
            "Make it real (bashd undo takes it back)"
        } else {
            "Discard it: nothing of it becomes real"
        };
    }
    match answer {
        ApprovalAnswer::Once if is_for_things => "Allow it this once",
        ApprovalAnswer::Session if is_for_things => "Allow it for this session",
        ApprovalAnswer::Always if is_for_things => {
            "Always allow it (bashd grants lists and removes it)"
        }
        ApprovalAnswer::Once => "Run it this once",
        ApprovalAnswer::Session => {
            "Run it, and do not ask again in this session for exactly this command"
        }
        ApprovalAnswer::Always => "Run it, and never ask again for exactly this command",
        ApprovalAnswer::Refused | ApprovalAnswer::Nobody => "Do not run it",
    }
}

/// The call, which asks this client for approval. No answer in time is a no.
pub(crate) fn on_behalf_of(client: Arc<dyn CanBeAsked>, call: Call) -> Call {
    call.approved_by(Arc::new(move |approval| {
        let asked = Arc::clone(&client).ask(approval);
        Box::pin(async move {
            let answer = tokio::time::timeout(PATIENCE, asked).await;
            answer.unwrap_or(ApprovalAnswer::Refused)
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashd::config::{ConfigFile, Sources, resolve};
    use bashd::{Engine, KeeperSource, NoKeeper, Reply, Request, Surroundings};

    const RULE: &str = "[[rules]]\nname = 'asks'\ndecision = 'ask'\nmessage = 'really?'\n\
        command = 'made-up'\nexamples.deny = ['made-up']\nexamples.allow = ['true']\n";

    /// A user who always says this.
    struct User(ApprovalAnswer);

    impl CanBeAsked for User {
        fn ask(
            self: Arc<Self>,
            _: Approval,
        ) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> {
            Box::pin(async move { self.0 })
        }
    }

    /// The replies to calls that a rule wants approval for. None can run: there is no keeper.
    async fn replies(clients: [Option<User>; 3]) -> Vec<Reply> {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources {
            state_dir: directory.path().join("state"),
            file: Some(ConfigFile {
                path: directory.path().join("config.toml"),
                text: RULE.to_owned(),
            }),
            ..Sources::default()
        };
        let surroundings = Surroundings {
            cwd: directory.path().to_owned(),
            env: Vec::new(),
        };
        let keeper = KeeperSource::Unavailable(NoKeeper::because("none"));
        let config = resolve(&sources).unwrap().0;
        let engine = Engine::new(config, surroundings, keeper).unwrap();
        let mut replies = Vec::new();
        for client in clients {
            let call = Call::from(Request::new("made-up"));
            let call = match client {
                Some(client) => on_behalf_of(Arc::new(client), call),
                None => call,
            };
            replies.push(engine.run(call).await);
        }
        replies
    }

    #[tokio::test]
    async fn each_call_asks_its_own_client() {
        let clients = [
            Some(User(ApprovalAnswer::Once)),
            Some(User(ApprovalAnswer::Refused)),
            None,
        ];
        let replies = replies(clients).await;
        let denied: Vec<bool> = replies.iter().map(|reply| reply.denied.is_some()).collect();
        assert_eq!(denied, [false, true, true]);
    }
}
