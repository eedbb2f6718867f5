//! Makes the namespaces of a confined program, and starts it there.
//!
//! ```text
//! keeper ── builder            makes the namespaces and the view; gone when the program runs
//!    ├────── init    (pid 1)   mounts /proc, makes the view the root, then only adopts orphans
//!    └────── program (pid 2)   a child of the keeper, which gets its status as any other
//! ```
//!
//! The keeper itself stays outside of every namespace: it sees the program by the machine's
//! process ids, and keeps its rights. The builder is a whole fork, so it may allocate; init and
//! program are its siblings (`CLONE_PARENT`). Init ends when its lifeline does, which the keeper
//! holds, and the kernel then ends everything in its pid namespace.

use super::super::descriptors::keep_only;
use super::super::fork::{Forked, exit_now, fork, fork_sibling};
use super::super::launch::{self, Bonds, Hold, Launch};
use super::super::namespaces;
use super::super::seclusion::seclude;
use super::Trouble;
use super::view::ConfinedView;
use super::{filter, rules};
use crate::confinement::{Confinement, Level, Network};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, WaitOptions};
use seccompiler::BpfProgram;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// The longest answer: a pipe takes that much at once.
const LONGEST_ANSWER: usize = 4096;

/// The processes in a new pid namespace.
pub(super) struct Inhabitants {
    pub(super) init: Pid,
    pub(super) program: Pid,
    /// When it is closed, all of them end.
    pub(super) lifeline: OwnedFd,
}

/// What a process says to the one that waits for it.
#[derive(Debug, Serialize, Deserialize)]
enum BuilderAnswer {
    Ready,
    Started {
        init: i32,
        program: i32,
    },
    Failed {
        doing: String,
        errno: i32,
        is_programs: bool,
    },
}

impl From<Trouble> for BuilderAnswer {
    fn from(trouble: Trouble) -> Self {
        let mut doing = trouble.doing;
        doing.truncate(LONGEST_ANSWER / 2);
        Self::Failed {
            doing,
            errno: trouble.error.raw_os_error().unwrap_or(libc::EINVAL),
            is_programs: trouble.is_programs,
        }
    }
}

/// Starts a program in namespaces of its own.
pub(super) fn start(
    what: &Launch<'_>,
    held: &Hold<'_>,
    confinement: &Confinement,
) -> Result<Inhabitants, Trouble> {
    let filter = filter::program(confinement, Level::Full)
        .map_err(Trouble::at("make a filter of system calls"))?;
    let directory = path_of(what)?;
    let (answer, says) = pipe()?;
    let (ends, lifeline) = pipe()?;
    let forked = fork().map_err(Trouble::at("fork"))?;
    let builder = match forked {
        Forked::Parent(builder) => builder,
        Forked::Child => {
            drop((answer, lifeline));
            let site = BuildingSite {
                confinement,
                filter: &filter,
                directory: &directory,
                lifeline: ends,
            };
            let said = site.build(what, held).unwrap_or_else(BuilderAnswer::from);
            say(&says, &said);
            exit_now(0)
        }
    };
    drop((says, ends));
    let heard = hear(&answer);
    let _ = rustix::process::waitpid(Some(builder), WaitOptions::empty());
    match heard? {
        BuilderAnswer::Started { init, program } => {
            match (Pid::from_raw(init), Pid::from_raw(program)) {
                (Some(init), Some(program)) => Ok(Inhabitants {
                    init,
                    program,
                    lifeline,
                }),
                _ => Err(Trouble::new(
                    "start the program",
                    io::ErrorKind::InvalidData.into(),
                )),
            }
        }
        BuilderAnswer::Failed {
            doing,
            errno,
            is_programs,
        } => Err(Trouble {
            doing,
            error: io::Error::from_raw_os_error(errno),
            is_programs,
        }),
        BuilderAnswer::Ready => Err(Trouble::new(
            "start the program",
            io::ErrorKind::InvalidData.into(),
        )),
    }
}

/// The path of the directory in which the program begins: by descriptor it would be in the
/// machine's view, from which `..` leads everywhere.
fn path_of(what: &Launch<'_>) -> Result<CString, Trouble> {
    let link = format!("/proc/self/fd/{}", what.cwd.as_raw_fd());
    let path = std::fs::read_link(link).map_err(Trouble::at("find the working directory"))?;
    let path = OsString::from(path).into_vec();
    CString::new(path).map_err(|error| Trouble::new("name the working directory", error.into()))
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
    filter: &'a BpfProgram,
    directory: &'a CString,
    /// The end that init waits on.
    lifeline: OwnedFd,
}

impl BuildingSite<'_> {
    fn build(self, what: &Launch<'_>, held: &Hold<'_>) -> Result<BuilderAnswer, Trouble> {
        let view = ConfinedView::survey(self.confinement);
        // A process that is closed to others can't write its own map of ids.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
        let has_own_network = self.confinement.network == Network::None;
        namespaces::enter_new(has_own_network).map_err(Trouble::at("make namespaces"))?;
        if has_own_network {
            namespaces::raise_loopback().map_err(Trouble::at("raise the loopback"))?;
        }
        view.build()?;
        let (hears, says) = pipe()?;
        let forked = fork_sibling().map_err(Trouble::at("start the first process"))?;
        let init = match forked {
            Forked::Parent(init) => init,
            Forked::Child => be_init(&self.lifeline, says),
        };
        drop(says);
        if let BuilderAnswer::Failed { doing, errno, .. } = hear(&hears)? {
            return Err(Trouble::new(&doing, io::Error::from_raw_os_error(errno)));
        }
        // From here on this process sees the view, too.
        let ruleset = rules::in_view(self.confinement, &view)
            .map_err(Trouble::at("make a Landlock ruleset"))?;
        let expected = rustix::fs::fstat(what.cwd)
            .map_err(|error| Trouble::new("look at the working directory", error.into()))?;
        let is_layered = view.is_layered(self.directory);
        let bonds = Bonds {
            ruleset: ruleset.as_fd(),
            program: self.filter,
            directory: Some((
                self.directory.as_c_str(),
                (!is_layered).then_some((expected.st_dev, expected.st_ino)),
            )),
        };
        let held = Hold {
            bonds: Some(bonds),
            ..*held
        };
        let program =
            launch::launch(what, &held).map_err(|error| Trouble::of_program(what, error))?;
        let number = |pid: Pid| pid.as_raw_nonzero().get();
        Ok(BuilderAnswer::Started {
            init: number(init),
            program: number(program),
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
