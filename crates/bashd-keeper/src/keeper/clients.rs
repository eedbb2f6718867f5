//! Connections to a job's control socket: they follow its output, send input and signals, or end
//! it.

use super::ending::RunScope;
use super::job::KeeperJob;
use super::job_messages::{
    AttachMessage, AttachedMessage, DoneMessage, InputMessage, SignalMessage,
};
use super::life::KeeperRun;
use super::protocol::{
    self, EndMessage, ExitedMessage, GrownMessage, MessageFrame, QueryMessage, SpilledMessage,
};
use super::report::GROWTH_INTERVAL;
use crate::exit::EndedBy;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Connections that are served at once; more wait.
const MOST_CLIENTS: usize = 64;

/// One connection.
pub(super) struct Client {
    socket: OwnedFd,
    is_attached: bool,
    is_gone: bool,
    /// Lengths beyond which it wants to be told.
    query: Option<QueryMessage>,
    last_grown: Option<Instant>,
    /// For each stream: whether it has the ring.
    has_ring: Vec<bool>,
}

impl Client {
    fn say<M: protocol::KeeperMessage>(&mut self, message: &M, fds: &[BorrowedFd<'_>]) {
        // A client that does not read is not listening; it finds everything in the directory.
        if protocol::send(&self.socket, message, fds).is_err() {
            self.is_gone = true;
        }
    }

    /// Reports how the shell ended.
    pub(super) fn tell_exit(&mut self, exited: &ExitedMessage) {
        if self.is_attached {
            self.say(exited, &[]);
        }
    }

    fn answer(&mut self, done: Result<(), &str>) {
        let error = done.err().map(str::to_owned);
        self.say(&DoneMessage { error }, &[]);
    }

    fn attach(&mut self, run: &KeeperRun, exited: Option<&ExitedMessage>) {
        let mut fds = Vec::new();
        let mut streams = Vec::new();
        for pump in &run.pumps {
            let of_spool = pump.spool.descriptors();
            let ring = pump.spool.ring();
            streams.push((of_spool.len() > 1, ring.is_some()));
            fds.extend(of_spool);
            fds.extend(ring);
        }
        self.has_ring = streams.iter().map(|(_, ring)| *ring).collect();
        self.is_attached = true;
        let exited = exited.cloned();
        let terminal = run.terminal_size();
        let attached = AttachedMessage {
            streams,
            exited,
            terminal,
        };
        self.say(&attached, &fds);
    }

    fn tell_growth(&mut self, run: &KeeperRun, now: Instant) {
        for (stream, pump) in run.pumps.iter().enumerate() {
            let has = self.has_ring.get_mut(stream);
            if let (Some(ring), Some(has)) = (pump.spool.ring(), has)
                && !*has
            {
                *has = true;
                self.say(&SpilledMessage { stream }, &[ring]);
            }
        }
        let is_due = self
            .last_grown
            .is_none_or(|last| now >= last + GROWTH_INTERVAL);
        let is_longer = self
            .query
            .as_ref()
            .is_some_and(|query| run.is_longer_than(query));
        if is_due && is_longer {
            self.query = None;
            self.last_grown = Some(now);
            self.say(&GrownMessage {}, &[]);
        }
    }
}

impl KeeperRun {
    /// What to wait for on behalf of a job.
    pub(super) fn job_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let job = self.job.as_deref();
        let room = |job: &&KeeperJob| job.clients.len() < MOST_CLIENTS;
        let listeners = job.filter(room).into_iter().flat_map(|job| {
            let beacon = job.beacon.as_ref().map(|beacon| &beacon.listener);
            job.listener.iter().chain(beacon)
        });
        let clients = job.into_iter().flat_map(|job| &job.clients);
        let sockets = clients.map(|client| client.socket.as_fd());
        listeners.map(AsFd::as_fd).chain(sockets)
    }

    /// When a client must be told of growth even if no message arrives.
    pub(super) fn client_moment(&self) -> Option<Instant> {
        let clients = self.job.iter().flat_map(|job| &job.clients);
        let moments = clients.filter_map(|client| {
            let query = client.query.as_ref()?;
            let is_longer = self.is_longer_than(query);
            client
                .last_grown
                .filter(|_| is_longer)
                .map(|last| last + GROWTH_INTERVAL)
        });
        moments.min()
    }

    /// Accepts connections, reads their messages, reports growth.
    pub(super) fn serve_clients(&mut self, is_spoken_to: bool, now: Instant) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        let mut asked = Vec::new();
        if is_spoken_to {
            if accept(&mut job) == AskedAt::Beacon {
                self.restore_if_gone(&mut job);
            }
            for (number, client) in job.clients.iter_mut().enumerate() {
                while !client.is_gone {
                    match protocol::receive(&client.socket) {
                        Ok(Some(frame)) => asked.push((number, frame)),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Ok(None) | Err(_) => client.is_gone = true,
                    }
                }
            }
        }
        let exited = job.exited.clone();
        for client in &mut job.clients {
            client.tell_growth(self, now);
        }
        let mut clients = std::mem::take(&mut job.clients);
        self.job = Some(job);
        for (number, frame) in asked {
            if let Some(client) = clients.get_mut(number) {
                self.obey_client(client, &frame, exited.as_ref(), now);
            }
        }
        if let Some(job) = &mut self.job {
            clients.retain(|client| !client.is_gone);
            job.clients = clients;
        }
    }

    fn obey_client(
        &mut self,
        client: &mut Client,
        frame: &MessageFrame,
        exited: Option<&ExitedMessage>,
        now: Instant,
    ) {
        if frame.is::<AttachMessage>() {
            client.attach(self, exited);
        } else if frame.is::<QueryMessage>() {
            client.query = frame.body().ok();
            client.tell_growth(self, now);
        } else if frame.is::<EndMessage>() {
            self.end(Some(EndedBy::Cancel), now);
            client.answer(Ok(()));
        } else if let Ok(input) = frame.body_if::<InputMessage>() {
            self.note_input(&input.bytes);
            let sent = match &mut self.input {
                Some(pipe) => pipe.send(&input.bytes, input.close),
                None => Err("it was started without an open stdin"),
            };
            self.stirred(now);
            client.answer(sent);
        } else if let Ok(signal) = frame.body_if::<SignalMessage>() {
            client.answer(signal_tree(&self.scope, signal.signal));
        } else if self.obey_keyboard(frame) {
            self.stirred(now);
        } else {
            let _ = protocol::refuse(&client.socket, &frame.name);
        }
    }
}

/// Where somebody connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskedAt {
    /// At the socket in the job's directory, or nowhere.
    Directory,
    /// At the one that is there for a directory that is gone.
    Beacon,
}

/// Accepts whoever connects.
fn accept(job: &mut KeeperJob) -> AskedAt {
    let KeeperJob {
        listener,
        beacon,
        clients,
        ..
    } = job;
    if let Some(listener) = listener {
        accept_at(listener, clients);
    }
    let before = clients.len();
    if let Some(beacon) = beacon {
        accept_at(&beacon.listener, clients);
    }
    if clients.len() > before {
        AskedAt::Beacon
    } else {
        AskedAt::Directory
    }
}

fn accept_at(listener: &OwnedFd, clients: &mut Vec<Client>) {
    while clients.len() < MOST_CLIENTS {
        match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => clients.push(Client {
                socket,
                is_attached: false,
                is_gone: false,
                query: None,
                last_grown: None,
                has_ring: Vec::new(),
            }),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn signal_tree(scope: &RunScope, number: i32) -> Result<(), &'static str> {
    let signal =
        rustix::process::Signal::from_named_raw(number).ok_or("there is no such signal")?;
    scope.for_each(|member| {
        let _ = member.signal(signal);
    });
    Ok(())
}
