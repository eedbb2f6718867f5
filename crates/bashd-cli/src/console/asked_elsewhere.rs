//! Questions of other bashd processes of this user: while the console is open, calls that can ask
//! nobody else wait for the person at it.

use super::question::{ConsoleQuestion, QuestionSubject};
use crate::changes::{DiffLine, question as effects_question};
use crate::for_people::one_line;
use crate::watched::{WatchedCalls, WatchedFilter, WatchedState};
use bashd::Config;
use bashd::approval::{ApprovalAnswer, AskingCalls, Watching};
use bashd::changes::ChangeStore;
use bashd::feed::{AskedEffects, FeedReader};
use bashd::script::Span;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How often it is looked for questions.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// How long an answer may take to arrive: who asked may stand still.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);

/// What other processes ask.
pub(super) struct AskedElsewhere {
    feed: Option<FeedReader>,
    calls: WatchedCalls,
    questions: AskingCalls,
    changes: ChangeStore,
    /// Says that somebody can answer.
    _watching: Option<Watching>,
    /// Calls whose question was handed on.
    told: BTreeSet<String>,
    looked: Option<Instant>,
}

impl AskedElsewhere {
    /// For the processes that share this state directory.
    pub(super) fn of(config: &Config) -> Self {
        let questions = AskingCalls::of(config);
        // Without the feed nobody could see what is asked.
        let feed = config.feed.then(|| FeedReader::new(config.feed_dir()));
        Self {
            // A state directory that can't be written has no questions either.
            _watching: feed.is_some().then(|| questions.watch().ok()).flatten(),
            feed,
            calls: WatchedCalls::default(),
            questions,
            changes: ChangeStore::in_state(&config.state_dir),
            told: BTreeSet::new(),
            looked: None,
        }
    }

    /// Questions that came since the last look, if it is time for another.
    pub(super) fn look(&mut self) -> Vec<ConsoleQuestion> {
        let is_due = |looked: Instant| looked.elapsed() >= LOOK_EVERY;
        if !self.looked.is_none_or(is_due) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let Some(batch) = self.feed.as_mut().and_then(|feed| feed.read().ok()) else {
            return Vec::new();
        };
        for (_, record) in batch.records {
            self.calls.tell(record);
        }
        // Those whose process is gone ask no more.
        self.calls.compare(&[], &[], &[]);
        let own = std::process::id().cast_signed();
        let mut asking = BTreeSet::new();
        let mut new = Vec::new();
        for call in self.calls.wanted(WatchedFilter::Asking, "") {
            let WatchedState::Asks(asks) = &call.state else {
                continue;
            };
            if call.begun.pid == own || !self.questions.is_open(&call.id) {
                continue;
            }
            asking.insert(call.id.clone());
            if self.told.contains(&call.id) {
                continue;
            }
            let whose = [&call.begun.owner, &call.begun.cwd];
            let whose = whose.map(|part| one_line(part)).join(" · ");
            let subject = QuestionSubject {
                command: call.begun.command.clone(),
                span: asks.part.map(|(start, end)| Span { start, end }),
                rule: asks.rule.clone(),
                message: asks.message.clone(),
                instead: None,
                whose: Some(whose),
                effects: asks
                    .effects
                    .as_ref()
                    .map(|told| self.effects_of(&call.id, told)),
            };
            let id = call.id.clone();
            new.push(ConsoleQuestion::of_call(id, call.begun.pid, subject));
        }
        self.told = asking;
        new
    }

    /// What a command of another process did: its change has the id of its call.
    fn effects_of(&self, id: &str, told: &AskedEffects) -> Vec<DiffLine> {
        match self.changes.find(id) {
            Ok(change) => effects_question::of_change(&change, told),
            Err(_) => Vec::new(),
        }
    }

    /// Whether the question of a call is still open.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.questions.is_open(id)
    }

    /// Answers the question of a call; returns what to say.
    pub(super) async fn answer(&self, id: &str, answer: ApprovalAnswer) -> String {
        let (questions, id) = (self.questions.clone(), id.to_owned());
        let giving = tokio::task::spawn_blocking(move || questions.answer(&id, answer));
        match tokio::time::timeout(ARRIVES_WITHIN, giving).await {
            Ok(Ok(Ok(()))) => said(answer).to_owned(),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "who asked does not take the answer: `bashd top` shows it".to_owned(),
        }
    }
}

/// What is said of an answer.
pub(super) fn said(answer: ApprovalAnswer) -> &'static str {
    match answer {
        ApprovalAnswer::Once => "allowed once",
        ApprovalAnswer::Session => "allowed in this session",
        ApprovalAnswer::Always => "always allowed; `bashd grants` lists it",
        ApprovalAnswer::Refused | ApprovalAnswer::Nobody => "denied",
    }
}
