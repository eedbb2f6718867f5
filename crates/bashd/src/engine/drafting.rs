//! From an understood call to its plan, within the call's time: what may keep it waiting is done by
//! errands.

use super::{EngineCore, owner_of};
use crate::call::Call;
use crate::config::{Config, Preset, Surroundings};
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::terminal::TerminalHost;
use crate::exec::{ExpectedCalls, Keepers, SHORTEST_WAIT, TurnTicket, busy_for};
use crate::guard::Judgement;
use crate::guard::safe_mode::RunForm;
use crate::ledger::LedgerEntry;
use crate::near::is_near;
use crate::plan::confinement::granted::NeededThing;
use crate::plan::{
    self, DecidedConfinements, Draft, Inheritance, Plan, Programs, SessionState, Setting, Streams,
    far_place,
};
use crate::profile::Profile;
use crate::profile::reply::Ending;
use crate::request::{Accepted, Request};
use crate::rewrite::Command;
use crate::run_id::RunId;
use crate::script::ScriptShape;
use crate::urls::{self, Expanded, UrlTargets};
use bashd_keeper::secrets::Secrets;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Bytes of a command above which judging it takes milliseconds.
pub(super) const LONG_COMMAND: usize = 64 * 1024;

/// How long a call may take until its command runs, or what is left of its time after that.
#[derive(Clone, Copy)]
pub(super) struct BeforeStart<'a> {
    begun: Instant,
    longest: Duration,
    cancel: &'a CancellationToken,
}

impl<'a> BeforeStart<'a> {
    /// A call has its timeout for that, or what is left of the wait that its server lets it have
    /// since it came.
    pub(super) fn of(
        (request, accepted): (&Request, &Accepted),
        came: Instant,
        cancel: &'a CancellationToken,
    ) -> Self {
        let wait_max = request.wait_max.unwrap_or(Duration::MAX);
        let wait_max = wait_max.saturating_sub(came.elapsed());
        Self {
            begun: Instant::now(),
            longest: accepted.timeout.min(wait_max).max(SHORTEST_WAIT),
            cancel,
        }
    }

    pub(super) fn longest(self) -> Duration {
        self.longest
    }

    /// Waits for a step, unless the call is cancelled or its time is over meanwhile.
    pub(super) async fn wait<T>(
        self,
        step: impl Future<Output = Result<T>>,
        late: impl FnOnce() -> Error,
    ) -> Result<T, Ending> {
        let left = self.longest.saturating_sub(self.begun.elapsed());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Ending::CancelledBeforeStart),
            done = step => done.map_err(|error| Ending::Failed(error, None)),
            () = tokio::time::sleep(left) => Err(Ending::Failed(late(), None)),
        }
    }

    /// Resolves when the call is cancelled, or its time is over; not before this much has passed.
    pub(super) async fn is_over(self, least: Duration) {
        let left = self.longest.saturating_sub(self.begun.elapsed());
        tokio::time::sleep(least).await;
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = tokio::time::sleep(left.saturating_sub(least)) => {}
        }
    }
}

/// The answer to a call whose directory, or whatever else it named, keeps it waiting.
fn no_answer_from(place: &Path) -> Error {
    let shown = place.display();
    let text =
        format!("working directory is not accessible: {shown}: its file system does not answer");
    Error::new(ErrorKind::Cwd, text).about(shown)
}

/// What a draft is made of.
#[derive(Clone, Copy)]
pub(super) struct DraftParts<'a> {
    pub(super) profile: &'a Arc<Profile>,
    pub(super) request: &'a Request,
    pub(super) command: &'a Command,
    pub(super) accepted: &'a Accepted,
    pub(super) setting: Setting<'a>,
}

impl EngineCore {
    /// What every plan of this engine begins with.
    pub(super) fn setting<'a>(
        &'a self,
        (id, secrets): (&'a RunId, &'a Arc<Secrets>),
        form: &'a RunForm,
        owner: &'a str,
        shape: ScriptShape,
    ) -> Setting<'a> {
        Setting {
            granted: &[],
            is_guarded: None,
            config: &self.config,
            surroundings: &self.surroundings,
            id,
            form,
            owner,
            shape,
            programs: &self.programs,
            decided: &self.decided,
            inheritance: &self.inheritance,
            client: None,
            make_directories: &[],
            secrets,
            state: None,
            streams: None,
            begun: Instant::now(),
        }
    }

    /// Judges a command, for its record, too; a long one by an errand, since reading it takes a
    /// while.
    pub(super) async fn judged(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        request: &Request,
        command: &Command,
        entry: &mut LedgerEntry<'_>,
    ) -> Result<Judgement, Ending> {
        let judgement = if command.to_run.len() <= LONG_COMMAND {
            self.config.judge(profile, request, command)
        } else {
            let (core, profile) = (Arc::clone(self), Arc::clone(profile));
            let (request, command) = (request.clone(), command.clone());
            let judging = errand::read(move |_| core.config.judge(&profile, &request, &command));
            judging.await.map_err(|failure| {
                let error = Error::io(ErrorKind::Io, "judge the command", failure.into());
                Ending::Failed(error, None)
            })?
        };
        entry.note(request, &command.to_run, &judgement);
        Ok(judgement)
    }

    /// Makes paths of the addresses in a call. Where there are some, an errand looks for them: they
    /// may lead anywhere, and a stored output may have to be put in order first.
    pub(super) async fn expanded(
        self: &Arc<Self>,
        profile: &Profile,
        (request, command, accepted): (Request, Command, Accepted),
        cancel: &CancellationToken,
    ) -> Result<(Accepted, Box<Expanded>), Ending> {
        let schemes = &profile.rewrite.urls;
        if !urls::may_have_some(schemes, &request, &command) {
            let expanded = self.expand(schemes, request, command);
            return Ok((accepted, Box::new(expanded)));
        }
        let before = BeforeStart::of((&request, &accepted), Instant::now(), cancel);
        let (core, schemes) = (Arc::clone(self), schemes.clone());
        let expanding = async {
            let looked = errand::go(&self.config.state_dir, move || {
                core.expand(&schemes, request, command)
            });
            let failed = |failure: errand::ErrandFailure| {
                Error::io(
                    ErrorKind::Io,
                    "look for what the command names",
                    failure.into(),
                )
            };
            looked.await.map_err(failed)
        };
        let late = || {
            let text = "what an address of the command names could not be looked up in time";
            Error::new(ErrorKind::Io, text)
        };
        let expanded = before.wait(expanding, late).await?;
        Ok((accepted, Box::new(expanded)))
    }

    fn expand(&self, schemes: &[String], request: Request, command: Command) -> Expanded {
        let artifacts = self.artifacts.seen_by(&owner_of(&request));
        let targets = UrlTargets {
            directories: &self.config.urls,
            artifacts: Some(&artifacts),
        };
        urls::expand(schemes, request, command, &targets)
    }

    /// The place of a call in the line of its session, if it has one: the place that it got when
    /// it arrived, or one behind all others.
    pub(super) fn place_in_line(
        &self,
        profile: &Profile,
        call: &Call,
        request: &Request,
    ) -> Option<TurnTicket> {
        let arrived = call.ticket.take();
        arrived.or_else(|| {
            let session = plan::session_of(profile, request, &owner_of(request))?;
            Some(self.sessions.turns.arrive(session))
        })
    }

    /// Waits for the turn of a call that is in the line of its session, for as long as the call
    /// may wait.
    pub(super) async fn turn(
        &self,
        ticket: Option<&TurnTicket>,
        profile: &Profile,
        (request, accepted): (&Request, &Accepted),
        before: BeforeStart<'_>,
    ) -> Result<(), Ending> {
        let Some(ticket) = ticket else {
            return Ok(());
        };
        let coming = async {
            let overlap = plan::overlap_of(profile, request, accepted);
            ticket.come(overlap).await;
            Ok(())
        };
        let come = before.wait(coming, || busy_for(before.longest));
        Box::pin(come).await
    }

    /// Plans a call.
    pub(super) async fn plan(
        self: &Arc<Self>,
        parts: DraftParts<'_>,
        before: BeforeStart<'_>,
        directory: &mut PathBuf,
    ) -> Result<Plan, Ending> {
        let draft = self.draft(parts, before).await?;
        draft.directory().clone_into(directory);
        let home = || no_answer_from(Path::new("~"));
        let rc = Box::pin(self.rc_scripts.get(draft, &self.keepers));
        let (draft, rc) = before.wait(rc, home).await?;
        Ok(plan::resolve(draft, rc))
    }

    /// Drafts it here if everything that it names is near, else by an errand.
    async fn draft(
        self: &Arc<Self>,
        parts: DraftParts<'_>,
        before: BeforeStart<'_>,
    ) -> Result<Draft, Ending> {
        let DraftParts {
            profile,
            request,
            command,
            accepted,
            setting,
        } = parts;
        let Some(far) = far_place(profile, request, command, setting) else {
            let draft = plan::draft(profile, request, command, accepted, setting);
            return draft.map_err(|error| Ending::Failed(error, None));
        };
        let sent = SentDraft::new(self, parts);
        let drafting = async {
            let drafted = errand::go(&far, move || sent.draft()).await;
            let failed = |failure: errand::ErrandFailure| {
                Error::io(
                    ErrorKind::Cwd,
                    format!("look at {}", far.display()),
                    failure.into(),
                )
            };
            drafted.map_err(failed)?
        };
        before.wait(drafting, || no_answer_from(&far)).await
    }
}

/// What a draft is made of, to be taken along on an errand.
struct SentDraft {
    core: Arc<EngineCore>,
    profile: Arc<Profile>,
    request: Request,
    command: Command,
    accepted: Accepted,
    id: RunId,
    secrets: Arc<Secrets>,
    form: RunForm,
    owner: String,
    shape: ScriptShape,
    client: Option<TerminalHost>,
    streams: Option<Streams>,
    make_directories: Vec<PathBuf>,
    state: Option<SessionState>,
    begun: Instant,
    is_guarded: Option<bool>,
    granted: Vec<NeededThing>,
}

impl SentDraft {
    fn new(core: &Arc<EngineCore>, parts: DraftParts<'_>) -> Self {
        let DraftParts { setting, .. } = parts;
        Self {
            core: Arc::clone(core),
            profile: Arc::clone(parts.profile),
            request: parts.request.clone(),
            command: parts.command.clone(),
            accepted: parts.accepted.clone(),
            id: setting.id.clone(),
            secrets: Arc::clone(setting.secrets),
            form: setting.form.clone(),
            owner: setting.owner.to_owned(),
            shape: setting.shape,
            client: setting.client.cloned(),
            streams: setting.streams,
            make_directories: setting.make_directories.to_vec(),
            state: setting.state.cloned(),
            begun: setting.begun,
            is_guarded: setting.is_guarded,
            granted: setting.granted.to_vec(),
        }
    }

    fn draft(&self) -> Result<Draft> {
        let setting = Setting {
            config: &self.core.config,
            surroundings: &self.core.surroundings,
            id: &self.id,
            secrets: &self.secrets,
            form: &self.form,
            owner: &self.owner,
            shape: self.shape,
            // Not the engine's own: these are locked while somebody looks.
            programs: &Programs::default(),
            decided: &DecidedConfinements::default(),
            inheritance: &Inheritance::default(),
            client: self.client.as_ref(),
            streams: self.streams,
            make_directories: &self.make_directories,
            state: self.state.as_ref(),
            begun: self.begun,
            is_guarded: self.is_guarded,
            granted: &self.granted,
        };
        let Self {
            profile,
            request,
            command,
            accepted,
            ..
        } = self;
        plan::draft(profile, request, command, accepted, setting)
    }
}

/// What calls that say nothing of it will be like.
pub(super) fn expected_calls(config: &Config) -> ExpectedCalls {
    match config.confinement.preset.unwrap_or_default() {
        Preset::Off => ExpectedCalls::Free,
        Preset::Workspace | Preset::WorkspaceNet | Preset::ReadOnly => ExpectedCalls::Confined,
    }
}

/// Has the view of the first call built while nobody waits, if calls are confined.
pub(super) fn expect_confined(keepers: &Keepers, config: &Config, surroundings: &Surroundings) {
    let home = surroundings.env.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, home)| home.as_os_str());
    let preset = config.confinement.preset.unwrap_or_default();
    let workspace = config.confinement.workspace.as_ref();
    // Whoever starts a server must not wait for a file system that does not answer.
    if !is_near(workspace.unwrap_or(&surroundings.cwd)) {
        return;
    }
    // If there is none, the call says why.
    if let Ok(Some(confinement)) =
        plan::confinement::of((preset, preset), config, surroundings, home)
    {
        keepers.expect(&confinement);
    }
}
