//! What happens now, as one stream: every call and job of every bashd process of this user.
//!
//! One reader of the feed and one look at the jobs a second serve all browsers. A browser gets all
//! rows first and then those that change; each piece has the feed's place, from which a browser
//! that comes back goes on, also after a restart of the server: it gets what may be new to it, and
//! the ids of all rows, so that it drops what is gone. Who reads too slowly gets all rows again.

use super::looks;
use super::metrics::CallMetrics;
use super::rows::{self, NowRow};
use crate::watched::{CallDeeds, WatchedCalls};
use bashd::CancellationToken;
use bashd::approval::Watching;
use bashd::config::Config;
use bashd::feed::{FeedBatch, FeedPlace, FeedReader};
use bashd::jobs::{FarJobs, Job, Whose};
use bashd::ledger::Timestamp;
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc, watch};

/// How often runs and jobs are looked at while somebody watches.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks take at most one part in so many of the time, however many jobs there are.
const LOOK_SHARE: u32 = 20;

/// How long events are gathered before they are told: many short calls are one piece.
const GATHERED: Duration = Duration::from_millis(40);

/// Pieces that a slow browser may be behind.
const PIECES_AHEAD: usize = 64;

/// How long a browser waits for what the feed has when the server starts.
const FIRST_READ: Duration = Duration::from_secs(2);

/// How long calls wait for a person after the last page was closed: it may only be loaded anew.
const STAYS_WATCHED: Duration = Duration::from_secs(3);

/// What all browsers are told.
pub(super) struct NowBoard {
    feed_dir: PathBuf,
    deeds: CallDeeds,
    far: FarJobs,
    state: Mutex<BoardState>,
    news: broadcast::Sender<Bytes>,
    looking: tokio::sync::Mutex<()>,
    metrics: Mutex<CallMetrics>,
    /// Whether the feed was read once, so that what it does not have is gone.
    has_read: watch::Sender<bool>,
}

#[derive(Default)]
struct BoardState {
    calls: WatchedCalls,
    /// Runs and jobs, as they were at the last look.
    jobs: BTreeMap<String, Job>,
    /// What was told last of each.
    rows: BTreeMap<String, NowRow>,
    place: Option<FeedPlace>,
    looked: Option<Instant>,
    look_took: Duration,
    /// Says that somebody can answer.
    watching: Option<Watching>,
    /// Whether that is about to be said.
    begins: bool,
    left: Option<Instant>,
}

impl NowBoard {
    pub(super) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            feed_dir: config.feed_dir(),
            deeds: CallDeeds::of(config),
            far: FarJobs::of(config),
            state: Mutex::default(),
            news: broadcast::channel(PIECES_AHEAD).0,
            looking: tokio::sync::Mutex::default(),
            metrics: Mutex::new(CallMetrics::from_now()),
            has_read: watch::Sender::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the feed, and looks at the jobs while somebody watches, until the token is cancelled.
    pub(super) async fn keep(self: Arc<Self>, stop: CancellationToken) {
        let (sender, mut batches) = mpsc::channel(4);
        let feed = FeedReader::new(self.feed_dir.clone());
        // Waiting for the feed blocks; the thread ends with the process.
        std::thread::spawn(move || read_feed(feed, &sender));
        loop {
            let pause = self.until_look();
            tokio::select! {
                () = stop.cancelled() => return,
                batch = batches.recv() => match batch {
                    Some((batch, place)) => self.tell_batch(batch, place),
                    None => return,
                },
                () = tokio::time::sleep(pause) => {
                    tokio::spawn(Arc::clone(&self).attend());
                    if self.news.receiver_count() > 0 {
                        self.look().await;
                    }
                }
            }
        }
    }

    fn until_look(&self) -> Duration {
        let state = self.state();
        let every = LOOK_EVERY.max(state.look_took * LOOK_SHARE);
        let passed = state
            .looked
            .map_or(Duration::ZERO, |looked| looked.elapsed());
        every.saturating_sub(passed).max(Duration::from_millis(200))
    }

    /// Calls that can ask nobody else wait only while a page is open. What says so is a file, which
    /// may keep whoever makes or removes it waiting.
    async fn attend(self: Arc<Self>) {
        if self.news.receiver_count() == 0 {
            let ended = self.state().ends_watching();
            end_watching(ended).await;
        } else if self.state().begins_watching() {
            let questions = self.deeds.questions.clone();
            let began = looks::WATCHES.look(move || questions.watch().ok()).await;
            let mut state = self.state();
            (state.watching, state.begins) = (began.flatten(), false);
        }
    }

    /// Nobody watches any more.
    pub(super) async fn leave(&self) {
        let watching = self.state().watching.take();
        end_watching(watching).await;
    }

    /// Something happened.
    fn tell_batch(&self, batch: FeedBatch, place: Option<FeedPlace>) {
        let mut state = self.state();
        let mut touched = BTreeSet::new();
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, record) in batch.records {
            metrics.count(&record, &state.calls);
            touched.insert(record.id.clone());
            state.calls.tell(record);
        }
        drop(metrics);
        state.place = place.or(state.place);
        let piece = state.changed(touched.into_iter().collect());
        drop(state);
        self.send(piece);
        self.has_read.send_replace(true);
    }

    fn send(&self, piece: Option<Bytes>) {
        if let Some(piece) = piece {
            // Nobody may be there.
            let _ = self.news.send(piece);
        }
    }

    /// Looks at what runs, and tells what is different.
    async fn look(&self) {
        let _one = self.looking.lock().await;
        let begun = Instant::now();
        let running = self.deeds.jobs.running().await;
        let jobs = self.deeds.jobs.clone();
        let known = self.far.clone();
        let look = move || (jobs.list(Whose::Everybody), known.list());
        let looked = tokio::task::spawn_blocking(look).await;
        let (listed, far) = looked.unwrap_or_default();
        let mut state = self.state();
        state.calls.compare(&running, &listed, &far);
        state.jobs = listed
            .into_iter()
            .chain(running)
            .map(|job| (job.id.clone(), job))
            .collect();
        let piece = state.all_changed();
        state.looked = Some(Instant::now());
        state.look_took = begun.elapsed();
        drop(state);
        self.send(piece);
    }

    /// What a browser sees first, and then. It has seen what is before the place, if it names one.
    pub(super) async fn follow(self: &Arc<Self>, from: Option<FeedPlace>) -> NowFollower {
        let news = self.news.subscribe();
        // It goes on even if this browser does not wait for it.
        let _ = tokio::spawn(Arc::clone(self).attend()).await;
        let mut has_read = self.has_read.subscribe();
        // A feed that can't be read keeps nobody waiting.
        let _ = tokio::time::timeout(FIRST_READ, has_read.wait_for(|has_read| *has_read)).await;
        let is_fresh = |looked: Instant| looked.elapsed() < LOOK_EVERY;
        let looked = self.state().looked;
        if !looked.is_some_and(is_fresh) {
            self.look().await;
        }
        let since = match from {
            Some(place) => self.since(place).await,
            None => None,
        };
        let state = self.state();
        let first = match since {
            Some(ids) => state.again(&ids),
            None => state.everything(),
        };
        NowFollower {
            first: Some(first),
            news,
        }
    }

    /// The calls to which something happened since this place; `None` if that is not known.
    async fn since(&self, place: FeedPlace) -> Option<BTreeSet<String>> {
        let mut feed = FeedReader::new(self.feed_dir.clone()).from_place(place);
        let read = tokio::task::spawn_blocking(move || feed.read()).await;
        let batch = read.ok()?.ok().filter(|batch| !batch.has_gap)?;
        let records = batch.records.into_iter();
        Some(records.map(|(_, record)| record.id).collect())
    }

    /// All rows, for one who fell behind.
    pub(super) fn everything(&self) -> Bytes {
        self.state().everything()
    }

    /// The metrics as Prometheus reads them.
    pub(super) fn metrics(&self) -> String {
        let (asking, running) = self.state().calls.count();
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.text(asking, running)
    }

    /// What is known of one call.
    pub(super) fn row(&self, id: &str) -> Option<NowRow> {
        let state = self.state();
        state.row(id).or_else(|| state.rows.get(id).cloned())
    }
}

/// Reads the feed for ever, and hands on what it has; the first time also that it has nothing.
fn read_feed(mut feed: FeedReader, sender: &mpsc::Sender<(FeedBatch, Option<FeedPlace>)>) {
    let mut is_first = true;
    loop {
        let batch = feed.read().unwrap_or_default();
        let is_something = !batch.records.is_empty() || std::mem::take(&mut is_first);
        if is_something && sender.blocking_send((batch, feed.place())).is_err() {
            return;
        }
        if feed.wait(LOOK_EVERY).is_err() {
            std::thread::sleep(LOOK_EVERY);
        }
        std::thread::sleep(GATHERED);
    }
}

async fn end_watching(watching: Option<Watching>) {
    if watching.is_some() {
        looks::WATCHES.look(move || drop(watching)).await;
    }
}

impl BoardState {
    /// Whether it is to be said now that somebody watches.
    fn begins_watching(&mut self) -> bool {
        self.left = None;
        let is_new = self.watching.is_none() && !self.begins;
        self.begins |= is_new;
        is_new
    }

    /// What is no longer to be said, some time after the last page was closed.
    fn ends_watching(&mut self) -> Option<Watching> {
        self.watching.as_ref()?;
        let left = *self.left.get_or_insert_with(Instant::now);
        let is_over = left.elapsed() >= STAYS_WATCHED;
        self.watching.take_if(|_| is_over)
    }

    fn row(&self, id: &str) -> Option<NowRow> {
        rows::row(self.calls.get(id), self.jobs.get(id))
    }

    /// The rows of these that are not as they were told.
    fn changed(&mut self, ids: Vec<String>) -> Option<Bytes> {
        let mut changed = Vec::new();
        let mut gone = Vec::new();
        for id in ids {
            match self.row(&id) {
                Some(row) if self.rows.get(&id) != Some(&row) => {
                    changed.push(row.clone());
                    self.rows.insert(id, row);
                }
                None if self.rows.remove(&id).is_some() => gone.push(id),
                _ => {}
            }
        }
        let is_something = !changed.is_empty() || !gone.is_empty();
        let what = json!({"gone": gone});
        is_something.then(|| self.piece("rows", &changed.iter().collect::<Vec<_>>(), what))
    }

    fn all_changed(&mut self) -> Option<Bytes> {
        let calls = self.calls.ids();
        let jobs = self.jobs.keys().cloned();
        let ids: BTreeSet<String> = calls.chain(jobs).chain(self.rows.keys().cloned()).collect();
        self.changed(ids.into_iter().collect())
    }

    fn everything(&self) -> Bytes {
        let rows: Vec<&NowRow> = self.rows.values().collect();
        self.piece("all", &rows, json!({"gone": []}))
    }

    /// What one who comes back may not have seen: these, whatever lives, and what the feed does
    /// not tell, which is that a process is gone, and what became of jobs. With it goes which
    /// rows there are: others were forgotten or removed meanwhile.
    fn again(&self, ids: &BTreeSet<String>) -> Bytes {
        let is_wanted = |row: &&NowRow| {
            let is_told = !row.is_live() && !row.is_lost();
            !is_told || ids.contains(&row.id) || self.jobs.contains_key(&row.id)
        };
        let rows: Vec<&NowRow> = self.rows.values().filter(is_wanted).collect();
        let known: Vec<&String> = self.rows.keys().collect();
        self.piece("rows", &rows, json!({"gone": [], "known": known}))
    }

    /// One piece of the stream: these rows, and what else there is to say.
    fn piece(&self, event: &str, rows: &[&NowRow], mut data: Value) -> Bytes {
        data["now"] = json!(Timestamp::now().as_millisecond());
        data["rows"] = json!(rows);
        let place = self.place.map(|place| format!("id: {place}\n"));
        let place = place.unwrap_or_default();
        // JSON has no newlines.
        Bytes::from(format!("event: {event}\n{place}data: {data}\n\n"))
    }
}

/// One browser's end of the stream.
pub(super) struct NowFollower {
    first: Option<Bytes>,
    news: broadcast::Receiver<Bytes>,
}

impl NowFollower {
    /// The next piece; `None` at the server's end.
    pub(super) async fn next(&mut self, board: &NowBoard) -> Option<Bytes> {
        /// Time after which something is said, so that both ends know of each other.
        const SILENCE: Duration = Duration::from_secs(15);
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        match tokio::time::timeout(SILENCE, self.news.recv()).await {
            Ok(Ok(piece)) => Some(piece),
            Ok(Err(broadcast::error::RecvError::Lagged(_))) => {
                self.news = self.news.resubscribe();
                Some(board.everything())
            }
            Ok(Err(broadcast::error::RecvError::Closed)) => None,
            Err(_) => Some(Bytes::from_static(b":\n\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::some_calls;

    /// One that asks (c), one that runs (b), one that failed (a), one that went well (d), and one
    /// whose process is gone (e).
    fn state() -> BoardState {
        let mut state = BoardState {
            calls: some_calls(),
            ..BoardState::default()
        };
        let gone = json!({"v": 1, "id": "e", "time": Timestamp::UNIX_EPOCH.to_string(), "event": "begun",
            "pid": i32::MAX, "owner": "mcp:0", "profile": "default", "command": "c"});
        state.calls.tell(serde_json::from_value(gone).unwrap());
        state.calls.compare(&[], &[], &[]);
        state.all_changed();
        state
    }

    /// Which rows one is sent who comes back, and which others it may keep.
    fn sent(state: &BoardState, missed: &[&str]) -> (String, String) {
        let missed = missed.iter().map(|id| (*id).to_owned()).collect();
        let piece = String::from_utf8(state.again(&missed).to_vec()).unwrap();
        let data = piece.lines().find_map(|line| line.strip_prefix("data: "));
        let data: Value = serde_json::from_str(data.unwrap()).unwrap();
        let rows = data["rows"].as_array().unwrap().iter();
        let known = data["known"].as_array().unwrap().iter();
        (
            rows.map(|row| row["id"].as_str().unwrap()).collect(),
            known.map(|id| id.as_str().unwrap()).collect(),
        )
    }

    #[test]
    fn who_comes_back_is_sent_what_is_new_what_lives_and_what_is_lost() {
        let mut state = state();
        assert_eq!(sent(&state, &[]), ("bce".to_owned(), "abcde".to_owned()));
        assert_eq!(sent(&state, &["a"]).0, "abce");
        assert_eq!(sent(&state, &["d", "unknown"]).0, "bcde");
        // What was forgotten meanwhile is no longer among them.
        state.calls = crate::watched::WatchedCalls::default();
        state.all_changed();
        assert_eq!(sent(&state, &["a"]), (String::new(), String::new()));
    }
}
