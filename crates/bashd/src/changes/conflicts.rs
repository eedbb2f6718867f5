//! What is meant, and whether somebody else changed it: looked at before anything is touched.

use super::record::{ChangeRecord, ChangeStep, StepContent};
use super::store::{ChangeFailure, Conflict, missing};
use super::tree;
use crate::error::Result;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
        let before = chosen.len();
        let meant = steps.iter().enumerate();
        let meant = meant.filter(|(_, step)| place(step).starts_with(path));
        chosen.extend(meant.map(|(number, _)| number));
        if chosen.len() > before {
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

/// Compares what is there with what the steps know, and has them know it.
pub(super) fn check(
    record: &mut ChangeRecord,
    chosen: &[usize],
    force: bool,
) -> Result<(), ChangeFailure> {
    let mut conflicts = Vec::new();
    let layers = record.layers.clone();
    for layer in &layers {
        let found = fs::symlink_metadata(&layer.root);
        if !found.is_ok_and(|found| (found.dev(), found.ino()) == layer.identity) {
            return Err(ChangeFailure::Conflicts(vec![Conflict {
                path: layer.root.clone(),
                why: "is not the directory that it was: it was moved or replaced",
            }]));
        }
    }
    let mut steps = record.steps.take().unwrap_or_default();
    for step in chosen {
        let Some(step) = steps.get_mut(*step) else {
            continue;
        };
        let Some(layer) = layers.get(step.layer) else {
            continue;
        };
        if let Some(why) = conflict(&layer.root, step, force) {
            let path = layer.root.join(&step.path);
            conflicts.push(Conflict { path, why });
        }
    }
    record.steps = Some(steps);
    if conflicts.is_empty() {
        Ok(())
    } else {
        Err(ChangeFailure::Conflicts(conflicts))
    }
}

fn conflict(root: &Path, step: &mut ChangeStep, force: bool) -> Option<&'static str> {
    const GONE: &str = "is in a directory that is gone, or is another one";
    let Ok(root) = tree::open(root) else {
        return Some(GONE);
    };
    match &mut step.what {
        StepContent::Attributes { here, .. } => {
            let opened = tree::open_below(&root, &step.path);
            let Ok(now) = opened.and_then(|opened| tree::attributes(&opened)) else {
                return Some("is gone, or no directory any more");
            };
            if now != *here && !force {
                return Some("has other attributes by now");
            }
            *here = now;
        }
        StepContent::Tree { here, .. } => {
            let parent = step.path.parent().unwrap_or(Path::new(""));
            let Ok(parent) = tree::open_below(&root, parent) else {
                return Some(GONE);
            };
            let name = step.path.file_name().unwrap_or_default();
            let Ok(now) = tree::stamp(&parent, name) else {
                return Some("can't be looked at");
            };
            let why = match (&here, &now) {
                _ if step.is_contested => Some("was changed by somebody else meanwhile"),
                (None, Some(_)) => Some("was made by somebody else meanwhile"),
                (Some(_), None) => Some("was removed by somebody else meanwhile"),
                (here, now) if *here != now => Some("was changed by somebody else meanwhile"),
                _ => None,
            };
            if why.is_some() && !force {
                return why;
            }
            *here = now;
        }
    }
    None
}
