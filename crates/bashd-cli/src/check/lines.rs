//! Many commands: JSON lines in, one JSON line out for each, in order and at once.

use super::{as_json, status};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use bashd::guard::{Gate, Verdict};
use bashd::rewrite::Command;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead};

/// One question.
#[derive(Deserialize)]
struct CheckQuestion {
    #[serde(default)]
    id: Value,
    command: String,
    /// The caller's tools, instead of those from the command line.
    tools: Option<Vec<String>>,
}

/// Answers every line of stdin; the status says whether all of them would be allowed.
pub(super) fn answer(mut gate: Gate, printer: &Printer) -> Result<ExitStatus, Failure> {
    let tools = std::mem::take(&mut gate.tools);
    let mut overall = ExitStatus::Success;
    for line in io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| Failure::of(FailureKind::System, error.into()))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (id, mut answer, status) = match serde_json::from_slice::<CheckQuestion>(&line) {
            // `run` refuses an empty command, so it is not allowed here.
            Ok(question) if question.command.trim().is_empty() => (
                question.id,
                denied("the command is empty"),
                ExitStatus::Denied,
            ),
            Ok(question) => {
                gate.tools = question.tools.unwrap_or_else(|| tools.clone());
                let judgement = gate.judge(&Command::as_given(&question.command));
                let status = status(&judgement.verdict);
                debug_assert_eq!(
                    status == ExitStatus::Success,
                    judgement.verdict == Verdict::Allow
                );
                let answer = as_json(&question.command, &judgement);
                (question.id, answer, status)
            }
            Err(error) => {
                let message = format!("invalid input line: {error}");
                (Value::Null, denied(&message), ExitStatus::Denied)
            }
        };
        answer.insert("id".to_owned(), id);
        printer.out(&format!("{}\n", Value::Object(answer)))?;
        if status != ExitStatus::Success {
            overall = status;
        }
    }
    Ok(overall)
}

/// The answer to a line that can't be read, or is empty: it is never allowed.
fn denied(message: &str) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("verdict".to_owned(), "deny".into());
    answer.insert("rule".to_owned(), "input".into());
    answer.insert("message".to_owned(), json!(message));
    answer.insert("commands".to_owned(), json!([]));
    answer
}
