//! Where keepers come from: the host's own program, an installed bashd, or a fork made in time.

use super::NoKeeper;
use super::protocol::{self, HelloMessage, WelcomeMessage};
use super::serve;
use super::waiting::{Keeper, Moment};
use crate::os::fork::{Forked, check_single_thread, exit_now, fork};
use crate::os::seclusion::seclude;
use crate::os::{descriptors, signals, tree};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// argv[0] that tells a program to be a fork server.
const ASKED_NAME: &str = "bashd-keeper";

/// How long a fork server may take to identify itself.
const WELCOME_SECONDS: i64 = 10;

/// This program, as it was when it called [`run_if_asked`]: by now its path may lead to another.
static THIS_PROGRAM: OnceLock<OwnedFd> = OnceLock::new();

/// Where the engine gets its keepers from.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeeperSource {
    /// From the host's own program, which calls [`run_if_asked`] at the start of its `main`.
    Hook,
    /// From an installed bashd: for hosts that have no `main` of their own.
    Path(PathBuf),
    /// One keeper that was forked before any thread existed: for a program that makes one call.
    Forked(ForkedKeeper),
    /// None is available: every call is answered, and recorded, with this error.
    Unavailable(NoKeeper),
}

/// Becomes a fork server if the engine started this program as one; call it at the start of `main`.
///
/// Returns at once in every other case, and remembers that it was called.
pub fn run_if_asked() {
    let asked = std::env::args_os()
        .next()
        .is_some_and(|name| name == OsStr::new(ASKED_NAME));
    if asked {
        let status = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)
            .map_err(io::Error::from)
            .and_then(serve::serve);
        exit_now(i32::from(status.is_err()))
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    if let Ok(program) = rustix::fs::open("/proc/self/exe", flags, Mode::empty()) {
        let _ = THIS_PROGRAM.set(program);
    }
}

/// A fork server that answered.
#[derive(Debug)]
pub struct StartedServer {
    /// The socket to it.
    pub socket: OwnedFd,
    /// A pidfd of it, for when it does not answer any more; older ones send none.
    pub process: Option<OwnedFd>,
    /// The minor version of the protocol that it speaks, and its keepers.
    pub minor: u16,
}

/// Starts a fork server, and agrees on a version with it.
pub fn start_server(
    source: &KeeperSource,
    hello: &HelloMessage,
) -> Result<StartedServer, NoKeeper> {
    let program = match source {
        KeeperSource::Path(path) => path.clone(),
        KeeperSource::Hook => own_program()?,
        KeeperSource::Unavailable(error) => return Err(NoKeeper::because(error)),
        KeeperSource::Forked(_) => {
            let text = "a forked keeper serves only one call";
            return Err(NoKeeper::because(text));
        }
    };
    let failed = |error| {
        let doing = format!("start a keeper from {}", program.display());
        NoKeeper::io(doing, error)
    };
    let (near, far) = socket_pair().map_err(failed)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the one program that is started without a keeper"
    )]
    let mut command = Command::new(&program);
    let child = command
        .arg0(ASKED_NAME)
        .stdin(far)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    drop(command); // and with it our hold on the far end, so that its close shows
    let mut child = child.map_err(failed)?;
    let agreed = protocol::send(&near, hello, &[]).and_then(|()| agree(&near));
    if agreed.is_err() {
        // A program that is not a keeper may never exit by itself.
        let _ = child.kill();
    }
    let _ = child.wait();
    let (process, minor) = agreed.map_err(failed)?;
    Ok(StartedServer {
        process,
        socket: near,
        minor,
    })
}

/// Waits for the server's version, and refuses one that we cannot speak. Returns its pidfd, and
/// the minor version.
fn agree(server: &OwnedFd) -> io::Result<(Option<OwnedFd>, u16)> {
    let mut fds = [PollFd::new(server, PollFlags::IN)];
    let bound = Timespec {
        tv_sec: WELCOME_SECONDS,
        tv_nsec: 0,
    };
    if rustix::event::poll(&mut fds, Some(&bound))? == 0 {
        let text =
            format!("it is not a keeper program, or did not answer within {WELCOME_SECONDS} s");
        return Err(io::Error::other(text));
    }
    let frame = protocol::receive(server)?
        .filter(protocol::MessageFrame::is::<WelcomeMessage>)
        .ok_or_else(|| io::Error::other("it is not a keeper program"))?;
    let WelcomeMessage { major, minor } = frame.body()?;
    if major == protocol::MAJOR {
        return Ok((frame.fds.into_iter().next(), minor));
    }
    let (ours, our_minor) = (protocol::MAJOR, protocol::MINOR);
    let text = format!(
        "it speaks keeper protocol {major}.{minor}, but this engine speaks {ours}.{our_minor}"
    );
    Err(io::Error::other(text))
}

fn own_program() -> Result<PathBuf, NoKeeper> {
    let program = THIS_PROGRAM.get().ok_or_else(|| {
        let text = "call bashd::run_if_asked() at the start of main, or use KeeperSource::Path";
        NoKeeper::because(text)
    })?;
    Ok(PathBuf::from(format!(
        "/proc/self/fd/{}",
        program.as_raw_fd()
    )))
}

/// A socket pair that preserves message boundaries.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        flags,
        None,
    )?)
}

/// A keeper that was forked from this process itself.
#[derive(Debug)]
pub struct ForkedKeeper {
    /// Our end of the socket to it.
    pub link: OwnedFd,
    /// Its process id.
    pub pid: Pid,
}

impl ForkedKeeper {
    /// Forks a keeper. Refuses in a process that has more than one thread.
    ///
    /// The sooner this is done, the less there is to copy, and the more the keeper can do while its
    /// engine is still being created. The calling process becomes a subreaper, so that it can end
    /// what a killed keeper leaves.
    pub fn fork() -> Result<Self, NoKeeper> {
        let failed = |error| NoKeeper::io("fork a keeper", error);
        check_single_thread().map_err(failed)?;
        let (near, far) = socket_pair().map_err(failed)?;
        serve::become_subreaper().map_err(failed)?;
        let engine = rustix::process::getpid();
        match fork().map_err(failed)? {
            Forked::Parent(pid) => Ok(Self { link: near, pid }),
            Forked::Child => exit_now(i32::from(be_keeper(far, engine).is_err())),
        }
    }

    /// Ends what the keeper left when it was killed; bounded in time.
    pub fn end_orphans(pid: Pid) {
        /// As long as a tree may take to die from KILL.
        const BOUND: Duration = Duration::from_secs(1);
        let begun = Instant::now();
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        while begun.elapsed() < BOUND {
            for child in tree::children(rustix::process::getpid()) {
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn be_keeper(link: OwnedFd, engine: Pid) -> io::Result<()> {
    seclude();
    descriptors::keep_only(&[link.as_raw_fd()])?;
    rustix::process::setsid()?;
    rustix::process::chdir("/")?;
    serve::become_subreaper()?;
    let signals = signals::take_over()?;
    // An engine that is already gone shows on the socket.
    let engine = rustix::process::pidfd_open(engine, PidfdFlags::empty()).ok();
    Keeper::new(link, engine, signals)
        .forked(Moment::Calm)
        .live()
}
