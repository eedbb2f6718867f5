//! Our requests to a client, and its answers: for its terminals, and for its user's approval.

use crate::serve::asking::{self, CanBeAsked};
use crate::serve::lines::Outbox;
use bashd::approval::{Approval, ApprovalAnswer};
use bashd::{ClientAnswer, ClientTerminal, NewTerminal, TerminalExit, TerminalOutput};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// What the ids of our requests begin with, so that nobody takes them for a client's own.
const ID_PREFIX: &str = "bashd-";

/// Requests to the client that wait for its answer.
#[derive(Default)]
pub(super) struct OpenQuestions(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    is_closed: bool,
}

impl OpenQuestions {
    fn state(&self) -> MutexGuard<'_, RequestTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Option<(u64, oneshot::Receiver<Result<Value, String>>)> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        state.last += 1;
        let number = state.last;
        let (sender, answer) = oneshot::channel();
        state.answers.insert(number, sender);
        Some((number, answer))
    }

    /// Hands an answer to the task that waits for it. An answer that comes too late is not the
    /// client's fault.
    pub(super) fn answer(&self, id: &Value, answer: Result<Value, String>) -> Result<(), String> {
        let number = id.as_str().and_then(|id| id.strip_prefix(ID_PREFIX));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        let mut state = self.state();
        match number {
            Some(number) if (1..=state.last).contains(&number) => {
                if let Some(waiting) = state.answers.remove(&number) {
                    let _ = waiting.send(answer);
                }
                Ok(())
            }
            _ => Err(format!("there was no request with the id {id}")),
        }
    }

    /// The client sends nothing more: every task that waits is told so.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.answers.clear();
    }
}

/// What a client is asked on behalf of one call.
pub(super) struct Requests {
    pub(super) outbox: Outbox,
    pub(super) waiting: Arc<OpenQuestions>,
    /// The id of the call.
    pub(super) call: Option<Value>,
}

/// Withdraws a question that nobody waits for any more.
struct OpenQuestion<'a>(&'a OpenQuestions, u64);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.state().answers.remove(&self.1);
    }
}

impl Requests {
    fn request<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> ClientAnswer<'_, T> {
        Box::pin(async move {
            let gone = || "the client is gone".to_owned();
            let (number, answer) = self.waiting.begin().ok_or_else(gone)?;
            let _question = OpenQuestion(&self.waiting, number);
            let request = json!({
                "id": format!("{ID_PREFIX}{number}"),
                "type": "request",
                "call": self.call,
                "method": method,
                "params": params,
            });
            self.outbox.send(&request).await;
            let answer = answer.await.map_err(|_| gone())??;
            serde_json::from_value(answer)
                .map_err(|error| format!("the client's answer to {method} is invalid: {error}"))
        })
    }
}

impl Requests {
    fn look(&self, params: Value) -> ClientAnswer<'_, TerminalOutput> {
        let shown = self.request::<OutputAnswer>("terminal/output", params);
        Box::pin(async move {
            shown.await.map(|shown| TerminalOutput {
                text: shown.output,
                truncated: shown.truncated,
                exit: shown.exit_status.map(Into::into),
            })
        })
    }
}

#[derive(Deserialize)]
struct Approved {
    approved: bool,
    /// For how long: `once`, `session` or `always`.
    scope: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    terminal_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExitAnswer {
    exit_code: Option<i32>,
    signal: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutputAnswer {
    output: String,
    #[serde(default)]
    truncated: bool,
    exit_status: Option<ExitAnswer>,
}

impl From<ExitAnswer> for TerminalExit {
    fn from(exited: ExitAnswer) -> Self {
        Self {
            code: exited.exit_code,
            signal: exited.signal,
        }
    }
}

impl CanBeAsked for Requests {
    fn ask(
        self: Arc<Self>,
        approval: Approval,
    ) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> {
        Box::pin(async move {
            let params = json!({
                "command": approval.command,
                "rule": approval.objection.rule,
                "message": asking::reason_in_time(&approval).await,
            });
            match self.request::<Approved>("approve", params).await {
                Ok(Approved {
                    approved: true,
                    scope,
                }) => scope.map_or(ApprovalAnswer::Once, |word| ApprovalAnswer::of_word(&word)),
                Ok(Approved { .. }) | Err(_) => ApprovalAnswer::Refused,
            }
        })
    }
}

impl ClientTerminal for Requests {
    fn create(&self, new: NewTerminal) -> ClientAnswer<'_, String> {
        let variable = |(name, value): &(String, String)| json!({ "name": name, "value": value });
        let params = json!({
            "command": new.command,
            "args": new.args,
            "env": new.env.iter().map(variable).collect::<Vec<_>>(),
            "cwd": new.cwd,
            "outputByteLimit": new.output_byte_limit,
        });
        let created = self.request::<Created>("terminal/create", params);
        Box::pin(async move { created.await.map(|created| created.terminal_id) })
    }

    fn output<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalOutput> {
        self.look(json!({ "terminalId": id }))
    }

    fn output_again<'a>(&'a self, id: &'a str, limit: u64) -> ClientAnswer<'a, TerminalOutput> {
        self.look(json!({ "terminalId": id, "outputByteLimit": limit }))
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalExit> {
        let exited =
            self.request::<ExitAnswer>("terminal/wait_for_exit", json!({ "terminalId": id }));
        Box::pin(async move { exited.await.map(Into::into) })
    }

    fn kill<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        let killed = self.request::<Value>("terminal/kill", json!({ "terminalId": id }));
        Box::pin(async move { killed.await.map(drop) })
    }

    fn release<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        let released = self.request::<Value>("terminal/release", json!({ "terminalId": id }));
        Box::pin(async move { released.await.map(drop) })
    }
}
