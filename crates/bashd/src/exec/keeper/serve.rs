//! The fork server: forks keepers, and ends the orphans of keepers that were killed.
//!
//! It is a subreaper. A child of it that is not a keeper can only be what a killed keeper left, and
//! nobody else would end that. It leaves when its engine is gone and its last keeper has left.
//!
//! A fork takes a third of a millisecond of a core, and so does what a new keeper does first. A keeper that nobody waits for yet
//! is therefore *held*: it is forked when another leaves, since a call is over then, or after a moment.

use super::protocol::{self, Failed, Fork, Frame, Hello, Hurry, Welcome};
use super::waiting::{Keeper, Moment, poll};
use crate::exec::os::fork::{Forked, check_single_thread, exit_now, fork};
use crate::exec::os::signals::{self, SignalFd};
use crate::exec::os::{descriptors, tree};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Serves the engine at the other end of this socket until both have left.
pub(super) fn serve(control: OwnedFd) -> io::Result<()> {
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
    let mut server = Server {
        control: Some(control),
        engine,
        signals,
        hello: None,
        keepers: HashSet::new(),
        held: Vec::new(),
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

/// A pidfd of the process that made the socket: the engine.
fn engine_of(control: &OwnedFd) -> io::Result<OwnedFd> {
    let engine = rustix::net::sockopt::socket_peercred(control)?.pid;
    Ok(rustix::process::pidfd_open(engine, PidfdFlags::empty())?)
}

struct Server {
    /// The socket to the engine, while there is one.
    control: Option<OwnedFd>,
    engine: OwnedFd,
    signals: SignalFd,
    hello: Option<Hello>,
    keepers: HashSet<Pid>,
    /// The sockets of keepers that are held, and when each is forked in any case.
    held: Vec<(Instant, OwnedFd)>,
}

impl Server {
    fn turn(&mut self) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(control) = &self.control {
            fds.push(PollFd::new(&self.engine, PollFlags::IN));
            fds.push(PollFd::new(control, PollFlags::IN));
        }
        poll(&mut fds, self.held.iter().map(|(due, _)| *due).min())?;
        let engine_died = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let spoken_to = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
        if self.signals.take().child {
            self.collect();
        }
        if spoken_to {
            self.listen();
        }
        if engine_died {
            self.control = None;
        }
        if self.control.is_none() {
            self.held.clear();
        }
        self.fork_held_until(Instant::now());
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

    fn obey(&mut self, frame: Frame) {
        let Some(control) = &self.control else { return };
        if frame.is::<Hello>() {
            let welcome = Welcome {
                major: protocol::MAJOR,
                minor: protocol::MINOR,
            };
            let _ = protocol::send(control, &welcome, &[]);
            self.hello = frame.body().ok();
        } else if frame.is::<Fork>() {
            let hold_us = frame.body().map_or(0, |fork: Fork| fork.hold_us);
            match frame.fds.into_iter().next() {
                Some(link) if hold_us == 0 => self.fork_keeper(link, Moment::Busy),
                Some(link) => {
                    let now = Instant::now();
                    let due = now.checked_add(Duration::from_micros(hold_us));
                    self.held.push((due.unwrap_or(now), link));
                }
                None => {}
            }
        } else if frame.is::<Hurry>() {
            self.fork_held(Moment::Busy);
        } else {
            let _ = protocol::refuse(control, &frame.name);
        }
    }

    fn fork_held(&mut self, moment: Moment) {
        while let Some((_, link)) = self.held.pop() {
            self.fork_keeper(link, moment);
        }
    }

    /// Forks what has been held for long enough.
    fn fork_held_until(&mut self, now: Instant) {
        while let Some(at) = self.held.iter().position(|(due, _)| now >= *due) {
            let (_, link) = self.held.swap_remove(at);
            self.fork_keeper(link, Moment::Calm);
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
                self.held.clear(); // the ends of others' sockets: theirs alone may be open
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
            Ok((engine, signals)) => Keeper::new(link, Some(engine), signals)
                .forked(moment)
                .prepare(hello.storage.clone())
                .live(),
            Err(error) => {
                tell_failure(&link, "set up a keeper", &error);
                Err(error)
            }
        }
    }

    fn set_up_keeper(&self) -> io::Result<(OwnedFd, SignalFd)> {
        rustix::process::setsid()?;
        become_subreaper()?;
        Ok((self.engine.try_clone()?, self.signals.try_clone()?))
    }

    /// Collects keepers that left, and ends what killed ones left behind; forks what was held for them.
    fn collect(&mut self) {
        let (mut may_have_orphaned, mut has_left) = (false, false);
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let was_keeper = self.keepers.remove(&pid);
            may_have_orphaned |= !was_keeper || status.exit_status() != Some(0);
            has_left |= was_keeper;
        }
        if may_have_orphaned {
            end_orphans(&self.keepers);
        }
        if has_left {
            self.fork_held(Moment::Calm);
        }
    }

    fn has_children(&self) -> bool {
        !self.keepers.is_empty() || !tree::children(rustix::process::getpid()).is_empty()
    }
}

/// Says on a keeper's socket why there is no keeper.
fn tell_failure(link: &OwnedFd, doing: &str, error: &io::Error) {
    let failed = Failed {
        doing: doing.to_owned(),
        errno: error.raw_os_error().unwrap_or(libc::EAGAIN),
    };
    let _ = protocol::send(link, &failed, &[]);
}

/// Kills every child of this process that is not a keeper. Their own children come to us next.
fn end_orphans(keepers: &HashSet<Pid>) {
    for child in tree::children(rustix::process::getpid()) {
        if !keepers.contains(&child) {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }
}
