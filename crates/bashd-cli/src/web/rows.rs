//! A row of the list: what is known of one call, from the feed and from its job.

use crate::watched::{WatchedCall, WatchedState};
use bashd::feed::AskedEffects;
use bashd::jobs::{Job, JobKind, JobState};
use serde::Serialize;

/// Bytes of a command in a row: enough to recognize it. The feed has no more.
const LONGEST_COMMAND: usize = 400;

/// One call or job, as the page shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct NowRow {
    pub(super) id: String,
    /// `asks`, `running`, `waiting` (for input), `job`, `survivors`, `ended` or `lost`.
    state: &'static str,
    /// The state in a few letters, for people.
    word: String,
    failed: bool,
    owner: String,
    session: Option<String>,
    profile: String,
    place: Option<String>,
    command: String,
    cwd: String,
    /// Milliseconds since 1970 at which it began.
    since: i64,
    /// How long it took, once it has ended, in milliseconds.
    took: Option<u64>,
    bytes: u64,
    last_line: String,
    /// The name of its job.
    job: Option<String>,
    error: Option<String>,
    /// Why it asks.
    question: Option<RowQuestion>,
    /// What its process waits for.
    prompt: Option<String>,
}

/// What is asked about a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct RowQuestion {
    rule: String,
    message: String,
    /// The part of the command that it is about, in characters as scripts count them.
    part: Option<(usize, usize)>,
    /// What the command did, if that is what it is about.
    effects: Option<AskedEffects>,
}

impl NowRow {
    /// What its command did, if it asks about that.
    pub(super) fn asked_effects(&self) -> Option<AskedEffects> {
        self.question.as_ref()?.effects.clone()
    }

    /// Whether it is under way.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.state, "ended" | "lost")
    }

    /// Whether its process is gone, which only a look tells.
    pub(super) fn is_lost(&self) -> bool {
        self.state == "lost"
    }
}

/// The row of a call, of a job, or of both.
pub(super) fn row(call: Option<&WatchedCall>, job: Option<&Job>) -> Option<NowRow> {
    match (call, job) {
        (Some(call), job) => Some(of_call(call, job)),
        (None, Some(job)) => Some(of_job(job)),
        (None, None) => None,
    }
}

fn of_call(call: &WatchedCall, job: Option<&Job>) -> NowRow {
    let begun = &call.begun;
    let (mut took, mut error, mut question) = (None, None, None);
    let (mut place, mut cwd) = (begun.place.clone(), begun.cwd.clone());
    let state = match &call.state {
        WatchedState::Asks(asks) => {
            question = Some(RowQuestion {
                rule: asks.rule.clone(),
                message: asks.message.clone(),
                part: asks.part.and_then(|part| units(&begun.command, part)),
                effects: asks.effects.clone(),
            });
            "asks"
        }
        WatchedState::Running => job.map_or("running", live_word),
        WatchedState::Job(_) => job.map_or("job", live_word),
        WatchedState::Ended(ended) => {
            took = Some(ended.wall_ms);
            error.clone_from(&ended.error);
            place = ended.place.clone().or(place);
            if !ended.cwd.is_empty() {
                cwd.clone_from(&ended.cwd);
            }
            "ended"
        }
        WatchedState::Lost => "lost",
    };
    let name = match &call.state {
        WatchedState::Job(name) => Some(name.clone()),
        _ => job.and_then(name_of),
    };
    NowRow {
        id: call.id.clone(),
        state,
        word: if state == "waiting" {
            "waits".to_owned()
        } else {
            call.word()
        },
        failed: call.failed(),
        owner: begun.owner.clone(),
        session: begun.session.clone(),
        profile: begun.profile.clone(),
        place,
        command: begun.command.clone(),
        // What the feed does not name, its job does.
        cwd: match job {
            Some(job) if cwd.is_empty() => job.cwd.clone(),
            _ => cwd,
        },
        since: call.since.as_millisecond(),
        took,
        bytes: call.bytes,
        last_line: job.map(|job| job.last_line.clone()).unwrap_or_default(),
        job: name,
        error,
        question,
        prompt: job.and_then(prompt_of),
    }
}

/// A job whose call the feed has forgotten.
fn of_job(job: &Job) -> NowRow {
    let is_live = job.state.is_alive();
    let state = match job.state {
        JobState::Lost => "lost",
        _ if is_live => live_word(job),
        _ => "ended",
    };
    let word = match (job.exit_code, job.signal) {
        _ if state == "waiting" => "waits".to_owned(),
        _ if is_live => format!("job {}", name_of(job).unwrap_or_default()),
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "lost".to_owned(),
    };
    NowRow {
        id: job.id.clone(),
        state,
        word,
        failed: !is_live && job.outcome() != "completed",
        owner: job.owner.clone(),
        session: None,
        profile: job.profile.clone(),
        place: None,
        command: cut(&job.command),
        cwd: job.cwd.clone(),
        since: job.started_ms.cast_signed(),
        took: (!is_live).then(|| job.ran_ms()),
        bytes: job.output_bytes,
        last_line: job.last_line.clone(),
        job: name_of(job),
        error: None,
        question: None,
        prompt: prompt_of(job),
    }
}

fn live_word(job: &Job) -> &'static str {
    match (job.state, job.kind) {
        (JobState::WaitingForInput, _) => "waiting",
        (JobState::Survivors, _) => "survivors",
        (_, JobKind::Foreground) => "running",
        _ => "job",
    }
}

fn name_of(job: &Job) -> Option<String> {
    let name = job.name.as_ref().unwrap_or(&job.alias);
    Some(name.clone()).filter(|name| !name.is_empty())
}

fn prompt_of(job: &Job) -> Option<String> {
    job.waiting.as_ref().map(|waiting| waiting.prompt.clone())
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(LONGEST_COMMAND);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// A range of bytes in the units by which scripts of pages count, UTF-16.
fn units(text: &str, (start, end): (usize, usize)) -> Option<(usize, usize)> {
    let count = |part: &str| part.encode_utf16().count();
    let before = count(text.get(..start)?);
    Some((before, before + count(text.get(start..end)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::{WatchedFilter, some_calls};

    #[test]
    fn a_row_says_what_is_asked_and_where() {
        let calls = some_calls();
        let asking = calls.wanted(WatchedFilter::Asking, "");
        let row = row(asking.first().copied(), None).unwrap();
        assert_eq!((row.state, row.word.as_str()), ("asks", "ASKS"));
        assert_eq!(row.question.unwrap().part, Some((0, 16)));
        let failed = calls.wanted(WatchedFilter::Failed, "");
        let row = super::row(failed.first().copied(), None).unwrap();
        assert!(row.failed && !row.is_live() && row.took == Some(1500));
    }

    #[test]
    fn parts_are_counted_as_scripts_count_them() {
        assert_eq!(units("äb😀c", (2, 7)), Some((1, 4)));
        assert_eq!(units("äb", (1, 2)), None);
    }
}
