//! A shell that was started ahead, and waits for the one script that it will run.
//!
//! It is `bash -c LOADER`, and waits in `/`: nobody unmounts that. Descriptor 3 is a file with
//! texts, 4 a pipe. The loader reads the first text, which does nothing, so the work that every
//! script needs is done before anybody waits for it. Then it waits for a line in the pipe, reads
//! directory, id and script of the run, goes there, and becomes what `bash -c SCRIPT` would have
//! been there: same `$0`, `$-`, parameters, descriptors, line numbers, `PWD` and `OLDPWD`. A
//! failed read ends the shell rather than run half, and so does a directory that can't be entered
//! any more.

use super::protocol::{FailedMessage, StartMessage, StartedShellMessage};
use super::pump::Pump;
use super::restraint::{Restrained, launch_held};
use super::serve::state_of;
use super::start::{self, LaunchedShell, OpenedSpool, failed, missing, open_null};
use crate::os::confine;
use crate::os::launch::{Controls, Launch};
use crate::quote::quote;
use crate::variables::{RUN_VARIABLE, Variables};
use rustix::fs::{MemfdFlags, Stat};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use serde_bytes::ByteBuf;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The initial content of the file: where the shell is, no id, and a script that does nothing.
const REHEARSAL: &[u8] = b"/\0\0:\0";

/// Goes to a run's directory; what `cd` would remember of the one before is as it was.
const GO: &str = "IFS= builtin read -r -d '' -u 3 BASHD_RUN||exit 125;\
    builtin set -- ${OLDPWD+\"$OLDPWD\"};builtin cd -- \"$BASHD_RUN\"||exit 125;\
    case $# in 0)builtin unset -v OLDPWD;builtin export OLDPWD;;*)OLDPWD=$1;builtin set --;;esac;";

/// Reads a run's id and its script.
const READ: &str = "IFS= builtin read -r -d '' -u 3 BASHD_RUN||exit 125;\
    IFS= builtin read -r -d '' -u 3 BASH_EXECUTION_STRING||exit 125;";

/// Like `BECOME`, but changes nothing.
const REHEARSE: &str = "[[ $BASHD_RUN ]]||builtin :;exec 3<&3 4<&4;\
    SECONDS=0;builtin eval \"$BASH_EXECUTION_STRING\";";

/// Waits until the script is there.
const WAIT: &str = "builtin read -r -u 4 BASH_EXECUTION_STRING||exit 125;";

/// Becomes the script.
const BECOME: &str = "[[ $BASHD_RUN ]]||builtin unset -v BASHD_RUN;exec 3<&- 4<&-;\
    SECONDS=0;builtin eval \"$BASH_EXECUTION_STRING\"";

/// A shell that waits for its script.
pub(super) struct StartedShell {
    pid: Pid,
    pumps: Vec<Pump>,
    /// What it reads.
    texts: OwnedFd,
    /// Where it waits.
    trigger: OwnedFd,
    message: StartedShellMessage,
    /// What it may use up, where that is limited.
    restrained: Option<Rc<Restrained>>,
}

impl StartedShell {
    /// Starts a shell that waits.
    pub(super) fn launch(
        message: StartedShellMessage,
        fds: &[OwnedFd],
        runs: &Path,
        prepared: Option<OpenedSpool>,
    ) -> Result<Self, FailedMessage> {
        let cwd = fds
            .first()
            .ok_or_else(|| missing("the working directory"))?;
        let (mut pumps, writers) =
            start::open_streams(message.streams, message.quota, runs, prepared)
                .map_err(failed("open the pipes"))?;
        let texts = open_texts().map_err(failed("open a file in memory"))?;
        let (read, trigger) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(|error| failed("open a pipe")(error.into()))?;
        let null = open_null().map_err(failed("open /dev/null"))?;
        let out = writers.first().ok_or_else(|| missing("stdout"))?;
        let err = writers.last().unwrap_or(out);
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| missing("a name"));
        let program = text(&message.program)?;
        let argv = [
            text(&message.name)?,
            c"-c".to_owned(),
            text(&loader(&message))?,
        ];
        let mut env = message.env.clone();
        env.set(RUN_VARIABLE, "");
        let what = Launch {
            program: &program,
            argv: &argv,
            env: &env,
            cwd: cwd.as_fd(),
            goes_to: None,
            stdio: [null.as_fd(), out.as_fd(), err.as_fd()],
            extra: &[texts.as_fd(), read.as_fd()],
            controls: Controls::Nothing,
        };
        let restraint = (message.restraint.as_ref(), None);
        let (pid, restrained) = launch_held(&what, restraint, (state_of(runs), &[]))?;
        start::hold(&mut pumps, writers);
        Ok(Self {
            pid,
            pumps,
            texts,
            trigger,
            message,
            restrained,
        })
    }

    /// Gives the shell its script. `None` if this is not the shell that the call needs; it is gone
    /// then. What it sees may have been looked at since the call has come.
    pub(super) fn use_for(
        self,
        start: &StartMessage,
        cwd: Option<&OwnedFd>,
        is_looked_at: bool,
    ) -> Option<LaunchedShell> {
        let given = start
            .for_started_shell
            .as_ref()
            .filter(|_| self.suits(start))
            .zip(cwd.and_then(|cwd| way_to(cwd, &start.env)))
            .filter(|(_, directory)| self.shows(directory))
            .filter(|_| is_looked_at || self.has_current_view());
        let sent = given.and_then(|(script, directory)| self.send(start, script, &directory).ok());
        if sent.is_some() {
            let Self {
                pid,
                pumps,
                restrained,
                ..
            } = self;
            return Some(LaunchedShell {
                pid,
                pumps,
                terminal: None,
                input: None,
                restrained,
            });
        }
        if let Some(init) = self.restrained.as_ref().and_then(|held| held.init()) {
            confine::end(init, Some(self.pid));
        } else {
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        }
        None
    }

    /// Whether the shell sees what a new one would see.
    pub(super) fn has_current_view(&self) -> bool {
        let held = self.restrained.as_ref();
        held.is_none_or(|held| held.is_current())
    }

    fn shows(&self, directory: &Path) -> bool {
        let held = self.restrained.as_ref();
        held.is_none_or(|held| held.shows(directory))
    }

    fn suits(&self, start: &StartMessage) -> bool {
        let message = &self.message;
        !start.stdin
            && !start.stdin_open
            && start.restraint == message.restraint
            && start.program == message.program
            && (start.streams, start.quota) == (message.streams, message.quota)
            && start.env.equals_but_for(RUN_VARIABLE, &message.env)
    }

    fn send(&self, start: &StartMessage, script: &ByteBuf, directory: &Path) -> io::Result<()> {
        let run = start.env.get(RUN_VARIABLE).unwrap_or_default();
        let directory = directory.as_os_str().as_bytes();
        let text = [directory, run.as_bytes(), script.as_slice(), &[]].join(&0);
        write_text(&self.texts, &text, REHEARSAL.len())?;
        rustix::io::write(&self.trigger, b"\n")?;
        Ok(())
    }
}

/// The file that a shell reads, with its initial content.
fn open_texts() -> io::Result<OwnedFd> {
    let texts = rustix::fs::memfd_create(c"bashd-text", MemfdFlags::CLOEXEC)?;
    write_text(&texts, REHEARSAL, 0)?;
    Ok(texts)
}

/// Writes a text at a position. The shell shares the open file, and continues reading where it
/// stopped.
fn write_text(texts: &OwnedFd, text: &[u8], at: usize) -> io::Result<()> {
    let mut written = 0;
    while let Some(rest) = text.get(written..).filter(|rest| !rest.is_empty()) {
        written += rustix::io::pwrite(texts, rest, (at + written) as u64)?;
    }
    Ok(())
}

fn loader(message: &StartedShellMessage) -> Vec<u8> {
    let mut loader = Vec::new();
    if let Some(rc_script) = &message.rc_script {
        loader.extend(b". ");
        quote(&mut loader, rc_script.as_os_str().as_bytes());
        loader.extend(b" </dev/null >/dev/null 2>&1;");
    }
    // On one line: the evaluated script then begins at line 1.
    for part in [GO, READ, REHEARSE, WAIT, GO, READ, BECOME] {
        loader.extend(part.as_bytes());
    }
    loader
}

/// The path by which a shell goes to a directory, and which `PWD` then has: the one that the
/// environment names, if that leads there, else the kernel's own. `None` if neither does.
fn way_to(directory: &OwnedFd, env: &Variables) -> Option<PathBuf> {
    let there = identity(&rustix::fs::fstat(directory).ok()?);
    let leads_there =
        |path: &PathBuf| rustix::fs::stat(path).is_ok_and(|found| identity(&found) == there);
    let is_plain = |path: &PathBuf| {
        let dots = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        path.is_absolute() && !dots.into_iter().any(|part| part == b"." || part == b"..")
    };
    let named = env.get("PWD").map(PathBuf::from);
    let named = named.filter(is_plain).filter(leads_there);
    named.or_else(|| {
        let kernels = format!("/proc/self/fd/{}", directory.as_raw_fd());
        std::fs::read_link(kernels).ok().filter(leads_there)
    })
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
