//! Asks the person at the terminal whether a command may run.
//!
//! There must be one: stdin and stderr are a terminal. The answer is read from the terminal itself,
//! and what was typed before the question does not count.

use crate::for_people;
use crate::print::Printer;
use crate::serve::asking::{self, PATIENCE};
use bashd::approval::{Approval, ApprovalAnswer, Approver};
use rustix::termios::{QueueSelector, tcflush};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a question is on the screen: nothing else is drawn meanwhile.
pub(super) type PromptShown = Arc<AtomicBool>;

/// The person at the terminal, if there is one.
pub(super) fn person(open: &PromptShown) -> Option<Approver> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let open = Arc::clone(open);
    Some(Arc::new(move |approval: Approval| {
        let open = Arc::clone(&open);
        Box::pin(async move {
            open.store(true, Ordering::Relaxed);
            let reading = tokio::task::spawn_blocking(move || ask(&approval));
            let answer = tokio::time::timeout(PATIENCE, reading).await;
            open.store(false, Ordering::Relaxed);
            match answer {
                Ok(Ok(answer)) => answer,
                _ => ApprovalAnswer::Refused,
            }
        })
    }))
}

/// Asks, and reads one line. There is no session to allow it for: bashd ends with the command.
fn ask(approval: &Approval) -> ApprovalAnswer {
    let Ok(terminal) = File::open("/dev/tty") else {
        return ApprovalAnswer::Nobody;
    };
    // No escape sequence of a command may paint over the question.
    let question = asking::question(approval);
    let lines = question.lines().map(for_people::one_line_keeping_blanks);
    let lines: Vec<String> = lines.collect();
    let _ = tcflush(&terminal, QueueSelector::IFlush);
    let choices = match approval.effects {
        Some(_) => "once (make it real) or no (discard it)?",
        None => "once, always (for exactly this command) or no?",
    };
    Printer::err(&format!("{}\n\n{choices} ", lines.join("\n")));
    let mut line = String::new();
    match BufReader::new(terminal).read_line(&mut line) {
        Ok(1..) => answer_of(&line),
        _ => ApprovalAnswer::Refused,
    }
}

fn answer_of(line: &str) -> ApprovalAnswer {
    match line.trim().to_ascii_lowercase().as_str() {
        "once" | "o" => ApprovalAnswer::Once,
        "always" | "a" => ApprovalAnswer::Always,
        _ => ApprovalAnswer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_yes_is_one() {
        for (line, answer) in [
            ("once\n", ApprovalAnswer::Once),
            (" O \n", ApprovalAnswer::Once),
            ("always\n", ApprovalAnswer::Always),
            ("\n", ApprovalAnswer::Refused),
            ("y\n", ApprovalAnswer::Refused),
            ("yes\n", ApprovalAnswer::Refused),
            ("no\n", ApprovalAnswer::Refused),
        ] {
            assert_eq!(answer_of(line), answer, "{line}");
        }
    }
}
