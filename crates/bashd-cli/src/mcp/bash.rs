//! The tool that runs commands: one call from its arguments to its result.

use super::approval::CallClient;
use super::ends::UntoldEnds;
use super::handler::{McpServer, is_stateless};
use super::load::Load;
use super::log::ClientLogLevel;
use super::news::ResourceChange;
use super::progress::McpProgress;
use super::result::{self, ResultForm};
use super::tasks;
use crate::serve::fair_turns::ClientTurns;
use crate::serve::{ServerBase, asking};
use bashd::profile::offered::{OfferedTool, ToolWork};
use bashd::{CancellationToken, Event, Reply, Running};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long a call may take to end when the client has left.
const LEAVE: Duration = Duration::from_secs(1);

/// A tool of the profile in the protocol's form.
pub(super) fn tool(offered: &OfferedTool, form: ResultForm) -> Tool {
    let (title, is_open_world) = match offered.does {
        ToolWork::RunsCommands => ("Run a shell command", true),
        ToolWork::ManagesJobs => ("Manage background jobs", false),
    };
    let tool = defined(offered.definition.clone())
        .with_title(title)
        .with_annotations(
            ToolAnnotations::new()
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(is_open_world),
        );
    form.announced(tool, result::schema)
}

/// A profile's definition as the protocol wants it.
pub(super) fn defined(mut definition: Value) -> Tool {
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(definition["name"].take());
    let description = text(definition["description"].take());
    let schema = result::object(definition["input_schema"].take());
    Tool::new(name, description, schema)
}

/// What a call needs.
pub(super) struct BashTool<'a> {
    pub(super) shared: &'a McpServer,
    /// The server as this client sees it.
    pub(super) server: &'a ServerBase,
    pub(super) load: &'a Load,
    pub(super) turns: &'a ClientTurns,
    pub(super) log: &'a ClientLogLevel,
}

impl BashTool<'_> {
    /// Runs one command for a client.
    pub(super) async fn run(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.take().unwrap_or_default()).to_string();
        let client = CallClient::of(&request, &arguments, &context, &self.shared.seal);
        let stop = CancellationToken::new();
        let call = self.server.call(arguments.clone()).tool(&*request.name);
        let call = call.cancel_by(stop.clone());
        let call = asking::on_behalf_of(Arc::clone(&client) as _, call);
        let manages_jobs = self.server.engine.manages_jobs(&call);
        let work = async {
            // Its place in the queue is given back when the command is over. Who only looks at jobs
            // needs none.
            let _turn = if manages_jobs {
                None
            } else {
                let engine = &self.server.engine;
                match engine.queued(&call, self.turns.take()).await {
                    Ok(turn) => Some(turn),
                    Err(reply) => return Some(*reply),
                }
            };
            self.load.room_for_an_answer().await?;
            match context.meta.get_progress_token() {
                Some(token) => {
                    let running = self.shared.server.engine.follow(call);
                    telling(running, McpProgress::new(token), &context).await
                }
                None => Some(self.shared.server.engine.run(call).await),
            }
        };
        let reply = until_stopped(work, &stop, &context.ct, &self.load.closing);
        let Some(mut reply) = Box::pin(reply).await else {
            return Err(ErrorData::internal_error("the client has left", None));
        };
        if let Some(question) = client.question(&arguments, &self.shared.seal) {
            return Ok(question.into());
        }
        if let Some(address) = &reply.artifact {
            self.shared.news.tell(ResourceChange::List);
            self.shared
                .news
                .tell(ResourceChange::Resource(address.clone()));
        }
        if let Some(id) = &reply.job {
            self.shared.news.tell(ResourceChange::List);
            let address = format!("{}{id}", super::job::SCHEME);
            self.shared.news.tell(ResourceChange::Resource(address));
        }
        let warnings = self.shared.server.engine.take_warnings();
        tokio::select! {
            biased;
            () = self.log.tell(&context, &reply, warnings) => {}
            // It is not passed on to a client that asks for nothing more; the answer must not wait
            // for it.
            () = self.load.closing.cancelled() => {}
        }
        if manages_jobs {
            // It may have taken over an earlier one.
            self.server.jobs_begun.note();
        }
        if let Some(task) = tasks::begun(self.shared, self.server, &reply, &context).await {
            return Ok(task.into());
        }
        if !context.ct.is_cancelled()
            && let Some(ends) = UntoldEnds::before_reply(self.shared, self.server, &reply).await
        {
            reply.text = ends.before(&reply.text);
        }
        let form = self.shared.form;
        let line = || result::line(&context.id, &reply, form);
        // The id of a cancelled call may already belong to another.
        if !is_stateless(&context)
            && !context.ct.is_cancelled()
            && self.load.answer_with(&context.id, line)
        {
            return Ok(CallToolResult::success(Vec::new()).into());
        }
        Ok(result::of(reply, form).into())
    }
}

/// Waits for the reply. When the client cancels, or leaves, the command is ended.
async fn until_stopped(
    work: impl Future<Output = Option<Reply>>,
    stop: &CancellationToken,
    cancelled: &CancellationToken,
    closing: &CancellationToken,
) -> Option<Reply> {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        reply = &mut work => return reply,
        () = cancelled.cancelled() => {}
        () = closing.cancelled() => {}
    }
    stop.cancel();
    tokio::select! {
        reply = &mut work => reply,
        // The keeper ends the tree even without us.
        () = async { closing.cancelled().await; tokio::time::sleep(LEAVE).await } => None,
    }
}

/// Waits for the reply, and reports progress to the client. A client that does not read its
/// notifications delays only them.
async fn telling(
    mut running: Running,
    mut progress: McpProgress,
    context: &RequestContext<RoleServer>,
) -> Option<Reply> {
    let mut telling = None;
    loop {
        let due = tokio::time::Instant::from_std(progress.due());
        tokio::select! {
            biased;
            event = running.next() => match event? {
                Event::Finished(reply) => return Some(*reply),
                event => progress.take(&event),
            },
            () = told(&mut telling) => telling = None,
            () = tokio::time::sleep_until(due), if telling.is_none() => {
                let notification = progress.tell();
                telling = Some(Box::pin(context.peer.notify_progress(notification)));
            }
        }
    }
}

/// Waits until a pending notification is sent; forever, if there is none.
async fn told<F: Future + Unpin>(telling: &mut Option<F>) {
    match telling {
        Some(telling) => drop(telling.await),
        None => std::future::pending().await,
    }
}
