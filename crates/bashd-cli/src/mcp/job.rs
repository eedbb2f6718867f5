//! The tool that manages jobs, and jobs as resources.

use super::bash::defined;
use super::ends::UntoldEnds;
use super::handler::McpServer;
use super::load::Load;
use super::progress::McpProgress;
use super::resources;
use super::result::{self, ResultForm};
use crate::for_people;
use crate::serve::ServerBase;
use bashd::CancellationToken;
use bashd::jobs::{Job, OutputQuery, Whose};
use bashd::profile::schema;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorData, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// The beginning of a job's address.
pub(super) const SCHEME: &str = "job://";

/// Bytes of output that a job's resource shows.
const TAIL: u64 = 64 * 1024;

/// The profile's tool, if it has one.
pub(super) fn tool(server: &ServerBase, form: ResultForm) -> Option<Tool> {
    let definition = schema::job_definition(&server.profile, server.engine.config())?;
    let output = json!({"type": "object", "description": "The result of the action, as data"});
    let tool = defined(definition)
        .with_title("Manage background jobs")
        .with_annotations(
            ToolAnnotations::new()
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(false),
        );
    Some(form.announced(tool, || result::object(output)))
}

/// Answers one call of the tool. Waiting for a job is reported as progress; the job does not need
/// us.
pub(super) async fn answer(
    shared: &McpServer,
    server: &ServerBase,
    load: &Load,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> CallToolResult {
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let names = names(&arguments);
    let arguments = arguments.to_string();
    let stop = CancellationToken::new();
    let call = server.call(arguments).cancel_by(stop.clone());
    let mut work = Box::pin(server.engine.job(call));
    let mut progress = context.meta.get_progress_token().map(McpProgress::new);
    let mut reply = loop {
        let due = progress.as_ref().map(McpProgress::due);
        tokio::select! {
            reply = &mut work => break reply,
            () = context.ct.cancelled(), if !stop.is_cancelled() => stop.cancel(),
            () = load.closing.cancelled(), if !stop.is_cancelled() => stop.cancel(),
            () = until(due) => if let Some(progress) = &mut progress {
                let told = progress.tell_that(states(server, &names).await);
                let _ = context.peer.notify_progress(told).await;
            }
        }
    };
    // It may have taken over an earlier one.
    server.jobs_begun.note();
    if !context.ct.is_cancelled()
        && let Some(ends) = UntoldEnds::before_reply(shared, server, &reply).await
    {
        reply.text = ends.before(&reply.text);
    }
    result::of_job(reply, shared.form)
}

/// The jobs that a call names.
fn names(arguments: &Value) -> Vec<String> {
    let several = arguments["jobs"].as_array().into_iter().flatten();
    let all = std::iter::once(&arguments["job"]).chain(several);
    all.filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// What the jobs of a call do now, a line each, and the last line that each wrote.
async fn states(server: &ServerBase, names: &[String]) -> String {
    let (server, names) = (server.clone(), names.to_vec());
    let looking = tokio::task::spawn_blocking(move || {
        let jobs = server.engine.jobs();
        let names = names.iter().map(String::as_str);
        let jobs = jobs.find_each(Whose::Owner(server.owner()), names);
        let lines = jobs.iter().flatten().map(state);
        lines.collect::<Vec<_>>().join("\n")
    });
    looking.await.unwrap_or_default()
}

/// What a job does now, and the last line that it wrote.
pub(super) fn state(job: &Job) -> String {
    let bytes = for_people::count(job.output_bytes, "byte");
    let (state, ms) = (job.state.name(), job.ran_ms());
    let seconds = ms as f64 / 1000.0;
    let line = format!(
        "{}: {state} for {seconds:.1} s, {bytes} of output",
        job.alias
    );
    match job.last_line.as_str() {
        "" => line,
        last => format!("{line}\n{last}"),
    }
}

async fn until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// The jobs of this server's owner, newest first.
pub(super) fn list(server: &ServerBase) -> Vec<Resource> {
    let jobs = server.engine.jobs().list(Whose::Owner(server.owner()));
    jobs.into_iter().rev().map(|job| resource(&job)).collect()
}

fn resource(job: &Job) -> Resource {
    Resource::new(address(job), job.alias.clone())
        .with_description(format!("Job, {}: {}", job.state.name(), job.command))
        .with_mime_type("application/json")
}

/// The form of a job's address.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new("job://{id}", "job")
        .with_description("A background job: its state as JSON, and the end of its output")
}

/// Reads the job of an address: its state, and the end of its output.
pub(super) async fn read(
    server: &ServerBase,
    uri: &str,
) -> Option<Result<ReadResourceResult, ErrorData>> {
    let name = uri.strip_prefix(SCHEME)?;
    let jobs = server.engine.jobs();
    let Ok(job) = jobs.take(server.owner(), name).await else {
        return Some(Err(resources::missing(uri)));
    };
    server.jobs_begun.note();
    let query = OutputQuery::tail(u64::MAX).at_most(TAIL);
    let output = match jobs.output(&job, &query).await {
        Ok(output) => output,
        Err(error) => return Some(Err(ErrorData::internal_error(error.to_string(), None))),
    };
    let state = serde_json::to_string(&output.job).unwrap_or_default();
    let state = ResourceContents::text(state, uri).with_mime_type("application/json");
    let text = ResourceContents::text(output.text, uri);
    let mut result = ReadResourceResult::new(vec![state, text]);
    // A job changes at any time.
    result.ttl_ms = Some(0);
    result.cache_scope = Some(rmcp::model::CacheScope::Private);
    Some(Ok(result))
}

/// The part of a job that shows whether it has changed: its state, and how much it has written.
pub(super) type JobMark = (&'static str, u64);

/// These of the jobs with these addresses; none of an address that no job has, or several.
pub(super) fn marks(server: &ServerBase, addresses: &[String]) -> Vec<(String, JobMark)> {
    let names = addresses
        .iter()
        .map(|uri| uri.strip_prefix(SCHEME).unwrap_or_default());
    let jobs = server.engine.jobs();
    let jobs = jobs.find_each(Whose::Owner(server.owner()), names);
    let marks = addresses.iter().cloned().zip(jobs);
    let mark = |(uri, job): (String, Option<Job>)| {
        let job = job?;
        Some((uri, (job.state.name(), job.output_bytes)))
    };
    marks.filter_map(mark).collect()
}

/// The address of a job.
pub(super) fn address(job: &Job) -> String {
    format!("{SCHEME}{}", job.id)
}
