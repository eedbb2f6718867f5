//! The far side of a place, which carriers run (docs/outpost.md).
//!
//! It reaches the user's outpost, starts one if there is none, and then only passes bytes on. It
//! ends with its carrier; the outpost stays.

#![deny(missing_docs)]

mod first;
mod lease;

use bashd::config::Lease;
use bashd::outpost::{self, Dialled, OutpostSettings};
use rustix::io::fcntl_dupfd_cloexec;
use sha2::{Digest, Sha256};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Bytes that are passed on at once.
const BUFFER: usize = 64 * 1024;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutpostTask {
    /// Reach the outpost, and pass bytes on between it and our stdin and stdout.
    Dial,
    /// Be the outpost, whose socket is stdin.
    Serve,
    /// Pass bytes on likewise, but only to an outpost that somebody else starts.
    Join,
    /// Be the first process of a container: start the outpost, pass bytes on as long as there are
    /// some, reap, and end everything with grace when told to.
    Hold,
    /// Compare this program with its SHA-256, in hexadecimal digits.
    Check(String),
}

/// What is to be done, and where.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OutpostWork {
    /// What.
    pub task: OutpostTask,
    /// The state directory of this user's bashd; beside the program, if there is none or nothing
    /// can be written there.
    pub state_dir: Option<PathBuf>,
    /// How long an outpost stays without anything to do.
    pub idle: Duration,
    /// How long a command goes on for which nobody comes back.
    pub orphaned: Duration,
    /// Which outpost: another build has one of its own. Without it, that of this version.
    pub build: Option<String>,
    /// Whether the place is lent by Slurm: nothing of ours outlives what holds it.
    pub leased: bool,
}

impl OutpostWork {
    /// With an outpost of this version that leaves after ten idle minutes.
    pub fn new(task: OutpostTask, state_dir: Option<PathBuf>) -> Self {
        Self {
            task,
            state_dir,
            idle: Duration::from_mins(10),
            orphaned: Duration::from_mins(10),
            build: None,
            leased: false,
        }
    }
}

/// The state directory that the environment names, as `bashd` finds it.
pub fn state_dir() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = set("BASHD_HOME") {
        return Some(std::path::absolute(own).ok()?.join("state"));
    }
    let given = set("XDG_STATE_HOME").map(PathBuf::from);
    let given = given.filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|home| home.is_absolute());
    let state = given.or_else(|| Some(home()?.join(".local/state")))?;
    Some(state.join("bashd"))
}

/// Passes bytes between a carrier and the outpost, is the outpost, or looks whether it could be.
pub fn perform(work: &OutpostWork) -> io::Result<()> {
    // Said by the carrier, before an outpost begins that may not even work there.
    let is_far_side = !matches!(work.task, OutpostTask::Check(_));
    if let Some(why) = outpost::cannot_hold().filter(|_| is_far_side) {
        return Err(io::Error::other(why));
    }
    match &work.task {
        OutpostTask::Check(expected) => check(expected),
        OutpostTask::Serve => {
            let state = work.state_dir.clone().ok_or(io::ErrorKind::NotFound)?;
            let mut settings = OutpostSettings::new(state.join("outpost"), surroundings());
            settings.idle = work.idle;
            settings.orphaned = work.orphaned;
            settings.build.clone_from(&work.build);
            if work.leased {
                settings.lease = Lease::OfEngine;
            }
            serve(settings)
        }
        OutpostTask::Dial => pass_on(&reach(work)?),
        OutpostTask::Join if work.leased => lease::join(&first::join(work)?),
        OutpostTask::Join => pass_on(&first::join(work)?),
        OutpostTask::Hold if work.leased => lease::hold(work),
        OutpostTask::Hold => first::hold(work),
    }
}

/// Reaches the outpost, and starts one if there is none.
fn reach(work: &OutpostWork) -> io::Result<UnixStream> {
    let (state, dialled) = dial(work)?;
    match dialled {
        Dialled::Connected(stream) => Ok(stream),
        Dialled::ToStart(socket, stream) => {
            start(socket, work, &state)?;
            Ok(stream)
        }
    }
}

/// Whether this program is the one that was meant.
fn check(expected: &str) -> io::Result<()> {
    let mut file = File::open("/proc/self/exe")?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hash.update(buffer.get(..count).unwrap_or_default()),
        }
    }
    let found = hash.finalize();
    let found: Vec<String> = found.iter().map(|byte| format!("{byte:02x}")).collect();
    let found = found.concat();
    if found == expected {
        // Whoever asked compares it: a status alone may be that of a shell.
        writeln!(io::stdout(), "{found}")
    } else {
        let text = format!("this program is {found}, and not {expected}");
        Err(io::Error::other(text))
    }
}

/// Directories for the state: a home may be missing, read-only or full, and so may the directory
/// of this program.
fn state_dirs(work: &OutpostWork) -> impl Iterator<Item = PathBuf> {
    let beside = env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent);
    let beside = beside.map(|folder| folder.join("state"));
    let own = [work.state_dir.clone(), beside];
    let user = rustix::process::getuid().as_raw();
    let shared = SHARED
        .iter()
        .map(move |folder| format!("{folder}/bashd-{user}"));
    // What anybody may write in is only used where it is ours alone.
    let shared = shared.map(PathBuf::from).filter(|folder| is_ours(folder));
    own.into_iter().flatten().chain(shared)
}

/// Where everybody may write.
const SHARED: [&str; 3] = ["/var/tmp", "/tmp", "/dev/shm"];

/// Whether a directory is this user's alone; it is made if it is missing.
fn is_ours(folder: &Path) -> bool {
    let _ = fs::DirBuilder::new().mode(0o700).create(folder);
    let found = fs::symlink_metadata(folder);
    found.is_ok_and(|found| {
        let is_private = found.mode().trailing_zeros() >= 6;
        found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && is_private
    })
}

/// Reaches the outpost in the first directory that will do.
fn dial(work: &OutpostWork) -> io::Result<(PathBuf, Dialled)> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for state in state_dirs(work) {
        match outpost::dial(&state.join("outpost"), work.build.as_deref()) {
            Ok(dialled) => return Ok((state, dialled)),
            Err(error) => {
                let shown = state.display();
                let text = format!("the outpost in {shown}/outpost can't be reached: {error}");
                // The first directory is the one that was meant.
                if failure.kind() == io::ErrorKind::NotFound {
                    failure = io::Error::other(text);
                }
            }
        }
    }
    Err(failure)
}

/// What is only true of one login. A bash that finds the first two takes itself for that login's
/// shell, and reads the rc file, whatever that prints.
const OF_A_LOGIN: [&str; 5] = [
    "SSH_CLIENT",
    "SSH2_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SSH_ORIGINAL_COMMAND",
];

/// What the commands of an outpost inherit: it stays, so it is in the home, and no login's.
fn surroundings() -> bashd::Surroundings {
    let home = env::home_dir().filter(|home| home.is_dir());
    let is_lasting = |name: &OsStr| OF_A_LOGIN.iter().all(|known| name != *known);
    bashd::Surroundings {
        cwd: home.unwrap_or_else(|| PathBuf::from("/")),
        env: env::vars_os()
            .filter(|(name, _)| is_lasting(name))
            .collect(),
    }
}

/// Serves at the socket that is our stdin, whatever becomes of the terminal and the login that we
/// were started from.
fn serve(settings: OutpostSettings) -> io::Result<()> {
    let is_leased = settings.lease == Lease::OfEngine;
    if is_leased {
        lease::end_with_parent()?;
    }
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    let listener = outpost::listener_of_stdin()?;
    let mut building = tokio::runtime::Builder::new_current_thread();
    let runtime = building.enable_all().build()?;
    let served = runtime.block_on(async {
        bashd::serve_from_here();
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let told = async {
            if is_leased {
                lease::told_to_end().await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        outpost::serve(settings, listener, told).await
    });
    runtime.shutdown_background();
    served
}

/// Starts an outpost with this socket.
fn start(socket: OwnedFd, work: &OutpostWork, state: &Path) -> io::Result<()> {
    let mut command = Command::new(env::current_exe()?);
    let seconds = [work.idle, work.orphaned].map(|time| time.as_secs_f64().to_string());
    let [idle, orphaned] = &seconds;
    let words = ["outpost", "--serve", "--idle", idle, "--orphaned", orphaned];
    command.args(words).arg("--state").arg(state);
    if let Some(build) = &work.build {
        command.args(["--build", build]);
    }
    if work.leased {
        command.arg("--leased");
    }
    command
        .stdin(socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It is nobody's child once we are gone.
    command.spawn().map(drop)
}

/// Passes bytes on until either side ends.
fn pass_on(stream: &UnixStream) -> io::Result<()> {
    let mut stdin = File::from(fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let mut stdout = File::from(fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?);
    let mut to_outpost = stream.try_clone()?;
    thread::Builder::new().spawn(move || {
        let _ = copy(&mut stdin, &mut to_outpost);
        let _ = to_outpost.shutdown(Shutdown::Both);
    })?;
    let _ = copy(&mut &*stream, &mut stdout);
    Ok(())
}

/// Copies until the end. Not by `io::copy`, which splices: a splice that waits for the socket holds
/// the lock of the pipe, and keeps its reader waiting for what is there already.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..count).unwrap_or_default())?;
    }
}
