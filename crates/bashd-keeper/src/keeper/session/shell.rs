//! The shell of a session: started once, with a private pipe as its script.

use super::driver;
use crate::keeper::protocol::{FailedMessage, OpenMessage};
use crate::keeper::restraint::{Restrained, launch_held};
use crate::keeper::serve::state_of;
use crate::keeper::start::{failed, missing};
use crate::os::launch::{Controls, Launch};
use crate::os::tree::ChildList;
use crate::quote::quote;
use crate::spool::prepare_runs_directory;
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where the shell first finds its script: the one descriptor that it inherits.
const SCRIPT: &str = "/dev/fd/3";

/// A directory beside the runs, with a link that names the script `bash`: this becomes `$0`, and
/// begins error messages.
const NAMES: &str = "shells";

/// A session's shell.
pub(super) struct SessionShell {
    pub(super) pid: Pid,
    /// The writing end of its script; closing it ends the shell at its next line.
    script: Option<OwnedFd>,
    /// What the pipe is called in `/proc`.
    link: String,
    /// Resource limits of the shell and its commands, if any.
    pub(super) restrained: Option<Rc<Restrained>>,
    /// Where it goes before its first call.
    home: Vec<u8>,
    /// What it does before its first call, until that comes.
    opening: Option<ShellOpening>,
    /// The children of this process and of the shell, if the kernel lists them.
    children: Option<(ChildList, ChildList)>,
}

impl SessionShell {
    /// Starts what the message asks for.
    pub(super) fn open(
        message: &OpenMessage,
        cwd: &OwnedFd,
        runs: &Path,
        rendezvous: &Path,
    ) -> Result<Self, FailedMessage> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(|e| failed("open a pipe")(e.into()))?;
        rustix::io::ioctl_fionbio(&write, true).map_err(|e| failed("open a pipe")(e.into()))?;
        let inode = rustix::fs::fstat(&write)
            .map_err(|e| failed("inspect a pipe")(e.into()))?
            .st_ino;
        let null = open_null().map_err(failed("open /dev/null"))?;
        let program =
            CString::new(message.program.clone()).map_err(|_| missing("a program name"))?;
        let restraint = message.restraint.as_ref();
        let is_confined = restraint.is_some_and(|held| held.confinement.is_some());
        // A confined shell sees nothing of ours but its rendezvous.
        let names = if is_confined {
            directory_of_names(rendezvous)
        } else {
            directory_of_names(&runs.parent().unwrap_or(runs).join(NAMES))
        };
        let names = names.ok();
        let script = if names.is_some() {
            c"bash"
        } else {
            c"/dev/fd/3"
        };
        let goes_to = CString::new(message.directory.clone()).ok();
        let argv = [c"bash", c"--norc", c"--noprofile", script].map(CStr::to_owned);
        let what = Launch {
            program: &program,
            argv: &argv,
            env: &message.env,
            cwd: names.as_ref().unwrap_or(cwd).as_fd(),
            goes_to: goes_to.as_deref(),
            stdio: [null.as_fd(); 3],
            extra: &[read.as_fd()],
            controls: Controls::Nothing,
        };
        let (pid, restrained) =
            launch_held(&what, (restraint, None), (state_of(runs), &[rendezvous]))?;
        Ok(Self {
            pid,
            script: Some(write),
            link: format!("pipe:[{inode}]"),
            restrained,
            home: message.directory.clone(),
            opening: Some(ShellOpening {
                directory: message.directory.clone(),
                rc_script: message.rc_script.clone(),
            }),
            children: ChildList::open(rustix::process::getpid()).zip(ChildList::open(pid)),
        })
    }

    /// What the shell does before its first call, if its texts are below `prefix`; nothing before
    /// later ones.
    pub(super) fn take_opening(&mut self, prefix: &str) -> Option<Vec<u8>> {
        Some(self.opening.take()?.script(&driver::loader(prefix)))
    }

    /// Gives the shell a line. The shell waits for one, so there is room for it.
    pub(super) fn say(&self, line: &[u8]) -> io::Result<()> {
        let script = self.script.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        match rustix::io::write(script, line)? {
            count if count == line.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Where the shell is before the call of this number; before the first one it may not have
    /// arrived yet.
    pub(super) fn directory_before(&self, call: u64) -> Option<Vec<u8>> {
        if call == 1 {
            return Some(self.home.clone());
        }
        let link = format!("/proc/{}/cwd", self.pid.as_raw_nonzero());
        let directory = std::fs::read_link(link).ok()?;
        Some(directory.into_os_string().into_vec())
    }

    /// Whether the shell is the only process below this one. `false` also if the kernel does not
    /// say.
    pub(super) fn is_alone(&self) -> bool {
        let lists = self.children.as_ref();
        let servants = self.restrained.as_ref().map(|held| held.servants());
        let ours = servants.unwrap_or_default().into_iter().chain(self.init());
        let children: Vec<Pid> = ours.chain([self.pid]).collect();
        let has_orphans = self
            .restrained
            .as_ref()
            .is_some_and(|held| !held.has_no_orphans());
        // In this order: an orphan moves from the shell's side to ours.
        lists.is_some_and(|(ours, its)| its.is(&[]) && ours.is(&children)) && !has_orphans
    }

    /// The first process of its pid namespace, if it has one.
    pub(super) fn init(&self) -> Option<Pid> {
        self.restrained.as_ref()?.init()
    }

    /// Ends its pid namespace, and everything in it: it does not outlive its shell.
    pub(super) fn end_namespace(&self) {
        if let Some(init) = self.init() {
            let _ = rustix::process::kill_process(init, Signal::KILL);
        }
    }

    /// Lets the shell come to the end of its script.
    pub(super) fn close(&mut self) {
        self.script = None;
    }

    /// Ends the shell itself, at once.
    pub(super) fn kill(&mut self) {
        self.script = None;
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }

    /// Whether the shell waits for its next line. `false` also if the kernel does not say.
    pub(super) fn waits_for_a_line(&self) -> bool {
        let Some(script) = &self.script else {
            return false;
        };
        if rustix::io::ioctl_fionread(script).unwrap_or(1) > 0 {
            return false;
        }
        let pid = self.pid.as_raw_nonzero();
        let Ok(call) = std::fs::read_to_string(format!("/proc/{pid}/syscall")) else {
            return false;
        };
        let mut words = call.split_ascii_whitespace();
        let number = words.next().and_then(|number| number.parse().ok());
        if number != Some(libc::SYS_read) {
            return false;
        }
        let fd = words
            .next()
            .and_then(|fd| u64::from_str_radix(fd.strip_prefix("0x")?, 16).ok());
        fd.is_some_and(|fd| {
            std::fs::read_link(format!("/proc/{pid}/fd/{fd}"))
                .is_ok_and(|link| link.as_os_str() == self.link.as_str())
        })
    }
}

fn open_null() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// The directory in which the script is called `bash`, recreated if somebody removed it.
fn directory_of_names(names: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    prepare_runs_directory(names)?;
    let link = names.join("bash");
    match std::os::unix::fs::symlink(SCRIPT, &link) {
        Ok(()) => {}
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists
                && std::fs::read_link(&link)?.as_os_str() == SCRIPT => {}
        Err(error) => return Err(error),
    }
    Ok(rustix::fs::open(names, flags, Mode::empty())?)
}

/// What the shell does before its first call.
struct ShellOpening {
    directory: Vec<u8>,
    rc_script: Option<PathBuf>,
}

impl ShellOpening {
    /// It closes the descriptor that it inherited, changes to the session's directory, and loads
    /// the loader of calls, then the rc script.
    fn script(&self, loader: &str) -> Vec<u8> {
        let mut script = b"exec 3<&-;cd -- ".to_vec();
        quote(&mut script, &self.directory);
        script.extend(b"||exit 125;unset -v OLDPWD;shopt -s expand_aliases;");
        script.extend(loader.as_bytes());
        if let Some(rc_script) = &self.rc_script {
            script.extend(b". ");
            quote(&mut script, rc_script.as_os_str().as_bytes());
            script.push(b'\n');
        }
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_quotes_what_it_names() {
        let opening = ShellOpening {
            directory: b"/a'b c".to_vec(),
            rc_script: Some(PathBuf::from("/s n")),
        };
        let script = String::from_utf8(opening.script("load() { :; }\n")).unwrap();
        assert!(script.contains(r"cd -- '/a'\''b c'||exit 125;"), "{script}");
        assert!(script.ends_with("load() { :; }\n. '/s n'\n"), "{script}");
    }
}
