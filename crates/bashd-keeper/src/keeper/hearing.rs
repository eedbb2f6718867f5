//! What reaches a run: which of its descriptors are ready, and the messages on its engine's socket.

use super::input::StdinWriter;
use super::job_messages::{AnnounceMessage, BackgroundMessage, ConcealMessage};
use super::life::{Custody, KeeperRun, Phase};
use super::protocol::{self, EndMessage, MessageFrame, QueryMessage, ReleaseMessage};
use super::pump::Pump;
use super::waiting::{Keeper, poll};
use crate::exit::EndedBy;
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// What `poll` found.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each kind of descriptor that was waited for"
)]
pub(super) struct RunReadiness {
    pub(super) signals: bool,
    pub(super) link: bool,
    pub(super) engine: bool,
    pub(super) output: bool,
    pub(super) job: bool,
}

impl KeeperRun {
    /// Waits until something arrives or must happen.
    pub(super) fn wait(&self, keeper: &Keeper, now: Instant) -> io::Result<RunReadiness> {
        let mut fds = vec![PollFd::new(&keeper.signals, PollFlags::IN)];
        let hears = now >= self.deaf_until;
        if let Some(link) = keeper.link.as_ref().filter(|_| hears) {
            let writable = if self.unsent.is_some() {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            fds.push(PollFd::new(link, PollFlags::IN | writable));
        }
        let engine_at = fds.len();
        if let Some(engine) = keeper.engine.as_ref().filter(|_| hears) {
            fds.push(PollFd::new(engine, PollFlags::IN));
        }
        let pipes_at = fds.len();
        let pipes = self.pumps.iter().filter_map(Pump::pipe);
        fds.extend(pipes.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let job_at = fds.len();
        fds.extend(
            self.job_descriptors()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        let input_at = fds.len();
        let input = self.input.as_ref().and_then(StdinWriter::wants_to_write);
        fds.extend(input.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        poll(&mut fds, self.next_moment(now))?;
        let any = |from: usize, to: usize| {
            fds.get(from..to)
                .is_some_and(|fds| fds.iter().any(|fd| !fd.revents().is_empty()))
        };
        Ok(RunReadiness {
            signals: any(0, 1),
            link: any(1, engine_at),
            engine: any(engine_at, pipes_at),
            output: any(pipes_at, job_at),
            job: any(job_at, input_at),
        })
    }

    /// Reads the engine's messages, or learns that it is gone.
    pub(super) fn listen(&mut self, keeper: &mut Keeper, ready: &RunReadiness, now: Instant) {
        let mut is_gone = ready.engine;
        // The last word of an engine that is gone may have come after our look at the socket.
        while (ready.link || ready.engine)
            && let Some(link) = &keeper.link
        {
            match protocol::receive(link) {
                Ok(Some(frame)) => self.obey(link, &frame, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(None) | Err(_) => {
                    is_gone = true;
                    break;
                }
            }
        }
        if is_gone {
            keeper.link = None;
            // One that is leased goes on watching for the end of its engine.
            if !keeper.is_leased || ready.engine {
                keeper.engine = None;
            }
            self.unsent = None;
            self.query = None;
            if self.custody == Custody::Foreground && !self.is_over() {
                self.end(Some(EndedBy::Cancel), now);
            } else if keeper.is_leased && ready.engine && !self.is_over() {
                self.end(Some(EndedBy::Place), now);
            }
        }
    }

    fn obey(&mut self, link: &OwnedFd, frame: &MessageFrame, now: Instant) {
        if frame.is::<QueryMessage>() {
            self.query = frame.body().ok();
        } else if let Ok(end) = frame.body_if::<EndMessage>() {
            self.end(Some(end.by), now);
        } else if frame.is::<BackgroundMessage>() {
            self.go_to_background(link, frame, None);
        } else if frame.is::<AnnounceMessage>() {
            self.announce(frame);
        } else if frame.is::<ConcealMessage>() {
            self.conceal();
        } else if frame.is::<ReleaseMessage>() {
            if self.phase == Phase::Reported {
                self.custody = Custody::Released;
                // What could not be ended writes nothing that anybody would look for.
                if self.asked.is_empty()
                    && let Ok(release) = frame.body::<ReleaseMessage>()
                {
                    self.keep_log(&release);
                }
            }
        } else if !self.obey_keyboard(frame) {
            let _ = protocol::refuse(link, &frame.name);
        }
    }
}
