//! What is made inside of a command's network: listeners, a resolver, and a way to them for every
//! address.

use super::PROXY_PORT;
use crate::confinement::{Confinement, HostAccess};
use crate::hosts::{HostRule, HostRules};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType,
};
use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Ports that are served to programs that know of no proxy, if a rule names none.
const USUAL_PORTS: &[u16] = &[22, 80, 443, 9418];

/// Most ports that are served so.
const MOST_PORTS: usize = 48;

/// Most descriptors in one message.
pub(super) const MOST_LISTENERS: usize = MOST_PORTS + 2;

/// Connections that wait for the proxy.
const BACKLOG: i32 = 1024;

/// Makes the listeners, and hands them to the proxy. Returns what they serve.
pub(in super::super) fn hand_out(
    to: &OwnedFd,
    confinement: &Confinement,
) -> io::Result<HostAccess> {
    let proxy = listen(Ipv4Addr::LOCALHOST, PROXY_PORT)?;
    let Ok((resolver, listeners)) = every_address(confinement) else {
        send(to, HostAccess::Proxy, &[proxy.as_fd()])?;
        return Ok(HostAccess::Proxy);
    };
    let first = [proxy.as_fd(), resolver.as_fd()];
    let all: Vec<_> = first
        .into_iter()
        .chain(listeners.iter().map(AsFd::as_fd))
        .collect();
    send(to, HostAccess::Transparent, &all)?;
    Ok(HostAccess::Transparent)
}

/// Leads every address here, and listens at the ports that rules allow.
fn every_address(confinement: &Confinement) -> io::Result<(UdpSocket, Vec<TcpListener>)> {
    let rules = HostRules::parse(&confinement.hosts, &[]).map_err(io::Error::other)?;
    lead_here()?;
    let resolver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53))?;
    let listeners = ports(&rules).into_iter();
    let listeners = listeners.map(|port| listen(Ipv4Addr::UNSPECIFIED, port));
    Ok((resolver, listeners.collect::<io::Result<_>>()?))
}

/// The ports at which rules allow something: those that they name, and the usual ones if one names
/// none.
fn ports(rules: &HostRules) -> BTreeSet<u16> {
    let named = rules.rules().iter().filter_map(HostRule::port);
    let has_open = rules.rules().iter().any(|rule| rule.port().is_none());
    let usual = USUAL_PORTS.iter().copied().filter(|_| has_open);
    let ports: BTreeSet<u16> = usual
        .chain(named)
        .filter(|port| *port != PROXY_PORT)
        .collect();
    ports.into_iter().take(MOST_PORTS).collect()
}

fn listen(address: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, port))?;
    // Again, with more room than the standard library asks for.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Adds the route `local 0.0.0.0/0 dev lo`: packets to any address then arrive in this network.
fn lead_here() -> io::Result<()> {
    const MESSAGE: [u8; 36] = {
        let mut message = [0; 36];
        message[0] = 36; // length
        message[4] = 24; // RTM_NEWROUTE
        message[6] = 0x05; // NLM_F_REQUEST, NLM_F_ACK
        message[7] = 0x06; // NLM_F_EXCL, NLM_F_CREATE
        message[8] = 1; // sequence
        message[16] = 2; // AF_INET
        message[20] = 255; // RT_TABLE_LOCAL
        message[21] = 3; // RTPROT_BOOT
        message[22] = 254; // RT_SCOPE_HOST
        message[23] = 2; // RTN_LOCAL
        message[28] = 8; // the attribute's length
        message[30] = 4; // RTA_OIF
        message[32] = 1; // the loopback is the first interface of every network
        message
    };
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // that of routes
    )?;
    rustix::net::send(&socket, &MESSAGE, SendFlags::empty())?;
    let mut answer = [0_u8; 128];
    let (_, length) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let code = answer.get(16..20).filter(|_| length >= 20);
    let code: Option<[u8; 4]> = code.and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn send(to: &OwnedFd, access: HostAccess, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many listeners"));
    }
    let byte = [u8::from(access == HostAccess::Transparent)];
    rustix::net::sendmsg(
        to,
        &[IoSlice::new(&byte)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}
