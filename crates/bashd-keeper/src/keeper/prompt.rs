//! Whether the command waits for input: the kernel is asked, nothing is guessed from text.
//!
//! A process that sleeps in `read` on the run's own stdin, with nothing unread there, waits for
//! input. One that waits in `select` or `poll` for that alone probably does. Event loops, set-id
//! programs and kernels that do not let us look are unknown, which is reported as nothing. A
//! terminal that reads lines without echo, while every process in its foreground sleeps, wants a
//! password: that shows without looking at any process, so it works for `sudo` as well.

use super::ending::RunScope;
use crate::job::directory::{Asks, AwaitedInput, Sure};
use crate::os::tree;
use crate::spool::SpoolWriter;
use rustix::process::Pid;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Silence before the first look.
pub(super) const FIRST_LOOK: Duration = Duration::from_millis(300);

/// Longest time between two looks at a command that stays silent.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Bytes of the last line that are shown as the prompt.
const PROMPT_BYTES: u64 = 400;

/// When the next look is due, and what the last one found.
pub(super) struct PromptWatch {
    pause: Duration,
    due: Instant,
    pub(super) found: Option<AwaitedInput>,
}

impl PromptWatch {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            pause: FIRST_LOOK,
            due: now + FIRST_LOOK,
            found: None,
        }
    }

    /// Something was written or sent: the silence starts over. Returns whether that is news.
    pub(super) fn stir(&mut self, now: Instant) -> bool {
        self.pause = FIRST_LOOK;
        self.due = now + FIRST_LOOK;
        self.found.take().is_some()
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Looks, and returns whether something changed.
    pub(super) fn look(
        &mut self,
        now: Instant,
        scope: &RunScope,
        stdin: Option<&EmptyStdin>,
        spool: &SpoolWriter,
    ) -> bool {
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.due = now + self.pause;
        let sure = stdin.and_then(|stdin| {
            somebody_waits_for(scope, stdin).or_else(|| foreground_sleeps(scope, stdin))
        });
        let found = sure.zip(stdin).map(|(sure, stdin)| AwaitedInput {
            prompt: spool.last_line(PROMPT_BYTES),
            sure,
            asks: stdin.asks,
        });
        let is_news = found != self.found;
        self.found = found;
        is_news
    }
}

/// The run's own stdin, if everything was read and more could come.
pub(super) struct EmptyStdin {
    /// What `/proc/PID/fd/N` shows for it.
    pub(super) links: Vec<String>,
    /// What a process that waits for it wants.
    pub(super) asks: Asks,
    /// The foreground process group of a terminal.
    pub(super) foreground: Option<Pid>,
}

/// Whether every process in the foreground of a terminal that wants a password sleeps.
fn foreground_sleeps(scope: &RunScope, stdin: &EmptyStdin) -> Option<Sure> {
    let foreground = stdin.foreground.filter(|_| stdin.asks == Asks::Password)?;
    let (mut somebody, mut all_sleep) = (false, true);
    scope.for_each(|member| {
        let is_in_it = rustix::process::getpgid(Some(member.pid)) == Ok(foreground);
        if let Some(stat) = tree::stat(member.pid).filter(|_| is_in_it) {
            somebody = true;
            all_sleep &= stat.state == 'S';
        }
    });
    (somebody && all_sleep).then_some(Sure::Probably)
}

/// Whether a process of the tree waits for its stdin.
fn somebody_waits_for(scope: &RunScope, stdin: &EmptyStdin) -> Option<Sure> {
    let mut found = None;
    scope.for_each(|member| {
        let sure = waits_for(member.pid, &stdin.links);
        if found.is_none() || sure == Some(Sure::Yes) {
            found = sure.or(found);
        }
    });
    found
}

fn waits_for(pid: Pid, links: &[String]) -> Option<Sure> {
    let pid = pid.as_raw_nonzero();
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let (descriptor, sure) = match blocked_on(&call)? {
        Awaited::Descriptor(descriptor, sure) => (descriptor, sure),
        Awaited::PolledAt(address) => (polled(pid.get(), address)?, Sure::Probably),
    };
    let target = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    links
        .iter()
        .any(|link| target.as_os_str() == link.as_str())
        .then_some(sure)
}

/// What a system call waits for.
#[derive(Debug, PartialEq, Eq)]
enum Awaited {
    /// This descriptor.
    Descriptor(u64, Sure),
    /// The only descriptor of the list at this address in the program's memory.
    PolledAt(u64),
}

/// The descriptor that a program polls for reading, from its memory.
fn polled(pid: i32, address: u64) -> Option<u64> {
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let (mut descriptor, mut events) = ([0; 4], [0; 2]);
    memory.read_exact_at(&mut descriptor, address).ok()?;
    memory
        .read_exact_at(&mut events, address.checked_add(4)?)
        .ok()?;
    let descriptor = i32::from_ne_bytes(descriptor);
    let events = i16::from_ne_bytes(events);
    (events & libc::POLLIN != 0)
        .then_some(descriptor)
        .and_then(|descriptor| descriptor.try_into().ok())
}

/// What a process waits for, by `/proc/PID/syscall`.
fn blocked_on(call: &str) -> Option<Awaited> {
    let mut words = call.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let first = hexadecimal(words.next()?)?;
    let second = hexadecimal(words.next()?)?;
    let only_stdin = Some(Awaited::Descriptor(0, Sure::Probably));
    match number {
        libc::SYS_read | libc::SYS_readv => Some(Awaited::Descriptor(first, Sure::Yes)),
        // `select` for reading, up to descriptor 0, can only mean stdin.
        libc::SYS_pselect6 if first == 1 && second != 0 => only_stdin,
        libc::SYS_ppoll if second == 1 => Some(Awaited::PolledAt(first)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll if second == 1 => Some(Awaited::PolledAt(first)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select if first == 1 && second != 0 => only_stdin,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_can_mean_stdin_count() {
        let read = format!("{} 0x0 0x7ffd 0x1 0x0 0x0 0x0 0x7f 0x7f\n", libc::SYS_read);
        let stdin = |sure| Some(Awaited::Descriptor(0, sure));
        assert_eq!(blocked_on(&read), stdin(Sure::Yes));
        let select = format!("{} 0x1 0x7ffd 0x0 0x0 0x0 0x0 0x7f", libc::SYS_pselect6);
        assert_eq!(blocked_on(&select), stdin(Sure::Probably));
        let pause = format!("{} 0x1 0x0 0x0 0x0 0x7ffd 0x0 0x7f", libc::SYS_pselect6);
        assert_eq!(blocked_on(&pause), None);
        let poll = format!("{} 0x7ffd 0x1 0x0 0x0 0x0 0x0 0x7f", libc::SYS_ppoll);
        assert_eq!(blocked_on(&poll), Some(Awaited::PolledAt(0x7ffd)));
        let polls = format!("{} 0x7ffd 0x2 0x0 0x0 0x0 0x0 0x7f", libc::SYS_ppoll);
        assert_eq!(blocked_on(&polls), None);
        let many = format!("{} 0x5 0x7ffd 0x0 0x0 0x0 0x0 0x7f", libc::SYS_pselect6);
        assert_eq!(blocked_on(&many), None);
        assert_eq!(blocked_on("running"), None);
        assert_eq!(blocked_on("-1 0x7ffd 0x7f"), None);
        assert_eq!(blocked_on(""), None);
    }
}
