//! The network of a confined command that may connect to some hosts: a proxy outside of its
//! namespace, which is reached through listeners inside.
//!
//! ```text
//! keeper ── proxy     a fork of it, in the machine's network; judges, resolves, dials, records
//!    └───── builder   in the command's network: makes the listeners, and hands them to the proxy
//! ```
//!
//! A socket stays in the network in which it was made, whoever holds it: so what connects to a
//! listener inside is served outside. The proxy is a process of its own for each shell. A flood
//! reaches neither the keeper nor the engine, and a job that outlives its engine keeps its network:
//! the proxy lives for as long as the keeper. It has no part in the tree of the run, and its death
//! is no child's death to the keeper; commands then find their connections refused.

mod dial;
mod inside;
mod names;
mod near;
mod opening;
mod relay;
mod serve;
mod tls;

pub(super) use inside::hand_out;

use super::descriptors::keep_only;
use super::fork::{Forked, exit_now, fork_unreported};
use super::record::{self, Recorder};
use crate::confinement::Confinement;
use crate::hosts::HostRules;
use crate::refusals::Dealings;
use crate::variables::Variables;
use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Where the proxy listens inside: above the ports that the kernel hands out.
pub const PROXY_PORT: u16 = 64128;

/// The variables by which programs find a proxy. Names are left to it (`socks5h`).
const VARIABLES: &[(&str, &str)] = &[
    ("http_proxy", "http://127.0.0.1:64128"),
    ("https_proxy", "http://127.0.0.1:64128"),
    ("ftp_proxy", "http://127.0.0.1:64128"),
    ("all_proxy", "socks5h://127.0.0.1:64128"),
    ("no_proxy", "localhost,127.0.0.1,::1"),
];

/// Tells programs of the proxy; in both cases of letters, for not all know the same.
pub(super) fn tell(env: &mut Variables) {
    for (name, value) in VARIABLES {
        env.set(name, value);
        env.set(name.to_ascii_uppercase(), value);
    }
}

/// What a process of ours is called, for those who look.
const NAME: &std::ffi::CStr = c"bashd-proxy";

/// The proxy of a confined shell.
pub struct HeldProxy {
    pid: Pid,
    report: OwnedFd,
}

impl HeldProxy {
    /// Its process: a child that no wait reports.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Everything that it has seen. Never waits for it.
    pub fn dealings(&self) -> Dealings {
        let mut dealings = record::read(&self.report);
        dealings.network_lost = super::tree::stat(self.pid).is_none_or(|stat| stat.is_dead());
        dealings
    }
}

impl Drop for HeldProxy {
    fn drop(&mut self) {
        // Nobody has reaped it, so its number means no other process.
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }
}

/// Starts a proxy; also returns where it expects its listeners. The process must have one thread.
pub(super) fn start(confinement: &Confinement) -> io::Result<(HeldProxy, OwnedFd)> {
    let rules = HostRules::parse(&confinement.hosts, &confinement.resolve);
    let rules = rules.map_err(io::Error::other)?;
    let report = rustix::fs::memfd_create(c"bashd-network", MemfdFlags::CLOEXEC)?;
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let keeper = rustix::process::getpid();
    match fork_unreported()? {
        Forked::Parent(pid) => Ok((HeldProxy { pid, report }, theirs)),
        Forked::Child => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            let has_parent = rustix::process::getppid() == Some(keeper);
            let _ = rustix::thread::set_name(NAME);
            super::namespaces::forget_arguments();
            if has_parent && keep_only(&[ours.as_raw_fd(), report.as_raw_fd()]).is_ok() {
                let _ = serve::serve(rules, &ours, Recorder::new(report));
            }
            exit_now(0)
        }
    }
}
