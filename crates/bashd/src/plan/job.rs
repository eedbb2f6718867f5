//! What a run would be as a job.

use super::Setting;
use crate::jobs::{EndLines, JobLimits};
use crate::output::line_limits::LineLimits;
use crate::profile::Profile;
use crate::request::Accepted;
use crate::request::Request;
use bashd_keeper::job::directory::{self, CallTerms, JobKind, Spec};
use bashd_keeper::secrets::Secrets;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest command text in a job's directory.
const LONGEST_COMMAND: usize = 64 * 1024;

/// Bytes after it in which the end of a secret may lie.
const SECRET_AT_THE_CUT: usize = 4096;

/// What a run would be as a job.
#[derive(Debug, Clone)]
pub struct JobPlan {
    /// What the run is as a job, as it was given.
    pub(crate) spec: Spec,
    /// What it keeps of its call.
    pub(crate) call: CallTerms,
    /// Bytes of output that go to its file.
    pub(crate) head_bytes: u64,
    /// The last line of its output file.
    pub(crate) end_lines: Option<EndLines>,
    /// How many jobs there may be.
    pub(crate) limits: JobLimits,
    /// What its directory will not say.
    pub(crate) secrets: Arc<Secrets>,
}

impl JobPlan {
    /// What its directory will say. A secret at the end of a text that is cut here is still whole.
    pub(crate) fn written_spec(&self) -> Spec {
        let mut spec = self.spec.clone();
        let command = self.secrets.hide(&spec.command);
        let end = command.floor_char_boundary(LONGEST_COMMAND);
        let command = command.get(..end).unwrap_or_default().to_owned();
        spec.command = command;
        spec.cwd = self.secrets.hide(&spec.cwd).into_owned();
        spec
    }
}

/// What a job keeps of its call.
pub(super) fn terms(lines: LineLimits, accepted: &Accepted, secrets: &Secrets) -> CallTerms {
    CallTerms {
        head: lines.head.map(NonZeroU64::get),
        tail: lines.tail.map(NonZeroU64::get),
        requested_timeout: accepted.requested_timeout,
        full_wait_ms: accepted.full_wait.map(|wait| wait.as_millis() as u64),
        notices: accepted
            .notices
            .iter()
            .map(|notice| secrets.hide(&notice.text).into_owned())
            .collect(),
        description: (accepted.description.as_deref())
            .map(|description| secrets.hide(description).into_owned()),
    }
}

/// Decides what a run would be as a job.
pub(super) fn plan(
    profile: &Profile,
    request: &Request,
    setting: Setting<'_>,
    cwd: &Path,
    (limit, call): (Duration, CallTerms),
) -> JobPlan {
    let Setting { config, id, .. } = setting;
    let command = &request.command;
    let end = command.floor_char_boundary(LONGEST_COMMAND + SECRET_AT_THE_CUT);
    JobPlan {
        spec: Spec {
            version: directory::VERSION,
            id: id.as_str().to_owned(),
            owner: setting.owner.to_owned(),
            alias: String::new(),
            kind: JobKind::Background,
            profile: profile.name.clone(),
            command: command.get(..end).unwrap_or_default().to_owned(),
            cwd: cwd.display().to_string(),
            started_ms: directory::now_ms(),
            limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            stdin_open: request.stdin_open,
            terminal: None,
            streams: profile.output.streams,
            hides_secrets: false,
            limits: None,
            confinement: None,
            boot: String::new(),
            pid: 0,
            keeper: 0,
            head_bytes: 0,
            end_lines: None,
        },
        call,
        head_bytes: config.jobs.output_bytes,
        end_lines: profile.background.file_ends.clone(),
        limits: config.jobs.limits,
        secrets: Arc::clone(setting.secrets),
    }
}
