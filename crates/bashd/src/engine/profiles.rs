//! Which profile a call means.

use super::EngineCore;
use crate::profile::Profile;
use crate::profile::library::{Library, Missing};
use crate::profile::reply::Ending;
use std::sync::Arc;

impl EngineCore {
    /// The profile of this name; without one, the configured one.
    pub(super) fn profile(&self, name: &str) -> Result<Arc<Profile>, Missing> {
        self.profiles.get(self.profile_name(name))
    }

    /// The profile whose words say that this one can't be had.
    pub(super) fn fallback(&self, name: &str) -> Arc<Profile> {
        Library::fallback(self.profile_name(name))
    }

    fn profile_name<'a>(&'a self, name: &'a str) -> &'a str {
        if name.is_empty() {
            &self.config.profile
        } else {
            name
        }
    }

    /// A profile as the near side has it.
    pub(super) fn profile_by(
        &self,
        name: &str,
        text: Option<&str>,
    ) -> Result<Arc<Profile>, Ending> {
        match text {
            Some(text) => Profile::from_toml(text)
                .map(Arc::new)
                .map_err(|error| Ending::Failed(error, None)),
            None => self.profile(name).map_err(Ending::from),
        }
    }
}
