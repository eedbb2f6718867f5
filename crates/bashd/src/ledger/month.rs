//! The files of the ledger, one per month (UTC): names, order, and when they are due for removal.

use bashd_keeper::seen_clock::SeenClock;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the names of files end that say how far chains have come.
const CHAINS: &str = ".chains";

/// A month of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Month {
    year: i16,
    month: i8,
}

impl Month {
    pub(super) fn of(time: Timestamp) -> Self {
        let date = time.to_zoned(TimeZone::UTC).date();
        Self {
            year: date.year(),
            month: date.month(),
        }
    }

    /// Months since the year 0: the later, the larger.
    #[cfg(feature = "index")]
    pub(super) fn number(self) -> i64 {
        i64::from(self.year) * 12 + i64::from(self.month) - 1
    }

    /// The month of a number.
    #[cfg(feature = "index")]
    pub(super) fn of_number(number: i64) -> Option<Self> {
        Some(Self {
            year: i16::try_from(number.div_euclid(12)).ok()?,
            month: i8::try_from(number.rem_euclid(12) + 1).ok()?,
        })
    }

    pub(super) fn file_name(self) -> String {
        format!("{:04}-{:02}.jsonl", self.year, self.month)
    }

    /// The file that says how far the chains of the month have come.
    pub(super) fn chains_name(self) -> String {
        self.file_name().replace(".jsonl", CHAINS)
    }

    /// Whether the whole month is older than `retention`; `false` if dates overflow.
    pub(super) fn ended_before(
        self,
        now: Timestamp,
        retention: Duration,
        clock: Option<&SeenClock>,
    ) -> bool {
        self.end().is_some_and(|end| {
            let jumped = clock.map(|clock| clock.jumped_since(end.into()));
            let limit = retention.saturating_add(jumped.unwrap_or_default());
            SignedDuration::try_from(limit).is_ok_and(|limit| now.duration_since(end) > limit)
        })
    }

    fn end(self) -> Option<Timestamp> {
        let first = Date::new(self.year, self.month, 1).ok()?;
        let next = first.checked_add(1.month()).ok()?;
        Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }

    /// Parses a file name; anything but our exact form is somebody else's file.
    fn from_file_name(name: &str) -> Option<Self> {
        let (year, month) = name.strip_suffix(".jsonl")?.split_once('-')?;
        let month = Self {
            year: year.parse().ok()?,
            month: month.parse().ok()?,
        };
        Date::new(month.year, month.month, 1).ok()?;
        (month.file_name() == name).then_some(month)
    }
}

/// The months of a directory whose chains are written down.
pub(super) fn with_chains(directory: &Path) -> io::Result<Vec<Month>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let months = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_suffix(CHAINS)?.to_owned();
        Month::from_file_name(&(name + ".jsonl"))
    });
    Ok(months.collect())
}

/// The month files of a directory, newest first; none if the directory is missing.
pub(super) fn files(directory: &Path) -> io::Result<Vec<(Month, PathBuf)>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(month) = entry.file_name().to_str().and_then(Month::from_file_name) {
            files.push((month, entry.path()));
        }
    }
    files.sort_unstable_by(|one, other| other.cmp(one));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_both_ways() {
        let month = Month::of("2026-08-31T23:59:59.999Z".parse().unwrap());
        assert_eq!(month.file_name(), "2026-08.jsonl");
        assert_eq!(Month::from_file_name("2026-08.jsonl"), Some(month));
        for foreign in [
            "2026-8.jsonl",
            "2026-13.jsonl",
            "2026-08.json",
            "+026-08.jsonl",
            "x.jsonl",
        ] {
            assert_eq!(Month::from_file_name(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_month_falls_due_by_its_end() {
        let month = Month::of("2026-02-03T00:00:00Z".parse().unwrap());
        let ten_days = Duration::from_hours(240);
        assert!(!month.ended_before("2026-03-11T00:00:00Z".parse().unwrap(), ten_days, None));
        assert!(month.ended_before("2026-03-11T00:00:01Z".parse().unwrap(), ten_days, None));
        assert!(!month.ended_before("2025-01-01T00:00:00Z".parse().unwrap(), ten_days, None));
    }
}
