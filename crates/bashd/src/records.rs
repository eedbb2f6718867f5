//! Whether what was written down is still what was written: the ledger, the ends of jobs,
//! artifacts.

use crate::artifact;
use crate::config::Config;
use crate::jobs;
use crate::ledger::{Ledger, RecordQuery};
use bashd_keeper::job::directory::{self, STATUS};
use bashd_keeper::seal::{SealKey, Unsealed};
use std::io;
use std::path::Path;

/// What a look at all records found.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordsState {
    /// Records of the ledger that are in a chain.
    pub records: u64,
    /// Chains that they are in.
    pub chains: u64,
    /// Ends of jobs and artifacts whose seal is right.
    pub sealed: u64,
    /// Records without chain or seal: of a bashd that made none.
    pub unsealed: u64,
    /// What is altered or missing, one sentence each.
    pub problems: Vec<String>,
}

/// Checks all records of a state directory.
pub fn verify(config: &Config) -> io::Result<RecordsState> {
    let key = match SealKey::read(&config.state_dir) {
        Ok(key) => key,
        // Nothing was written yet, or everything is gone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return without_key(config);
        }
        Err(error) => return Err(error),
    };
    let ledger = Ledger::new(config.ledger, config.ledger_dir()).verify(&key)?;
    let mut found = RecordsState {
        records: ledger.records,
        chains: ledger.chains,
        unsealed: ledger.unchained,
        problems: ledger.problems,
        ..RecordsState::default()
    };
    for run in jobs::run_directories(&config.runs_dir()) {
        found.add(
            "end of job",
            &run,
            directory::check_seal(&run, STATUS, &key),
        );
        found.add("artifact of", &run, artifact::check(&run, &key));
    }
    Ok(found)
}

/// There is no key: that is right where there are no records.
fn without_key(config: &Config) -> io::Result<RecordsState> {
    let mut found = RecordsState::default();
    let mut records =
        Ledger::new(config.ledger, config.ledger_dir()).read(RecordQuery::default())?;
    if records.next().is_some() {
        let text = "there are records, but no key to check them with";
        found.problems.push(text.to_owned());
    }
    Ok(found)
}

impl RecordsState {
    fn add(&mut self, what: &str, run: &Path, checked: io::Result<Option<Unsealed>>) {
        let name = run.file_name().unwrap_or_default().to_string_lossy();
        match checked {
            Ok(None) => self.sealed += 1,
            Ok(Some(Unsealed::Missing)) => self.unsealed += 1,
            Ok(Some(Unsealed::Altered)) => {
                self.problems.push(format!("the {what} {name} was altered"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let text = format!("the {what} {name} can't be read: {error}");
                self.problems.push(text);
            }
        }
    }
}
