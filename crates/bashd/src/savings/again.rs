//! The texts of a past call: what was shown, and what would have been shown without the minimizer.

use crate::artifact::{ArtifactStore, KeptArtifact, Selection};
use crate::config::Config;
use crate::ledger::{MinimizedOutput, Record};
use crate::minimize::{FilterSettings, ShellMasks, Subject};
use crate::output::in_memory::InMemory;
use crate::output::{Captured, text};
use crate::profile::Profile;
use crate::profile::library::Library;
use crate::profile::minimized;
use crate::profile::rules::Within;
use std::ops::ControlFlow;

/// What is needed to recreate the texts.
pub(super) struct Reconstruction<'a> {
    store: &'a ArtifactStore,
    library: &'a Library,
    settings: Option<FilterSettings>,
}

/// Both texts of a call.
pub(super) struct Texts {
    pub(super) without: String,
    pub(super) shown: String,
}

impl<'a> Reconstruction<'a> {
    pub(super) fn new(config: &Config, store: &'a ArtifactStore, library: &'a Library) -> Self {
        Self {
            store,
            library,
            settings: config.minimizer.load().0,
        }
    }

    /// Most bytes that a profile shows of an output.
    pub(super) fn window(&self, profile: &str) -> u64 {
        let profile = self.library.get(profile);
        profile.map_or(u64::MAX, |profile| profile.output.window.max as u64)
    }

    /// The texts; `None` if the raw output is gone, or if the shown text differs from what would be
    /// shown today.
    pub(super) fn texts(&self, record: &Record, recorded: &MinimizedOutput) -> Option<Texts> {
        let id = recorded.artifact?;
        let profile = self.library.get(&record.profile).ok()?;
        let raw = self.raw(id)?;
        let subject = Subject {
            command: &record.command,
            exit: record.exit_code,
            text: &raw,
        };
        let settings = self.settings.as_ref()?;
        let digest = minimized::made(&profile, &ShellMasks::default(), subject, settings)?;
        let kept = kept(id);
        let (shown, _) = minimized::shown(&profile, &digest, &raw, &kept).ok()?;
        let shown = shown.text;
        let is_the_same = shown.len() as u64 == recorded.shown_bytes;
        Some(Texts {
            without: in_window(&profile, &raw, id)?,
            shown,
        })
        .filter(|_| is_the_same)
    }

    /// What the model saw of a call whose output is stored in this artifact; `None` if that is
    /// not known any more.
    pub(super) fn shown(&self, record: &Record, artifact: u64) -> Option<String> {
        if let Some(recorded) = &record.minimized {
            return Some(self.texts(record, recorded)?.shown);
        }
        let profile = self.library.get(&record.profile).ok()?;
        in_window(&profile, &self.raw(artifact)?, artifact)
    }

    /// The whole raw output.
    fn raw(&self, id: u64) -> Option<String> {
        let artifact = self.store.open(id).ok()?;
        if artifact.summary().dropped_bytes > 0 {
            return None;
        }
        let mut bytes = Vec::new();
        let all = Selection::default();
        artifact
            .select(&all, &mut |item| {
                item.write_to(&mut bytes);
                ControlFlow::Continue(())
            })
            .ok()?;
        Some(text::decode(&bytes))
    }
}

fn kept(id: u64) -> KeptArtifact {
    KeptArtifact {
        id,
        dropped: 0,
        path: None,
    }
}

/// What the profile shows of a text.
fn in_window(profile: &Profile, text: &str, id: u64) -> Option<String> {
    let cut = (profile.output).cut(&InMemory(text), None, Within::default());
    match cut.ok()?.arrange(Some(&kept(id))) {
        Captured::One(capture) => Some(capture.text),
        Captured::Apart { .. } => None,
    }
}
