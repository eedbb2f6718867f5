//! A warm shell: started ahead, it waits for the one script that it will run.
//!
//! It is `bash -c LOADER`. The loader waits on a pipe for the name of a file with the run's id and the
//! script, reads both, and becomes what `bash -c SCRIPT` would have been: same `$0`, `$-`, parameters,
//! descriptors, line numbers. A failed read ends the shell rather than run half.

use super::protocol::{self, Failed, Start, Warm};
use super::pump::Pump;
use super::start::{self, Shell, failed, missing, open_null};
use crate::exec::os::launch::{Controls, Launch, launch};
use crate::output::spool::SpoolWriter;
use crate::plan::environment::RUN_VARIABLE;
use crate::plan::{Quota, quote};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use serde_bytes::ByteBuf;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Waits, reads, becomes the script. On one line: what it evaluates begins with line 1.
const LOADER: &str = "IFS= builtin read -r -u 3 BASH_EXECUTION_STRING||exit 125;\
    exec 3<\"$BASH_EXECUTION_STRING\"||exit 125;\
    IFS= builtin read -r -d '' -u 3 BASHD_RUN||exit 125;\
    IFS= builtin read -r -d '' -u 3 BASH_EXECUTION_STRING||exit 125;\
    [[ $BASHD_RUN ]]||builtin unset -v BASHD_RUN;\
    exec 3<&-;SECONDS=0;builtin eval \"$BASH_EXECUTION_STRING\"";

/// A shell that waits for its script.
pub(super) struct WarmShell {
    pid: Pid,
    pumps: Vec<Pump>,
    /// Where it waits.
    trigger: OwnedFd,
    message: Warm,
    /// The directory that it is in.
    directory: (u64, u64),
}

impl WarmShell {
    /// Starts a shell that waits.
    pub(super) fn launch(
        message: Warm,
        fds: &[OwnedFd],
        runs: &Path,
        prepared: Option<(Quota, SpoolWriter)>,
    ) -> Result<Self, Failed> {
        // The shell opens its script by our `/proc` entry.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
        let cwd = fds
            .first()
            .ok_or_else(|| missing("the working directory"))?;
        let directory = identity(cwd).map_err(failed("look at the working directory"))?;
        let (pumps, writers) = start::open_streams(message.streams, message.quota, runs, prepared)
            .map_err(failed("open the pipes"))?;
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
        let pid = launch(&Launch {
            program: &program,
            argv: &argv,
            env: &env,
            cwd: cwd.as_fd(),
            stdio: [null.as_fd(), out.as_fd(), err.as_fd()],
            script: Some(read.as_fd()),
            controls: Controls::Nothing,
            group: None,
            limits: &[],
        })
        .map_err(failed(&String::from_utf8_lossy(&message.program)))?;
        Ok(Self {
            pid,
            pumps,
            trigger,
            message,
            directory,
        })
    }

    /// Gives the shell its script, and hands out what must stay open until it has read it. `Err` when
    /// this is not the shell that the call needs; it is then gone.
    pub(super) fn use_for(
        self,
        start: &Start,
        cwd: Option<&OwnedFd>,
    ) -> Result<(Shell, OwnedFd), ()> {
        let given = start.warm.as_ref().filter(|_| self.suits(start, cwd));
        let sent = given.and_then(|script| self.send(start, script).ok());
        if let Some(text) = sent {
            let Self { pid, pumps, .. } = self;
            let shell = Shell {
                pid,
                pumps,
                terminal: None,
                input: None,
                restrained: None,
            };
            return Ok((shell, text));
        }
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        Err(())
    }

    fn suits(&self, start: &Start, cwd: Option<&OwnedFd>) -> bool {
        let message = &self.message;
        !start.stdin
            && !start.stdin_open
            && start.restraint.is_none()
            && start.program == message.program
            && (start.streams, start.quota) == (message.streams, message.quota)
            && start.env.equals_but_for(RUN_VARIABLE, &message.env)
            && cwd.and_then(|cwd| identity(cwd).ok()) == Some(self.directory)
    }

    fn send(&self, start: &Start, script: &ByteBuf) -> io::Result<OwnedFd> {
        let run = start.env.get(RUN_VARIABLE).unwrap_or_default();
        let text = [run.as_bytes(), &[0], script.as_slice(), &[0]].concat();
        let file = protocol::memory_file(&text)?;
        let keeper = rustix::process::getpid().as_raw_nonzero();
        let line = format!("/proc/{keeper}/fd/{}\n", file.as_raw_fd());
        rustix::io::write(&self.trigger, line.as_bytes())?;
        Ok(file)
    }
}

fn loader(message: &Warm) -> Vec<u8> {
    let mut loader = Vec::new();
    if let Some(snapshot) = &message.snapshot {
        loader.extend(b". ");
        quote(&mut loader, snapshot.as_os_str().as_bytes());
        loader.extend(b" </dev/null >/dev/null 2>&1;");
    }
    loader.extend(LOADER.as_bytes());
    loader
}

fn identity(directory: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(directory)?;
    Ok((stat.st_dev, stat.st_ino))
}
