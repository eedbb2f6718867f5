//! From a `start` message to a running shell.

use super::input::StdinWriter;
use super::protocol::{self, Beginning, ExitedMessage, FailedMessage, StartMessage};
use super::pty::RunTerminal;
use super::pump::Pump;
use super::restraint::{Restrained, ViewAhead, launch_held};
use super::serve::state_of;
use crate::capture::{Quota, Streams, Survivors};
use crate::exit::Exit;
use crate::os::launch::{Controls, Launch};
use crate::spool::SpoolWriter;
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

/// Longest single argument that Linux accepts (`MAX_ARG_STRLEN`), in pages, with its NUL.
const LONGEST_ARGUMENT_PAGES: usize = 32;

/// What reads a script from descriptor 3 and becomes what `-c SCRIPT` would have been: same `$0`,
/// `$-`, positional parameters and stdin. A script that was not read to its mark ends the shell
/// instead of being run in part.
struct ScriptLoader {
    text: &'static str,
    /// What follows the script in descriptor 3.
    end_mark: u8,
}

const BASH_LOADER: ScriptLoader = ScriptLoader {
    text: "IFS= builtin read -r -d '' -u 3 BASH_EXECUTION_STRING || exit 125; \
           exec 3<&-; builtin eval \"$BASH_EXECUTION_STRING\"",
    end_mark: 0,
};

/// For shells whose `read` has no `-d`. They take a NUL for a part of the script, and a
/// substitution loses newlines at the end: so a dot ends it, which is taken off again.
const POSIX_LOADER: ScriptLoader = ScriptLoader {
    text: "set -- \"$(cat <&3)\"; exec 3<&-; case $1 in (*.) ;; (*) exit 125 ;; esac; \
           eval \"shift; ${1%.}\"",
    end_mark: b'.',
};

/// For zsh.
const ZSH_LOADER: ScriptLoader = ScriptLoader {
    text: "set -- \"$(<&3)\"; exec 3<&-; case $1 in (*.) ;; (*) exit 125 ;; esac; \
           eval \"shift; ${1%.}\"",
    end_mark: b'.',
};

/// A shell that has just been started, and the pumps on its pipes.
pub(super) struct LaunchedShell {
    pub(super) pid: Pid,
    pub(super) pumps: Vec<Pump>,
    /// Its terminal, if it has one.
    pub(super) terminal: Option<RunTerminal>,
    /// Its stdin, if that stays open.
    pub(super) input: Option<StdinWriter>,
    /// Its resource limits, if any.
    pub(super) restrained: Option<Rc<Restrained>>,
}

/// A spool that was opened before its use was known.
pub(super) struct OpenedSpool {
    pub(super) quota: Quota,
    pub(super) spool: SpoolWriter,
    /// Whether the engine has its descriptors.
    pub(super) is_told: bool,
}

/// What nearly every start needs and no message changes, opened ahead.
#[derive(Default)]
pub(super) struct StartSupplies {
    pipe: Option<(OwnedFd, OwnedFd)>,
    null: Option<OwnedFd>,
    /// A view for a confined command.
    pub(super) view: Option<ViewAhead>,
}

impl StartSupplies {
    /// If something is refused, the start itself finds out why.
    pub(super) fn open() -> Self {
        Self {
            pipe: Pump::open_pipe().ok(),
            null: open_null().ok(),
            view: None,
        }
    }
}

/// Starts what the message asks for. `prepared` is a spool that was opened ahead.
pub(super) fn start(
    message: &StartMessage,
    fds: &[OwnedFd],
    runs: &Path,
    prepared: Option<OpenedSpool>,
    ahead: StartSupplies,
) -> Result<LaunchedShell, FailedMessage> {
    let confinement = message.restraint.as_ref();
    let confinement = confinement.and_then(|held| held.confinement.as_ref());
    let mut view = ahead.view.filter(|_| confinement.is_some());
    if let (Some(confinement), Some(_)) = (confinement, message.terminal) {
        view = ViewAhead::for_call(confinement, view, state_of(runs));
    }
    let open = |size| RunTerminal::open(size, view.as_ref().map(|ahead| &ahead.view));
    let terminal = message.terminal.map(open).transpose();
    let terminal = terminal.map_err(failed("open a terminal"))?;
    let mut ready = ahead.pipe;
    let (mut pumps, writers) = if let Some(terminal) = &terminal {
        open_terminal(terminal, message, runs, prepared)
    } else {
        open_pumps(message.streams, message.quota, runs, prepared, |_| {
            ready.take().map_or_else(Pump::open_pipe, Ok)
        })
    }
    .map_err(failed("open the pipes"))?;
    let cwd = fds
        .first()
        .ok_or_else(|| missing("the working directory"))?;
    let given = if message.stdin {
        Some(fds.get(1).ok_or_else(|| missing("stdin"))?)
    } else {
        None
    };
    let (opened, input) =
        open_stdin(message, given, terminal.as_ref(), ahead.null).map_err(failed("open stdin"))?;
    let stdin = match (&opened, given) {
        (Some(opened), _) => opened.as_fd(),
        (None, Some(given)) => given.as_fd(),
        (None, None) => return Err(missing("stdin")),
    };
    let out = writers.first().ok_or_else(|| missing("stdout"))?;
    let err = writers.last().unwrap_or(out);
    let (argv, script) = arguments(message).map_err(failed("prepare the script"))?;
    let program = CString::new(message.program.clone()).map_err(|_| missing("a program name"))?;
    let extra = script.as_ref().map(AsFd::as_fd);
    let what = Launch {
        program: &program,
        argv: &argv,
        env: &message.env,
        cwd: cwd.as_fd(),
        goes_to: None,
        stdio: [stdin, out.as_fd(), err.as_fd()],
        extra: extra.as_slice(),
        controls: match terminal {
            Some(_) => Controls::Stdout,
            None => Controls::Nothing,
        },
    };
    let restraint = (message.restraint.as_ref(), view);
    let (pid, restrained) = launch_held(&what, restraint, (state_of(runs), &[]))?;
    if terminal.is_none() {
        hold(&mut pumps, writers);
    }
    Ok(LaunchedShell {
        pid,
        pumps,
        terminal,
        input,
        restrained,
    })
}

/// Has pumps keep the other ends of their pipes.
pub(super) fn hold(pumps: &mut [Pump], writers: Vec<OwnedFd>) {
    for (pump, writer) in pumps.iter_mut().zip(writers) {
        pump.hold(writer);
    }
}

/// The command's stdin, if it is not just the given descriptor; and our end of it, if it stays
/// open.
fn open_stdin(
    message: &StartMessage,
    given: Option<&OwnedFd>,
    terminal: Option<&RunTerminal>,
    null: Option<OwnedFd>,
) -> io::Result<(Option<OwnedFd>, Option<StdinWriter>)> {
    if let Some(terminal) = terminal {
        let typed = StdinWriter::at_terminal(terminal.ours()?);
        let theirs = given
            .is_none()
            .then(|| terminal.theirs().try_clone_to_owned());
        return Ok((theirs.transpose()?, Some(typed)));
    }
    if !message.stdin_open {
        let open = || null.map_or_else(open_null, Ok);
        return Ok((given.is_none().then(open).transpose()?, None));
    }
    let (mut input, end) = StdinWriter::open()?;
    if let Some(given) = given {
        let bytes = protocol::read_memory_file(given)?;
        input.send(&bytes, false).map_err(io::Error::other)?;
    }
    Ok((Some(end), Some(input)))
}

/// Goes through a start and a report once, so that their pages are present when a call comes: a
/// fresh fork pays for each at the first touch, and a spare keeper can do that while nobody waits.
pub(super) fn rehearse() {
    let message = StartMessage {
        program: b"/bin/sh".to_vec(),
        argv: vec![serde_bytes::ByteBuf::from(b"sh".to_vec())],
        script: Some(serde_bytes::ByteBuf::from(b"true".to_vec())),
        for_started_shell: None,
        env: std::iter::once(("x", "x".repeat(4096))).collect(),
        stdin: false,
        streams: Streams::Merged,
        quota: Quota { head: 0, ring: 0 },
        timeout_us: 0,
        grace_us: 0,
        drain_silence_us: 0,
        drain_total_us: 0,
        drain_finish_us: 0,
        survivors: Survivors::Keep,
        terminal: None,
        stdin_open: false,
        goes_to_background: false,
        restraint: None,
        is_confined_as_told: false,
        id: String::new(),
        beginning: Beginning::Assumed,
        records: false,
    };
    let Ok((near, far)) = super::socket_pair() else {
        return;
    };
    let _ = protocol::send(&near, &message, &[far.as_fd()]);
    if let Ok(Some(frame)) = protocol::receive(&far) {
        let _ = frame
            .body::<StartMessage>()
            .map(|message| arguments(&message));
    }
    let report = ExitedMessage {
        exit: Exit::Code(0),
        ended_by: None,
        ran_for_us: 0,
        counts: vec![(0, 0)],
        left_behind: Vec::new(),
        is_closed: true,
        reset: None,
        out_of_memory: false,
        dealings: None,
        is_unfinished: false,
        confinement: None,
    };
    let _ = protocol::send(&near, &report, &[]);
}

/// One stream, from the terminal; the command gets the other end for both of its own.
fn open_terminal(
    terminal: &RunTerminal,
    message: &StartMessage,
    runs: &Path,
    prepared: Option<OpenedSpool>,
) -> io::Result<(Vec<Pump>, Vec<OwnedFd>)> {
    let prepared = prepared.filter(|opened| opened.quota == message.quota);
    let spool = match prepared {
        Some(opened) => opened.spool,
        None => SpoolWriter::create(runs, message.quota)?,
    };
    let pump = Pump::over(terminal.ours()?, spool);
    Ok((vec![pump], vec![terminal.theirs().try_clone_to_owned()?]))
}

/// Opens a pump for each stream; also returns what the command writes to.
pub(super) fn open_streams(
    streams: Streams,
    quota: Quota,
    runs: &Path,
    prepared: Option<OpenedSpool>,
) -> io::Result<(Vec<Pump>, Vec<OwnedFd>)> {
    open_pumps(streams, quota, runs, prepared, |_| Pump::open_pipe())
}

/// Likewise, over pipes that are made elsewhere, by the number of the stream.
pub(super) fn open_pumps(
    streams: Streams,
    quota: Quota,
    runs: &Path,
    prepared: Option<OpenedSpool>,
    mut pipe: impl FnMut(usize) -> io::Result<(OwnedFd, OwnedFd)>,
) -> io::Result<(Vec<Pump>, Vec<OwnedFd>)> {
    let (count, quota) = match streams {
        Streams::Merged => (1, quota),
        Streams::Apart => (
            2,
            Quota {
                head: quota.head / 2,
                ring: quota.ring / 2,
            },
        ),
    };
    let mut prepared = prepared.filter(|opened| opened.quota == quota);
    let (mut pumps, mut writers) = (Vec::new(), Vec::new());
    for stream in 0..count {
        let (spool, is_told) = match prepared.take() {
            Some(opened) => (opened.spool, opened.is_told),
            None => (SpoolWriter::create(runs, quota)?, false),
        };
        let (read, write) = pipe(stream)?;
        let mut pump = Pump::over(read, spool);
        pump.is_told = is_told;
        pumps.push(pump);
        writers.push(write);
    }
    Ok((pumps, writers))
}

/// The argument list, and a descriptor for the script if it is too long for an argument.
fn arguments(message: &StartMessage) -> io::Result<(Vec<CString>, Option<OwnedFd>)> {
    let mut argv = Vec::with_capacity(message.argv.len() + 1);
    for argument in &message.argv {
        argv.push(CString::new(argument.as_slice())?);
    }
    let Some(script) = &message.script else {
        return Ok((argv, None));
    };
    let longest = LONGEST_ARGUMENT_PAGES * rustix::param::page_size() - 1;
    if script.len() < longest {
        argv.push(CString::new(script.as_slice())?);
        return Ok((argv, None));
    }
    let loader = loader_for(&message.program);
    argv.push(CString::new(loader.text)?);
    let text = [script.as_slice(), &[loader.end_mark]].concat();
    Ok((argv, Some(protocol::memory_file(&text)?)))
}

fn loader_for(program: &[u8]) -> ScriptLoader {
    match program.rsplit(|&byte| byte == b'/').next() {
        Some(b"bash") => BASH_LOADER,
        Some(b"zsh") => ZSH_LOADER,
        _ => POSIX_LOADER,
    }
}

pub(super) fn open_null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        "/dev/null",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

pub(super) fn failed(doing: &str) -> impl FnOnce(io::Error) -> FailedMessage {
    let doing = doing.to_owned();
    move |error| FailedMessage {
        doing,
        errno: error.raw_os_error().unwrap_or(libc::EINVAL),
    }
}

pub(super) fn missing(what: &str) -> FailedMessage {
    FailedMessage {
        doing: format!("find {what} in the message"),
        errno: libc::EBADMSG,
    }
}
