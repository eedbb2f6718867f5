//! What this process knows of secrets: those of its environment, those that its host registered,
//! and those of calls.
//!
//! Whatever shows output or writes records asks here. A value that a call brought stays known, so
//! that what is read of its output later is veiled, too.

pub use bashd_keeper::secrets::{Secrets, TooShort, is_credential, is_ordinary, is_secret, mark};

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::{fs, io};

/// Sets of calls' own values that stay known, the newest ones.
const CALLS: usize = 256;

/// Bytes of such values that stay known beside those of the newest call.
const CALL_BYTES: usize = 1024 * 1024;

/// Values that hosts may register in all.
const MOST_REGISTERED: usize = 4096;

/// Their bytes.
const REGISTERED_BYTES: usize = 1024 * 1024;

/// Why a value was not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretRefusal {
    /// It is in any text by chance.
    TooShort(TooShort),
    /// With it there would be more than can be looked for in every output.
    TooMany,
}

impl From<TooShort> for SecretRefusal {
    fn from(short: TooShort) -> Self {
        Self::TooShort(short)
    }
}

impl fmt::Display for SecretRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(short) => short.fmt(formatter),
            Self::TooMany => write!(
                formatter,
                "too many secrets: at most {MOST_REGISTERED}, with 1 MiB in all, can be hidden"
            ),
        }
    }
}

impl std::error::Error for SecretRefusal {}

/// The secrets that a process knows. Clones share everything.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<RwLock<KnownParts>>);

#[derive(Default)]
struct KnownParts {
    /// Of the environment, and registered.
    own: Secrets,
    /// How many were registered, and their bytes.
    registered: usize,
    registered_bytes: usize,
    /// Of calls.
    calls: VecDeque<Secrets>,
    /// All of them.
    all: Arc<Secrets>,
}

impl KnownParts {
    fn gather(&mut self) {
        let mut all = self.own.clone();
        // At once: sets are compared by all that is known, and there may be much.
        all.join(&self.calls);
        self.all = Arc::new(all);
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(formatter)
    }
}

impl PartialEq for KnownSecrets {
    fn eq(&self, other: &Self) -> bool {
        self.now() == other.now()
    }
}

impl Eq for KnownSecrets {}

impl KnownSecrets {
    /// All that are known now.
    pub fn now(&self) -> Arc<Secrets> {
        let parts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&parts.all)
    }

    /// Learns those of an environment: what names or values say to be credentials.
    pub fn learn(&self, env: &[(OsString, OsString)]) {
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if parts.own.add(env) {
            parts.gather();
        }
    }

    /// Learns a value that the host says is secret, however ordinary it looks. From now on it is
    /// replaced by `[secret NAME, 40 characters]` wherever secrets are hidden.
    /// All of these values are learnt, or none.
    pub fn register(&self, told: &[(&str, &str)]) -> Result<(), SecretRefusal> {
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut own = parts.own.clone();
        own.register(told)?;
        let registered = parts.registered + own.count() - parts.own.count();
        let bytes = parts.registered_bytes + own.bytes() - parts.own.bytes();
        if registered > MOST_REGISTERED || bytes > REGISTERED_BYTES {
            return Err(SecretRefusal::TooMany);
        }
        (parts.registered, parts.registered_bytes) = (registered, bytes);
        parts.own = own;
        parts.gather();
        Ok(())
    }

    /// Learns the values in a file of `NAME=value` lines: all of them, whatever their names say,
    /// except for short and ordinary ones.
    pub fn learn_file(&self, path: &Path) -> io::Result<()> {
        let text = fs::read_to_string(path)?;
        let mut found = Vec::new();
        for line in text.lines() {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let value = value.trim();
            let quoted = ['"', '\''].iter().find_map(|quote| {
                let inner = value.strip_prefix(*quote)?;
                inner.strip_suffix(*quote)
            });
            let value = quoted.unwrap_or(value);
            if !bashd_keeper::secrets::is_ordinary(value) {
                found.push((name.trim(), value));
            }
        }
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // None is short: short ones are ordinary.
        let _ = parts.own.register(&found);
        parts.gather();
        Ok(())
    }

    /// Learns those of a call's own variables; returns all.
    pub(crate) fn learn_of_call(&self, env: &[(OsString, OsString)]) -> Arc<Secrets> {
        let mut more = (*self.now()).clone();
        if !more.add(env) {
            return self.now();
        }
        let mut parts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut bytes: usize = parts.calls.iter().map(Secrets::bytes).sum();
        while parts.calls.len() == CALLS || bytes > CALL_BYTES {
            bytes -= parts
                .calls
                .pop_front()
                .map_or(bytes, |oldest| oldest.bytes());
        }
        parts.calls.push_back(Secrets::of(env));
        parts.gather();
        Arc::clone(&parts.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, value: &str) -> [(OsString, OsString); 1] {
        [(name.into(), value.into())]
    }

    #[test]
    fn what_one_call_brought_stays_known() {
        let known = KnownSecrets::default();
        known.learn(&variable("A_TOKEN", "first-value-1"));
        let before = known.now();
        assert!(Arc::ptr_eq(
            &before,
            &known.learn_of_call(&variable("X", "y"))
        ));
        known.learn_of_call(&variable("B_TOKEN", "second-value-2"));
        let text = "first-value-1 second-value-2";
        let shown = "[secret A_TOKEN, 13 characters] [secret B_TOKEN, 14 characters]";
        assert_eq!(known.now().veil(text), shown);
        for number in 0..2 * CALLS {
            known.learn_of_call(&variable("C_TOKEN", &format!("value-of-{number:05}")));
        }
        let shown = known.now().veil(text).into_owned();
        assert_eq!(shown, "[secret A_TOKEN, 13 characters] second-value-2");
        assert!(!format!("{known:?}").contains("value-of"));
        // Large ones stay for a shorter time.
        known.learn_of_call(&variable("D_TOKEN", "third-value-3"));
        for number in 0..13 {
            let parts: Vec<String> = (0..10_000).map(|n| format!("{number:02}-{n:06}")).collect();
            let value = parts.join("x");
            known.learn_of_call(&variable("C_TOKEN", &value));
        }
        assert!(known.now().bytes() < CALL_BYTES + 250_000);
        assert_eq!(known.now().veil("third-value-3"), "third-value-3");
    }

    #[test]
    fn what_a_call_brings_is_learnt_as_fast_after_many_others() {
        let known = KnownSecrets::default();
        let many = |number| {
            (
                format!("V{number}_TOKEN").into(),
                format!("value-of-{number:06}").into(),
            )
        };
        let many: Vec<_> = (0..5_000).map(many).collect();
        known.learn_of_call(&many);
        let one = |number: usize| {
            let begun = std::time::Instant::now();
            known.learn_of_call(&variable("C_TOKEN", &format!("other-{number:06}-a")));
            begun.elapsed()
        };
        let first: std::time::Duration = (0..10).map(one).sum();
        let _between: std::time::Duration = (10..190).map(one).sum();
        let last: std::time::Duration = (190..200).map(one).sum();
        assert!(last < first * 6, "{first:?} at first, {last:?} at last");
    }

    #[test]
    fn hosts_register_as_many_as_can_be_looked_for() {
        let known = KnownSecrets::default();
        known.learn(&variable("A_TOKEN", "first-value-1"));
        let value = |number: usize| format!("registered-{number:05}");
        let most: Vec<String> = (0..MOST_REGISTERED).map(value).collect();
        let most: Vec<(&str, &str)> = most.iter().map(|value| ("S", &**value)).collect();
        known.register(&most).unwrap();
        // Again is not one more.
        known.register(&[("S", &value(0))]).unwrap();
        let one_more = [("S", "one-more-value"), ("S", "another-value")];
        assert_eq!(known.register(&one_more), Err(SecretRefusal::TooMany));
        assert_eq!(known.now().veil("one-more-value"), "one-more-value");
        assert_ne!(known.now().veil(&value(7)), value(7));
        let known = KnownSecrets::default();
        let large = "long-value-".repeat(REGISTERED_BYTES / 11);
        assert_eq!(known.register(&[("S", &large)]), Ok(()));
        assert_eq!(
            known.register(&[("S", "one-more-value")]),
            Err(SecretRefusal::TooMany)
        );
    }

    #[test]
    fn a_file_of_variables_is_learnt() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("env");
        let text = "# comment=no-comment-1\nexport PLAIN='quoted-value-1'\nMODE=production\nB = bare-value-2\n";
        fs::write(&file, text).unwrap();
        let known = KnownSecrets::default();
        known.learn_file(&file).unwrap();
        assert_eq!(
            known
                .now()
                .veil("quoted-value-1 production bare-value-2 no-comment-1"),
            "[secret PLAIN, 14 characters] production [secret B, 12 characters] no-comment-1"
        );
        assert!(known.learn_file(&directory.path().join("none")).is_err());
    }
}
