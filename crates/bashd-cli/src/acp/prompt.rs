//! One turn: a prompt's text as a command, and what the client sees of it.

use super::content;
use super::permission::TurnClient;
use super::record::RecordedTurn;
use super::terminal::Terminals;
use super::{AcpServer, TurnBeginning};
use crate::serve::asking;
use crate::serve::client::ServedClient;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PromptRequest, PromptResponse, SessionId, SessionNotification,
    SessionUpdate, StopReason, Terminal, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use bashd::request::NeededAccess;
use bashd::{Call, CancellationToken, Event, Reply};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the client is shown output that is not in one of its own terminals.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// How much of the end of the output is shown each time.
const SHOWN_BYTES: usize = 8 * 1024;

/// Where a prompt says what its command needs beyond its confinement.
const NEEDS: &str = "bashd/needs";

/// The most characters of a command in the title of its tool call.
const TITLE_CHARACTERS: usize = 120;

/// Runs a prompt's command, and answers when it is over.
pub(super) fn start(
    shared: Arc<AcpServer>,
    request: PromptRequest,
    beginning: TurnBeginning,
    responder: Responder<PromptResponse>,
    connection: &ConnectionTo<Client>,
) -> Result<(), Error> {
    let TurnBeginning { client, cwd, token } = beginning;
    let turn = PromptTurn {
        client,
        tool_call: ToolCallId::new(format!("call-{}", shared.next_number())),
        session: request.session_id.clone(),
        connection: connection.clone(),
        shared,
    };
    let cancellation = responder.cancellation();
    connection.spawn(async move {
        let asked_to_stop = async {
            cancellation.cancelled().await;
            token.cancel();
            std::future::pending().await
        };
        let result = tokio::select! {
            result = turn.run(&request, cwd, token.clone()) => result,
            never = asked_to_stop => never,
        };
        turn.shared.end(&turn.session);
        // A client that is gone needs no answer, and must not look like a fault of ours.
        let _ = responder.respond_with_result(result);
        Ok(())
    })
}

struct PromptTurn {
    shared: Arc<AcpServer>,
    client: Arc<ServedClient>,
    connection: ConnectionTo<Client>,
    session: SessionId,
    tool_call: ToolCallId,
}

impl PromptTurn {
    async fn run(
        &self,
        request: &PromptRequest,
        cwd: PathBuf,
        token: CancellationToken,
    ) -> Result<PromptResponse, Error> {
        let refused = |reason| Error::invalid_params().data(json!(reason));
        let command = content::command(&request.prompt).map_err(refused)?;
        let needs = request.meta.as_ref().and_then(|meta| meta.get(NEEDS));
        let needs = needs.map(NeededAccess::from_json).transpose();
        let needs = needs.map_err(|problem| refused(format!("{NEEDS}: {problem}")))?;
        let entered = self.enter(cwd.clone(), &token).await;
        self.announce(&command);
        let call = self.call(command.clone(), entered, needs.unwrap_or_default());
        let call = call.cancel_by(token);
        let client = Arc::new(TurnClient {
            connection: self.connection.clone(),
            session: self.session.clone(),
            tool_call: self.tool_call.clone(),
        });
        let reply = self.follow(asking::on_behalf_of(client, call)).await?;
        self.write_down(cwd, &command, &reply).await;
        Ok(PromptResponse::new(if reply.cancelled {
            StopReason::Cancelled
        } else {
            StopReason::EndTurn
        }))
    }

    /// Records the turn for a later process that continues the session.
    async fn write_down(&self, cwd: PathBuf, command: &str, reply: &Reply) {
        let base = &self.client.base;
        let turn = RecordedTurn {
            cwd,
            directory: base.engine.session_directory(&base.defaults),
            command: base.engine.without_secrets(command),
            text: base.engine.without_secrets(&reply.text),
            has_failed: has_failed(reply),
        };
        self.shared.records.add(&self.session, turn.bounded()).await;
    }

    /// Runs a call, and shows the client what happens.
    async fn follow(&self, call: Call) -> Result<Reply, Error> {
        let mut running = self.shared.server.engine.stream(call);
        let mut shown = PromptOutput::default();
        while let Some(event) = running.next().await {
            match event {
                Event::Terminal { id } => {
                    let terminal = ToolCallContent::Terminal(Terminal::new(id));
                    self.update(ToolCallUpdateFields::new().content(vec![terminal]));
                    shown.is_in_terminal = true;
                }
                Event::Output { text, .. } => {
                    if let Some(tail) = shown.add(&text) {
                        self.update(ToolCallUpdateFields::new().content(vec![tail.into()]));
                    }
                }
                Event::Finished(reply) => {
                    self.conclude(&reply, &shown);
                    return Ok(*reply);
                }
                _ => {}
            }
        }
        Err(Error::internal_error().data(json!("the call ended without a reply")))
    }

    /// The directory to run in. A shell that is kept goes there once, and then stays where its
    /// commands leave it.
    async fn enter(&self, cwd: PathBuf, token: &CancellationToken) -> Option<PathBuf> {
        let mut request = self.client.base.request();
        if request.session.is_none() {
            return Some(cwd);
        }
        if self.shared.is_entered(&self.session) {
            return None;
        }
        let path = cwd.to_string_lossy().replace('\'', r"'\''");
        request.command = format!("cd -- '{path}'");
        let call = Call::from(request).cancel_by(token.clone());
        let reply = self.client.base.engine.run(call).await;
        // If the shell can't go there, the command says so itself.
        (reply.exit_code != Some(0)).then_some(cwd)
    }

    fn call(&self, command: String, cwd: Option<PathBuf>, needs: NeededAccess) -> Call {
        let mut request = self.client.base.request();
        request.command = command;
        request.cwd = cwd;
        request.needs = needs;
        let has_shell = request.session.is_some();
        request.timeout = self.shared.timeout;
        // Its clients have no tool for jobs.
        request.on_timeout = None;
        let call = Call::from(request);
        // A shell that is kept is ours: it can't be in a terminal that the client gives back.
        if !has_shell && self.shared.has_terminals.load(Ordering::Relaxed) {
            call.in_terminal_of(Arc::new(Terminals {
                connection: self.connection.clone(),
                session: self.session.clone(),
            }))
        } else {
            call
        }
    }

    fn announce(&self, command: &str) {
        let call = ToolCall::new(self.tool_call.clone(), title(command))
            .kind(ToolKind::Execute)
            .status(ToolCallStatus::InProgress)
            .raw_input(json!({ "command": command }));
        self.notify(SessionUpdate::ToolCall(call));
    }

    fn conclude(&self, reply: &Reply, shown: &PromptOutput) {
        let status = if has_failed(reply) {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        };
        let mut fields = ToolCallUpdateFields::new().status(status);
        if !shown.is_in_terminal {
            fields = fields.content(vec![reply.output.clone().into()]);
        }
        fields = fields.raw_output(raw_output(reply));
        self.update(fields);
        let text = ContentBlock::from(reply.text.clone());
        self.notify(SessionUpdate::AgentMessageChunk(ContentChunk::new(text)));
    }

    fn update(&self, fields: ToolCallUpdateFields) {
        let update = ToolCallUpdate::new(self.tool_call.clone(), fields);
        self.notify(SessionUpdate::ToolCallUpdate(update));
    }

    /// Tells the client. Other code notices if the client is gone.
    fn notify(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.session.clone(), update);
        let _ = self.connection.send_notification(notification);
    }
}

fn has_failed(reply: &Reply) -> bool {
    reply.is_error || reply.exit_code != Some(0)
}

/// The reply without the parts that the client sees anyway: clients show this to people.
fn raw_output(reply: &Reply) -> Value {
    serde_json::to_value(reply.without(&["text", "result"])).unwrap_or_default()
}

pub(super) fn title(command: &str) -> String {
    let first = command.lines().next().unwrap_or_default();
    let mut title: String = first.chars().take(TITLE_CHARACTERS).collect();
    if title.len() < command.len() {
        title.push('…');
    }
    title
}

/// How much of the output the client was shown.
#[derive(Default)]
struct PromptOutput {
    /// The client sees the output in its own terminal.
    is_in_terminal: bool,
    tail: String,
    last: Option<Instant>,
}

impl PromptOutput {
    /// Takes in text; returns what the client should see of it, if it is time.
    fn add(&mut self, text: &str) -> Option<String> {
        if self.is_in_terminal {
            return None;
        }
        self.tail.push_str(text);
        let excess = self.tail.len().saturating_sub(SHOWN_BYTES);
        let from = self.tail.ceil_char_boundary(excess);
        self.tail.drain(..from);
        let is_time = self.last.is_none_or(|last| last.elapsed() >= SHOWN_EVERY);
        is_time.then(|| {
            self.last = Some(Instant::now());
            self.tail.clone()
        })
    }
}
