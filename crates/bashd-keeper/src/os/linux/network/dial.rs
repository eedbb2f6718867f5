//! Connecting to a host for a command: resolves its name once, judges what it leads to, dials.

use super::near;
use crate::hosts::HostRules;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long one address may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// Addresses of a name that are tried.
const MOST_TRIED: usize = 4;

/// A host and a port that a command wants to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// It is not allowed, for this reason.
    Refused(String),
    /// It is, and the network has none.
    Failed(io::Error),
}

impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => f.write_str(reason),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

/// Connects to a host.
pub(super) fn dial(rules: &HostRules, target: &Target) -> Result<TcpStream, NoConnection> {
    if !rules.allows(&target.host, target.port) {
        let reason = format!("{target} is not in `confinement.network`");
        return Err(NoConnection::Refused(reason));
    }
    let found = resolve(rules, target).map_err(NoConnection::Failed)?;
    // Asked each time: a machine gets other addresses while a command runs.
    let near = near::networks();
    let is_literal = target.host.parse::<IpAddr>().is_ok();
    let is_allowed = |address: &&SocketAddr| {
        let (host, found) = (&target.host, address.ip());
        let is_far = || !near.iter().any(|network| network.has(found));
        (is_literal || rules.allows_found(host, found, target.port))
            && (rules.means(host, found, target.port) || is_far())
    };
    let allowed: Vec<_> = found.iter().filter(is_allowed).collect();
    if let (Some(first), true) = (found.first(), allowed.is_empty()) {
        return Err(NoConnection::Refused(format!(
            "{target} leads to {}, which is an address of this machine or its network and not in \
             `confinement.network`",
            first.ip()
        )));
    }
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in allowed.into_iter().take(MOST_TRIED) {
        match TcpStream::connect_timeout(address, ANSWERS_WITHIN) {
            Ok(connected) => return Ok(connected),
            Err(error) => last = error,
        }
    }
    Err(NoConnection::Failed(last))
}

fn resolve(rules: &HostRules, target: &Target) -> io::Result<Vec<SocketAddr>> {
    if let Some(address) = rules.given(&target.host) {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    Ok((&*target.host, target.port).to_socket_addrs()?.collect())
}
