//! A question to the person at the console: may this command run?

use crate::check::underline;
use crate::for_people;
use crate::render::{StyledLine, Tone};
use bashd::approval::{Approval, ApprovalAnswer, Approver};
use crossterm::event::{KeyCode, KeyEvent};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// What the keys at a question do, in words.
pub(super) const CHOICES: &str = " o once · s for this session · a always · d denies ";

/// A command that waits for an answer.
pub(super) struct ConsoleQuestion {
    approval: Approval,
    answer: oneshot::Sender<ApprovalAnswer>,
}

/// Who passes questions on to the console.
pub(super) fn approver(questions: mpsc::UnboundedSender<ConsoleQuestion>) -> Approver {
    Arc::new(move |approval: Approval| {
        let (answer, answered) = oneshot::channel();
        let asked = questions.send(ConsoleQuestion { approval, answer });
        Box::pin(async move {
            if asked.is_err() {
                return ApprovalAnswer::Nobody;
            }
            answered.await.unwrap_or(ApprovalAnswer::Nobody)
        })
    })
}

impl ConsoleQuestion {
    /// Whether nobody waits for the answer any more: it came from elsewhere, or the call is over.
    pub(super) fn is_over(&self) -> bool {
        self.answer.is_closed()
    }

    /// The command, the part in question marked, and the reason in rows of so many columns.
    pub(super) fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let Approval {
            command, objection, ..
        } = &self.approval;
        let touched = objection.span.map(|span| underline::lines(command, span));
        let mut lines = Vec::new();
        if let Some(touched) = touched.filter(|touched| !touched.is_empty()) {
            for (text, marks) in touched {
                lines.push(StyledLine::new(Tone::Command, text));
                lines.push(StyledLine::new(Tone::Warning, marks));
            }
        } else {
            let text = command.lines().map(for_people::one_line_keeping_blanks);
            lines.extend(text.map(|line| StyledLine::new(Tone::Command, line)));
        }
        lines.push(StyledLine::default());
        let reason = format!("{} ({})", objection.message, objection.rule);
        let mut say = |tone: Tone, text: &str| {
            let rows = for_people::wrapped(&for_people::one_line(text), 0, Some(columns));
            lines.extend(rows.into_iter().map(|row| StyledLine::new(tone, row)));
        };
        say(Tone::Plain, &reason);
        // Some rules say it in their message already.
        let instead = objection.instead.as_ref();
        if let Some(instead) = instead.filter(|instead| !objection.message.contains(*instead)) {
            say(Tone::Faint, &format!("instead: {instead}"));
        }
        lines
    }

    /// The answer that a key gives. No other key is one, so that nothing is allowed by typing on.
    pub(super) fn answer_of(key: &KeyEvent) -> Option<ApprovalAnswer> {
        match key.code {
            KeyCode::Char('o') => Some(ApprovalAnswer::Once),
            KeyCode::Char('s') => Some(ApprovalAnswer::Session),
            KeyCode::Char('a') => Some(ApprovalAnswer::Always),
            KeyCode::Char('d') | KeyCode::Esc => Some(ApprovalAnswer::Refused),
            _ => None,
        }
    }

    /// Answers it.
    pub(super) fn answer(self, answer: ApprovalAnswer) {
        // Who asked may be gone.
        let _ = self.answer.send(answer);
    }
}
