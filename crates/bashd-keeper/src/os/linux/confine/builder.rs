//! Makes the namespaces of a confined program, and a process in them that waits to become it.
//!
//! ```text
//! keeper ── builder            makes the namespaces and the view; gone when the others are there
//!    ├────── init    (pid 1)   mounts /proc, makes the view the root, then only adopts orphans
//!    └────── waiter  (pid 2)   confined already; becomes the program when it is told which
//! ```
//!
//! The keeper itself stays outside of every namespace: it sees the program by the machine's
//! process ids, and keeps its rights. Builder and waiter have its memory (`borrowed`): it waits for
//! the builder, who may do there what the keeper may. Init is a whole fork, for it lives beside the
//! program. Init and waiter are siblings of the builder (`CLONE_PARENT`), so the keeper gets the
//! program's status as any other's. Init ends when its lifeline does, which the keeper holds, and
//! the kernel then ends everything in its pid namespace.

use super::super::borrowed::in_child;
use super::super::descriptors::keep_only;
use super::super::fork::{Forked, exit_now, fork_sibling};
use super::super::launch::Bonds;
use super::super::namespaces;
use super::super::network;
use super::super::seclusion::seclude;
use super::Trouble;
use super::filter;
use super::rules::FileRules;
use super::view::ConfinedView;
use super::waiter::WaiterPlace;
use crate::confinement::{Confinement, HostAccess, Level, Network};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use seccompiler::BpfProgram;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The longest answer: a pipe takes that much at once.
const LONGEST_ANSWER: usize = 4096;

/// Bytes of what was being done in it: JSON may need six for one.
const LONGEST_DOING: usize = 512;

/// The processes in a new pid namespace.
pub(super) struct Inhabitants {
    pub(super) init: Pid,
    waiting: Pid,
    /// Where the one that waits is.
    pub(super) waiter: WaiterPlace,
    /// How they get at hosts that they may connect to.
    pub(super) hosts_by: Option<HostAccess>,
    /// When it is closed, all of them end.
    lifeline: Option<OwnedFd>,
}

impl Inhabitants {
    /// The first process, the one that waits, and what keeps both alive: for somebody who sees to
    /// their end.
    pub(super) fn release(mut self) -> (Pid, Pid, Option<OwnedFd>) {
        (self.init, self.waiting, self.lifeline.take())
    }
}

impl Drop for Inhabitants {
    fn drop(&mut self) {
        if self.lifeline.is_some() {
            end(self.init, Some(self.waiting));
        }
    }
}

/// What the first process says to the one that waits for it.
#[derive(Debug, Serialize, Deserialize)]
enum InitAnswer {
    Ready,
    Failed { doing: String, errno: i32 },
}

impl From<Trouble> for InitAnswer {
    fn from(trouble: Trouble) -> Self {
        let mut doing = trouble.doing;
        doing.truncate(doing.floor_char_boundary(LONGEST_DOING));
        Self::Failed {
            doing,
            errno: trouble.error.raw_os_error().unwrap_or(libc::EINVAL),
        }
    }
}

/// The processes that a builder has made so far.
#[derive(Default)]
struct MadeProcesses {
    init: Option<Pid>,
    waiter: Option<Pid>,
}

/// Where processes of ours expect what is made inside.
#[derive(Default)]
pub(super) struct DoorsOut {
    /// The listeners of a proxy.
    pub(super) proxy: Option<OwnedFd>,
    /// The listener of a watcher.
    pub(super) watcher: Option<OwnedFd>,
}

/// Makes namespaces with a view, and a process that waits there.
pub(super) fn build(
    confinement: &Confinement,
    (view, rules): (&ConfinedView, &FileRules),
    doors: DoorsOut,
) -> Result<Inhabitants, Trouble> {
    let filter = filter::program(confinement, Level::Full)
        .map_err(Trouble::at("make a filter of system calls"))?;
    let (ends, lifeline) = pipe()?;
    let (place, inner) = WaiterPlace::new().map_err(Trouble::at("open a socket"))?;
    let site = BuildingSite {
        confinement,
        view,
        rules,
        filter: &filter,
        lifeline: &ends,
        waiter: &place,
        doors: &doors,
    };
    let mut made = MadeProcesses::default();
    let built = in_child(|| site.build(&mut made)).map_err(Trouble::at("make a process"));
    // What was inherited inside is theirs.
    drop((ends, inner, doors));
    match (built.and_then(|built| built), made.init, made.waiter) {
        (Ok(hosts_by), Some(init), Some(waiting)) => Ok(Inhabitants {
            init,
            waiting,
            waiter: place,
            hosts_by,
            lifeline: Some(lifeline),
        }),
        (built, init, waiting) => {
            if let Some(init) = init {
                end(init, waiting);
            }
            let nonsense = || Trouble::new("make processes", io::ErrorKind::InvalidData.into());
            Err(built.err().unwrap_or_else(nonsense))
        }
    }
}

/// Ends the first process of a pid namespace, a child of ours, and with it all that is in there:
/// one of these is our child, too. It is waited for first, since the namespace does not end before
/// everybody in it was waited for.
pub fn end(init: Pid, inhabitant: Option<Pid>) {
    let _ = rustix::process::kill_process(init, Signal::KILL);
    for pid in inhabitant.into_iter().chain([init]) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Trouble> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
        .map_err(|error| Trouble::new("open a pipe", error.into()))
}

fn say(to: &OwnedFd, answer: &InitAnswer) {
    if let Ok(text) = serde_json::to_vec(answer) {
        let _ = rustix::io::write(to, &text);
    }
}

fn hear(from: &OwnedFd) -> Result<InitAnswer, Trouble> {
    let mut buffer = [0; LONGEST_ANSWER];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer));
    let read = read.map_err(|error| Trouble::new("hear from a process", error.into()))?;
    let text = buffer.get(..read).unwrap_or_default();
    serde_json::from_slice(text)
        .map_err(|_| Trouble::new("hear from a process", io::ErrorKind::UnexpectedEof.into()))
}

/// What the builder works with. All of it is the keeper's.
struct BuildingSite<'a> {
    confinement: &'a Confinement,
    view: &'a ConfinedView,
    rules: &'a FileRules,
    filter: &'a BpfProgram,
    /// The end that init waits on.
    lifeline: &'a OwnedFd,
    waiter: &'a WaiterPlace,
    doors: &'a DoorsOut,
}

impl BuildingSite<'_> {
    /// `made` are the processes as soon as there are any. Returns how hosts are got at.
    fn build(&self, made: &mut MadeProcesses) -> Result<Option<HostAccess>, Trouble> {
        let network = self.confinement.network;
        // Where a proxy listens, nobody else may.
        let may_share = network == Network::None;
        namespaces::enter_new(network.is_own(), may_share)
            .map_err(Trouble::at("make namespaces"))?;
        let door = self.doors.proxy.as_ref();
        let hosts_by = door.map(|door| network::hand_out(door, self.confinement));
        let hosts_by = hosts_by
            .transpose()
            .map_err(Trouble::at("make the listeners of its proxy"))?;
        self.view.build(hosts_by)?;
        let (hears, says) = pipe()?;
        let forked = fork_sibling().map_err(Trouble::at("start the first process"))?;
        made.init = match forked {
            Forked::Parent(init) => Some(init),
            Forked::Child => be_init(self.lifeline, says),
        };
        drop(says);
        if let InitAnswer::Failed { doing, errno } = hear(&hears)? {
            return Err(Trouble::new(&doing, io::Error::from_raw_os_error(errno)));
        }
        // From here on this process sees the view, too.
        let ruleset = self.rules.ruleset();
        let ruleset = ruleset.map_err(Trouble::at("make a Landlock ruleset"))?;
        let bonds = Bonds {
            ruleset: ruleset.as_fd(),
            program: self.filter,
            watcher: self.doors.watcher.as_ref().map(AsFd::as_fd),
        };
        let started = self.waiter.start(&bonds, &mut made.waiter);
        started.map_err(|failed| Trouble::new("apply what confines it", failed.error))?;
        Ok(hosts_by)
    }
}

/// The life of the first process: it makes the view whole, and then has nothing to do but to exist.
/// Orphans are its children, and the kernel reaps them for it.
fn be_init(lifeline: &OwnedFd, says: OwnedFd) -> ! {
    let kept = keep_only(&[lifeline.as_raw_fd(), says.as_raw_fd()]);
    let kept = kept.map_err(Trouble::at("close what was inherited"));
    let said = kept.and_then(|()| ConfinedView::finish());
    let said = said.map_or_else(InitAnswer::from, |()| InitAnswer::Ready);
    let is_whole = matches!(said, InitAnswer::Ready);
    namespaces::forget_arguments();
    namespaces::adopt_quietly();
    seclude();
    say(&says, &said);
    drop(says);
    if is_whole {
        let _ = rustix::io::retry_on_intr(|| rustix::io::read(lifeline, &mut [0]));
    }
    exit_now(0)
}
