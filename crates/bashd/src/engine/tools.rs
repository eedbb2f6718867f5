//! Which tool a call means, and the calls of tools that do more, or less, than run one command.

use super::{Engine, EngineCore, default_owner};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::exec::{Exit, OutputWatch, PlanOutcome, RunFailure};
use crate::jobs::tool::{JobToolCall, verbs};
use crate::jobs::{Jobs, Whose};
use crate::ledger::LedgerEntry;
use crate::plan;
use crate::profile::Profile;
use crate::profile::offered::{self, OfferedTool};
use crate::profile::parts::{self, ListRules};
use crate::profile::reply::{Ending, SessionChange};
use crate::profile::rules::SessionKeeps;
use crate::profile::tools::ShownPartRule;
use crate::reply::Reply;
use crate::request::{Refusal, RefusalKind, Request};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Which tool of a profile is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalledTool {
    /// The one that runs commands.
    Run,
    /// The further tool of this number.
    Further(usize),
    /// The job tool.
    Jobs,
}

impl CalledTool {
    /// The tool of that name.
    fn of(profile: &Profile, name: &str) -> Option<Self> {
        if profile.tool.is_called(name) {
            return Some(Self::Run);
        }
        let is_job_tool = |tool: &crate::profile::rules::JobToolRules| tool.name == name;
        if profile.job_tool.as_ref().is_some_and(is_job_tool) {
            return Some(Self::Jobs);
        }
        let mut tools = profile.tools.iter();
        tools
            .position(|tool| tool.is_called(name))
            .map(Self::Further)
    }
}

impl Engine {
    /// The tools of a profile, the one that runs its commands first.
    pub fn tools(&self, profile: &Profile, pwd: &str) -> Result<Vec<OfferedTool>> {
        let tools = offered::tools(&self.0.profiles, profile, pwd, &self.0.config);
        tools.map_err(Error::from)
    }

    /// Whether a call only manages jobs, and runs no command.
    pub fn manages_jobs(&self, call: &Call) -> bool {
        !matches!(self.0.called(call), Ok((_, CalledTool::Run)) | Err(_))
    }
}

impl EngineCore {
    /// One call of any tool.
    pub(super) async fn perform(
        self: &Arc<Self>,
        call: &Call,
        watch: Option<&mut OutputWatch>,
    ) -> Reply {
        let _under_way = self.activity.begin();
        match self.called(call) {
            Ok((profile, CalledTool::Run)) => match (&profile.reply.list, &profile.at_terminal) {
                (Some(list), _) => self.perform_each(&profile, list, call, watch).await,
                (None, Some(rules)) => self.at_terminal(&profile, rules, call, watch).await,
                (None, None) => self.perform_one(&profile, call, watch).await,
            },
            Ok((profile, CalledTool::Further(number))) => {
                Box::pin(self.further(&profile, number, call)).await
            }
            Ok((_, CalledTool::Jobs)) => Box::pin(Engine(Arc::clone(self)).job(call.clone())).await,
            Err((profile, ending)) => {
                let entry = LedgerEntry::new((&*self.ledger, &*self.feed), call.raw_text());
                self.close(call, entry, (&profile, Err(ending)), Instant::now())
            }
        }
    }

    /// The tool that a call means, and the profile that it belongs to.
    pub(super) fn called(
        &self,
        call: &Call,
    ) -> std::result::Result<(Arc<Profile>, CalledTool), (Arc<Profile>, Ending)> {
        let own = self.profile(call.profile());
        let own = own.map_err(|missing| (self.fallback(call.profile()), missing.into()))?;
        let Some(name) = &call.tool else {
            return Ok((own, CalledTool::Run));
        };
        if let Some(tool) = CalledTool::of(&own, name) {
            return Ok((own, tool));
        }
        for other in &own.with {
            let other = self.profiles.get(other);
            let other = other.map_err(|missing| (Arc::clone(&own), missing.into()))?;
            if let Some(tool) = CalledTool::of(&other, name) {
                return Ok((other, tool));
            }
        }
        let refusal = Refusal::new(RefusalKind::UnknownTool, name);
        Err((own, Ending::Refused(refusal)))
    }

    /// Runs the commands of a call one after the other, until one does not end by itself.
    pub(super) async fn perform_each(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        list: &ListRules,
        call: &Call,
        mut watch: Option<&mut OutputWatch>,
    ) -> Reply {
        let Ok(mut request) = call.request(profile) else {
            let reply = self.perform_one(profile, call, watch).await;
            return joined(list, vec![reply], None);
        };
        let (mut commands, most) = (std::mem::take(&mut request.commands), request.max_output);
        if commands.is_empty() {
            // A host has one command, and a call without any is refused as usual.
            commands.push(std::mem::take(&mut request.command));
        }
        let mut replies = Vec::new();
        for command in commands {
            let request = Request {
                command,
                ..request.clone()
            };
            let one = call.with_request(request);
            let reply = Box::pin(self.perform_one(profile, &one, watch.as_deref_mut())).await;
            let is_unrun = reply.error.is_some() || reply.denied.is_some();
            let is_over = reply.timed_out || reply.cancelled || is_unrun;
            replies.push(reply);
            if is_over {
                break;
            }
        }
        joined(list, replies, most)
    }

    /// Answers a call of a further tool.
    pub(super) async fn further(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        number: usize,
        call: &Call,
    ) -> Reply {
        let begun = Instant::now();
        let engine = Engine(Arc::clone(self));
        let owner = call.owner().map_or_else(default_owner, str::to_owned);
        let jobs = engine.jobs().by(&owner);
        let asked = JobToolCall {
            results: engine.results(profile, &jobs),
            config: &self.config,
            owner: &owner,
            longest: call.wait_max(),
        };
        let Some(tool) = profile.tools.get(number) else {
            return Reply::default();
        };
        if let Some(reply) = self.managed_elsewhere(profile, Some(tool), call).await {
            let place = reply.place.as_deref().unwrap_or_default();
            engine.look_for_ends_again(&profile.name, &owner, place);
            return reply;
        }
        let reply = tokio::select! {
            biased;
            reply = verbs::answer(asked, tool, call.raw_text(), begun) => reply,
            () = call.cancel.cancelled() => verbs::cancelled(profile, tool, begun),
        };
        self.warn(jobs.take_loss());
        reply
    }

    /// Remembers how far the reply shows the output of a job, if a tool shows what is new.
    pub(super) fn note_shown(
        &self,
        profile: &Profile,
        ending: &mut Ending,
        cwd_reset: Option<PathBuf>,
    ) {
        let shows_new =
            |tool: &crate::profile::tools::FurtherTool| tool.shows == ShownPartRule::New;
        match ending {
            Ending::Ran(finished) => {
                if let Some(directory) = cwd_reset {
                    finished.session_change = SessionChange::BackIn(directory);
                }
            }
            // A call that did not wait shows nothing yet.
            Ending::Backgrounded(job) if job.waits && profile.tools.iter().any(shows_new) => {
                let jobs = Jobs::new(&self.config);
                if let Ok(found) = jobs.find(Whose::Everybody, &job.id) {
                    let written = job.so_far.written;
                    let err = written.stderr_bytes.unwrap_or(0);
                    Jobs::saw(&found, [written.bytes - err, err]);
                }
            }
            _ => {}
        }
    }

    /// Where the next call of a session begins that keeps only its directory; returns where that
    /// is, if the command went outside.
    pub(super) fn keep_directory(
        &self,
        profile: &Profile,
        request: &Request,
        owner: &str,
        run: &std::result::Result<PlanOutcome, RunFailure>,
    ) -> Option<PathBuf> {
        let name = profile.session.name_of(request)?;
        if profile.session.keeps != SessionKeeps::Directory {
            return None;
        }
        let owner = plan::owner_of_session(name, owner);
        let first = &self.surroundings.cwd;
        let now = self.sessions.directory_of(owner, name);
        let (began_in, succeeded) = match run {
            Ok(PlanOutcome::Ended(run)) => {
                let is_benign = profile.reply.tolerates(&request.command, run.exit);
                let succeeded = run.exit == Exit::Code(0) || is_benign;
                (run.began_in.clone(), succeeded && run.ended_by.is_none())
            }
            Ok(PlanOutcome::Backgrounded(_)) | Err(_) => return None,
        };
        match now {
            Some(now) if succeeded && now.starts_with(first) => {
                self.sessions.begin_again_in(owner, name, Some(&now));
                None
            }
            Some(_) if succeeded => {
                self.sessions.begin_again_in(owner, name, None);
                Some(first.clone())
            }
            _ => {
                self.sessions
                    .begin_again_in(owner, name, began_in.as_deref());
                None
            }
        }
    }
}

/// One reply of several.
fn joined(list: &ListRules, replies: Vec<Reply>, most: Option<u64>) -> Reply {
    let entries: Vec<String> = replies.iter().map(|reply| reply.text.clone()).collect();
    let text = list.join(&entries, most);
    let wall_ms = replies.iter().map(|reply| reply.wall_ms).sum();
    let output = replies.iter().map(|reply| reply.output.as_str()).collect();
    let is_error = replies.iter().any(|reply| reply.is_error);
    // What the last command came to is what the call came to.
    let newest = replies.into_iter().next_back().unwrap_or_default();
    Reply {
        result: parts::as_data(&text).unwrap_or_default(),
        text,
        output,
        is_error,
        wall_ms,
        ..newest
    }
}
