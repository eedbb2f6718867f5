//! A person's answer to a question, by key: which key is which answer, and from when on keys count.

use bashd::approval::ApprovalAnswer;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// How long a question stands there, and nothing is typed, before a key answers it.
const CALM: Duration = Duration::from_millis(500);

/// What is said until then.
pub(crate) const NOT_YET: &str = "a question has come up: keys count in a moment";

/// The answer that a key gives. A key that is held with Ctrl or Alt is none, and what lasts takes a
/// capital.
pub(crate) fn answer_of(key: &KeyEvent) -> Option<ApprovalAnswer> {
    if !key.modifiers.difference(KeyModifiers::SHIFT).is_empty() {
        return None;
    }
    match key.code {
        KeyCode::Char('o') => Some(ApprovalAnswer::Once),
        KeyCode::Char('s') => Some(ApprovalAnswer::Session),
        KeyCode::Char('A') => Some(ApprovalAnswer::Always),
        KeyCode::Char('d') | KeyCode::Esc => Some(ApprovalAnswer::Refused),
        _ => None,
    }
}

/// Watches which question stands there, and when something was typed: nothing is allowed by typing
/// on.
#[derive(Debug, Default)]
pub(crate) struct AnswerPause {
    question: Option<(String, Instant)>,
    typed: Option<Instant>,
}

impl AnswerPause {
    /// The question with this id is shown, or none; returns whether it is a new one.
    pub(crate) fn shows(&mut self, id: Option<&str>, now: Instant) -> bool {
        let before = self.question.as_ref().map(|(before, _)| before.as_str());
        if before == id {
            return false;
        }
        self.question = id.map(|id| (id.to_owned(), now));
        id.is_some()
    }

    /// Something was typed.
    pub(crate) fn typed(&mut self, now: Instant) {
        self.typed = Some(now);
    }

    /// Whether a key would be an answer.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let is_past = |since: Instant| now.duration_since(since) >= CALM;
        let shown = self.question.as_ref();
        shown.is_some_and(|(_, since)| is_past(*since)) && self.typed.is_none_or(is_past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_keys_are_answers() {
        let answer = |code: char, modifiers| {
            answer_of(&KeyEvent::new(KeyCode::Char(code), modifiers)).is_some()
        };
        for code in ['o', 's', 'A', 'd'] {
            assert!(answer(code, KeyModifiers::NONE), "{code}");
            assert!(!answer(code, KeyModifiers::CONTROL), "Ctrl-{code}");
            assert!(!answer(code, KeyModifiers::ALT), "Alt-{code}");
        }
        assert!(answer('A', KeyModifiers::SHIFT));
        assert!(!answer('a', KeyModifiers::NONE), "what lasts is a capital");
        assert!(!answer('y', KeyModifiers::NONE));
    }

    #[test]
    fn who_types_on_answers_nothing() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut pause = AnswerPause::default();
        pause.typed(after(0));
        pause.shows(Some("a"), after(100));
        for millis in [200, 400, 700] {
            assert!(!pause.is_over(after(millis)), "{millis}");
            pause.typed(after(millis));
        }
        pause.shows(Some("a"), after(800));
        assert!(!pause.is_over(after(1100)));
        assert!(pause.is_over(after(1200)));
        // Another one in its place has its own pause.
        pause.shows(Some("b"), after(1300));
        assert!(!pause.is_over(after(1400)));
        assert!(pause.is_over(after(1800)));
        pause.shows(None, after(1900));
        assert!(!pause.is_over(after(9000)));
    }
}
