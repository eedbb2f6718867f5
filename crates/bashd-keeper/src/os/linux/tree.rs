//! The process tree below a process, read from `/proc`.
//!
//! A pid that is read from a file may be somebody else's by the time it is used. A caller that
//! sends a signal therefore either knows that the pid is its own unreaped child (which can't be
//! reused), or holds a pidfd and has checked *after opening it* that the process is still in the
//! tree.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// What `/proc/PID/stat` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Name of the program.
    pub name: String,
    /// State letter: `Z` is a zombie, `D` sleeps uninterruptibly.
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// The kernel's session that it is in.
    pub session: i32,
    /// Whether it has run its last instruction and only the kernel's cleanup remains.
    pub is_exiting: bool,
    /// Whether it was forked and has not begun another program since.
    pub is_mere_fork: bool,
    /// When it started, in clock ticks since boot.
    pub started_ticks: u64,
}

/// The kernel's flag (`PF_EXITING`) for a process that has begun to exit.
const EXITING: u32 = 0x4;

/// The kernel's flag (`PF_FORKNOEXEC`) for a process that still runs its parent's program.
const MERE_FORK: u32 = 0x40;

impl Stat {
    /// Whether only its exit status is left.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Reads `/proc/PID/stat`.
pub fn stat(pid: Pid) -> Option<Stat> {
    stat_at(&format!("/proc/{}/stat", pid.as_raw_nonzero()))
}

fn stat_at(path: &str) -> Option<Stat> {
    parse_stat(&String::from_utf8_lossy(&fs::read(path).ok()?))
}

/// `/proc/PID/task/TID/stat` of each thread; the first thread may be dead while others live.
pub fn threads(pid: Pid) -> Vec<Stat> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| stat_at(task.path().join("stat").to_str()?))
        .collect()
}

/// The name is in parentheses and may itself contain spaces and parentheses: the last one counts.
fn parse_stat(text: &str) -> Option<Stat> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let flags: u32 = fields.nth(2)?.parse().ok()?;
    Some(Stat {
        name: name.to_owned(),
        state,
        parent,
        session,
        is_exiting: flags & EXITING != 0,
        is_mere_fork: flags & MERE_FORK != 0,
        started_ticks: fields.nth(12)?.parse().ok()?,
    })
}

/// The direct children of a process.
pub fn children(pid: Pid) -> Vec<Pid> {
    children_listed(pid).unwrap_or_else(|| {
        scan_parents()
            .remove(&pid.as_raw_nonzero().get())
            .unwrap_or_default()
    })
}

/// The kernel's list of the children of a single-threaded process, held open: looking again is one
/// system call, and a reused pid is not mistaken for it.
pub struct ChildList(OwnedFd);

impl ChildList {
    /// Opens it; `None` if the kernel was built without such lists.
    pub fn open(pid: Pid) -> Option<Self> {
        let pid = pid.as_raw_nonzero();
        let path = format!("/proc/{pid}/task/{pid}/children");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        Some(Self(file))
    }

    /// Whether these are all its children, including dead ones that nobody has reaped.
    pub fn is(&self, pids: &[Pid]) -> bool {
        let mut buffer = [0; 64];
        let Ok(count) = rustix::io::pread(&self.0, &mut buffer, 0) else {
            return false;
        };
        let expected = pids.iter().map(|pid| format!("{} ", pid.as_raw_nonzero()));
        buffer.get(..count) == Some(expected.collect::<String>().as_bytes())
    }
}

/// From the kernel's own list, one file per thread; `None` if the kernel was built without it.
fn children_listed(pid: Pid) -> Option<Vec<Pid>> {
    let mut found = Vec::new();
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return Some(found); // it is gone
    };
    for task in tasks.flatten() {
        match children_of_task(&task.path()) {
            Ok(children) => found.extend(children),
            Err(error) if error.kind() == io::ErrorKind::NotFound && task.path().exists() => {
                return None;
            }
            Err(_) => {}
        }
    }
    Some(found)
}

fn children_of_task(task: &Path) -> io::Result<Vec<Pid>> {
    let list = fs::read_to_string(task.join("children"))?;
    let pids = list.split_ascii_whitespace();
    Ok(pids
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect())
}

/// Ends the processes that a thread of ours has started and not waited for, such as one that can't
/// load its program. Nobody else can have their numbers before that.
pub fn kill_children_of_thread(thread: Pid) {
    let task = format!("/proc/self/task/{}", thread.as_raw_nonzero());
    for child in children_of_task(Path::new(&task)).unwrap_or_default() {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
}

/// Every process that can be seen.
pub fn all() -> HashMap<i32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, stat(Pid::from_raw(pid)?)?))
    });
    found.collect()
}

/// By scanning every process: parent to children.
fn scan_parents() -> HashMap<i32, Vec<Pid>> {
    let mut by_parent: HashMap<i32, Vec<Pid>> = HashMap::new();
    for (pid, stat) in all() {
        let children = by_parent.entry(stat.parent).or_default();
        children.extend(Pid::from_raw(pid));
    }
    by_parent
}

/// A process of the tree, held so that its pid cannot come to mean another.
pub struct Member {
    /// Its pid.
    pub pid: Pid,
    held: HeldBy,
}

/// What tells that a pid still means the same process.
enum HeldBy {
    Fd(OwnedFd),
    /// When it started, where the system has no pidfd (gVisor): compared before each signal, which
    /// leaves a moment between the two.
    Start(u64),
}

impl Member {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match &self.held {
            HeldBy::Fd(fd) => Ok(rustix::process::pidfd_send_signal(fd, signal)?),
            HeldBy::Start(started) => {
                let is_same = stat(self.pid).is_some_and(|stat| stat.started_ticks == *started);
                if !is_same {
                    return Err(rustix::io::Errno::SRCH.into());
                }
                Ok(rustix::process::kill_process(self.pid, signal)?)
            }
        }
    }
}

/// Whether a walk continues below a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descend {
    /// Its descendants are visited too.
    Yes,
    /// They are not.
    No,
}

/// Visits every process below this one, parents first, each once.
///
/// A process whose parent dies while we walk becomes our own child, so our children are listed
/// again until none of them is new. One that is born meanwhile may be missed; its parent is not.
pub fn for_each_descendant(mut visit: impl FnMut(&Member) -> Descend) {
    let own = rustix::process::getpid();
    let (mut parents, mut seen) = (vec![own], HashSet::new());
    while let Some(parent) = parents.pop() {
        let listed = children(parent).into_iter();
        let new: Vec<Pid> = listed.filter(|&pid| seen.insert(pid)).collect();
        if parent == own && !new.is_empty() {
            parents.push(own);
        }
        for pid in new {
            let fd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
                Ok(fd) => Some(fd),
                Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => None,
                Err(_) => continue,
            };
            let Some(stat) = stat(pid) else {
                continue;
            };
            let is_ours = stat.parent == parent.as_raw_nonzero().get() || stat.parent == own_pid();
            let held = fd.map_or(HeldBy::Start(stat.started_ticks), HeldBy::Fd);
            if is_ours && visit(&Member { pid, held }) == Descend::Yes {
                parents.push(pid);
            }
        }
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The command line of a process for people: its arguments, else its name in brackets.
pub fn command_line(pid: Pid) -> String {
    /// Enough to recognize it by.
    const LONGEST: usize = 200;
    let raw = arguments(pid);
    let words: Vec<_> = raw
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
    let line = if words.is_empty() {
        format!(
            "[{}]",
            stat(pid).map_or_else(|| "?".to_owned(), |stat| stat.name)
        )
    } else {
        words.join(" ")
    };
    line.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST)
        .collect()
}

/// The arguments of a process. During an exec there is a moment without any: that is waited out.
fn arguments(pid: Pid) -> Vec<u8> {
    const LOOKS: usize = 5;
    const PAUSE: Duration = Duration::from_millis(1);
    for _ in 0..LOOKS {
        let raw = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        // An exiting process has none, and will not get any.
        let is_alive = || stat(pid).is_some_and(|stat| !stat.is_dead() && !stat.is_exiting);
        if !raw.is_empty() || !is_alive() {
            return raw;
        }
        std::thread::sleep(PAUSE);
    }
    Vec::new()
}

/// How long a process has existed, in milliseconds.
pub fn age_ms(pid: Pid) -> u64 {
    let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
    stat(pid).map_or(0, |stat| {
        ms_since_boot().saturating_sub(stat.started_ticks * 1000 / ticks_per_second)
    })
}

/// Clock ticks since boot, by which start times are counted.
pub fn ticks_since_boot() -> u64 {
    ms_since_boot() * rustix::param::clock_ticks_per_second() / 1000
}

fn ms_since_boot() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_name_with_parentheses_and_blanks_is_parsed() {
        let text = "7 (a) b (c)) S 3 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7";
        let stat = parse_stat(text);
        let expected = Stat {
            name: "a) b (c)".into(),
            state: 'S',
            parent: 3,
            session: 7,
            is_exiting: false,
            is_mere_fork: false,
            started_ticks: 12345,
        };
        assert_eq!(stat, Some(expected));
    }

    #[test]
    fn what_exits_is_told_by_its_flag() {
        let line = |flags: u32| format!("7 (a) R 3 7 7 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 1 0 1 6");
        let is_exiting = |flags| parse_stat(&line(flags)).map(|stat| stat.is_exiting);
        assert_eq!(is_exiting(0x0040_0100), Some(false));
        assert_eq!(is_exiting(0x0040_0104), Some(true));
        let is_mere_fork = |flags| parse_stat(&line(flags)).map(|stat| stat.is_mere_fork);
        assert_eq!(is_mere_fork(0x0040_0100), Some(false));
        assert_eq!(is_mere_fork(0x0040_0140), Some(true));
    }

    #[test]
    fn a_torn_stat_line_is_nothing() {
        assert_eq!(parse_stat("7 (a"), None);
        assert_eq!(parse_stat("7 (a) S 3"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a parent that the test ends itself"
    )]
    fn a_list_of_children_is_read_again_and_again() {
        let mut parent = std::process::Command::new("bash")
            .args(["-c", "sleep 60 & read; kill $!; wait; echo; read"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&parent);
        let list = ChildList::open(pid).unwrap();
        let child = loop {
            if let [child] = children(pid)[..] {
                break child;
            }
            std::thread::yield_now();
        };
        assert!(list.is(&[child]) && !list.is(&[]) && !list.is(&[child, pid]));
        let mut stdin = parent.stdin.take().unwrap();
        stdin.write_all(b"\n").unwrap();
        let mut line = [0];
        parent.stdout.take().unwrap().read_exact(&mut line).unwrap();
        assert!(list.is(&[]) && !list.is(&[child]));
        drop(stdin);
        parent.wait().unwrap();
        assert!(!list.is(&[child]));
    }

    #[test]
    fn the_scan_finds_what_the_list_finds() {
        let own = rustix::process::getpid();
        let parent = stat(own).map(|stat| stat.parent).and_then(Pid::from_raw);
        let listed = scan_parents();
        let parent = parent
            .map(|pid| pid.as_raw_nonzero().get())
            .unwrap_or_default();
        assert!(listed.get(&parent).is_some_and(|pids| pids.contains(&own)));
    }
}
