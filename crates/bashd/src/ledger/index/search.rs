//! Finding records: what the index says is a candidate is read from the ledger and compared again.

use super::super::month::Month;
use super::super::query::{RecordQuery, Which};
use super::super::record::{Record, RecordedOutcome};
use super::fill::{OpenMonths, record_at};
use super::{LedgerIndex, store};
use rusqlite::types::Value;
use std::fmt::Write;
use std::io;

/// The index knows parts of at least so many letters.
const SHORTEST: usize = 3;

/// More names than this are not listed in a question: what comes back is compared anyway.
const MOST_NAMES: usize = 2000;

/// Records that were found, newest first.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundRecords {
    /// They.
    pub records: Vec<Record>,
    /// Where to go on, if there may be more.
    pub next: Option<i64>,
}

/// A question in SQL: conditions, and what stands for their question marks.
struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(value.into());
    }
}

impl LedgerIndex {
    /// The newest records that a question wants, from `before` on, where an earlier answer said to
    /// go on.
    pub fn search(
        &self,
        query: &RecordQuery,
        before: Option<i64>,
        most: usize,
    ) -> io::Result<FoundRecords> {
        let query = query.clone().in_lower_case();
        let conditions = self.conditions(&query, before).map_err(store::failed)?;
        let mut found = FoundRecords::default();
        let mut files = OpenMonths::of(&self.directory);
        let mut look = || {
            let mut asked = self.connection.prepare(&conditions.sql)?;
            let values = rusqlite::params_from_iter(&conditions.values);
            let mut rows = asked.query(values)?;
            let mut last = None;
            while let Some(row) = rows.next()? {
                if found.records.len() >= most {
                    found.next = last;
                    break;
                }
                let place = row.get(0)?;
                last = Some(place);
                let record = record_at(&mut files, place);
                found
                    .records
                    .extend(record.filter(|record| query.wants(record)));
            }
            Ok(())
        };
        look().map_err(store::failed)?;
        Ok(found)
    }

    fn conditions(&self, query: &RecordQuery, before: Option<i64>) -> rusqlite::Result<Conditions> {
        let text = query
            .contains
            .as_ref()
            .filter(|text| text.chars().count() >= SHORTEST && !text.contains('\0'));
        let mut all = match text {
            // The texts are asked first, whatever the planner thinks.
            Some(text) => Conditions {
                sql: "SELECT texts.rowid FROM texts CROSS JOIN calls ON at = texts.rowid \
                      WHERE texts MATCH ?"
                    .to_owned(),
                values: vec![Value::Text(format!("\"{}\"", text.replace('"', "\"\"")))],
            },
            None => Conditions {
                sql: "SELECT at FROM calls WHERE TRUE".to_owned(),
                values: Vec::new(),
            },
        };
        let place = if text.is_some() { "texts.rowid" } else { "at" };
        if let Some(before) = before {
            all.and(&format!("{place} < ?"), before);
        }
        if let Some(since) = query.since {
            all.and(&format!("{place} >= ?"), super::place(Month::of(since), 0));
            all.and("time >= ?", since.as_millisecond());
        }
        if let Some(until) = query.until {
            let next = (Month::of(until).number() + 1) << super::OFFSET_BITS;
            all.and(&format!("{place} < ?"), next);
            all.and("time <= ?", until.as_millisecond());
        }
        if query.which == Which::Failed {
            all.and("failed = ?", 1);
        }
        // What this version does not know may be several things.
        if let Some(outcome) = query.outcome.filter(|of| *of != RecordedOutcome::Unknown) {
            all.and("outcome = ?", word_of(outcome));
        }
        let millis =
            |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        if let Some(least) = query.at_least {
            all.and("wall >= ?", millis(least));
        }
        if let Some(most) = query.at_most {
            all.and("wall <= ?", millis(most));
        }
        if let Some(least) = query.least_bytes {
            all.and("bytes >= ?", i64::try_from(least).unwrap_or(i64::MAX));
        }
        if let Some(most) = query.most_bytes {
            all.and("bytes <= ?", i64::try_from(most).unwrap_or(i64::MAX));
        }
        if let Some(name) = &query.session {
            all.and(
                "session = (SELECT id FROM names WHERE name = ?)",
                name.clone(),
            );
        }
        if let Some(text) = &query.owner {
            self.owners(text, &mut all)?;
        }
        let _ = write!(all.sql, " ORDER BY {place} DESC");
        Ok(all)
    }

    /// Only owners that contain a text.
    fn owners(&self, text: &str, all: &mut Conditions) -> rusqlite::Result<()> {
        let mut asked = self
            .connection
            .prepare_cached("SELECT id, name FROM names")?;
        let mut numbers = Vec::new();
        let mut rows = asked.query([])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, String>(1)?.to_lowercase().contains(text) {
                numbers.push(row.get::<_, i64>(0)?.to_string());
            }
        }
        if numbers.len() <= MOST_NAMES {
            let numbers = numbers.join(",");
            let _ = write!(all.sql, " AND owner IN ({numbers})");
        }
        Ok(())
    }

    /// The calls whose ids begin like this, at most so many.
    pub fn beginning_with(&self, id: &str, most: usize) -> io::Result<Vec<Record>> {
        let first = id.to_ascii_uppercase();
        let last = format!("{first}\u{10ffff}");
        let find = || {
            let mut asked = self.connection.prepare_cached(
                "SELECT at FROM calls WHERE id >= ?1 AND id < ?2 ORDER BY at DESC LIMIT ?3",
            )?;
            let rows = asked.query_map((&first, &last, most as i64), |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<i64>>>()
        };
        let places = find().map_err(store::failed)?;
        let mut files = OpenMonths::of(&self.directory);
        let records = places
            .into_iter()
            .filter_map(|place| record_at(&mut files, place));
        let is_it = |record: &Record| record.id.to_ascii_uppercase().starts_with(&first);
        Ok(records.filter(is_it).collect())
    }
}

/// An outcome as the ledger has it.
pub(super) fn word_of(outcome: RecordedOutcome) -> String {
    let word = serde_json::to_value(outcome).ok();
    let word = word.and_then(|word| word.as_str().map(str::to_owned));
    word.unwrap_or_default()
}
