//! Grants: what a person allowed for longer than once. Each covers one rule with one exact command
//! text.
//!
//! Those for a session are in memory. Those for good are lines of a file in the state directory,
//! which `bashd grants` lists and removes from. What can't be read is not granted.

use super::ApprovalAnswer;
use bashd_keeper::file_lock::{LockKind, lock_within};
use bashd_keeper::seal::SealKey;
use bashd_keeper::secrets::Secrets;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file, in the state directory.
const FILE: &str = "grants.jsonl";

/// What is locked while the file changes: the file itself is replaced.
const LOCK: &str = "grants.lock";

/// How long the lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of the file at most: nobody has granted more than that by hand.
const MOST_BYTES: u64 = 4 << 20;

/// A command that a person allowed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    /// Its number, by which it is removed.
    pub id: u64,
    /// The rule that wanted approval.
    pub rule: String,
    /// The text of the command, without its secrets.
    pub command: String,
    /// What tells the exact text, if that has secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<String>,
    /// Milliseconds since 1970 at which it was granted.
    pub granted_ms: u64,
}

/// What a grant would be for.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrantKey<'a> {
    pub(super) rule: &'a str,
    pub(super) command: &'a str,
    /// What of it is not written down.
    pub(super) secrets: &'a Secrets,
    /// Who would run it.
    pub(super) caller: &'a str,
}

/// The grants of a state directory, and those of an engine's sessions.
pub struct Grants {
    state_dir: PathBuf,
    of_sessions: Mutex<HashSet<[String; 3]>>,
}

impl Grants {
    /// The grants of a state directory.
    pub fn in_state(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            of_sessions: Mutex::default(),
        }
    }

    /// Where they are.
    pub(super) fn file(&self) -> PathBuf {
        self.state_dir.join(FILE)
    }

    /// What was granted for good, oldest first. A line that is not a grant is skipped.
    pub fn list(&self) -> io::Result<Vec<Grant>> {
        let path = self.file();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            // Whoever opens a FIFO waits for its writer.
            Ok(facts) if !facts.is_file() => {
                let text = format!("{} is not a regular file", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            Ok(facts) if facts.len() > MOST_BYTES => {
                let text = format!("{} is larger than {MOST_BYTES} bytes", path.display());
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
            }
            _ => {}
        }
        let text = fs::read_to_string(&path)?;
        let grants = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(grants.collect())
    }

    /// Removes grants by their numbers; gives back those that were removed.
    pub fn remove(&self, ids: &[u64]) -> io::Result<Vec<Grant>> {
        let _lock = self.lock()?;
        let (gone, kept) = self
            .list()?
            .into_iter()
            .partition::<Vec<_>, _>(|grant| ids.contains(&grant.id));
        if !gone.is_empty() {
            self.write(&kept)?;
        }
        Ok(gone)
    }

    /// Whether a person has allowed this before.
    pub(super) fn covers(&self, question: &GrantKey<'_>) -> bool {
        self.covers_in_session(question)
            || self.list().is_ok_and(|grants| {
                let (command, exact) = self.written(question);
                // Without the key no such grant can be told from another.
                let is_it = |grant: &Grant| {
                    let has = (&*grant.rule, &grant.command, &grant.exact);
                    has == (question.rule, &command, &exact)
                };
                exact.as_deref() != Some("") && grants.iter().any(is_it)
            })
    }

    /// Likewise, as long as this engine lives: that is in no file.
    pub(super) fn covers_in_session(&self, question: &GrantKey<'_>) -> bool {
        let sessions = self.of_sessions.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        sessions.contains(&key(question))
    }

    /// Remembers an answer for as long as it was given.
    pub(super) fn remember(
        &self,
        question: &GrantKey<'_>,
        answer: ApprovalAnswer,
    ) -> io::Result<()> {
        match answer {
            ApprovalAnswer::Once | ApprovalAnswer::Refused | ApprovalAnswer::Nobody => Ok(()),
            ApprovalAnswer::Session => {
                let sessions = self.of_sessions.lock();
                let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
                sessions.insert(key(question));
                Ok(())
            }
            ApprovalAnswer::Always => self.store(question),
        }
    }

    fn store(&self, question: &GrantKey<'_>) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut grants = self.list()?;
        let (command, exact) = self.written(question);
        if exact.as_deref() == Some("") {
            return Err(io::Error::other("its secrets can't be kept out"));
        }
        let last = grants.iter().map(|grant| grant.id).max().unwrap_or(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        grants.push(Grant {
            id: last + 1,
            rule: question.rule.to_owned(),
            command,
            exact,
            granted_ms: now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0)),
        });
        self.write(&grants)
    }

    /// A command as it is written down, and what tells its exact text if secrets are hidden in it:
    /// empty if there is no key for that.
    fn written(&self, question: &GrantKey<'_>) -> (String, Option<String>) {
        let shown = question.secrets.hide(question.command);
        let exact = (shown != question.command).then(|| {
            let key = SealKey::of(&self.state_dir);
            key.map_or_else(
                |_| String::new(),
                |key| key.seal("grant", question.rule, question.command.as_bytes()),
            )
        });
        (shown.into_owned(), exact)
    }

    fn lock(&self) -> io::Result<File> {
        let mut directory = fs::DirBuilder::new();
        directory
            .recursive(true)
            .mode(0o700)
            .create(&self.state_dir)?;
        let lock = private().open(self.state_dir.join(LOCK))?;
        lock_within(&lock, LockKind::Exclusive, PATIENCE)?;
        Ok(lock)
    }

    /// Replaces the file: it is there whole or not at all.
    fn write(&self, grants: &[Grant]) -> io::Result<()> {
        let path = self.file();
        let new = path.with_extension("new");
        let mut file = private().truncate(true).open(&new)?;
        for grant in grants {
            let line = serde_json::to_string(grant)?;
            writeln!(file, "{line}")?;
        }
        file.sync_all()?;
        fs::rename(new, path)
    }
}

/// A file that only its owner can use.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

fn key(question: &GrantKey<'_>) -> [String; 3] {
    [question.caller, question.rule, question.command].map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_one_rule_with_one_command() {
        let directory = tempfile::tempdir().unwrap();
        let secrets = Secrets::default();
        let question = |command, rule, caller| GrantKey {
            rule,
            command,
            caller,
            secrets: &secrets,
        };
        let asked = question("deploy prod", "rule", "me");
        let grants = Grants::in_state(directory.path());
        for answer in [
            ApprovalAnswer::Once,
            ApprovalAnswer::Refused,
            ApprovalAnswer::Nobody,
        ] {
            grants.remember(&asked, answer).unwrap();
            assert!(!grants.covers(&asked));
        }
        grants.remember(&asked, ApprovalAnswer::Session).unwrap();
        assert!(grants.covers(&asked));
        assert!(!grants.covers(&question("deploy prod", "rule", "you")));
        assert!(!grants.covers(&question("deploy prod2", "rule", "me")));
        assert!(!grants.covers(&question("deploy prod", "other", "me")));
        let another = Grants::in_state(directory.path());
        assert!(!another.covers(&asked));
        grants.remember(&asked, ApprovalAnswer::Always).unwrap();
        assert!(another.covers(&question("deploy prod", "rule", "you")));
        assert!(!another.covers(&question("deploy  prod", "rule", "you")));
        assert!(!another.covers(&question("deploy prod", "other", "you")));
        let listed = another.list().unwrap();
        assert_eq!((listed[0].id, &*listed[0].command), (1, "deploy prod"));
        assert_eq!(another.remove(&[2]).unwrap(), []);
        assert_eq!(another.remove(&[1]).unwrap(), listed);
        assert!(!another.covers(&asked));
    }

    #[test]
    fn a_grant_for_a_command_with_a_secret_covers_it_and_does_not_tell_it() {
        let directory = tempfile::tempdir().unwrap();
        let secrets = Secrets::of(&[("API_TOKEN".into(), "s3cr3t-canary".into())]);
        let question = |command| GrantKey {
            rule: "rule",
            command,
            caller: "me",
            secrets: &secrets,
        };
        let grants = Grants::in_state(directory.path());
        let asked = question("deploy --with s3cr3t-canary");
        grants.remember(&asked, ApprovalAnswer::Always).unwrap();
        assert!(Grants::in_state(directory.path()).covers(&asked));
        assert!(!grants.covers(&question("deploy --with [secret API_TOKEN, 13 characters]")));
        let written = fs::read_to_string(directory.path().join(FILE)).unwrap();
        assert!(!written.contains("canary"), "{written}");
        fs::remove_file(directory.path().join("key")).unwrap();
        assert!(!grants.covers(&asked), "without its key it covers nothing");
    }

    #[test]
    fn what_can_not_be_read_is_not_granted() {
        let directory = tempfile::tempdir().unwrap();
        let asked = GrantKey {
            rule: "rule",
            command: "true",
            caller: "me",
            secrets: &Secrets::default(),
        };
        let grants = Grants::in_state(directory.path());
        fs::write(directory.path().join(FILE), "garbage\n{\"id\":1}\n").unwrap();
        assert!(!grants.covers(&asked));
        grants.remember(&asked, ApprovalAnswer::Always).unwrap();
        assert!(grants.covers(&asked));
        fs::remove_file(directory.path().join(FILE)).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, directory.path().join(FILE), mode).unwrap();
        assert!(!grants.covers(&asked), "and nobody waits for it");
    }
}
