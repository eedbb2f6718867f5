//! Past calls that are looked for: by the ledger's index where there is one, and else by reading
//! the ledger. Both find the same.

use bashd::config::Config;
#[cfg(feature = "index")]
use bashd::ledger::index::LedgerIndex;
use bashd::ledger::{Ledger, LedgerSums, Record, RecordQuery, Timestamp};
use std::io;
#[cfg(feature = "index")]
use std::time::Duration;

/// What is not in the index yet may be a record that is being written, or one that never will be.
#[cfg(feature = "index")]
const NEARLY_ALL: u64 = 64 << 10;

/// How long who looks waits for the index to catch up.
#[cfg(feature = "index")]
const CATCH_UP: Duration = Duration::from_millis(300);

/// Calls that were found, newest first.
#[derive(Debug, Default)]
pub(crate) struct PastPage {
    pub(crate) records: Vec<Record>,
    /// Where to go on, if there may be more.
    pub(crate) next: Option<i64>,
    /// Lines of the ledger that are not records, as far as they were seen.
    pub(crate) damaged: u64,
    /// Parts in a hundred of the ledger that were looked at.
    pub(crate) percent: u64,
}

/// Finds calls by the index; `None` without one, or if it lacks more than it can catch up with now.
#[cfg(feature = "index")]
pub(crate) fn by_index(config: &Config, query: &RecordQuery, most: usize) -> Option<PastPage> {
    let page = search(config, query, None, most).ok()?;
    (page.percent == 100).then_some(page)
}

/// Without the index.
#[cfg(not(feature = "index"))]
pub(crate) fn by_index(_: &Config, _: &RecordQuery, _: usize) -> Option<PastPage> {
    None
}

/// The newest calls that a question wants, in what the index has by now.
#[cfg(feature = "index")]
pub(crate) fn search(
    config: &Config,
    query: &RecordQuery,
    before: Option<i64>,
    most: usize,
) -> io::Result<PastPage> {
    let mut index = LedgerIndex::open(config)?;
    let progress = index.catch_up(CATCH_UP)?;
    let found = index.search(query, before, most)?;
    Ok(PastPage {
        records: found.records,
        next: found.next,
        damaged: progress.damaged,
        percent: match progress.missing() {
            0..=NEARLY_ALL => 100,
            _ => progress.done * 100 / progress.of.max(1),
        },
    })
}

/// Likewise, by reading; a place is how many were found before.
#[cfg(not(feature = "index"))]
pub(crate) fn search(
    config: &Config,
    query: &RecordQuery,
    before: Option<i64>,
    most: usize,
) -> io::Result<PastPage> {
    read(config, query, before, most)
}

/// Finds calls by reading the ledger from its end; a place is how many were found before.
#[cfg(not(feature = "index"))]
fn read(
    config: &Config,
    query: &RecordQuery,
    before: Option<i64>,
    most: usize,
) -> io::Result<PastPage> {
    let skipped = usize::try_from(before.unwrap_or(0)).unwrap_or(0);
    let mut records = Ledger::new(config.ledger, config.ledger_dir()).read(query.clone())?;
    let mut page = PastPage {
        percent: 100,
        ..PastPage::default()
    };
    for record in records.by_ref().flatten().skip(skipped) {
        if page.records.len() >= most {
            page.next = i64::try_from(skipped + most).ok();
            break;
        }
        page.records.push(record);
    }
    page.damaged = records.damaged();
    Ok(page)
}

/// Reads what the index lacks, until nothing is missing or `is_over` says so.
#[cfg(feature = "index")]
pub(crate) fn fill(config: &Config, is_over: impl Fn() -> bool) -> io::Result<()> {
    let mut index = LedgerIndex::open(config)?;
    while !is_over() && index.catch_up(Duration::from_secs(1))?.missing() > NEARLY_ALL {}
    Ok(())
}

/// Without the index there is nothing to do.
#[cfg(not(feature = "index"))]
pub(crate) fn fill(_: &Config, _: impl Fn() -> bool) -> io::Result<()> {
    Ok(())
}

/// Calls of these times, added up.
#[cfg(feature = "index")]
pub(crate) fn sums(
    config: &Config,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> io::Result<LedgerSums> {
    let mut index = LedgerIndex::open(config)?;
    index.catch_up(CATCH_UP)?;
    index.sums(since, until)
}

/// Likewise, by reading. What minimizing saved is then as if profiles showed everything.
#[cfg(not(feature = "index"))]
pub(crate) fn sums(
    config: &Config,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> io::Result<LedgerSums> {
    let mut query = RecordQuery::default();
    (query.since, query.until) = (since, until);
    let records = Ledger::new(config.ledger, config.ledger_dir()).read(query)?;
    Ok(LedgerSums::of(records.flatten(), |_| u64::MAX))
}

/// The call of this id.
pub(crate) fn find(config: &Config, id: &str) -> io::Result<Option<Record>> {
    #[cfg(feature = "index")]
    if let Ok(mut index) = LedgerIndex::open(config) {
        index.catch_up(CATCH_UP)?;
        let found = index.beginning_with(id, 2)?.into_iter();
        if let Some(record) = found.into_iter().find(|record| record.id == id) {
            return Ok(Some(record));
        }
    }
    let records = Ledger::new(config.ledger, config.ledger_dir()).read(RecordQuery::default())?;
    Ok(records.flatten().find(|record| record.id == id))
}
