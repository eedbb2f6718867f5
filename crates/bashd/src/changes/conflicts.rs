//! What is meant, and whether somebody else changed it: looked at before anything is touched.

use super::journal::{OpenLayers, is_tree};
use super::own_moves::{OwnMoves, later_in_the_way};
use super::record::{ChangeRecord, ChangeStep, StepContent};
use super::store::{ChangeFailure, ChangeStore, Conflict, missing};
use super::tree::{self, OpenedDirectory, TreeStamp};
use crate::error::Result;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What else the store knows: read where something is not as a change knows it.
pub(super) struct OtherChanges<'a> {
    store: &'a ChangeStore,
    known: OnceCell<(OwnMoves, Vec<ChangeRecord>)>,
}

impl<'a> OtherChanges<'a> {
    pub(super) fn of(store: &'a ChangeStore) -> Self {
        let known = OnceCell::new();
        Self { store, known }
    }

    fn known(&self) -> &(OwnMoves, Vec<ChangeRecord>) {
        let read = || (OwnMoves::read(&self.store.moves()), self.store.records());
        self.known.get_or_init(read)
    }

    /// Why a path is not as a step of this change knows it: a later change that is applied says
    /// more than "somebody".
    fn blame(&self, record: &ChangeRecord, place: &Path, why: &'static str) -> Cow<'static, str> {
        match later_in_the_way(&self.known().1, record, place) {
            Some(id) => format!("was changed by {id} since: undo that first").into(),
            None => why.into(),
        }
    }

    /// Whether only we moved something since a change knew it, and put it back.
    fn is_put_back(&self, (real, name): (&OwnedFd, &OsStr), known: &TreeStamp) -> bool {
        let (own, _) = self.known();
        let now = tree::stamp_without(real, name, &|time| own.has(time));
        now.is_ok_and(|now| now.is_some_and(|now| own.explain(known, &now)))
    }
}

/// The steps that are meant, in the state in which they can be moved.
pub(super) fn choose(
    record: &ChangeRecord,
    paths: &[PathBuf],
    is_applied: bool,
) -> Result<Vec<usize>> {
    let steps = record.steps.as_deref().unwrap_or_default();
    let place = |step: &ChangeStep| {
        let root = record.layers.get(step.layer).map(|layer| &layer.root);
        root.map(|root| root.join(&step.path)).unwrap_or_default()
    };
    let mut chosen = BTreeSet::new();
    for path in paths {
        let meant = steps.iter().enumerate();
        let meant = meant.filter(|(_, step)| place(step).starts_with(path));
        let meant: Vec<usize> = meant.map(|(number, _)| number).collect();
        if !meant.is_empty() {
            chosen.extend(meant);
            continue;
        }
        let whole = steps
            .iter()
            .map(place)
            .find(|whole| path.starts_with(whole));
        let shown = path.display();
        return Err(missing(match whole {
            Some(whole) => format!(
                "{shown} is a part of {}, which changed as a whole: name that",
                whole.display()
            ),
            None => format!("{shown} is not a part of the change"),
        }));
    }
    if paths.is_empty() {
        chosen.extend(0..steps.len());
    }
    let is_so = |number: &usize| {
        steps
            .get(*number)
            .is_some_and(|s| s.is_applied == is_applied)
    };
    let chosen: Vec<_> = chosen.into_iter().filter(is_so).collect();
    if chosen.is_empty() {
        let word = if is_applied { "undone" } else { "applied" };
        return Err(missing(format!(
            "there is nothing left in {} that can be {word}",
            record.id
        )));
    }
    Ok(chosen)
}

/// Compares what is there with what the steps know, and has them know it. Directories whose
/// attributes change are open to their owner for as long as somebody has what this returns.
pub(super) fn check(
    record: &mut ChangeRecord,
    chosen: &[usize],
    force: bool,
    others: &OtherChanges<'_>,
) -> Result<Vec<OpenedDirectory>, ChangeFailure> {
    let mut conflicts = Vec::new();
    let layers = record.layers.clone();
    for layer in &layers {
        if layer.open_root().is_err() {
            return Err(ChangeFailure::Conflicts(vec![Conflict {
                path: layer.root.clone(),
                why: "is not the directory that it was: it was moved or replaced".into(),
            }]));
        }
    }
    let mut steps = record.steps.take().unwrap_or_default();
    let mut open = OpenLayers::new(&layers);
    let mut opened = Vec::new();
    for step in chosen {
        let Some(step) = steps.get_mut(*step) else {
            continue;
        };
        let root = layers.get(step.layer).map(|layer| &layer.root);
        let path = root.map(|root| root.join(&step.path)).unwrap_or_default();
        let why = if is_tree(step) {
            let why = conflict(&mut open, step, force, others);
            why.map(|why| others.blame(record, &path, why))
        } else {
            // What is in such a directory comes after it.
            match open_to_compare(&mut open, step, force) {
                Ok(directory) => {
                    opened.push(directory);
                    None
                }
                Err(why) => Some(why.into()),
            }
        };
        if let Some(why) = why {
            conflicts.push(Conflict { path, why });
        }
    }
    record.steps = Some(steps);
    if conflicts.is_empty() {
        Ok(opened)
    } else {
        Err(ChangeFailure::Conflicts(conflicts))
    }
}

fn conflict(
    layers: &mut OpenLayers<'_>,
    step: &mut ChangeStep,
    force: bool,
    others: &OtherChanges<'_>,
) -> Option<&'static str> {
    const CHANGED: &str = "was changed by somebody else meanwhile";
    let name = step.path.file_name().unwrap_or_default().to_owned();
    let Ok((real, kept)) = layers.parents(step) else {
        return Some("is in a directory that is gone, or is another one");
    };
    // What would come is kept by us: without it there is nothing to trade.
    if let Some(aside) = step.aside() {
        let found = tree::stat(kept, &name);
        if !found.is_ok_and(|found| found.is_some_and(|found| aside.is(&found))) {
            return Some("has lost what was kept for it");
        }
    }
    let Ok(now) = tree::stamp(real, &name) else {
        return Some("can't be looked at");
    };
    let why = match (step.here(), &now) {
        (None, None) if step.is_contested => Some("was removed by somebody else meanwhile"),
        _ if step.is_contested => Some(CHANGED),
        (None, Some(_)) => Some("was made by somebody else meanwhile"),
        (Some(_), None) => Some("was removed by somebody else meanwhile"),
        (Some(here), Some(now)) if here != now => {
            let is_ours = others.is_put_back((real, &name), here);
            (!is_ours).then_some(CHANGED)
        }
        _ => None,
    };
    if why.is_some() && !force {
        return why;
    }
    if let StepContent::Tree { here, .. } = &mut step.what {
        *here = now;
    }
    None
}

/// Opens a directory whose attributes change; says why if somebody else changed them.
fn open_to_compare(
    layers: &mut OpenLayers<'_>,
    step: &mut ChangeStep,
    force: bool,
) -> Result<OpenedDirectory, &'static str> {
    const GONE: &str = "is gone, or no directory any more";
    let opened = layers.open(step.layer);
    let opened = opened.and_then(|(real, _)| tree::open_below(real, &step.path));
    let opened = opened.map_err(|_| GONE)?;
    let now = opened.attributes().map_err(|_| GONE)?;
    if let StepContent::Attributes { here, .. } = &mut step.what {
        if (now != *here || step.is_contested) && !force {
            return Err("has other attributes by now");
        }
        *here = now;
    }
    Ok(opened)
}
