//! The life of a proxy: accepts what connects inside, and answers who asks for names.
//!
//! Each connection has a thread of its own, so that one that stands still keeps nobody. There are
//! at most so many; whoever comes after is turned away at once.

use super::super::record::Recorder;
use super::dial::{self, NoConnection, Target};
use super::inside::MOST_LISTENERS;
use super::names::GivenNames;
use super::opening;
use super::relay::{self, RelayStop};
use crate::hosts::HostRules;
use crate::refusals::RefusedKind;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Resource, Rlimit};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Most connections at once.
const MOST_CONNECTIONS: u64 = 512;

/// Descriptors of one connection at most: two sockets and two pipes.
const EACH: u64 = 6;

/// Descriptors that are not of connections.
const OTHERS: u64 = 128;

/// A thread resolves names, which takes more room than the rest.
const STACK_BYTES: usize = 256 * 1024;

/// The largest query for a name.
const LARGEST_QUERY: usize = 1024;

/// A proxy and what it decides by.
struct Proxy {
    rules: HostRules,
    recorder: Recorder,
    names: Mutex<GivenNames>,
    connections: AtomicU64,
    most: u64,
}

/// Which kind of listener a connection came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyDoor {
    /// The client says whom it wants.
    Proxy,
    /// Its address does.
    Address,
}

/// What was handed out.
struct Doors {
    listeners: Vec<(ProxyDoor, TcpListener)>,
    resolver: Option<UdpSocket>,
}

/// Serves until the process ends.
pub(super) fn serve(rules: HostRules, from: &OwnedFd, recorder: Recorder) -> io::Result<()> {
    let doors = receive(from)?;
    let proxy = Arc::new(Proxy {
        rules,
        recorder,
        names: Mutex::default(),
        connections: AtomicU64::new(0),
        most: room(),
    });
    loop {
        let resolver = doors
            .resolver
            .iter()
            .map(|resolver| PollFd::new(resolver, PollFlags::IN));
        let listeners = doors.listeners.iter();
        let listeners = listeners.map(|(_, listener)| PollFd::new(listener, PollFlags::IN));
        let mut fds: Vec<_> = resolver.chain(listeners).collect();
        let _ = poll(&mut fds, None);
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (of_resolver, of_listeners) =
            ready.split_at(usize::from(doors.resolver.is_some()).min(ready.len()));
        if let (Some(resolver), Some(true)) = (&doors.resolver, of_resolver.first()) {
            proxy.answer(resolver);
        }
        for ((door, listener), is_ready) in doors.listeners.iter().zip(of_listeners) {
            if *is_ready {
                proxy.accept(*door, listener);
            }
        }
    }
}

/// How many connections there is room for; asks for as much as the machine allows.
fn room() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let most = limit
        .maximum
        .unwrap_or(u64::MAX)
        .min(OTHERS + MOST_CONNECTIONS * EACH);
    let wanted = Rlimit {
        current: Some(most.max(limit.current.unwrap_or(most))),
        maximum: limit.maximum,
    };
    let _ = rustix::process::setrlimit(Resource::Nofile, wanted);
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    let room = limit.unwrap_or(u64::MAX).saturating_sub(OTHERS) / EACH;
    room.clamp(8, MOST_CONNECTIONS)
}

/// Waits for the listeners.
fn receive(from: &OwnedFd) -> io::Result<Doors> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = rustix::io::retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(from, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let mut fds = fds.into_iter();
    let first = fds.next().filter(|_| received.bytes == 1);
    let first = TcpListener::from(first.ok_or(io::ErrorKind::UnexpectedEof)?);
    let resolver = fds.next().map(UdpSocket::from);
    let mut listeners = vec![(ProxyDoor::Proxy, first)];
    listeners.extend(fds.map(|fd| (ProxyDoor::Address, TcpListener::from(fd))));
    for (_, listener) in &listeners {
        listener.set_nonblocking(true)?;
    }
    if let Some(resolver) = &resolver {
        resolver.set_nonblocking(true)?;
    }
    Ok(Doors {
        listeners,
        resolver,
    })
}

impl Proxy {
    fn accept(self: &Arc<Self>, door: ProxyDoor, listener: &TcpListener) {
        let mut client = match listener.accept() {
            Ok((client, _)) => client,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // No descriptor or no memory: some connection ends soon.
            Err(_) => return std::thread::sleep(Duration::from_millis(5)),
        };
        if self.connections.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            if door == ProxyDoor::Proxy {
                opening::turn_away(&mut client);
            }
            return;
        }
        let proxy = Arc::clone(self);
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            match door {
                ProxyDoor::Proxy => proxy.serve_client(client),
                ProxyDoor::Address => proxy.serve_address(&client),
            }
            proxy.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            self.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A client that knows that this is a proxy.
    fn serve_client(&self, mut client: TcpStream) {
        let Ok(opening) = opening::hear(&mut client) else {
            return;
        };
        match self.dial(&opening.target) {
            Ok(host) => {
                if opening.accept(&mut client).is_ok() {
                    self.relay(&client, &host, opening.first, &opening.target);
                }
            }
            Err(why) => {
                let _ = opening.decline(&mut client, &why);
                let _ = client.shutdown(std::net::Shutdown::Write);
            }
        }
    }

    /// A client that believes that it speaks to the host itself.
    fn serve_address(&self, client: &TcpStream) {
        let Ok(SocketAddr::V4(address)) = client.local_addr() else {
            return;
        };
        if address.ip().is_loopback() {
            return;
        }
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.name_of(*address.ip()).map(str::to_owned);
        drop(names);
        let host = name.unwrap_or_else(|| IpAddr::V4(*address.ip()).to_string());
        let target = Target {
            host,
            port: address.port(),
        };
        if let Ok(host) = self.dial(&target) {
            self.relay(client, &host, Vec::new(), &target);
        }
    }

    fn dial(&self, target: &Target) -> Result<TcpStream, NoConnection> {
        let dialled = dial::dial(&self.rules, target);
        match &dialled {
            Ok(_) => self.recorder.connected(&target.to_string()),
            Err(NoConnection::Refused(_)) => self.refuse(&target.to_string()),
            Err(NoConnection::Failed(_)) => {}
        }
        dialled
    }

    /// Writes down that a host was refused.
    fn refuse(&self, host: &str) {
        self.recorder.refused(RefusedKind::Connect, host);
    }

    fn relay(&self, client: &TcpStream, host: &TcpStream, first: Vec<u8>, target: &Target) {
        let _ = client.set_read_timeout(None);
        let _ = (client.set_nodelay(true), host.set_nodelay(true));
        let _ = rustix::net::sockopt::set_socket_keepalive(host, true);
        let key = target.to_string();
        let moved = |sent, received| self.recorder.moved(&key, sent, received);
        if let RelayStop::OtherName(name) = relay::relay(client, host, first, &target.host, moved) {
            let what = format!("{name}:{} through {}", target.port, target.host);
            self.refuse(&what);
        }
    }

    /// Answers everybody who asks for a name.
    fn answer(&self, resolver: &UdpSocket) {
        let mut query = [0; LARGEST_QUERY];
        while let Ok((length, asker)) = resolver.recv_from(&mut query) {
            let query = query.get(..length).unwrap_or_default();
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = names.answer(query, |name| self.rules.knows(name));
            drop(names);
            if let Some((reply, refused)) = answer {
                // Written down first: who has its answer may end at once.
                if let Some(name) = refused {
                    self.refuse(&name);
                }
                let _ = resolver.send_to(&reply, asker);
            }
        }
    }
}
