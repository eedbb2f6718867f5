//! A question to the person at the console: may this command run? It is about a call of this
//! console, or of another bashd process.

use crate::changes::{DiffLine, DiffTone, question};
use crate::check::underline;
use crate::for_people;
use crate::render::{StyledLine, Tone, width};
use bashd::approval::{Approval, ApprovalAnswer, Approver};
use bashd::script::Span;
use crossterm::event::KeyCode;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// What the keys at a question do, in words.
pub(super) const CHOICES: &str = " o once · s for this session · A always · d denies ";

/// Likewise, at a question about what a command did.
pub(super) const CHOICES_OF_EFFECTS: &str = " o makes it real · d discards it · ↑↓ scroll ";

/// Rows of a page.
const PAGE: usize = 10;

/// A command that waits for an answer.
pub(super) struct ConsoleQuestion {
    id: String,
    pub(super) subject: QuestionSubject,
    asker: QuestionAsker,
    /// Rows that are scrolled past, of as many as were too many when it was drawn.
    scrolled: Cell<usize>,
}

/// What is asked about.
#[derive(Debug, Clone, Default)]
pub(super) struct QuestionSubject {
    pub(super) command: String,
    /// The part in question.
    pub(super) span: Option<Span>,
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) instead: Option<String>,
    /// Whose call it is and where, if it is not of this console.
    pub(super) whose: Option<String>,
    /// What the command did, if that is what it is about.
    pub(super) effects: Option<Vec<DiffLine>>,
}

/// Who waits for the answer.
enum QuestionAsker {
    /// A call of this console.
    Own(oneshot::Sender<ApprovalAnswer>),
    /// A call of the process with this id.
    Elsewhere(i32),
}

/// Who passes questions on to the console.
pub(super) fn approver(questions: mpsc::UnboundedSender<ConsoleQuestion>) -> Approver {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    Arc::new(move |approval: Approval| {
        let (answer, answered) = oneshot::channel();
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let (objection, effects) = (approval.objection, approval.effects);
        let mut question = ConsoleQuestion {
            id: format!("own {number}"),
            subject: QuestionSubject {
                command: approval.command,
                span: objection.span,
                rule: objection.rule,
                message: objection.message,
                instead: objection.instead,
                whose: None,
                effects: None,
            },
            asker: QuestionAsker::Own(answer),
            scrolled: Cell::new(0),
        };
        let questions = questions.clone();
        Box::pin(async move {
            if let Some(effects) = effects {
                let reading = tokio::task::spawn_blocking(move || question::lines(&effects)).await;
                question.subject.effects = Some(reading.unwrap_or_default());
            }
            if questions.send(question).is_err() {
                return ApprovalAnswer::Nobody;
            }
            answered.await.unwrap_or(ApprovalAnswer::Nobody)
        })
    })
}

impl ConsoleQuestion {
    /// A question of the call with this id, in the process with this id.
    pub(super) fn of_call(id: String, pid: i32, subject: QuestionSubject) -> Self {
        Self {
            id,
            subject,
            asker: QuestionAsker::Elsewhere(pid),
            scrolled: Cell::new(0),
        }
    }

    /// Tells it apart from others; if it is of another process, the id of its call.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether nobody waits for the answer any more: it came from elsewhere, or the call is over.
    pub(super) fn is_over(&self, is_open: impl Fn(&str) -> bool) -> bool {
        match &self.asker {
            QuestionAsker::Own(answer) => answer.is_closed(),
            QuestionAsker::Elsewhere(pid) => {
                let is_alive = Path::new("/proc").join(pid.to_string()).exists();
                !is_alive || !is_open(&self.id)
            }
        }
    }

    /// Whose call it is, the command with the part in question marked, and the reason, in rows of
    /// so many columns.
    pub(super) fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let QuestionSubject {
            command,
            span,
            rule,
            message,
            instead,
            whose,
            effects,
        } = &self.subject;
        let mut lines = Vec::new();
        let say = |lines: &mut Vec<StyledLine>, tone: Tone, text: &str| {
            let rows = for_people::rows(&for_people::one_line(text), columns);
            lines.extend(rows.into_iter().map(|row| StyledLine::new(tone, row)));
        };
        if let Some(whose) = whose {
            say(&mut lines, Tone::Faint, whose);
        }
        let touched = span.map(|span| underline::lines(command, span));
        if let Some(touched) = touched.filter(|touched| !touched.is_empty()) {
            for (text, marks) in touched {
                lines.extend(marked(&text, &marks, columns));
            }
        } else {
            for line in command.lines() {
                let line = for_people::one_line_keeping_blanks(line);
                lines.extend(StyledLine::new(Tone::Command, line).wrapped(columns));
            }
        }
        lines.push(StyledLine::default());
        say(&mut lines, Tone::Plain, &format!("{message} ({rule})"));
        // Some rules say it in their message already.
        if let Some(instead) = instead.as_ref().filter(|text| !message.contains(*text)) {
            say(&mut lines, Tone::Faint, &format!("instead: {instead}"));
        }
        for line in effects.iter().flatten() {
            let tone = match line.tone {
                DiffTone::Title => Tone::Command,
                DiffTone::Plain => Tone::Plain,
                DiffTone::Good => Tone::Good,
                DiffTone::Bad => Tone::Bad,
                DiffTone::Warning => Tone::Warning,
                DiffTone::Faint => Tone::Faint,
            };
            lines.extend(StyledLine::new(tone, &*line.text).wrapped(columns));
        }
        lines
    }

    /// Scrolls by a key; `false` if the key is for something else.
    pub(super) fn scroll(&self, key: KeyCode) -> bool {
        let rows = self.scrolled.get();
        self.scrolled.set(match key {
            KeyCode::Up => rows.saturating_sub(1),
            KeyCode::Down => rows + 1,
            KeyCode::PageUp => rows.saturating_sub(PAGE),
            KeyCode::PageDown => rows + PAGE,
            _ => return false,
        });
        true
    }

    /// The first row that is shown, of so many in so much room.
    pub(super) fn first_row(&self, rows: usize, room: usize) -> usize {
        let first = self.scrolled.get().min(rows.saturating_sub(room));
        self.scrolled.set(first);
        first
    }

    /// What the keys do.
    pub(super) fn choices(&self) -> &'static str {
        match self.subject.effects {
            Some(_) => CHOICES_OF_EFFECTS,
            None => CHOICES,
        }
    }

    /// What an answer means here: what a command did is allowed for this time.
    pub(super) fn meant(&self, answer: ApprovalAnswer) -> ApprovalAnswer {
        if self.subject.effects.is_some() && answer.is_yes() {
            ApprovalAnswer::Once
        } else {
            answer
        }
    }

    /// Answers it, if it is of this console; else returns the id of the call to answer.
    pub(super) fn answer(self, answer: ApprovalAnswer) -> Option<String> {
        match self.asker {
            QuestionAsker::Own(asker) => {
                // Who asked may be gone.
                let _ = asker.send(answer);
                None
            }
            QuestionAsker::Elsewhere(_) => Some(self.id),
        }
    }
}

/// A line in rows of so many columns, each with its marks below it.
fn marked(text: &str, marks: &str, columns: usize) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut marks = marks.chars();
    for row in StyledLine::new(Tone::Command, text).wrapped(columns) {
        let below: String = marks.by_ref().take(width(&row.text())).collect();
        lines.push(row);
        if below.contains('^') {
            lines.push(StyledLine::new(Tone::Warning, below.trim_end()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_below_their_words_when_the_command_wraps() {
        let command = "cd /srv/www/example && git push --force origin main";
        let subject = QuestionSubject {
            command: command.to_owned(),
            span: Some(Span { start: 23, end: 51 }),
            rule: "no_force_push".to_owned(),
            message: "it overwrites".to_owned(),
            whose: Some("mcp:K3T9 in /srv".to_owned()),
            ..QuestionSubject::default()
        };
        let question = ConsoleQuestion::of_call("abc".to_owned(), 1, subject);
        let lines = question.lines(30);
        let text: Vec<String> = lines.iter().map(StyledLine::text).collect();
        assert_eq!(
            text,
            [
                "mcp:K3T9 in /srv",
                "cd /srv/www/example && git pus",
                "                       ^^^^^^^",
                "h --force origin main",
                "^^^^^^^^^^^^^^^^^^^^^",
                "",
                "it overwrites (no_force_push)",
            ]
        );
    }
}
