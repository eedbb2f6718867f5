//! Makes the namespaces of a confined program, and a process in them that waits to become it.
//!
//! ```text
//! keeper ── builder            makes the namespaces and the view; gone when the others are there
//!    ├────── init    (pid 1)   mounts /proc, makes the view the root, then only adopts orphans
//!    └────── waiter  (pid 2)   confined already; becomes the program when it is told which
//! ```
//!
//! The keeper itself stays outside of every namespace: it sees the program by the machine's
//! process ids, and keeps its rights. All of them are whole forks, so they may allocate; init and
//! waiter are siblings of the builder (`CLONE_PARENT`), so the keeper gets the program's status as
//! any other's. Init ends when its lifeline does, which the keeper holds, and the kernel then ends
//! everything in its pid namespace.

use super::super::descriptors::keep_only;
use super::super::fork::{Forked, exit_now, fork, fork_sibling};
use super::super::launch::Bonds;
use super::super::namespaces;
use super::super::network;
use super::super::seclusion::seclude;
use super::Trouble;
use super::filter;
use super::rules::FileRules;
use super::view::ConfinedView;
use super::waiter::{Waiter, wait_inside};
use crate::confinement::{Confinement, HostAccess, Level};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use seccompiler::BpfProgram;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The longest answer: a pipe takes that much at once.
const LONGEST_ANSWER: usize = 4096;

/// The processes in a new pid namespace.
pub(super) struct Inhabitants {
    pub(super) init: Pid,
    pub(super) waiter: Waiter,
    /// How they get at hosts that they may connect to.
    pub(super) hosts_by: Option<HostAccess>,
    /// When it is closed, all of them end.
    lifeline: Option<OwnedFd>,
}

impl Inhabitants {
    /// The first process, the one that waits, and what keeps both alive: for somebody who sees to
    /// their end.
    pub(super) fn release(mut self) -> (Pid, Pid, Option<OwnedFd>) {
        (self.init, self.waiter.pid, self.lifeline.take())
    }
}

impl Drop for Inhabitants {
    fn drop(&mut self) {
        if self.lifeline.is_some() {
            end(self.init, Some(self.waiter.pid));
        }
    }
}

/// What a process says to the one that waits for it.
#[derive(Debug, Serialize, Deserialize)]
enum BuilderAnswer {
    Ready,
    Built {
        init: i32,
        waiter: i32,
        hosts_by: Option<HostAccess>,
    },
    /// What was made until then is to be ended.
    Failed {
        doing: String,
        errno: i32,
        init: Option<i32>,
    },
}

impl From<Trouble> for BuilderAnswer {
    fn from(trouble: Trouble) -> Self {
        let mut doing = trouble.doing;
        doing.truncate(LONGEST_ANSWER / 2);
        Self::Failed {
            doing,
            errno: trouble.error.raw_os_error().unwrap_or(libc::EINVAL),
            init: None,
        }
    }
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
    let (answer, says) = pipe()?;
    let (ends, lifeline) = pipe()?;
    let (socket, inner) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| Trouble::new("open a socket", error.into()))?;
    let forked = fork().map_err(Trouble::at("fork"))?;
    let builder = match forked {
        Forked::Parent(builder) => builder,
        Forked::Child => {
            drop((answer, lifeline, socket));
            let site = BuildingSite {
                confinement,
                view,
                rules,
                filter: &filter,
                lifeline: ends,
                socket: inner,
                doors,
            };
            let mut made = None;
            let mut said = site.build(&mut made).unwrap_or_else(BuilderAnswer::from);
            if let BuilderAnswer::Failed { init, .. } = &mut said {
                *init = made.map(number);
            }
            say(&says, &said);
            exit_now(0)
        }
    };
    drop((says, ends, inner, doors));
    let heard = hear(&answer);
    let _ = rustix::process::waitpid(Some(builder), WaitOptions::empty());
    let nonsense = || Trouble::new("hear from a process", io::ErrorKind::InvalidData.into());
    match heard? {
        BuilderAnswer::Built {
            init,
            waiter,
            hosts_by,
        } => {
            let pids = Pid::from_raw(init).zip(Pid::from_raw(waiter));
            let (init, pid) = pids.ok_or_else(nonsense)?;
            Ok(Inhabitants {
                init,
                waiter: Waiter { pid, socket },
                hosts_by,
                lifeline: Some(lifeline),
            })
        }
        BuilderAnswer::Failed { doing, errno, init } => {
            if let Some(init) = init.and_then(Pid::from_raw) {
                end(init, None);
            }
            Err(Trouble::new(&doing, io::Error::from_raw_os_error(errno)))
        }
        BuilderAnswer::Ready => Err(nonsense()),
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

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Trouble> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
        .map_err(|error| Trouble::new("open a pipe", error.into()))
}

fn say(to: &OwnedFd, answer: &BuilderAnswer) {
    if let Ok(text) = serde_json::to_vec(answer) {
        let _ = rustix::io::write(to, &text);
    }
}

fn hear(from: &OwnedFd) -> Result<BuilderAnswer, Trouble> {
    let mut buffer = [0; LONGEST_ANSWER];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer));
    let read = read.map_err(|error| Trouble::new("hear from a process", error.into()))?;
    let text = buffer.get(..read).unwrap_or_default();
    serde_json::from_slice(text)
        .map_err(|_| Trouble::new("hear from a process", io::ErrorKind::UnexpectedEof.into()))
}

/// What the builder works with.
struct BuildingSite<'a> {
    confinement: &'a Confinement,
    view: &'a ConfinedView,
    rules: &'a FileRules,
    filter: &'a BpfProgram,
    /// The end that init waits on.
    lifeline: OwnedFd,
    /// The waiter's end.
    socket: OwnedFd,
    doors: DoorsOut,
}

impl BuildingSite<'_> {
    /// `made` is the first process as soon as there is one.
    fn build(self, made: &mut Option<Pid>) -> Result<BuilderAnswer, Trouble> {
        // A process that is closed to others can't write its own map of ids.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
        let has_own_network = self.confinement.network.is_own();
        namespaces::enter_new(has_own_network).map_err(Trouble::at("make namespaces"))?;
        if has_own_network {
            namespaces::raise_loopback().map_err(Trouble::at("raise the loopback"))?;
        }
        let door = self.doors.proxy.as_ref();
        let hosts_by = door.map(|door| network::hand_out(door, self.confinement));
        let hosts_by = hosts_by
            .transpose()
            .map_err(Trouble::at("make the listeners of its proxy"))?;
        self.view.build(hosts_by)?;
        let (hears, says) = pipe()?;
        let forked = fork_sibling().map_err(Trouble::at("start the first process"))?;
        let init = match forked {
            Forked::Parent(init) => init,
            Forked::Child => be_init(&self.lifeline, says),
        };
        *made = Some(init);
        drop(says);
        if let BuilderAnswer::Failed { doing, errno, .. } = hear(&hears)? {
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
        let forked = fork_sibling().map_err(Trouble::at("make a process"))?;
        let waiter = match forked {
            Forked::Parent(waiter) => waiter,
            Forked::Child => wait_inside(&self.socket, &bonds),
        };
        Ok(BuilderAnswer::Built {
            init: number(init),
            waiter: number(waiter),
            hosts_by,
        })
    }
}

/// The life of the first process: it makes the view whole, and then has nothing to do but to exist.
/// Orphans are its children, and the kernel reaps them for it.
fn be_init(lifeline: &OwnedFd, says: OwnedFd) -> ! {
    let kept = keep_only(&[lifeline.as_raw_fd(), says.as_raw_fd()]);
    let kept = kept.map_err(Trouble::at("close what was inherited"));
    let said = kept.and_then(|()| ConfinedView::finish());
    let said = said.map_or_else(BuilderAnswer::from, |()| BuilderAnswer::Ready);
    let is_whole = matches!(said, BuilderAnswer::Ready);
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
