//! Whether the ledger is what was written: every record there, unaltered, in its chain.

use super::chain::{ChainHead, seal_of};
use super::month::{self, Month};
use super::record::{ChainMark, Record};
use bashd_keeper::seal::SealKey;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// What a look at the whole ledger found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerState {
    /// Records that are in a chain.
    pub(crate) records: u64,
    /// Chains that they are in.
    pub(crate) chains: u64,
    /// Records in no chain, of a bashd that made none.
    pub(crate) unchained: u64,
    /// Lines that are no records, and that no chain misses.
    pub(crate) torn: u64,
    /// What is altered or missing, the oldest first: one sentence each.
    pub(crate) problems: Vec<String>,
}

/// How far a chain was followed.
#[derive(Debug, Default)]
struct Followed {
    n: u64,
    seal: String,
    line: u64,
    is_broken: bool,
}

/// One month while it is read.
struct MonthReading<'a> {
    name: String,
    key: &'a SealKey,
    chains: BTreeMap<String, Followed>,
    found: &'a mut LedgerState,
}

impl LedgerState {
    /// Reads every month of this directory, under this key.
    pub(super) fn look(directory: &Path, key: &SealKey) -> io::Result<Self> {
        let mut state = Self::default();
        let mut months: BTreeMap<Month, bool> = BTreeMap::new();
        for month in month::with_chains(directory)? {
            months.insert(month, false);
        }
        for (month, _) in month::files(directory)? {
            months.insert(month, true);
        }
        for (month, has_records) in months {
            let mut reading = MonthReading {
                name: month.file_name(),
                key,
                chains: BTreeMap::new(),
                found: &mut state,
            };
            if has_records {
                reading.follow(&directory.join(month.file_name()))?;
            }
            let heads = fs::read(directory.join(month.chains_name()));
            reading.compare(&String::from_utf8_lossy(&heads.unwrap_or_default()));
        }
        Ok(state)
    }
}

impl MonthReading<'_> {
    fn problem(&mut self, chain: &str, text: &str) {
        let first = !self.chains.get(chain).is_some_and(|at| at.is_broken);
        if let Some(followed) = self.chains.get_mut(chain) {
            followed.is_broken = true;
        }
        // What follows from the first problem of a chain is not another one.
        if first {
            let name = &self.name;
            self.found.problems.push(format!("{name}: {text}"));
        }
    }

    fn follow(&mut self, path: &Path) -> io::Result<()> {
        let mut lines = BufReader::new(File::open(path)?);
        let mut line = Vec::new();
        let mut number = 0;
        while lines.read_until(b'\n', &mut line)? > 0 {
            number += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            match Record::found_in(text) {
                Some((record, bytes)) => match record.mark() {
                    Some(mark) => self.add(&mark, bytes, number),
                    None => self.found.unchained += 1,
                },
                None => self.found.torn += 1,
            }
            line.clear();
        }
        Ok(())
    }

    fn add(&mut self, mark: &ChainMark, bytes: &[u8], number: u64) {
        let ChainMark { chain, n, prev } = mark;
        self.found.records += 1;
        let before = self.chains.entry(chain.clone()).or_default();
        let (last, line) = (before.n, before.line);
        let problem = if *n == last + 1 && *prev == before.seal {
            None
        } else if *n == last + 1 && last > 0 {
            Some(format!(
                "line {line} (record {last} of chain {chain}) was altered"
            ))
        } else if *n > last + 1 {
            let missing = last + 1;
            Some(format!(
                "record {missing} of chain {chain} is missing before line {number}"
            ))
        } else {
            Some(format!(
                "line {number} (record {n} of chain {chain}) does not belong there"
            ))
        };
        if let Some(problem) = problem {
            self.problem(chain, &problem);
        }
        let seal = seal_of(self.key, bytes);
        let followed = self.chains.entry(chain.clone()).or_default();
        followed.n = (*n).max(last);
        (followed.seal, followed.line) = (seal, number);
    }

    /// Compares with what the second file says of the ends.
    fn compare(mut self, heads: &str) {
        self.found.chains += self.chains.len() as u64;
        let mut heads: BTreeMap<String, ChainHead> = heads
            .lines()
            .filter_map(ChainHead::parse)
            .map(|head| (head.id.clone(), head))
            .collect();
        let found: Vec<_> = self.chains.keys().cloned().collect();
        for chain in found {
            let Some(followed) = self.chains.get(&chain) else {
                continue;
            };
            let (n, line) = (followed.n, followed.line);
            let problem = match heads.remove(&chain) {
                Some(head) if head.n > n => Some(format!(
                    "record {} of chain {chain} is missing at its end",
                    n + 1
                )),
                Some(head) if head.n == n && head.seal != followed.seal => Some(format!(
                    "line {line} (record {n} of chain {chain}) was altered"
                )),
                // A process that is killed between the two files has written one record more.
                Some(head) if head.n + 1 >= n => None,
                None if n <= 1 => None,
                _ => Some(format!("the end of chain {chain} is not written down")),
            };
            if let Some(problem) = problem {
                self.problem(&chain, &problem);
            }
        }
        for head in heads.into_values() {
            let text = format!("record 1 of chain {} is missing, and all after it", head.id);
            self.problem(&head.id, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, LedgerSettings, RecordedOutcome};

    struct Place {
        state: tempfile::TempDir,
    }

    impl Place {
        /// A state directory in which two processes have recorded calls in turn.
        fn new() -> Self {
            let place = Self {
                state: tempfile::tempdir().unwrap(),
            };
            let (one, two) = (place.ledger(), place.ledger());
            for number in 0..4 {
                one.append(&record(&format!("one {number}"))).unwrap();
                two.append(&record(&format!("two {number}"))).unwrap();
            }
            place.ledger().append(&record("three 0")).unwrap();
            place
        }

        fn ledger(&self) -> Ledger {
            let settings = LedgerSettings {
                enabled: true,
                retention: None,
                max_command_bytes: 1000,
            };
            Ledger::new(settings, self.state.path().join("ledger"))
                .chained(self.state.path().to_owned())
        }

        fn look(&self) -> LedgerState {
            let key = SealKey::read(self.state.path()).unwrap();
            self.ledger().verify(&key).unwrap()
        }

        /// Changes a file of the ledger.
        fn change(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
            let path = self.state.path().join("ledger").join(name);
            let text = fs::read_to_string(&path).unwrap();
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            change(&mut lines);
            lines.push(String::new());
            fs::write(&path, lines.join("\n")).unwrap();
        }
    }

    const MONTH: &str = "2026-08.jsonl";
    const CHAINS: &str = "2026-08.chains";

    fn record(command: &str) -> Record {
        let time = "2026-08-04T10:11:12Z".parse().unwrap();
        let mut record = Record::new("id", time, RecordedOutcome::Exited);
        record.command = command.to_owned();
        record
    }

    #[test]
    fn what_was_written_is_whole() {
        let place = Place::new();
        let found = place.look();
        assert_eq!((found.records, found.chains, found.unchained), (9, 3, 0));
        assert_eq!(found.problems, Vec::<String>::new());
        // A torn line that nobody misses is no problem, nor is a record of an older bashd.
        place.change(MONTH, |lines| {
            lines.push("{\"v\":1,\"id".to_owned());
            let old = record("old").to_line(9, None).unwrap();
            lines.push(String::from_utf8(old).unwrap().trim_end().to_owned());
        });
        let found = place.look();
        assert_eq!((found.torn, found.unchained), (1, 1));
        assert_eq!(found.problems, Vec::<String>::new());
    }

    #[test]
    fn every_alteration_shows_where_it_is() {
        for (line, told) in [
            (0, "line 1 (record 1 of"),
            (3, "line 4 (record 2 of"),
            (6, "line 7 (record 4 of"),
            (7, "line 8 (record 4 of"),
            (8, "line 9 (record 1 of"),
        ] {
            let place = Place::new();
            place.change(MONTH, |lines| {
                lines[line] = lines[line].replace("\"exited\"", "\"denied\"");
            });
            let problems = place.look().problems;
            assert_eq!(problems.len(), 1, "{line}: {problems:?}");
            assert!(problems[0].contains(told), "{line}: {problems:?}");
            assert!(problems[0].ends_with("was altered"), "{problems:?}");
        }
    }

    #[test]
    fn whatever_is_missing_shows() {
        for line in 0..9 {
            let place = Place::new();
            place.change(MONTH, |lines| drop(lines.remove(line)));
            let problems = place.look().problems;
            assert_eq!(problems.len(), 1, "{line}: {problems:?}");
            assert!(problems[0].contains("is missing"), "{line}: {problems:?}");
        }
        let place = Place::new();
        place.change(MONTH, |lines| lines.truncate(2));
        assert_eq!(place.look().problems.len(), 3, "the end was cut");
        let place = Place::new();
        fs::remove_file(place.state.path().join("ledger").join(MONTH)).unwrap();
        assert_eq!(place.look().problems.len(), 3, "a month is gone");
        let place = Place::new();
        place.change(CHAINS, Vec::clear);
        assert_eq!(place.look().problems.len(), 2, "the ends are not known");
    }

    #[test]
    fn what_is_put_in_or_exchanged_shows() {
        let place = Place::new();
        place.change(MONTH, |lines| lines.push(lines[0].clone()));
        assert!(place.look().problems[0].contains("does not belong there"));
        let place = Place::new();
        place.change(MONTH, |lines| lines.swap(0, 2));
        assert_eq!(place.look().problems.len(), 1);
    }

    #[test]
    fn a_process_killed_between_the_two_files_is_no_alarm() {
        let place = Place::new();
        place.change(CHAINS, |lines| {
            // As it was before the last record of a chain: its number and seal.
            let month = fs::read_to_string(place.state.path().join("ledger").join(MONTH));
            let month = month.unwrap();
            let third = month.lines().nth(4).unwrap().as_bytes();
            let key = SealKey::read(place.state.path()).unwrap();
            let id = lines[0].split(' ').next().unwrap().to_owned();
            lines[0] = format!("{id} {:>12} {}", 3, seal_of(&key, third));
        });
        assert_eq!(place.look().problems, Vec::<String>::new());
    }
}
