//! What a job that is one from its beginning takes over from its session: directory, variables,
//! functions, aliases and options. The session's own shell tells them, and goes on unchanged.

use super::EngineCore;
use super::drafting::{BeforeStart, DraftParts};
use crate::call::Call;
use crate::errand;
use crate::exec::{self, Exit, PlanOutcome, RunFailure};
use crate::guard::safe_mode::RunForm;
use crate::output::{Source, StreamPiece};
use crate::plan::{self, SessionState, Setting};
use crate::profile::Profile;
use crate::profile::rules::RewriteRules;
use crate::request::{Accepted, By, Request};
use crate::rewrite;
use bashd_keeper::spool::{prepare_runs_directory, write_private};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a job waits for a call of its session before it begins without what the session has,
/// and how often it looks.
const WAITING: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a shell may take to tell its state.
const TELLING: Duration = Duration::from_secs(5);

/// A state that is removed unless a shell was started with it, which removes it itself.
pub(super) struct BorrowedState {
    pub(super) state: SessionState,
    is_used: bool,
}

impl BorrowedState {
    /// A shell was started with it, if the call had one and the plan was carried out.
    pub(super) fn is_used_by(state: Option<Self>, run: &Result<PlanOutcome, RunFailure>) {
        if let (Some(mut state), Ok(_)) = (state, run) {
            state.is_used = true;
        }
    }
}

impl EngineCore {
    /// The state of the session of a call that is a job from its beginning, if it has a session.
    pub(super) async fn session_state(
        self: &Arc<Self>,
        profile: &Arc<Profile>,
        (request, accepted): (&Request, &Accepted),
        setting: Setting<'_>,
        call: &Call,
    ) -> Option<BorrowedState> {
        let is_job = accepted.backgrounding.is_some_and(|when| !when.waits);
        let name = profile.session.name_of(request).filter(|_| is_job)?;
        let owner = plan::owner_of_session(name, setting.owner);
        let is_as_written = matches!(setting.form, RunForm::AsWritten);
        // Words before every command may be a program, which knows nothing of a shell's state.
        let has_prefix = self.config.prefix.is_some();
        if request.pty || has_prefix || !is_as_written || !self.is_free_soon(owner, name).await {
            return None;
        }
        let directory = self.config.shells_dir();
        prepare_runs_directory(&directory).ok()?;
        let script = directory.join(format!("session-{}", setting.id));
        // Readable for its owner alone before anything is in it.
        write_private(&script, b"").ok()?;
        let mut borrowed = BorrowedState {
            state: SessionState {
                script,
                directory: PathBuf::new(),
            },
            is_used: false,
        };
        let text = plan::telling_state(&borrowed.state.script);
        let mut asking = Request::new(text).profile(&profile.name);
        asking.session.clone_from(&request.session);
        // It does not wait for a call that began meanwhile.
        asking.by = By::Program;
        asking.owner.clone_from(&request.owner);
        // As it is written here.
        let command = rewrite::apply(&RewriteRules::default(), &asking);
        let limits = Accepted::within(TELLING);
        let parts = DraftParts {
            profile,
            request: &asking,
            command: &command,
            accepted: &limits,
            setting,
        };
        let before = BeforeStart::of((&asking, &limits), Instant::now(), &call.cancel);
        let planned = Box::pin(self.plan(parts, before, &mut PathBuf::new())).await;
        let plan = planned.ok()?;
        let told = exec::run(&plan, self.means(None), None, &call.cancel).await;
        let Ok(PlanOutcome::Ended(run)) = told else {
            return None;
        };
        // A busy session's shell was not asked: another one answered.
        let is_sessions = run.exit == Exit::Code(0) && run.notes.is_empty();
        let directory = run.out.read(0..run.out.len()).ok()?.into_iter();
        let directory = directory.flat_map(|piece| match piece {
            StreamPiece::Kept(bytes) => bytes,
            StreamPiece::Dropped(_) | StreamPiece::Replaced { .. } => Vec::new(),
        });
        borrowed.state.directory = PathBuf::from(OsString::from_vec(directory.collect()));
        let directory = borrowed.state.directory.clone();
        (is_sessions && errand::is_directory(directory).await).then_some(borrowed)
    }
}

impl EngineCore {
    /// Whether there is a session of this name that no call uses, now or in a moment.
    async fn is_free_soon(&self, owner: &str, name: &str) -> bool {
        let until = Instant::now() + WAITING;
        while let Some(is_busy) = self.sessions.is_busy(owner, name) {
            if !is_busy || Instant::now() > until {
                return !is_busy;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        false
    }
}

impl Drop for BorrowedState {
    fn drop(&mut self) {
        if !self.is_used {
            let _ = std::fs::remove_file(&self.state.script);
        }
    }
}
