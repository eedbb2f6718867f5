//! The fork server: forks keepers, and ends the orphans of keepers that were killed.
//!
//! It is a subreaper. A child that is not a keeper can only be what a killed keeper left, and
//! nobody else would end that. The server exits when its engine is gone and its last keeper has
//! exited.

use super::protocol::{
    self, FailedMessage, ForkMessage, HelloMessage, MessageFrame, WelcomeMessage,
};
use super::waiting::{Keeper, Moment, poll};
use crate::job::{abandoned, directory};
use crate::os::fork::{Forked, check_single_thread, exit_now, fork};
use crate::os::namespaces::share_network;
use crate::os::seclusion::seclude;
use crate::os::signals::{self, SignalFd};
use crate::os::{descriptors, tree};
use crate::runtime;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// Serves the engine at the other end of this socket until the engine is gone and the keepers have
/// exited.
pub(super) fn serve(control: OwnedFd) -> io::Result<()> {
    seclude();
    descriptors::keep_only(&[control.as_raw_fd()])?;
    check_single_thread()?;
    // The host waits for the first process only, and never sees another child of ours.
    if let Forked::Parent(_) = fork()? {
        return Ok(());
    }
    rustix::process::setsid()?;
    rustix::process::chdir("/")?;
    become_subreaper()?;
    let signals = signals::take_over()?;
    let engine = engine_of(&control)?;
    let mut server = ForkServer {
        control: Some(control),
        engine,
        signals,
        hello: None,
        keepers: HashSet::new(),
        settlers: HashSet::new(),
    };
    while server.control.is_some() || server.has_children() {
        server.turn()?;
    }
    Ok(())
}

/// Makes orphans below this process its own children.
pub(super) fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// A pidfd of the process that made the socket: the engine. Where there is none of that kind, its
/// end shows on the socket alone.
fn engine_of(control: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let engine = rustix::net::sockopt::socket_peercred(control)?.pid;
    match rustix::process::pidfd_open(engine, PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

struct ForkServer {
    /// The socket to the engine, while there is one.
    control: Option<OwnedFd>,
    engine: Option<OwnedFd>,
    signals: SignalFd,
    hello: Option<HelloMessage>,
    keepers: HashSet<Pid>,
    /// Children that settle runs: whoever holds a run's lock keeps only them waiting.
    settlers: HashSet<Pid>,
}

impl ForkServer {
    fn turn(&mut self) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(control) = &self.control {
            fds.push(PollFd::new(control, PollFlags::IN));
            let engine = self.engine.iter();
            fds.extend(engine.map(|engine| PollFd::new(engine, PollFlags::IN)));
        }
        poll(&mut fds, None)?;
        let spoken_to = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let engine_died = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
        if self.signals.take().child {
            self.collect();
        }
        if spoken_to {
            self.listen();
        }
        if engine_died {
            self.control = None;
        }
        Ok(())
    }

    fn listen(&mut self) {
        while let Some(control) = &self.control {
            match protocol::receive(control) {
                Ok(Some(frame)) => self.obey(frame),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(None) | Err(_) => self.control = None,
            }
        }
    }

    fn obey(&mut self, frame: MessageFrame) {
        let Some(control) = &self.control else { return };
        if frame.is::<HelloMessage>() {
            let welcome = WelcomeMessage {
                major: protocol::MAJOR,
                minor: protocol::MINOR,
            };
            let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
            let own: Vec<_> = own.iter().map(AsFd::as_fd).collect();
            let _ = protocol::send(control, &welcome, &own);
            self.hello = frame.body().ok();
            if let Some(hello) = &self.hello {
                let runs = &hello.storage.runs;
                if has_entries(&directory::live(runs)) {
                    // What was killed with an earlier fork server.
                    self.aside(|runs| abandoned::settle_all(&directory::live(runs)));
                } else {
                    runtime::sweep(state_of(runs));
                }
            }
        } else if frame.is::<ForkMessage>() {
            let asked: Option<ForkMessage> = frame.body().ok();
            let is_calm = asked.as_ref().is_some_and(|fork| fork.is_calm);
            if asked.is_some_and(|fork| fork.confines) {
                share_network();
            }
            let moment = if is_calm { Moment::Calm } else { Moment::Busy };
            if let Some(link) = frame.fds.into_iter().next() {
                self.fork_keeper(link, moment);
            }
        } else {
            let _ = protocol::refuse(control, &frame.name);
        }
    }

    fn fork_keeper(&mut self, link: OwnedFd, moment: Moment) {
        if self.hello.is_none() {
            return;
        }
        match fork() {
            Ok(Forked::Parent(keeper)) => {
                self.keepers.insert(keeper);
            }
            Ok(Forked::Child) => {
                self.control = None;
                exit_now(i32::from(self.be_keeper(link, moment).is_err()))
            }
            Err(error) => tell_failure(&link, "fork a keeper", &error),
        }
    }

    fn be_keeper(&self, link: OwnedFd, moment: Moment) -> io::Result<()> {
        let Some(hello) = &self.hello else {
            return Ok(());
        };
        match self.set_up_keeper() {
            Ok((engine, signals)) => Keeper::new(link, engine, signals)
                .forked(moment)
                .of(hello)
                .live(),
            Err(error) => {
                tell_failure(&link, "set up a keeper", &error);
                Err(error)
            }
        }
    }

    fn set_up_keeper(&self) -> io::Result<(Option<OwnedFd>, SignalFd)> {
        rustix::process::setsid()?;
        become_subreaper()?;
        let engine = self.engine.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok((engine, SignalFd::of_this_process()?))
    }

    /// Reaps keepers that exited, and ends what killed ones left behind.
    fn collect(&mut self) {
        let mut may_have_orphaned = false;
        let mut killed = Vec::new();
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if self.settlers.remove(&pid) {
                continue;
            }
            let is_keeper = self.keepers.remove(&pid);
            if is_keeper && status.exit_status() != Some(0) {
                killed.push(pid);
            }
            may_have_orphaned |= !is_keeper;
        }
        if may_have_orphaned || !killed.is_empty() {
            self.end_orphans();
        }
        if !killed.is_empty() {
            self.settle_jobs_of(&killed);
        }
    }

    /// Writes, in the place of keepers that were killed, how their jobs ended.
    fn settle_jobs_of(&mut self, keepers: &[Pid]) {
        self.aside(|runs| {
            for keeper in keepers {
                let keeper = keeper.as_raw_nonzero().get();
                for directory in [runs, &directory::live(runs)] {
                    abandoned::settle_those_of(keeper, directory);
                }
            }
        });
    }

    /// Settles runs in a process of its own, since that may take seconds, and sweeps: who asks for
    /// a keeper meanwhile is not kept waiting. Where nothing can be forked, it is done here.
    fn aside(&mut self, settle: impl FnOnce(&Path)) {
        let Some(runs) = self.hello.as_ref().map(|hello| hello.storage.runs.clone()) else {
            return;
        };
        let forked = fork();
        if let Ok(Forked::Parent(settler)) = forked {
            self.settlers.insert(settler);
            return;
        }
        let is_own = matches!(forked, Ok(Forked::Child));
        if is_own {
            // Nobody must take it for the server.
            self.control = None;
        }
        settle(&runs);
        runtime::sweep(state_of(&runs));
        if is_own {
            exit_now(0);
        }
    }

    /// Kills every child of this process that is neither keeper nor settler. Their own children
    /// become ours next.
    fn end_orphans(&self) {
        for child in tree::children(rustix::process::getpid()) {
            if !self.keepers.contains(&child) && !self.settlers.contains(&child) {
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
        }
    }

    fn has_children(&self) -> bool {
        !self.keepers.is_empty() || !tree::children(rustix::process::getpid()).is_empty()
    }
}

fn has_entries(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

/// The state directory, of which this is the directory of runs.
pub(super) fn state_of(runs: &Path) -> &Path {
    runs.parent().unwrap_or(runs)
}

/// Reports on a keeper's socket why there is no keeper.
fn tell_failure(link: &OwnedFd, doing: &str, error: &io::Error) {
    let failed = FailedMessage {
        doing: doing.to_owned(),
        errno: error.raw_os_error().unwrap_or(libc::EAGAIN),
    };
    let _ = protocol::send(link, &failed, &[]);
}
