//! What an engine does not tell: the secrets that it knows, and how its host adds to them.

use super::{Engine, EngineCore};
use crate::config::Preset;
use crate::output::veiled::Veil;
use crate::plan;
use crate::profile::Profile;
use crate::secrets::SecretRefusal;
use std::io;
use std::path::PathBuf;

/// What is said of files of secrets that can't be read.
pub(super) fn told(unread: Vec<(PathBuf, io::Error)>) -> impl Iterator<Item = String> {
    unread.into_iter().map(|(file, error)| {
        let file = file.display();
        format!("`secrets.files`: {file} can't be read ({error}): what is in it is not hidden")
    })
}

impl Engine {
    /// Registers a secret of the host: from now on it stands in no record, and is replaced by
    /// `[secret NAME, 40 characters]` wherever secrets are hidden in output, in base64 and in
    /// addresses too. Fails if it is too short to be told from other text, or one too many.
    pub fn register_secret(&self, name: &str, value: &str) -> Result<(), SecretRefusal> {
        self.register_secrets(&[(name, value)])
    }

    /// The same for several: all of them are registered, or none.
    pub fn register_secrets(&self, told: &[(&str, &str)]) -> Result<(), SecretRefusal> {
        self.0.config.secrets.known.register(told)
    }

    /// How many of these bytes can be shown already, if they go on: the last ones may be the
    /// beginning of a secret.
    pub fn decided(&self, bytes: &[u8]) -> usize {
        bytes.len() - self.0.ledger.secrets().undecided(bytes, false)
    }
}

impl EngineCore {
    /// What must not be shown to callers of a profile.
    pub(super) fn veil_of(&self, profile: &Profile) -> Veil {
        let is_confined = plan::confinement::configured(profile, &self.config) != Preset::Off;
        let hides = profile.output.hides_secrets || is_confined;
        if self.config.secrets.output.unwrap_or(hides) {
            Veil::over(self.ledger.secrets())
        } else {
            Veil::default()
        }
    }
}
