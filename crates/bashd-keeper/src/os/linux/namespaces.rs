//! Namespaces of a process's own, and what it gives up in them.

use super::borrowed::in_child;
use super::passing;
use super::seclusion::seclude;
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::LinkNameSpaceType;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;

/// Namespaces that confined commands of one engine have in common: a user namespace, and a network
/// with nothing in it but a loopback. Making a network, and clearing it away, takes the kernel
/// longer than everything else; and what a job listens on is there for the calls beside it.
struct SharedNetwork {
    user: OwnedFd,
    network: OwnedFd,
}

/// Inherited by every process that is forked after it was made.
static SHARED: OnceLock<Option<SharedNetwork>> = OnceLock::new();

/// Makes a network that is shared by what processes forked from this one confine. If it can't be
/// made, each of them makes its own, and finds out why. This process must have one thread.
pub fn share_network() {
    SHARED.get_or_init(|| {
        let (ours, theirs) = passing::pair().ok()?;
        let made = in_child(|| {
            unshare_with_ids(libc::CLONE_NEWNET)?;
            raise_loopback()?;
            let user = fs::File::open("/proc/self/ns/user")?;
            let network = fs::File::open("/proc/self/ns/net")?;
            passing::send(theirs.as_fd(), &[0], &[user.as_fd(), network.as_fd()])
        });
        made.ok()?.ok()?;
        let (_, received) = passing::receive(ours.as_fd(), &mut [0]).ok()?;
        let mut received = received.into_iter().flatten();
        Some(SharedNetwork {
            user: received.next()?,
            network: received.next()?,
        })
    });
}

/// Enters new namespaces: user, mount, ipc, host name and, if wanted, network; children will be in
/// a new pid namespace. Its user and group mean the same inside as outside. `may_share`: the
/// network, and the user namespace that it belongs to, may be those that others have.
pub(super) fn enter_new(has_own_network: bool, may_share: bool) -> io::Result<()> {
    let kinds = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    let shared = SHARED.get().and_then(Option::as_ref);
    if let Some(SharedNetwork { user, network }) = shared.filter(|_| may_share) {
        let enter = rustix::thread::move_into_link_name_space;
        enter(user.as_fd(), Some(LinkNameSpaceType::User))?;
        enter(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        return unshare(kinds);
    }
    let network = if has_own_network {
        libc::CLONE_NEWNET
    } else {
        0
    };
    unshare_with_ids(kinds | network)?;
    if has_own_network {
        raise_loopback()?;
    }
    Ok(())
}

fn unshare(kinds: libc::c_int) -> io::Result<()> {
    // SAFETY: a plain system call; this process has one thread, and shares with others nothing
    // that the kinds are about.
    #[expect(unsafe_code, reason = "unshare has no safe wrapper")]
    let done = unsafe { libc::unshare(kinds) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Likewise, with a user namespace in which this process's user and group mean the same as outside.
fn unshare_with_ids(kinds: libc::c_int) -> io::Result<()> {
    // Afterwards they are nobody's.
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    unshare(kinds | libc::CLONE_NEWUSER)?;
    // A process that is closed to others can't write its own map of ids. It may have the memory of
    // another one, which is open for that moment, too.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
    let done = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
    seclude();
    done
}

/// Makes 127.0.0.1 work in a new network namespace.
fn raise_loopback() -> io::Result<()> {
    let kind = rustix::net::SocketType::DGRAM;
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, kind, None)?;
    // SAFETY: all zeroes is a valid value of this plain struct; the name is shorter than its room;
    // the call reads the struct, which outlives it.
    #[expect(unsafe_code, reason = "this request has no safe wrapper")]
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        ptr::copy_nonoverlapping(c"lo".as_ptr(), request.ifr_name.as_mut_ptr(), 3);
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        let socket = std::os::fd::AsRawFd::as_raw_fd(&socket);
        if libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Wipes the arguments of this process, which everybody who sees it can read: they are those of the
/// program that it was forked from.
pub(super) fn forget_arguments() {
    /// Where the two are among the fields behind the name, whose end is the last parenthesis.
    const START: usize = 45;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(')').map_or("", |(_, after)| after);
    let mut fields = after.split_ascii_whitespace().skip(START);
    let mut number = || fields.next()?.parse::<usize>().ok();
    if let (Some(start), Some(end)) = (number(), number())
        && start != 0
        && end > start
    {
        // SAFETY: the kernel says that these are the arguments of this process; it is a fork, which
        // uses them no more.
        #[expect(unsafe_code, reason = "arguments are just memory")]
        unsafe {
            ptr::with_exposed_provenance_mut::<u8>(start).write_bytes(0, end - start);
        }
    }
}

/// Has the kernel reap this process's children, has it die with its parent, and gives up its
/// rights.
pub(super) fn adopt_quietly() {
    // SAFETY: plain system calls; the disposition of a signal for which there is no handler.
    #[expect(unsafe_code, reason = "these have no safe wrappers")]
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        give_up_capabilities();
    }
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITIES: u32 = 0x2008_0522;

/// The header and the three sets of `capset`, in their second form.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Uses no capability any more, though it keeps those that it may have: what is asked for by the
/// real user (`access`) still tells what they allow.
pub(super) fn lay_down_capabilities() {
    let header = CapabilityHeader {
        version: CAPABILITIES,
        pid: 0,
    };
    let mut sets = [0_u32; 6];
    // SAFETY: plain system calls; the header and the sets outlive them.
    #[expect(unsafe_code, reason = "these have no safe wrappers")]
    unsafe {
        libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr());
        // Effective, permitted, inheritable; twice.
        let [_, low, _, _, high, _] = sets;
        sets = [0, low, 0, 0, high, 0];
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr());
    }
}

/// Gives up every capability, for this process and for whatever it will execute, also as root.
///
/// # Safety
///
/// System calls only: it may run between clone and exec.
#[expect(unsafe_code, reason = "runs between clone and exec")]
pub(super) unsafe fn give_up_capabilities() -> bool {
    /// There are 41 today; beyond the last the kernel says so.
    const MOST: libc::c_int = 64;
    // SAFETY: plain system calls; the header and the sets outlive theirs.
    unsafe {
        for capability in 0..MOST {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                // Past the last one, or without the right to drop it: then the sets decide alone.
                break;
            }
        }
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL,
            0,
            0,
            0,
        );
        let header = CapabilityHeader {
            version: CAPABILITIES,
            pid: 0,
        };
        let none = [0_u32; 6];
        libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) == 0
    }
}
