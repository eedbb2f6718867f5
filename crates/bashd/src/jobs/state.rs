//! A job's current state, read from its directory alone.

use super::directory::{self, AwaitedInput, CallTerms, Claim, JobKind, JobStatus, Lost, Spec};
use crate::errand;
use crate::exec::{EndedBy, Exit};
use crate::output;
use crate::plan::{Dealings, LimitsInForce, Streams};
use crate::screen::Size;
use bashd_keeper::job::abandoned;
use bashd_keeper::left_behind::LeftBehind;
use bashd_keeper::spool::{open_to_read, read_small};
use bashd_keeper::text;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes from the end of the output in which the last line is looked for.
pub(super) const LAST_LINE_BYTES: u64 = 400;

/// Which stage of its life a job is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs.
    Running,
    /// It runs, and one of its processes waits for input.
    WaitingForInput,
    /// Its shell ended, and processes that it started are still alive.
    Survivors,
    /// It ended by itself.
    Exited,
    /// A signal, its limit or somebody ended it.
    Killed,
    /// Its keeper is gone without a report: it was killed, or the machine went down.
    Lost,
}

impl JobState {
    /// Whether something of it still lives.
    pub fn is_alive(self) -> bool {
        match self {
            Self::Running | Self::WaitingForInput | Self::Survivors => true,
            Self::Exited | Self::Killed | Self::Lost => false,
        }
    }

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingForInput => "waiting_for_input",
            Self::Survivors => "survivors",
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }
}

/// A job as its directory shows it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own, with a yes or a no"
)]
pub struct Job {
    /// Its id, unique in the state directory.
    pub id: String,
    /// Its short name, among its owner's jobs.
    pub alias: String,
    /// The name that somebody gave it.
    pub name: Option<String>,
    /// Whose it is: front end and client.
    pub owner: String,
    /// Whether its owner's client is gone, so that another may take it over.
    pub earlier: bool,
    /// Which stage of its life it is in.
    pub state: JobState,
    /// How it became a job.
    pub kind: JobKind,
    /// The command.
    pub command: String,
    /// Its directory.
    pub cwd: String,
    /// The profile of the call.
    pub profile: String,
    /// Whether its output is shown without secrets.
    #[serde(skip)]
    pub hides_secrets: bool,
    /// The shell, which is also its process group.
    pub pid: i32,
    /// Milliseconds since 1970 at which it began.
    pub started_ms: u64,
    /// Milliseconds since 1970 at which it ended.
    pub ended_ms: Option<u64>,
    /// Milliseconds since it began.
    pub age_ms: u64,
    /// The shell's exit status.
    pub exit_code: Option<i32>,
    /// The signal that ended the shell.
    pub signal: Option<i32>,
    /// Who ended it, if it did not end by itself.
    pub ended_by: Option<EndedBy>,
    /// Why it is unknown how it ended, in the state `lost`.
    pub lost_because: Option<&'static str>,
    /// Bytes that it wrote.
    pub output_bytes: u64,
    /// Bytes that it wrote and that are no longer kept.
    pub dropped_bytes: u64,
    /// The last line that it wrote.
    pub last_line: String,
    /// The file that its output goes to.
    pub output_file: PathBuf,
    /// Whether its stdin stays open.
    pub stdin_open: bool,
    /// Columns and rows of its terminal, if it has one.
    pub terminal: Option<Size>,
    /// What it waits for, in the state `waiting_for_input`.
    pub waiting: Option<AwaitedInput>,
    /// What its shell left running, in the state `survivors`.
    pub left_behind: Vec<LeftBehind>,
    /// Whether the kernel killed one of its processes for lack of memory, if that is known.
    pub out_of_memory: bool,
    /// What it was refused, and whom it spoke to, if that is known.
    #[serde(skip)]
    pub dealings: Option<Dealings>,
    /// The limits that it runs under, or null.
    pub limits: Option<LimitsInForce>,
    /// How long it ran by a monotonic clock, once it has ended.
    #[serde(skip)]
    pub(crate) ran_for: Option<Duration>,
    /// Its directory.
    #[serde(skip)]
    pub(crate) directory: PathBuf,
    /// The directory in which its owner's client works, or worked.
    #[serde(skip)]
    pub(crate) home: String,
    /// What its call asked for.
    #[serde(skip)]
    pub(crate) call: CallTerms,
    /// Its time limit.
    #[serde(skip)]
    pub(crate) limit: Duration,
    /// Where the bytes of its streams are, once it has ended.
    #[serde(skip)]
    pub(crate) stored: Vec<directory::StoredStream>,
    /// Whether these counts may be too low: only the keeper knows what went into the ring.
    #[serde(skip)]
    pub(crate) has_spilled: bool,
}

impl Job {
    /// Reads a job; `None` if this is not a job's directory.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let spec: Spec = directory::read(path, directory::SPEC)?;
        if spec.version > directory::VERSION {
            return None;
        }
        let mut status: Option<JobStatus> = directory::read(path, directory::STATUS);
        let is_alive = directory::is_alive(path);
        let may_have_lived = |status: &JobStatus| !status.left_behind.is_empty();
        if !is_alive && status.as_ref().is_none_or(may_have_lived) {
            // A keeper that was killed: the next look does what it can't. If that fails, the
            // job is lost all the same.
            let abandoned = path.to_owned();
            errand::here_or_aside(move || drop(abandoned::settle(&abandoned)));
            // The keeper writes before it exits: what was missing at the first look may be there
            // now.
            status = directory::read(path, directory::STATUS);
        }
        let waiting = directory::read(path, directory::WAITING).filter(|_| is_alive);
        let state = state_of(status.as_ref(), is_alive, waiting.is_some());
        // A run whose call still waits has no short name.
        let claim = directory::read(path, directory::CLAIM).unwrap_or_else(|| Claim {
            owner: spec.owner.clone(),
            alias: spec.alias.clone(),
            ..Claim::default()
        });
        Some(Self::of(path, (spec, claim), status, state, waiting))
    }

    fn of(
        path: &Path,
        (spec, claim): (Spec, Claim),
        status: Option<JobStatus>,
        state: JobState,
        waiting: Option<AwaitedInput>,
    ) -> Self {
        let output_file = path.join(directory::OUTPUT);
        let size = fs::metadata(&output_file).map_or(0, |metadata| metadata.len());
        let exit = status.as_ref().map(|status| status.exit);
        let last_size = status.as_ref().and_then(|status| status.terminal);
        let streams = status.as_ref().map(|status| &status.streams);
        let sum = |part: fn(&directory::StoredStream) -> u64| {
            streams.map(|streams| streams.iter().map(part).sum())
        };
        let written_so_far = size.min(spec.head_bytes) + stderr_size(path, spec.streams);
        let is_settled = status.is_some() && state != JobState::Survivors;
        let dealings = status.as_ref().and_then(|status| status.dealings.clone());
        let out_of_memory = status.as_ref().is_some_and(|status| status.out_of_memory);
        Self {
            lost_because: (state == JobState::Lost).then(|| {
                let lost = status.as_ref().and_then(|status| status.lost);
                lost.unwrap_or_else(|| Lost::of(&spec)).reason()
            }),
            exit_code: exit.and_then(|exit| match exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) | Exit::Unknown => None,
            }),
            signal: exit.and_then(|exit| match exit {
                Exit::Signal(signal) => Some(signal),
                Exit::Code(_) | Exit::Unknown => None,
            }),
            ended_by: status.as_ref().and_then(|status| status.ended_by),
            ended_ms: status.as_ref().map(|status| status.ended_ms),
            ran_for: status
                .as_ref()
                .filter(|status| status.lost.is_none())
                .map(|status| Duration::from_micros(status.ran_for_us)),
            age_ms: directory::since_ms(spec.started_ms).as_millis() as u64,
            output_bytes: sum(|stream| stream.bytes)
                .filter(|_| is_settled)
                .unwrap_or(written_so_far),
            dropped_bytes: sum(|stream| stream.dropped).unwrap_or(0),
            last_line: last_line(&output_file, size, streams.filter(|_| is_settled)),
            has_spilled: !is_settled && size >= spec.head_bytes,
            stored: status
                .as_ref()
                .filter(|_| is_settled)
                .map(|status| status.streams.clone())
                .unwrap_or_default(),
            left_behind: status.map(|status| status.left_behind).unwrap_or_default(),
            limits: spec.limits.map(|mut limits| {
                limits.out_of_memory = out_of_memory;
                limits
            }),
            out_of_memory,
            dealings,
            name: read_small(&path.join(directory::NAME))
                .ok()
                .and_then(|name| String::from_utf8(name).ok()),
            id: spec.id,
            alias: claim.alias,
            owner: claim.owner,
            earlier: false,
            home: claim.home.unwrap_or_else(|| spec.cwd.clone()),
            call: claim.call,
            limit: Duration::from_millis(spec.limit_ms),
            state,
            kind: spec.kind,
            command: spec.command,
            cwd: spec.cwd,
            profile: spec.profile,
            hides_secrets: spec.hides_secrets,
            pid: spec.pid,
            started_ms: spec.started_ms,
            stdin_open: spec.stdin_open,
            terminal: last_size.or(spec.terminal),
            waiting,
            output_file,
            directory: path.to_owned(),
        }
    }

    /// How long it ran, or has run.
    pub fn ran_ms(&self) -> u64 {
        match self.ran_for {
            Some(ran_for) => ran_for.as_millis() as u64,
            None => self.age_ms,
        }
    }

    /// Whether its server's own limit ended its call's wait, so that somebody may wait on in the
    /// call's place.
    pub fn was_left_early(&self) -> bool {
        self.call.full_wait_ms.is_some()
    }

    /// Whether the call would still wait for it.
    pub fn is_waited_for(&self) -> bool {
        let wait = self.call.full_wait_ms.map(Duration::from_millis);
        // What its own limit ends by then is waited for until that is done.
        let is_time_left =
            wait.is_none_or(|wait| self.limit <= wait || Duration::from_millis(self.age_ms) < wait);
        !self.has_ended() && is_time_left
    }

    /// Its state in one word: `running`, `completed` (with status 0), `failed`, `cancelled`.
    pub fn outcome(&self) -> &'static str {
        if self.state.is_alive() && !self.has_ended() {
            return "running";
        }
        match (self.state, self.ended_by, self.exit_code) {
            (_, Some(EndedBy::Cancel), _) => "cancelled",
            (JobState::Exited | JobState::Survivors, None, Some(0)) => "completed",
            _ => "failed",
        }
    }

    /// Whether this is one of its names.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.id == name || self.alias == name || self.name.as_deref() == Some(name)
    }

    /// Whether its shell has ended, whatever happened to what it started.
    pub fn has_ended(&self) -> bool {
        !self.state.is_alive()
            || (self.state == JobState::Survivors && self.kind == JobKind::Background)
    }
}

fn state_of(status: Option<&JobStatus>, is_alive: bool, is_waiting: bool) -> JobState {
    match status {
        Some(status) if is_alive && !status.left_behind.is_empty() => JobState::Survivors,
        Some(status) if status.lost.is_some() => JobState::Lost,
        Some(status) => match (status.ended_by, status.exit) {
            (None, Exit::Code(_)) => JobState::Exited,
            (None, Exit::Signal(_) | Exit::Unknown) | (Some(_), _) => JobState::Killed,
        },
        None if is_alive && is_waiting => JobState::WaitingForInput,
        None if is_alive => JobState::Running,
        None => JobState::Lost,
    }
}

fn stderr_size(path: &Path, streams: Streams) -> u64 {
    if streams == Streams::Merged {
        return 0;
    }
    fs::metadata(path.join(directory::STDERR)).map_or(0, |metadata| metadata.len())
}

/// The last line as text: nothing in it acts on a terminal.
pub(super) fn plain_last_line(bytes: &[u8]) -> String {
    let line = text::last_line(bytes);
    output::plain(line.as_bytes())
}

fn last_line(file: &Path, size: u64, streams: Option<&Vec<directory::StoredStream>>) -> String {
    // What we appended to the file is not the command's.
    let last = streams
        .and_then(|streams| streams.first()?.segments.last().copied())
        .map(|segment| segment.at + (segment.upto - segment.from));
    let end = last.unwrap_or(size).min(size);
    if end == 0 {
        return String::new();
    }
    let from = end.saturating_sub(LAST_LINE_BYTES);
    let mut bytes = vec![0; (end - from) as usize];
    let read = open_to_read(file).and_then(|file| file.read_exact_at(&mut bytes, from));
    read.map_or_else(|_| String::new(), |()| plain_last_line(&bytes))
}

/// Every directory of the state directory's runs, oldest first: ids sort by time.
pub(crate) fn directories(runs: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    // By name: comparing paths part by part takes longer for a thousand than reading them.
    let mut names: Vec<_> = directories.map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    let runs = runs.to_owned();
    names.into_iter().map(move |name| runs.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every state; a new one does not compile until it is here.
    fn states() -> impl Iterator<Item = JobState> {
        std::iter::successors(Some(JobState::Running), |state| {
            Some(match state {
                JobState::Running => JobState::WaitingForInput,
                JobState::WaitingForInput => JobState::Survivors,
                JobState::Survivors => JobState::Exited,
                JobState::Exited => JobState::Killed,
                JobState::Killed => JobState::Lost,
                JobState::Lost => return None,
            })
        })
    }

    #[test]
    fn the_page_about_jobs_lists_every_state() {
        let page = include_str!("../../../../docs/jobs.md");
        let (_, table) = page.split_once("| state | meaning |").unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with("| `"));
        let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(listed, states().map(JobState::name).collect());
        for state in states() {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}
