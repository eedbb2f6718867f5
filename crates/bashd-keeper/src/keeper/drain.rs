//! The drain: how long a run whose shell has ended waits for output while something of it lives.
//!
//! A short silence ends it, unless somebody still works on the command's last output.
//! `command > >(filter)`: the shell does not wait for the filter, which reads what the command left
//! in a pipe and then writes to the run's own. Silence does not tell it from a server that was left
//! running, but its stdin does: that is a pipe without writers, so the filter is about to reach the
//! end of its input. The stdin of a server is `/dev/null`, and the pipe of `server | tee log &` has
//! a writer. The kernel is asked for that; nothing is guessed from text.
//!
//! A filter that the shell forked just before it ended may not have had its turn on a busy machine.
//! Then it has both ends of its pipe, or has not moved the reading end to stdin yet.
//!
//! Filters in a row end one after the other, and one may end while the processes are being looked
//! at: the next one was seen with a writer, the writer was not seen any more. So where somebody
//! reads a pipe, only two looks that find the same processes end the drain.

use super::ending::RunScope;
use super::life::{KeeperRun, Phase};
use super::pump::Pump;
use crate::os::tree;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::process::Pid;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// How many processes one look examines: a filter does not have more.
const MOST_EXAMINED: usize = 256;

/// Shortest time between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// A drain: when it began to be silent, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drain {
    last_output: Instant,
    silence: Duration,
    /// Its bound, however much is written.
    until: Instant,
    /// Its bound while somebody works on the last of the output.
    finish_by: Instant,
    /// When to look again for who does.
    next_look: Instant,
    /// Who had the run's pipes at the last look.
    holders: Option<u64>,
}

/// What has become of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drained {
    /// It goes on.
    NotYet,
    /// There is nothing more to wait for.
    Whole,
    /// Somebody still works on the output, and has had the time for it.
    Unfinished,
}

impl Drain {
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_output = now;
    }

    /// When it must be looked at, even if nothing is heard.
    pub(super) fn due(&self) -> Instant {
        let silent = self.last_output + self.silence;
        self.until.min(silent).max(self.next_look)
    }

    /// When to look again, if what a look found is worth waiting for.
    fn after(&self, outlook: Outlook, now: Instant) -> Option<Instant> {
        let has_changed = outlook.reads_pipe && self.holders != Some(outlook.holders);
        let (bound, pause) = match outlook {
            Outlook {
                is_finishing: true, ..
            } => (self.finish_by, self.silence.max(LOOK)),
            Outlook {
                has_unread: true, ..
            } => (self.until, self.silence.max(LOOK)),
            Outlook { .. } if has_changed => (self.finish_by, LOOK),
            Outlook { .. } => return None,
        };
        (now < bound).then(|| bound.min(now + pause))
    }
}

impl KeeperRun {
    /// The shell has just ended. What comes later than the deadline is not waited for.
    pub(super) fn begin_drain(&mut self, now: Instant) {
        let until = now + self.drain_total;
        let deadline = self.deadline.unwrap_or(until).max(until);
        self.phase = Phase::Draining(Drain {
            last_output: now,
            silence: self.silence,
            until,
            finish_by: (now + self.drain_finish).max(until).min(deadline),
            next_look: now,
            holders: None,
        });
    }

    /// Whether a drain is over now.
    pub(super) fn look_at_drain(&mut self, mut drain: Drain, now: Instant) -> Drained {
        if self.is_silent_for_good() {
            return Drained::Whole;
        }
        if now < drain.due() {
            return Drained::NotYet;
        }
        let outlook = Outlook::of(&self.scope, &self.pumps);
        if let Some(next_look) = drain.after(outlook, now) {
            drain.next_look = next_look;
            drain.holders = Some(outlook.holders);
            self.phase = Phase::Draining(drain);
            return Drained::NotYet;
        }
        if outlook.is_finishing {
            Drained::Unfinished
        } else {
            Drained::Whole
        }
    }
}

/// What one look found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Outlook {
    /// Something will write the rest of the output, and has all of its input.
    pub(super) is_finishing: bool,
    /// Something has input that it has not read yet, and may write more for it.
    pub(super) has_unread: bool,
    /// Something has a pipe as its stdin, or may get one.
    reads_pipe: bool,
    /// A number for the processes that hold the run's pipes, which changes with them.
    holders: u64,
}

impl Outlook {
    /// Looks at every process of the run that holds one of these pipes.
    pub(super) fn of(scope: &RunScope, pumps: &[Pump]) -> Self {
        let ours: Vec<u64> = pumps.iter().filter_map(pipe_number).collect();
        let mut outlook = Self::default();
        let mut examined = 0;
        scope.for_each(|member| {
            examined += 1;
            if examined > MOST_EXAMINED || outlook.is_finishing || ours.is_empty() {
                return;
            }
            let pipes = pipes_of(member.pid);
            if pipes.iter().any(|end| ours.contains(&end.number)) {
                let mut hasher = DefaultHasher::new();
                (outlook.holders, member.pid.as_raw_nonzero()).hash(&mut hasher);
                outlook.holders = hasher.finish();
                outlook.add(member.pid, &pipes);
            }
        });
        outlook
    }

    fn add(&mut self, pid: Pid, pipes: &[PipeEnd]) {
        let inputs = pipes.iter().filter(|end| end.is_read());
        for end in inputs {
            let is_stdin = end.descriptor == 0;
            if !is_stdin && !is_being_set_up(pid) {
                continue;
            }
            self.reads_pipe = true;
            let Some(state) = end.look(pid) else { continue };
            self.is_finishing |= state.has_ended || !is_stdin && end.has_other_end_in(pipes);
            self.has_unread |= is_stdin && state.has_unread;
        }
    }
}

/// One end of an anonymous pipe that a process holds.
struct PipeEnd {
    descriptor: u32,
    number: u64,
    /// The permissions of its entry in `/proc`: what it was opened for.
    mode: u32,
}

/// What the reading end of a pipe tells.
struct PipeState {
    /// Nobody can write to it any more.
    has_ended: bool,
    has_unread: bool,
}

impl PipeEnd {
    fn is_read(&self) -> bool {
        self.mode & 0o400 != 0
    }

    fn has_other_end_in(&self, pipes: &[Self]) -> bool {
        let is_other = |end: &Self| end.number == self.number && end.mode & 0o200 != 0;
        pipes.iter().any(is_other)
    }

    /// Opens it once more and asks, without reading; `None` if we may not.
    fn look(&self, pid: Pid) -> Option<PipeState> {
        let path = format!("/proc/{}/fd/{}", pid.as_raw_nonzero(), self.descriptor);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        if number_of(&pipe)? != self.number {
            return None; // another file by now
        }
        let mut fds = [PollFd::new(&pipe, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut fds, Some(&at_once)).ok()?;
        let found = fds.first()?.revents();
        Some(PipeState {
            has_ended: found.contains(PollFlags::HUP),
            has_unread: found.contains(PollFlags::IN),
        })
    }
}

/// Whether a process is a fork that has a turn, or waits for one or for memory, and runs no program
/// of its own yet.
fn is_being_set_up(pid: Pid) -> bool {
    tree::stat(pid).is_some_and(|stat| stat.is_mere_fork && matches!(stat.state, 'R' | 'D'))
}

/// Every pipe that a process holds; none if we may not look.
fn pipes_of(pid: Pid) -> Vec<PipeEnd> {
    let entries = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let entries = entries.into_iter().flatten().flatten();
    let ends = entries.filter_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        let number = target.to_str()?.strip_prefix("pipe:[")?.strip_suffix(']')?;
        Some(PipeEnd {
            descriptor: entry.file_name().to_str()?.parse().ok()?,
            number: number.parse().ok()?,
            mode: fs::symlink_metadata(entry.path()).ok()?.mode(),
        })
    });
    ends.collect()
}

/// What `/proc` calls the pipe of a pump; `None` for a terminal, or if it has ended.
fn pipe_number(pump: &Pump) -> Option<u64> {
    number_of(pump.pipe()?)
}

fn number_of(fd: impl std::os::fd::AsFd) -> Option<u64> {
    let stat = rustix::fs::fstat(fd).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Fifo).then_some(stat.st_ino)
}
