//! `bashd outpost`: the far side of a place, which carriers run (docs/outpost.md).
//!
//! Without `--serve` it reaches the user's outpost, starts one if there is none, and then only
//! passes bytes on. It ends with its carrier; the outpost stays.

use crate::args::OutpostOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::runtime;
use crate::surroundings;
use bashd::outpost::{self, Dialled, OutpostSettings};
use rustix::io::fcntl_dupfd_cloexec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Bytes that are passed on at once.
const BUFFER: usize = 64 * 1024;

/// Passes bytes between a carrier and the outpost, or is the outpost.
pub(crate) fn outpost(arguments: &OutpostOptions) -> Result<ExitStatus, Failure> {
    let state = surroundings::places()?.state_dir.join("outpost");
    let failed = |error: io::Error| {
        let context = format!("the outpost in {} can't be reached", state.display());
        Failure::of(
            FailureKind::System,
            anyhow::Error::new(error).context(context),
        )
    };
    if arguments.serve {
        let mut settings = OutpostSettings::new(state.clone(), surroundings::for_outpost());
        settings.idle = arguments.idle;
        serve(settings).map_err(failed)?;
    } else {
        let stream = match outpost::dial(&state).map_err(failed)? {
            Dialled::Connected(stream) => stream,
            Dialled::ToStart(socket, stream) => {
                start(socket, arguments.idle).map_err(failed)?;
                stream
            }
        };
        pass_on(&stream).map_err(failed)?;
    }
    Ok(ExitStatus::Success)
}

/// Serves at the socket that is our stdin, whatever becomes of the terminal and the login that we
/// were started from.
fn serve(settings: OutpostSettings) -> io::Result<()> {
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    let listener = outpost::listener_of_stdin()?;
    let runtime = runtime::build()?;
    let served = runtime.block_on(async {
        bashd::serve_from_here();
        let listener = tokio::net::UnixListener::from_std(listener)?;
        outpost::serve(settings, listener).await
    });
    runtime.shutdown_background();
    served
}

/// Starts an outpost with this socket.
fn start(socket: OwnedFd, idle: Duration) -> io::Result<()> {
    let mut command = Command::new(surroundings::this_program());
    let seconds = idle.as_secs_f64().to_string();
    command
        .args(["outpost", "--serve", "--idle", &seconds])
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
