//! Effects that are held or can be undone: the layers of a command are made before it runs, and
//! what it did is found out when it has ended.

use super::EngineCore;
use crate::changes::{ChangeStore, ChangesSummary, Effects, LayersInUse, made_for};
use crate::config::Config;
use crate::errand;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{PlanOutcome, RunFailure};
use crate::plan::Plan;
use crate::profile::reply::Ending;
use crate::run_id::RunId;
use std::thread;

/// A command whose effects go to layers.
pub(super) struct HeldRun {
    store: ChangeStore,
    id: String,
    in_use: LayersInUse,
}

/// Finishes what a process that died had begun to apply or undo, before anybody asks for it.
pub(super) fn finish_what_is_left(config: &Config) {
    let store = ChangeStore::in_state(&config.state_dir);
    if store.has_unfinished() {
        // If it can't be finished, `bashd changes` says so.
        let finishing = move || drop(store.recover());
        let _ = thread::Builder::new()
            .name("changes".to_owned())
            .spawn(finishing);
    }
}

impl EngineCore {
    /// Makes the layers of a command, if its effects are not real at once.
    pub(super) async fn hold(&self, plan: &Plan, id: &RunId) -> Result<Option<HeldRun>, Ending> {
        let confinement = plan.restraint.as_ref();
        let confinement = confinement.and_then(|held| held.confinement.as_ref());
        let Some(layers) = made_for(confinement).map(<[_]>::to_vec) else {
            if plan.effects == Effects::Now {
                return Ok(None);
            }
            // A command that may write nothing changes nothing.
            let text = "effects can't be held: the command may write no directory";
            return Err(Ending::Failed(
                Error::new(ErrorKind::Confinement, text),
                None,
            ));
        };
        let store = ChangeStore::in_state(&self.config.state_dir);
        let (held_in, name) = (store.clone(), id.as_str().to_owned());
        let (id, cwd) = (name.clone(), plan.cwd.path.clone());
        let command = plan.job.spec.command.clone();
        let is_undoable = plan.effects == Effects::Undoable;
        let limits = self.config.effects;
        let making = errand::read(move |_| {
            store.recover()?;
            store.prune_now_and_then(limits.max_age, limits.total_bytes);
            store.prepare((&id, &command), &cwd, &layers, is_undoable)
        });
        match done(making.await) {
            Ok(in_use) => Ok(Some(HeldRun {
                store: held_in,
                id: name,
                in_use,
            })),
            Err(error) => Err(Ending::Failed(error, None)),
        }
    }

    /// What a command whose effects were held did.
    pub(super) async fn settle(&self, held: HeldRun, run: &mut Result<PlanOutcome, RunFailure>) {
        let HeldRun { store, id, in_use } = held;
        drop(in_use);
        match run {
            Ok(PlanOutcome::Ended(run)) => {
                let name = id.clone();
                let settling = errand::read(move |_| store.settle(&name));
                match done(settling.await) {
                    Ok(changes) => run.changes = Some(Box::new(changes)),
                    Err(error) => run
                        .notes
                        .push(format!("its changes are held as {id}: {error}")),
                }
            }
            Ok(PlanOutcome::Backgrounded(job)) => {
                job.notes.push(ChangesSummary::running(id).line());
            }
            Err(RunFailure::CancelledBeforeStart | RunFailure::TooManyJobs(_)) => {
                store.drop_unused(&id);
            }
            Err(RunFailure::Failed(error, None)) if error.kind() == ErrorKind::Spawn => {
                store.drop_unused(&id);
            }
            Err(RunFailure::Failed(..)) => {}
        }
    }
}

fn done<T>(result: Result<Result<T>, errand::ErrandFailure>) -> Result<T> {
    result.unwrap_or_else(|failure| {
        Err(Error::io(
            ErrorKind::Io,
            "look after held effects",
            failure.into(),
        ))
    })
}
