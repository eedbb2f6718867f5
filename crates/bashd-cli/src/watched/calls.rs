//! The calls of all bashd processes, as the feed tells of them: what is kept, and in which order.

use bashd::feed::{CallAsks, CallBegun, CallEnded, FeedEvent, FeedRecord};
use bashd::jobs::{FarJob, Job};
use bashd::ledger::{Record, RecordedOutcome, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Calls that have ended and are still shown.
const MOST_ENDED: usize = 500;

/// One call, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct WatchedCall {
    pub(crate) id: String,
    pub(crate) begun: CallBegun,
    pub(crate) since: Timestamp,
    pub(crate) state: WatchedState,
    /// Bytes that it wrote so far.
    pub(crate) bytes: u64,
    /// The place at which its command runs, and the node there; `None` for this machine.
    pub(crate) site: Option<String>,
}

/// What a call does.
#[derive(Debug, Clone)]
pub(crate) enum WatchedState {
    Running,
    /// It waits for a person's approval.
    Asks(CallAsks),
    /// It continues as a job of this name.
    Job(String),
    Ended(CallEnded),
    /// Its process is gone, and nobody knows how it ended.
    Lost,
}

/// Which calls are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum WatchedFilter {
    #[default]
    All,
    /// What runs or asks.
    Live,
    Asking,
    Failed,
}

impl WatchedFilter {
    /// The next one, round and round.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::All => Self::Live,
            Self::Live => Self::Asking,
            Self::Asking => Self::Failed,
            Self::Failed => Self::All,
        }
    }

    /// What people call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Live => "running",
            Self::Asking => "asking",
            Self::Failed => "failed",
        }
    }
}

impl WatchedCall {
    /// Whether it is under way, as a call or as a job.
    pub(crate) fn is_live(&self) -> bool {
        matches!(
            self.state,
            WatchedState::Running | WatchedState::Asks(_) | WatchedState::Job(_)
        )
    }

    /// Whether it went wrong.
    pub(crate) fn failed(&self) -> bool {
        match &self.state {
            WatchedState::Ended(ended) => record(&self.id, self.since, ended).failed(),
            WatchedState::Lost => true,
            WatchedState::Running | WatchedState::Asks(_) | WatchedState::Job(_) => false,
        }
    }

    /// Its state in at most nine columns.
    pub(crate) fn word(&self) -> String {
        match &self.state {
            WatchedState::Running => "running".to_owned(),
            WatchedState::Asks(_) => "ASKS".to_owned(),
            WatchedState::Job(name) => format!("job {name}"),
            WatchedState::Ended(ended) => crate::log::result(&record(&self.id, self.since, ended)),
            WatchedState::Lost => "lost".to_owned(),
        }
    }

    /// How long it takes or took, in milliseconds.
    pub(crate) fn millis(&self, now: Timestamp) -> u64 {
        match &self.state {
            WatchedState::Ended(ended) => ended.wall_ms,
            _ => u64::try_from(now.duration_since(self.since).as_millis()).unwrap_or(0),
        }
    }

    /// Its session, as people read it.
    pub(crate) fn session(&self) -> &str {
        match self.begun.session.as_deref() {
            None => "-",
            Some("") => "(own)",
            Some(name) => name,
        }
    }

    /// Its command, behind where that runs.
    pub(crate) fn command(&self) -> String {
        match &self.site {
            Some(site) => format!("{site}: {}", self.begun.command),
            None => self.begun.command.clone(),
        }
    }

    fn has(&self, text: &str) -> bool {
        let parts = [
            &*self.begun.command,
            &self.begun.owner,
            self.session(),
            &self.begun.cwd,
            &self.id,
            self.site.as_deref().unwrap_or_default(),
        ];
        parts.iter().any(|part| part.to_lowercase().contains(text))
    }

    /// For programs.
    pub(crate) fn to_json(&self, now: Timestamp) -> Value {
        let (state, rule, message) = match &self.state {
            WatchedState::Running => ("running", None, None),
            WatchedState::Asks(asks) => ("asks", Some(&asks.rule), Some(&asks.message)),
            WatchedState::Job(_) => ("job", None, None),
            WatchedState::Ended(_) => ("ended", None, None),
            WatchedState::Lost => ("lost", None, None),
        };
        let ended = match &self.state {
            WatchedState::Ended(ended) => Some(ended),
            _ => None,
        };
        json!({
            "id": self.id,
            "time": self.since.to_string(),
            "state": state,
            "owner": self.begun.owner,
            "session": self.begun.session,
            "profile": self.begun.profile,
            "command": self.begun.command,
            "cwd": self.begun.cwd,
            "place": self.site,
            "pid": self.begun.pid,
            "ms": self.millis(now),
            "output_bytes": self.bytes,
            "rule": rule,
            "message": message,
            "job": match &self.state {
                WatchedState::Job(name) => Some(name),
                _ => None,
            },
            "outcome": ended.map(|ended| ended.outcome),
            "exit_code": ended.and_then(|ended| ended.exit_code),
            "signal": ended.and_then(|ended| ended.signal),
        })
    }
}

fn record(id: &str, time: Timestamp, ended: &CallEnded) -> Record {
    let mut record = Record::new(id, time, ended.outcome);
    record.exit_code = ended.exit_code;
    record.signal = ended.signal;
    record
}

/// All calls that are known.
#[derive(Debug, Default)]
pub(crate) struct WatchedCalls {
    calls: BTreeMap<String, WatchedCall>,
}

impl WatchedCalls {
    /// Something happened.
    pub(crate) fn tell(&mut self, record: FeedRecord) {
        if let FeedEvent::Begun(begun) = record.event {
            let call = WatchedCall {
                id: record.id.clone(),
                begun,
                since: record.time,
                state: WatchedState::Running,
                bytes: 0,
                site: None,
            };
            self.calls.insert(record.id, call);
            return;
        }
        let Some(call) = self.calls.get_mut(&record.id) else {
            return;
        };
        match record.event {
            FeedEvent::Asks(asks) => call.state = WatchedState::Asks(asks),
            FeedEvent::Allowed => call.state = WatchedState::Running,
            FeedEvent::Placed(placed) => {
                call.site = Some(match placed.node {
                    Some(node) => format!("{}/{node}", placed.place),
                    None => placed.place,
                });
            }
            FeedEvent::Ended(ended) => {
                call.bytes = ended.output_bytes;
                call.state = match &ended.job {
                    Some(job) if ended.outcome == RecordedOutcome::Background => {
                        WatchedState::Job(job.clone())
                    }
                    _ => WatchedState::Ended(ended),
                };
            }
            _ => {}
        }
    }

    /// Compares with what is there: processes that are gone, and what runs and jobs wrote. The
    /// names of jobs that still run are in `jobs`, and what is known of those at other places in
    /// `far`.
    pub(crate) fn compare(&mut self, running: &[Job], jobs: &[Job], far: &[FarJob]) {
        for call in self.calls.values_mut() {
            if let (WatchedState::Job(name), Some(_)) = (&mut call.state, &call.site) {
                // Each place has its own truth: what is not known of it is not lost.
                let job = far.iter().find(|job| job.alias == *name || job.id == *name);
                match job {
                    Some(job) if job.is_alive => job.alias.clone_into(name),
                    Some(job) => call.state = end_of_far(job, call.since),
                    None => {}
                }
                continue;
            }
            let found = running.iter().chain(jobs).find(|job| job.id == call.id);
            if let Some(job) = found {
                call.bytes = job.output_bytes;
            }
            match (&mut call.state, found) {
                (WatchedState::Running | WatchedState::Asks(_), _) if !is_alive(call.begun.pid) => {
                    call.state = WatchedState::Lost;
                }
                (WatchedState::Job(_), None) => call.state = WatchedState::Lost,
                (WatchedState::Job(_), Some(job)) if !job.state.is_alive() => {
                    call.state = end_of(job);
                }
                // What `bashd jobs` takes.
                (WatchedState::Job(name), Some(job)) => {
                    job.name.as_ref().unwrap_or(&job.alias).clone_into(name);
                }
                _ => {}
            }
        }
        self.forget();
    }

    /// Forgets the oldest that have ended.
    fn forget(&mut self) {
        let ended = self.calls.values().filter(|call| !call.is_live());
        let mut ended: Vec<(Timestamp, String)> =
            ended.map(|call| (call.since, call.id.clone())).collect();
        ended.sort();
        let many = ended.len().saturating_sub(MOST_ENDED);
        for (_, id) in ended.into_iter().take(many) {
            self.calls.remove(&id);
        }
    }

    /// A call by its id.
    pub(crate) fn get(&self, id: &str) -> Option<&WatchedCall> {
        self.calls.get(id)
    }

    /// The ids of all of them.
    #[cfg(feature = "web")]
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.calls.keys().cloned()
    }

    /// How many there are that ask, and that run.
    pub(crate) fn count(&self) -> (usize, usize) {
        let asks = |call: &&WatchedCall| matches!(call.state, WatchedState::Asks(_));
        let live = self.calls.values().filter(|call| call.is_live()).count();
        let asking = self.calls.values().filter(asks).count();
        (asking, live - asking)
    }

    /// Those that are wanted: who asks, then what runs, then what has ended; the newest first.
    pub(crate) fn wanted(&self, filter: WatchedFilter, text: &str) -> Vec<&WatchedCall> {
        let text = text.to_lowercase();
        let is_wanted = |call: &&WatchedCall| {
            let by_filter = match filter {
                WatchedFilter::All => true,
                WatchedFilter::Live => call.is_live(),
                WatchedFilter::Asking => matches!(call.state, WatchedState::Asks(_)),
                WatchedFilter::Failed => call.failed(),
            };
            by_filter && (text.is_empty() || call.has(&text))
        };
        let mut wanted: Vec<&WatchedCall> = self.calls.values().filter(is_wanted).collect();
        let rank = |call: &WatchedCall| match call.state {
            WatchedState::Asks(_) => 0,
            WatchedState::Running | WatchedState::Job(_) => 1,
            WatchedState::Ended(_) | WatchedState::Lost => 2,
        };
        wanted.sort_by(|one, other| {
            let by_rank = rank(one).cmp(&rank(other));
            by_rank.then(other.since.cmp(&one.since))
        });
        wanted
    }
}

fn is_alive(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// How a job ended, as the end of its call.
fn end_of(job: &Job) -> WatchedState {
    let outcome = match (job.exit_code, job.signal) {
        (Some(_), _) => "exited",
        (None, Some(_)) => "signalled",
        (None, None) => return WatchedState::Lost,
    };
    let ended = json!({
        "outcome": outcome,
        "exit_code": job.exit_code,
        "signal": job.signal,
        "wall_ms": job.ran_ms(),
        "output_bytes": job.output_bytes,
    });
    serde_json::from_value(ended).map_or(WatchedState::Lost, WatchedState::Ended)
}

/// Likewise, of one at another place.
fn end_of_far(job: &FarJob, since: Timestamp) -> WatchedState {
    let outcome = match (job.exit_code, job.signal) {
        (Some(_), _) => "exited",
        (None, Some(_)) => "signalled",
        (None, None) => return WatchedState::Lost,
    };
    let begun = u64::try_from(since.as_millisecond()).unwrap_or_default();
    let ended = json!({
        "outcome": outcome,
        "exit_code": job.exit_code,
        "signal": job.signal,
        // When it was heard of: its own clock is that of its place.
        "wall_ms": job.seen_ms.saturating_sub(begun),
        "output_bytes": 0,
    });
    serde_json::from_value(ended).map_or(WatchedState::Lost, WatchedState::Ended)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "every caller makes its value on the spot"
    )]
    fn event(id: &str, second: i64, event: Value) -> FeedRecord {
        let time = Timestamp::from_second(second).unwrap().to_string();
        let mut line = json!({"v": 1, "id": id, "time": time});
        let fields = line.as_object_mut().unwrap();
        fields.extend(event.as_object().unwrap().clone());
        serde_json::from_value(line).unwrap()
    }

    /// One that asks, one that runs, one that failed and one that went well.
    pub(crate) fn some() -> WatchedCalls {
        let own = std::process::id();
        let begun = |command: &str, owner: &str| {
            json!({"event": "begun", "pid": own, "owner": owner, "profile": "default",
                "session": "s1", "command": command, "cwd": "/srv"})
        };
        let ended = |code: i32| {
            json!({"event": "ended", "outcome": "exited", "exit_code": code, "wall_ms": 1500,
                "output_bytes": 2048})
        };
        let mut calls = WatchedCalls::default();
        for (id, second, what) in [
            ("a", 1, begun("cargo test", "mcp:K3T9AZ2C.1")),
            ("b", 2, begun("npm run dev", "rpc:9QX41MHB.1")),
            ("c", 3, begun("git push --force", "mcp:K3T9AZ2C.1")),
            ("d", 4, begun("true", "cli:0")),
            ("a", 5, ended(101)),
            ("d", 6, ended(0)),
            (
                "c",
                7,
                json!({"event": "asks", "rule": "no_force_push", "message": "it loses history",
                    "part": [0, 16]}),
            ),
            ("unknown", 8, ended(0)),
        ] {
            calls.tell(event(id, second, what));
        }
        calls
    }

    fn ids(calls: &[&WatchedCall]) -> String {
        calls.iter().map(|call| call.id.as_str()).collect()
    }

    #[test]
    fn who_asks_comes_first_and_filters_choose() {
        let calls = some();
        assert_eq!(ids(&calls.wanted(WatchedFilter::All, "")), "cbda");
        assert_eq!(ids(&calls.wanted(WatchedFilter::Live, "")), "cb");
        assert_eq!(ids(&calls.wanted(WatchedFilter::Asking, "")), "c");
        assert_eq!(ids(&calls.wanted(WatchedFilter::Failed, "")), "a");
        assert_eq!(ids(&calls.wanted(WatchedFilter::All, "K3t9")), "ca");
        assert_eq!(ids(&calls.wanted(WatchedFilter::All, "NPM")), "b");
        assert_eq!(calls.count(), (1, 1));
        let words: Vec<String> = calls
            .wanted(WatchedFilter::All, "")
            .iter()
            .map(|call| call.word())
            .collect();
        assert_eq!(words, ["ASKS", "running", "exit 0", "exit 101"]);
    }

    #[test]
    fn a_job_at_another_place_is_what_its_place_said_of_it_and_never_lost_before() {
        let mut calls = WatchedCalls::default();
        let begun = json!({
            "event": "begun", "pid": 1, "owner": "cli:1", "profile": "default",
            "command": "make", "place": "far",
        });
        calls.tell(event("a", 100, begun));
        let placed = json!({"event": "placed", "place": "far", "node": "7.n1"});
        calls.tell(event("a", 100, placed));
        let ended = json!({
            "event": "ended", "outcome": "background", "job": "b", "wall_ms": 1,
            "output_bytes": 0,
        });
        calls.tell(event("a", 101, ended));
        calls.compare(&[], &[], &[]);
        let call = calls.get("a").unwrap();
        assert_eq!(
            (call.word(), call.command()),
            ("job b".to_owned(), "far/7.n1: make".to_owned())
        );
        let job = |is_alive: bool, exit_code: Option<i32>| -> FarJob {
            let told = json!({
                "id": "b", "alias": "far/7.n1:bg_1", "place": "far", "node": "7.n1",
                "owner": "cli:1", "command": "make", "state": "running", "is_alive": is_alive,
                "exit_code": exit_code, "signal": null, "started_ms": 0, "seen_ms": 103_000,
            });
            serde_json::from_value(told).unwrap()
        };
        calls.compare(&[], &[], &[job(true, None)]);
        assert_eq!(calls.get("a").unwrap().word(), "job far/7.n1:bg_1");
        calls.compare(&[], &[], &[job(false, Some(3))]);
        let call = calls.get("a").unwrap();
        assert_eq!(
            (call.is_live(), call.failed()),
            (false, true),
            "{}",
            call.word()
        );
    }

    #[test]
    fn a_call_whose_process_is_gone_is_lost() {
        let mut calls = some();
        let gone = json!({"event": "begun", "pid": i32::MAX, "owner": "x", "profile": "p", "command": "c"});
        calls.tell(event("e", 9, gone));
        calls.compare(&[], &[], &[]);
        assert_eq!(calls.get("e").unwrap().word(), "lost");
        assert_eq!(calls.get("b").unwrap().word(), "running");
        let line = calls
            .get("c")
            .unwrap()
            .to_json(Timestamp::from_second(10).unwrap());
        assert_eq!(
            (&line["rule"], &line["ms"]),
            (&json!("no_force_push"), &json!(7000))
        );
    }
}
