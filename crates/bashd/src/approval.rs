//! Asking somebody whether a command may run, and remembering what was answered.
//!
//! Only an explicit yes of a person lets a command run: no answer, any other answer and nobody to
//! ask are denials. `desk` asks everybody who can be asked, and the first answer counts;
//! `elsewhere` lets a person answer at another process; `grants` remembers a yes that was given for
//! longer than once.

pub(crate) mod desk;
mod elsewhere;
mod grants;

pub use elsewhere::{AskingCalls, Watching};
pub use grants::{Grant, Grants};

use crate::changes::Change;
use crate::feed::AskedEffects;
use bashd_script::guard::Objection;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// What the approver is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Approval {
    /// The text that the shell would get.
    pub command: String,
    /// Why it needs approval.
    pub objection: Objection,
    /// What it did, if it ran and only that is not real yet.
    pub effects: Option<Arc<ProposedEffects>>,
    answered: watch::Receiver<Option<ApprovalAnswer>>,
}

impl Approval {
    /// What a person chooses from, in this order; the words that programs send.
    pub fn choices(&self) -> &'static [(&'static str, ApprovalAnswer)] {
        match self.effects {
            Some(_) => &ApprovalAnswer::ABOUT_EFFECTS,
            None => &ApprovalAnswer::CHOICES,
        }
    }

    /// Waits for the answer that counts, from any approver: a front end can then withdraw its
    /// question. Never ends if the call is over before.
    pub async fn answered(&self) -> ApprovalAnswer {
        let mut answered = self.answered.clone();
        let answer = answered.wait_for(Option::is_some).await;
        match answer.ok().and_then(|answer| *answer) {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

/// What a command did to files, before it is real.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProposedEffects {
    /// The change, whose paths and contents can be read.
    pub change: Change,
    /// How it ended, what it was refused, and whom it spoke to.
    pub told: AskedEffects,
}

impl ProposedEffects {
    pub(crate) fn new(change: Change, told: AskedEffects) -> Arc<Self> {
        Arc::new(Self { change, told })
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// It may run, this once.
    Once,
    /// It may run, and so may the same command for the same caller, as long as this engine lives.
    Session,
    /// It may run, and so may the same command until the grant is removed.
    Always,
    /// It may not.
    Refused,
    /// Nobody could be asked here; somebody else may answer.
    Nobody,
}

impl ApprovalAnswer {
    /// What a person chooses from, in this order; the words that programs send.
    pub const CHOICES: [(&'static str, Self); 4] = [
        ("once", Self::Once),
        ("session", Self::Session),
        ("always", Self::Always),
        ("deny", Self::Refused),
    ];

    /// What a person chooses from who has seen what a command did: the next time it may do
    /// something else.
    pub const ABOUT_EFFECTS: [(&'static str, Self); 2] =
        [("once", Self::Once), ("deny", Self::Refused)];

    /// The answer of a word; every other word is a no.
    pub fn of_word(word: &str) -> Self {
        let mut choices = Self::CHOICES.into_iter();
        choices
            .find(|(name, _)| *name == word)
            .map_or(Self::Refused, |(_, answer)| answer)
    }

    /// Whether the command may run.
    pub fn is_yes(self) -> bool {
        match self {
            Self::Once | Self::Session | Self::Always => true,
            Self::Refused | Self::Nobody => false,
        }
    }
}

/// Asks somebody. Dropped with the call that waits for it, or when somebody else has answered.
pub type Approver =
    Arc<dyn Fn(Approval) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> + Send + Sync>;
