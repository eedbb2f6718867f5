//! Effects that are held or can be undone: the layers of a command are made before it runs, and
//! what it did is found out when it has ended.

use super::EngineCore;
use super::approving::ProposedChange;
use super::drafting::BeforeStart;
use crate::changes::{ChangeStore, ChangesSummary, Effects, LayersInUse, made_for};
use crate::config::Config;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{PlanOutcome, RunFailure};
use crate::plan::Plan;
use crate::profile::reply::Ending;
use crate::run_id::RunId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long it may take to look after the changes of a command that has ended, if its call has no
/// more time. What takes longer goes on, and `bashd changes` tells it.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// A command whose effects go to layers.
pub(super) struct HeldRun {
    store: ChangeStore,
    id: String,
    in_use: LayersInUse,
    mode: Effects,
    /// The session whose layers they are, by owner and name.
    session: Option<SessionName>,
}

type SessionName = (String, String);

/// The changes of sessions whose effects are held: one for all calls of each.
#[derive(Default)]
pub(super) struct HeldSessions(Mutex<HashMap<SessionName, String>>);

impl HeldSessions {
    fn all(&self) -> MutexGuard<'_, HashMap<SessionName, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The change of a session, if it has one that is still open.
    fn of(&self, session: &SessionName) -> Option<String> {
        self.all().get(session).cloned()
    }

    /// What the next call of a session does belongs to this change.
    fn begin(&self, session: &SessionName, id: &str) {
        self.all().insert(session.clone(), id.to_owned());
    }

    /// Forgets the sessions of an owner that is gone: their changes are held.
    pub(super) fn end_of(&self, owner: &str) {
        self.all().retain(|(other, _), _| other != owner);
    }

    /// What the next call of a session does belongs to another change.
    fn end(&self, session: &SessionName) {
        self.all().remove(session);
    }
}

/// Finishes what a process that died had begun to apply or undo, before anybody asks for it.
pub(super) fn finish_what_is_left(config: &Config) {
    let store = ChangeStore::in_state(&config.state_dir);
    if store.has_unfinished() || store.has_jobs() {
        // If it can't be finished, `bashd changes` says so.
        let finishing = move || {
            drop(store.recover());
            store.finish_jobs_in_time();
        };
        let _ = thread::Builder::new()
            .name("changes".to_owned())
            .spawn(finishing);
    }
}

impl EngineCore {
    /// Makes the layers of a command, if its effects are not real at once; those of a session are
    /// there after its first call.
    pub(super) async fn hold(
        &self,
        plan: Plan,
        id: &RunId,
        before: BeforeStart<'_>,
    ) -> Result<(Plan, Option<HeldRun>), Ending> {
        let session = plan.vessel.session().map(|session| &session.key);
        let session = session.filter(|_| !self.keepers.is_for_one_call());
        let session = session.map(|key| (key.owner.clone(), key.name.clone()));
        let confinement = plan.restraint.as_ref();
        let confinement = confinement.and_then(|held| held.confinement.as_deref());
        let Some(layers) = made_for(confinement).map(<[_]>::to_vec) else {
            if plan.effects == Effects::Now {
                return Ok((plan, None));
            }
            // A command that may write nothing changes nothing.
            let text = "effects can't be held: the command may write no directory";
            return Err(Ending::Failed(
                Error::new(ErrorKind::Confinement, text),
                None,
            ));
        };
        let store = ChangeStore::in_state(&self.config.state_dir);
        if let Some(session) = &session
            && let Some(id) = self.held_sessions.of(session)
        {
            let (name, looking) = (id.clone(), store.clone());
            let going_on = errand::wait(move |_| Ok(looking.go_on(&name)));
            let going_on = async { done(going_on.await) };
            if let Some(in_use) = before.wait(going_on, late).await? {
                let plan = plan.in_layers_of(store.directory(), &id);
                let held = HeldRun {
                    store,
                    id,
                    in_use,
                    mode: plan.effects,
                    session: Some(session.clone()),
                };
                return Ok((plan, Some(held)));
            }
        }
        let (held_in, name) = (store.clone(), id.as_str().to_owned());
        let (id, cwd) = (name.clone(), plan.cwd.path.clone());
        let command = plan.job.written_spec().command;
        let is_undoable = plan.effects == Effects::Undoable;
        let limits = self.config.effects;
        let making = errand::wait(move |_| {
            store.recover()?;
            store.finish_jobs();
            store.prune_now_and_then(limits.max_age, limits.total_bytes);
            store.prepare((&id, &command), &cwd, &layers, is_undoable)
        });
        let making = async { done(making.await) };
        let in_use = before.wait(making, late).await?;
        if let Some(session) = &session {
            self.held_sessions.begin(session, &name);
        }
        let held = HeldRun {
            store: held_in,
            id: name,
            in_use,
            mode: plan.effects,
            session,
        };
        Ok((plan, Some(held)))
    }

    /// What a command whose effects were held did.
    pub(super) async fn settle(
        &self,
        held: HeldRun,
        run: &mut Result<PlanOutcome, RunFailure>,
        before: BeforeStart<'_>,
    ) -> Option<ProposedChange> {
        let HeldRun {
            store,
            id,
            in_use,
            mode,
            session,
        } = held;
        let is_session = session.is_some();
        if !is_session {
            drop(in_use);
        }
        match run {
            Ok(PlanOutcome::Ended(run)) if mode == Effects::Ask => {
                let (name, looking) = (id.clone(), store.clone());
                let settling = errand::wait(move |_| looking.propose(&name));
                match in_time(settling, before).await {
                    Ok(Some(change)) => return Some(ProposedChange::new(store, change)),
                    Ok(None) => run.changes = Some(Box::new(ChangesSummary::none())),
                    Err(error) => run.notes.push(held_as(&id, &error)),
                }
            }
            Ok(PlanOutcome::Ended(run)) => {
                let name = id.clone();
                let settling = errand::wait(move |_| {
                    if is_session {
                        store.so_far(&name)
                    } else {
                        store.settle(&name)
                    }
                });
                match in_time(settling, before).await {
                    Ok(changes) => run.changes = Some(Box::new(changes)),
                    Err(error) => run.notes.push(held_as(&id, &error)),
                }
            }
            Ok(PlanOutcome::Backgrounded(job)) => {
                // The job has the shell, and the layers with it.
                if let Some(session) = &session {
                    self.held_sessions.end(session);
                }
                job.notes.push(match (mode, session) {
                    (Effects::Undoable, None) => {
                        let name = id.clone();
                        let marking = errand::wait(move |_| {
                            store.apply_at_end(&name)?;
                            store.finish_at_end(&name);
                            Ok(())
                        });
                        match in_time(marking, before).await {
                            Ok(()) => format!(
                                "its changes become real when it ends; `bashd undo {id}` takes them back then"
                            ),
                            Err(error) => held_as(&id, &error),
                        }
                    }
                    (Effects::Ask, None) => format!(
                        "nobody is asked about a job: its changes are held as {id}, and `bashd changes apply {id}` \
                         applies them when it has ended"
                    ),
                    _ => ChangesSummary::running(id).line(),
                });
            }
            Err(_) if is_session => {}
            Err(RunFailure::CancelledBeforeStart | RunFailure::TooManyJobs(_)) => {
                errand::here_or_aside(move || store.drop_unused(&id));
            }
            Err(RunFailure::Failed(error, None)) if error.kind() == ErrorKind::Spawn => {
                errand::here_or_aside(move || store.drop_unused(&id));
            }
            Err(RunFailure::Failed(..)) => {}
        }
        None
    }
}

fn held_as(id: &str, error: &Error) -> String {
    format!("its changes are held as {id}: {error}")
}

/// What came of looking after a change, unless the call's time is over before.
async fn in_time<T>(
    settling: impl Future<Output = Result<Result<T>, errand::ErrandFailure>>,
    before: BeforeStart<'_>,
) -> Result<T> {
    tokio::select! {
        biased;
        settled = settling => done(settled),
        () = before.is_over(SETTLED_WITHIN) => Err(late()),
    }
}

/// What is said where held changes keep a call waiting.
fn late() -> Error {
    let text = "held changes were not looked after in time: somebody else holds their lock, or \
                their file system does not answer";
    Error::new(ErrorKind::Io, text)
}

pub(super) fn done<T>(result: Result<Result<T>, errand::ErrandFailure>) -> Result<T> {
    result.unwrap_or_else(|failure| {
        Err(Error::io(
            ErrorKind::Io,
            "look after held effects",
            failure.into(),
        ))
    })
}
