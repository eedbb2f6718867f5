//! The profiles an engine knows: compiled-in ones, and the user's own files.

use super::reply::Ending;
use super::{DEFAULT, Profile};
use crate::error::{Error, ErrorKind};
use crate::request::{Refusal, RefusalKind};
use bashd_keeper::spool::read_small;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Finds profiles by name, and reads each once.
#[derive(Debug)]
pub struct Library {
    /// Where the user's own profiles are, `NAME.toml` each.
    directory: Option<PathBuf>,
    /// How much of the start of a long output is shown, if profiles let that be set.
    head_bytes: Option<u64>,
    read: Mutex<HashMap<String, Arc<Profile>>>,
}

/// Why a profile was not found.
#[derive(Debug)]
pub enum Missing {
    /// It does not exist.
    Unknown(Refusal),
    /// Its file cannot be used.
    Broken(Error),
}

impl From<Missing> for Error {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Unknown(refusal) => Self::new(
                ErrorKind::Config,
                format!("there is no profile `{}`", refusal.detail),
            ),
            Missing::Broken(error) => error,
        }
    }
}

impl From<Missing> for Ending {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Unknown(refusal) => Self::Refused(refusal),
            Missing::Broken(error) => Self::Failed(error, None),
        }
    }
}

impl Library {
    /// A library over the compiled-in profiles and this directory.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            head_bytes: None,
            read: Mutex::default(),
        }
    }

    /// Also applies what the configuration says about what is shown.
    #[must_use]
    pub fn showing_of_the_start(mut self, head_bytes: Option<u64>) -> Self {
        self.head_bytes = head_bytes;
        self
    }

    /// The profile of that name. The user's own comes before a compiled-in one.
    pub fn get(&self, name: &str) -> Result<Arc<Profile>, Missing> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = read.get(name) {
            return Ok(Arc::clone(profile));
        }
        let mut profile = self.find(name)?;
        if let Some(bytes) = self.head_bytes {
            profile.output.window.set_head(bytes);
        }
        let profile = Arc::new(profile);
        read.insert(name.to_owned(), Arc::clone(&profile));
        Ok(profile)
    }

    fn find(&self, name: &str) -> Result<Profile, Missing> {
        if let Some(toml) = self.own(name).map_err(Missing::Broken)? {
            return Profile::from_toml(&toml).map_err(Missing::Broken);
        }
        match Profile::builtin(name).map_err(Missing::Broken)? {
            Some(profile) => Ok(profile),
            None => Err(Missing::Unknown(Refusal::new(
                RefusalKind::UnknownProfile,
                name,
            ))),
        }
    }

    /// The profile used for a reply that says that this one can't be had: the compiled-in one of
    /// that name, so that the reply keeps its form, or else the default.
    #[expect(
        clippy::expect_used,
        reason = "compiled in; a test loads every one of them"
    )]
    pub(crate) fn fallback(name: &str) -> Arc<Profile> {
        let builtin = |name| Profile::builtin(name).ok().flatten();
        let found = builtin(name).or_else(|| builtin(DEFAULT));
        Arc::new(found.expect("the default profile loads"))
    }

    /// The text of the profile of that name, if it is the user's own.
    pub(crate) fn own_text(&self, name: &str) -> Result<Option<String>, Error> {
        self.own(name)
    }

    /// The text of the user's own profile file, if there is one.
    fn own(&self, name: &str) -> Result<Option<String>, Error> {
        let is_plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '_' || c == '.');
        let is_plain = is_plain && !name.starts_with('.');
        let Some(directory) = self.directory.as_ref().filter(|_| is_plain) else {
            return Ok(None);
        };
        let path = directory.join(format!("{name}.toml"));
        let read = read_small(&path).and_then(|toml| {
            String::from_utf8(toml)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        });
        match read {
            Ok(toml) => Ok(Some(toml)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let doing = format!("read profile {}", path.display());
                Err(Error::io(ErrorKind::Config, doing, error))
            }
        }
    }
}
