//! An outpost at a place that is lent: an allocation of a cluster, on one of its nodes.
//!
//! When it is told to end it begins nothing more, ends what runs, and writes down how that went, so
//! that it can be read where the same files are, whatever becomes of this machine. While any of its
//! siblings on the other nodes has something to do, none of them leaves.

use super::Outpost;
use super::runs::{OrderedRun, RunEnd};
use crate::config::Lease;
use crate::errand;
use crate::place::wire::{self, FromOutpost};
use crate::run_id::RunId;
use bashd_keeper::spool::write_private;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long what runs may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// How long carriers have to take the ends along.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(300);

/// Within which time all processes hear that an allocation ends.
const HEARD_BY_ALL: Duration = Duration::from_millis(300);

/// The end of the name of a file that says when an outpost had something to do.
const BUSY: &str = ".busy";

impl Outpost {
    /// Ends everything, and writes down how it ended.
    pub(super) async fn wind_up(self: &Arc<Self>) {
        self.ending.cancel();
        let runs: Vec<(String, Arc<OrderedRun>)> = {
            let runs = self.runs();
            runs.iter()
                .map(|(id, run)| (id.clone(), Arc::clone(run)))
                .collect()
        };
        for (_, run) in &runs {
            run.cancel.cancel();
        }
        let ended = async {
            for (id, run) in &runs {
                let end = run.ended().await;
                self.write_end(id, &end);
            }
        };
        let _ = tokio::time::timeout(ENDING, ended).await;
        tokio::time::sleep(LAST_WORDS).await;
    }

    /// Writes down how a run ended, with what of its output goes along with that.
    fn write_end(&self, id: &str, end: &RunEnd) {
        let told = FromOutpost::Concluded {
            conclusion: Box::new(end.conclusion.clone()),
            along: end.along.clone(),
        };
        let folder = self.ends();
        let written = wire::encode(&told).and_then(|bytes| {
            fs::create_dir_all(&folder)?;
            let aside = folder.join(format!(".{id}"));
            write_private(&aside, &bytes)?;
            fs::rename(aside, folder.join(id))
        });
        // Then nobody knows it, which is what they are told.
        let _: io::Result<()> = written;
    }

    /// The run whose end another outpost of this directory wrote down.
    pub(super) fn find_written(&self, id: &str) -> Option<Arc<OrderedRun>> {
        RunId::received(id)?;
        let bytes = fs::read(self.ends().join(id)).ok()?;
        let FromOutpost::Concluded { conclusion, along } = wire::decode(&bytes).ok()? else {
            return None;
        };
        Some(OrderedRun::that_ended(*conclusion, along))
    }

    /// Whether it was told to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Who ends an allocation asks all of its processes to end, in any order: one that ended like
    /// that may have heard it before this one.
    pub(super) async fn hears_that_too(&self) {
        if self.settings.lease != Lease::None {
            let _ = tokio::time::timeout(HEARD_BY_ALL, self.ending.cancelled()).await;
        }
    }

    fn ends(&self) -> PathBuf {
        self.settings.state_dir.join("ends")
    }

    /// Says to its siblings that it has something to do.
    pub(super) async fn say_busy(&self) {
        let Some(file) = self.busy_file() else { return };
        let _ = errand::wait(move |_| fs::write(file, "")).await;
    }

    /// Whether a sibling had something to do since the last look.
    pub(super) async fn has_busy_sibling(&self, seen: &mut HashMap<PathBuf, SystemTime>) -> bool {
        let Some(own) = self.busy_file() else {
            return false;
        };
        let looked = errand::wait(move |_| siblings(&own)).await;
        let found = looked.unwrap_or_default();
        let is_news = found
            .iter()
            .any(|(file, time)| seen.get(file) != Some(time));
        *seen = found;
        is_news
    }

    /// The file by which siblings see that it has something to do: beside the directory of this
    /// node, which is the parent of ours.
    fn busy_file(&self) -> Option<PathBuf> {
        if self.settings.lease == Lease::None {
            return None;
        }
        let node = self.settings.state_dir.parent()?;
        let name = node.file_name()?.to_str()?;
        Some(node.parent()?.join(format!("{name}{BUSY}")))
    }
}

/// When each sibling had something to do last, by the clock of the file system.
fn siblings(own: &Path) -> HashMap<PathBuf, SystemTime> {
    let folder = own.parent().and_then(|folder| fs::read_dir(folder).ok());
    let files = folder
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path());
    let files = files.filter(|file| {
        let is_busy = file.to_str().is_some_and(|name| name.ends_with(BUSY));
        is_busy && file != own
    });
    let times = files.filter_map(|file| {
        let time = fs::metadata(&file)
            .and_then(|found| found.modified())
            .ok()?;
        Some((file, time))
    });
    times.collect()
}
