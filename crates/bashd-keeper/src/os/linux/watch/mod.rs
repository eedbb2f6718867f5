//! Telling which files a confined command was refused.
//!
//! ```text
//! keeper ── watcher   a fork of it, outside of the view: asks what the kernel says, and records
//!    └───── waiter    installs its filter of system calls, and hands its listener to the watcher
//! ```
//!
//! The filter reports calls that name files (`calls`) before they are made. The watcher reads the
//! name from the caller's memory, asks the kernel about that file in the caller's view (`judge`),
//! and lets the call go on. It is information only: the caller may change the name meanwhile, and
//! what holds is the kernel's word, which nothing here can widen. Calls that the filter refuses
//! anyway are reported as well, and answered with the error that they would have got; no answer to
//! them lets them go on, and if the watcher is gone, the kernel refuses them and all the others.
//!
//! The watcher is a process of its own for each shell, so that neither keeper nor engine waits for
//! a flood. It ends with its keeper.

mod calls;
mod judge;
mod listener;

pub(super) use calls::{MAY_BE_WITHOUT_PATH, watched};
pub(super) use judge::FileScene;

use super::descriptors::keep_only;
use super::fork::{Forked, exit_now, fork_unreported};
use super::record::{self, Recorder};
use super::{namespaces, tree};
use crate::refusals::{Dealings, RefusedKind};
use judge::Judge;
use listener::{Answer, CallListener};
use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What a process of ours is called, for those who look.
const NAME: &std::ffi::CStr = c"bashd-watcher";

/// The watcher of a confined shell.
pub struct HeldWatcher {
    pid: Pid,
    report: OwnedFd,
}

impl HeldWatcher {
    /// Its process: a child that no wait reports.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Everything that it has seen. Never waits for it.
    pub fn dealings(&self) -> Dealings {
        let mut dealings = record::read(&self.report);
        dealings.watch_lost = tree::stat(self.pid).is_none_or(|stat| stat.is_dead());
        dealings
    }
}

impl Drop for HeldWatcher {
    fn drop(&mut self) {
        // Nobody has reaped it, so its number means no other process.
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }
}

/// Starts a watcher; also returns where it expects the listener of the filter. The process must
/// have one thread.
pub(super) fn start(scene: FileScene) -> io::Result<(HeldWatcher, OwnedFd)> {
    let report = rustix::fs::memfd_create(c"bashd-files", MemfdFlags::CLOEXEC)?;
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let keeper = rustix::process::getpid();
    match fork_unreported()? {
        Forked::Parent(pid) => Ok((HeldWatcher { pid, report }, theirs)),
        Forked::Child => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            let has_parent = rustix::process::getppid() == Some(keeper);
            let _ = rustix::thread::set_name(NAME);
            namespaces::forget_arguments();
            // Asks as the command would, who has no rights but its user's.
            namespaces::lay_down_capabilities();
            if has_parent && keep_only(&[ours.as_raw_fd(), report.as_raw_fd()]).is_ok() {
                let _ = serve(&ours, scene, &Recorder::new(report));
            }
            exit_now(0)
        }
    }
}

/// Answers the calls of the command until it is gone.
fn serve(door: &OwnedFd, scene: FileScene, recorder: &Recorder) -> io::Result<()> {
    let mut listener = CallListener::receive(door)?;
    let mut judge = Judge::new(scene);
    loop {
        let Some(call) = listener.next()? else {
            continue;
        };
        let answer = if let Some(paths) = calls::named(&call) {
            for (kind, what) in judge.refused(&call, &paths, recorder) {
                // Another process may have its number by now.
                if listener.is_waiting(&call) {
                    recorder.refused(kind, &what);
                }
            }
            Answer::GoOn
        } else {
            let name = super::confine::name_of(call.number);
            recorder.refused(RefusedKind::Syscall, name);
            Answer::Refuse
        };
        listener.answer(&call, answer)?;
    }
}
