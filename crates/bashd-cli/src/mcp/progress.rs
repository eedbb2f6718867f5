//! What a client hears while a command runs: how long, how much, and the end of its output.

use crate::for_people;
use bashd::Event;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use std::time::{Duration, Instant};

/// How long a command runs before its client first hears of it.
const FIRST: Duration = Duration::from_millis(300);

/// How often the client hears of new output.
const OFTEN: Duration = Duration::from_secs(1);

/// How often the client hears that nothing happens: clients give up on silent requests.
const SELDOM: Duration = Duration::from_secs(5);

/// Lines of the tail at most.
const LINES: usize = 5;

/// Bytes of the tail at most.
const BYTES: usize = 1024;

/// The end of a command's output, and when it was last told.
pub(super) struct McpProgress {
    token: ProgressToken,
    begun: Instant,
    told: Option<Instant>,
    bytes: u64,
    told_bytes: u64,
    tail: String,
    /// What is waited for before the command can begin.
    preparing: String,
}

impl McpProgress {
    /// Nothing has happened yet.
    pub(super) fn new(token: ProgressToken) -> Self {
        Self {
            token,
            begun: Instant::now(),
            told: None,
            bytes: 0,
            told_bytes: 0,
            tail: String::new(),
            preparing: String::new(),
        }
    }

    /// Takes in an event of the command.
    pub(super) fn take(&mut self, event: &Event) {
        if let Event::Preparing { text } = event {
            self.preparing.clone_from(text);
        }
        if let Event::Excerpt(excerpt) = event {
            self.bytes = excerpt.bytes;
            end_of(&excerpt.text).clone_into(&mut self.tail);
        }
    }

    /// When there may be something to tell.
    pub(super) fn due(&self) -> Instant {
        match self.told {
            None => self.begun + FIRST,
            Some(told) if self.bytes > self.told_bytes => told + OFTEN,
            Some(told) => told + SELDOM,
        }
    }

    /// The notification to send now.
    pub(super) fn tell(&mut self) -> ProgressNotificationParam {
        self.told_bytes = self.bytes;
        let elapsed = self.begun.elapsed().as_secs_f64();
        if !self.preparing.is_empty() {
            let message = for_people::one_line(&self.preparing);
            return self.tell_that(message);
        }
        let bytes = for_people::count(self.bytes, "byte");
        let mut message = format!("running for {elapsed:.1} s, {bytes} of output");
        let lines: Vec<&str> = self.tail.trim_end().lines().rev().take(LINES).collect();
        for line in lines.into_iter().rev() {
            message.push('\n');
            message.push_str(line);
        }
        self.tell_that(message)
    }

    /// Likewise, about something else. Its number grows each time: it is the seconds since the
    /// start.
    pub(super) fn tell_that(&mut self, message: String) -> ProgressNotificationParam {
        self.told = Some(Instant::now());
        let elapsed = self.begun.elapsed().as_secs_f64();
        ProgressNotificationParam::new(self.token.clone(), elapsed).with_message(message)
    }
}

/// The last bytes of a text, from a character's start.
fn end_of(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(BYTES));
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    fn output(text: &str) -> Event {
        let mut excerpt = bashd::Excerpt::default();
        (excerpt.bytes, excerpt.text) = (text.len() as u64, text.to_owned());
        Event::Excerpt(excerpt)
    }

    #[test]
    fn the_tail_is_short_and_whole_characters() {
        let mut progress = McpProgress::new(ProgressToken(NumberOrString::Number(1)));
        progress.take(&output("first\n"));
        progress.take(&output(&format!("{}last\n", "ééééééééé\n".repeat(1000))));
        let told = progress.tell();
        let message = told.message.unwrap();
        assert!(message.ends_with("ééééééééé\nlast"), "{message}");
        assert_eq!(message.lines().count(), 1 + LINES);
        assert!(message.contains("19005 bytes"), "{message}");
        assert!(progress.tell().progress > told.progress);
    }
}
