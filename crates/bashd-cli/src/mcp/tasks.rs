//! Calls that take long as tasks of the protocol (`io.modelcontextprotocol/tasks`).
//!
//! A task is a view of a job: its id is the job's, its state is read from the job's directory, and
//! so it outlives the request, the connection and the server. A call becomes one when the server's
//! own limit ended its wait, so that the client waits on in its place: for the end, or for as long
//! as the call would have waited. Who asked for a job, or for a shorter wait, gets the plain
//! handle, and so does every client without tasks.

use super::handler::{McpServer, is_stateless};
use super::job;
use super::result;
use crate::serve::ServerBase;
use bashd::Reply;
use bashd::jobs::{Job, JobWatch};
use bashd::profile::sets::Sets;
use rmcp::RoleServer;
use rmcp::model::{CreateTaskResult, DetailedTask, ErrorData, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a client should ask.
const POLL_MS: u64 = 500;

/// A task that was not asked about for this long is followed by nobody: its end is told as any
/// job's.
const FOLLOWED_FOR: Duration = Duration::from_secs(30);

/// Tasks that are followed at a time; the ends of others are told as any job's.
const MOST: usize = 256;

/// Whether calls of this server can become tasks: those that its limit of waiting ends.
pub(super) fn are_possible(server: &ServerBase) -> bool {
    let mut parameters = server.profile.parameters.iter();
    parameters.any(|parameter| parameter.sets == Sets::WaitMax)
}

/// Whether the client of a request knows tasks. Some announce them in a handshake, whose revisions
/// have no such tasks.
pub(super) fn are_known(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    is_stateless(context) && capabilities.is_some_and(|offered| offered.supports_tasks())
}

/// Tasks whose ends the clients will hear by asking: nobody else tells them meanwhile.
#[derive(Default)]
pub(super) struct FollowedTasks(Mutex<HashMap<String, FollowedTask>>);

struct FollowedTask {
    asked: Instant,
    _watch: JobWatch,
}

impl FollowedTasks {
    /// Somebody asked about this one, and will ask again.
    fn follow(&self, job: &Job) {
        let mut followed = self.in_use();
        let asked = Instant::now();
        if let Some(task) = followed.get_mut(&job.id) {
            task.asked = asked;
        } else if followed.len() < MOST
            && let Some(watch) = JobWatch::begin(job)
        {
            let task = FollowedTask {
                asked,
                _watch: watch,
            };
            followed.insert(job.id.clone(), task);
        }
    }

    /// Forgets those that nobody asks about any more.
    pub(super) fn forget_left_ones(&self) {
        drop(self.in_use());
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<String, FollowedTask>> {
        let mut followed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, task| task.asked.elapsed() < FOLLOWED_FOR);
        followed
    }
}

/// The task of a call whose command goes on only because the server's limit ended the wait.
pub(super) async fn begun(
    shared: &McpServer,
    server: &ServerBase,
    reply: &Reply,
    context: &RequestContext<RoleServer>,
) -> Option<CreateTaskResult> {
    let id = reply.job.as_deref().filter(|_| are_known(context))?;
    let job = find(server, id).await.ok()?;
    if !job.was_left_early() {
        return None;
    }
    shared.tasks.follow(&job);
    Some(CreateTaskResult::new(task(&job)))
}

/// What a task is by now; its result, once it has one.
pub(super) async fn get(
    shared: &McpServer,
    server: &ServerBase,
    id: &str,
) -> Result<DetailedTask, ErrorData> {
    let job = find(server, id).await?;
    if job.is_waited_for() {
        shared.tasks.follow(&job);
        return Ok(DetailedTask::new(task(&job), TaskPayload::Working));
    }
    let payload = if job.outcome() == "cancelled" {
        TaskPayload::Cancelled
    } else {
        let reply = server.engine.job_reply(&server.profile.name, &job).await;
        let result = serde_json::to_value(result::of(reply, shared.form));
        let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let result = result::object(result);
        TaskPayload::Completed { result }
    };
    if job.has_ended() {
        // The client has it now; the next reply need not begin with it.
        server.engine.jobs().acknowledge(&job);
    }
    shared.tasks.in_use().remove(&job.id);
    Ok(DetailedTask::new(task(&job), payload))
}

/// Ends a task with everything it started.
pub(super) async fn cancel(server: &ServerBase, id: &str) -> Result<(), ErrorData> {
    let job = find(server, id).await?;
    if job.has_ended() {
        return Ok(());
    }
    let jobs = server.engine.jobs().by(server.owner());
    let ended = jobs.kill_as_owner(&job).await;
    ended
        .map(drop)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// The client's job of this id.
pub(super) async fn find(server: &ServerBase, id: &str) -> Result<Job, ErrorData> {
    let found = server.engine.jobs().take(server.owner(), id).await;
    server.jobs_begun.note();
    // Other names of a job are not those of a task.
    let found = found.ok().filter(|job| job.id == id);
    found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task {id}"), None))
}

/// What is told of a task whatever its state.
fn task(job: &Job) -> Task {
    let changed = job.ended_ms.unwrap_or(job.started_ms + job.age_ms);
    // Its payload decides.
    let status = TaskStatus::Working;
    Task::new(&job.id, status, time(job.started_ms), time(changed))
        .with_status_message(job::state(job))
        .with_poll_interval_ms(POLL_MS)
}

fn time(ms: u64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms as i64);
    time.unwrap_or_default().to_string()
}
