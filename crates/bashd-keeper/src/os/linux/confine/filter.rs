//! The system calls that a confined command does without, as a program for the kernel.
//!
//! A list of refusals: what is not named is allowed, since Landlock and the namespaces hold what
//! files and processes are concerned. Named is what would undo these, what reaches the kernel past
//! them, and sockets of kinds that they do not cover.

use super::super::watch;
use crate::confinement::{Confinement, Level, Network};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// Calls with their names.
macro_rules! calls {
    ($($call:ident,)+) => { &[$((libc::$call, stringify!($call))),+] };
}

/// Refused whatever their arguments are.
const REFUSED: &[(i64, &str)] = calls![
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_userfaultfd,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_acct,
    SYS_quotactl,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_syslog,
    SYS_vhangup,
    SYS_fanotify_init,
    SYS_nfsservctl,
];

/// Refused with some of their arguments.
const REFUSED_IN_PART: &[(i64, &str)] =
    calls![SYS_unshare, SYS_clone, SYS_ioctl, SYS_mknodat, SYS_socket,];

/// The name of a call that is refused.
pub(in super::super) fn name_of(number: i64) -> &'static str {
    let mut all = REFUSED.iter().chain(REFUSED_HERE).chain(REFUSED_IN_PART);
    let name = all.find(|(known, _)| *known == number);
    name.map_or("mknod", |(_, name)| name.trim_start_matches("SYS_"))
}

/// Likewise, on machines that have them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[(i64, &str)] = calls![
    SYS_kexec_file_load,
    SYS_iopl,
    SYS_ioperm,
    SYS_uselib,
    SYS_lookup_dcookie,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[(i64, &str)] = &[];

/// Unknown to a confined command, so that its libraries use something older: their arguments are
/// behind pointers, and can't be judged.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Commands to a terminal that type into it, or that belong to the console.
const TERMINAL: &[u64] = &[libc::TIOCSTI as _, libc::TIOCLINUX as _];

/// What the kernel sets in the number of a call of the x32 interface, which has numbers of its own.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Address families above this do not exist.
const LAST_FAMILY: libc::c_int = 64;

/// The program for a confinement at a level.
pub(super) fn program(confinement: &Confinement, level: Level) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for &(number, _) in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(number, Vec::new());
    }
    let any_of = |argument: u8, bits: &[libc::c_int]| -> io::Result<Vec<SeccompRule>> {
        let bits = bits.iter().map(|&bit| u64::from(bit.cast_unsigned()));
        bits.map(|bit| rule(argument, Op::MaskedEq(bit), bit))
            .collect()
    };
    rules.insert(libc::SYS_unshare, any_of(0, NAMESPACES)?);
    rules.insert(libc::SYS_clone, any_of(0, NAMESPACES)?);
    rules.insert(libc::SYS_ioctl, each(1, TERMINAL)?);
    let devices = [libc::S_IFCHR, libc::S_IFBLK];
    let node = |argument| -> io::Result<Vec<SeccompRule>> {
        let kinds = devices.iter().map(|&kind| u64::from(kind));
        let format = u64::from(libc::S_IFMT);
        kinds
            .map(|kind| rule(argument, Op::MaskedEq(format), kind))
            .collect()
    };
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, node(1)?);
    rules.insert(libc::SYS_mknodat, node(2)?);
    let families: Vec<u64> = (0..LAST_FAMILY)
        .filter(|family| !families(confinement, level).contains(family))
        .map(|family| u64::from(family.cast_unsigned()))
        .collect();
    rules.insert(libc::SYS_socket, each(0, &families)?);
    let refusal = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch);
    let listed: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)?;
    let mut program = unknown();
    if confinement.watches_files {
        program.extend(watched());
        program.extend(listed.into_iter().map(reported));
    } else {
        program.extend(listed);
    }
    Ok(program)
}

/// Has a refusal reported, and answered by who watches.
fn reported(mut instruction: sock_filter) -> sock_filter {
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    if instruction.code == RETURN && instruction.k == refusal {
        instruction.k = libc::SECCOMP_RET_USER_NOTIF;
    }
    instruction
}

/// The families of sockets that a command may have.
fn families(confinement: &Confinement, level: Level) -> Vec<libc::c_int> {
    let mut allowed = Vec::new();
    let has_own_network = level == Level::Full;
    if has_own_network || confinement.network == Network::All {
        allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    // Without a view of its own, a command would find every socket of the machine.
    if has_own_network || !confinement.sockets.is_empty() {
        allowed.push(libc::AF_UNIX);
    }
    allowed
}

fn rule(argument: u8, how: Op, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, Len::Dword, how, value);
    condition
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(io::Error::other)
}

fn each(argument: u8, values: &[u64]) -> io::Result<Vec<SeccompRule>> {
    let values = values.iter();
    values.map(|&value| rule(argument, Op::Eq, value)).collect()
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where the low half of a call's second argument is in what a filter sees.
const SECOND_ARGUMENT: u32 = if cfg!(target_endian = "little") {
    24
} else {
    28
};

fn instruction(code: u16, jt: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf: 0, k }
}

/// The beginning of the program: what is unknown. The rest of it follows.
fn unknown() -> BpfProgram {
    #[cfg(target_arch = "x86_64")]
    let of_x32 = Some(((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, X32));
    #[cfg(not(target_arch = "x86_64"))]
    let of_x32 = None;
    let tests: Vec<(u16, u32)> = UNKNOWN
        .iter()
        .filter_map(|&number| Some((EQUAL, u32::try_from(number).ok()?)))
        .chain(of_x32)
        .collect();
    let mut program = vec![instruction(LOAD, 0, 0)];
    for (index, &(code, value)) in tests.iter().enumerate() {
        // From the next instruction over the other tests and the jump behind them.
        let over = u8::try_from(tests.len() - index).unwrap_or(0);
        program.push(instruction(code, over, value));
    }
    program.push(instruction(JUMP, 0, 1));
    let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    program.push(instruction(RETURN, 0, answer));
    program
}

/// The next part, where files are watched: calls that name them are reported. A call of another
/// kind of machine has other numbers; whether that is refused is decided by the part behind this.
fn watched() -> BpfProgram {
    let report = || instruction(RETURN, 0, libc::SECCOMP_RET_USER_NOTIF);
    let mut program = vec![instruction(LOAD, 0, ARCHITECTURE)];
    let mut tests = Vec::new();
    for number in watch::watched() {
        let Ok(value) = u32::try_from(number) else {
            continue;
        };
        // Each test jumps over what belongs to it.
        let mut test = instruction(EQUAL, 0, value);
        if watch::MAY_BE_WITHOUT_PATH.contains(&number) {
            test.jf = 4;
            let allow = instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW);
            let mut is_null = instruction(EQUAL, 0, 0);
            is_null.jf = 1;
            tests.extend([
                test,
                instruction(LOAD, 0, SECOND_ARGUMENT),
                is_null,
                allow,
                report(),
            ]);
        } else {
            test.jf = 1;
            tests.extend([test, report()]);
        }
    }
    // On another kind of machine, over all of it.
    let mut is_ours = instruction(EQUAL, 1, OURS);
    is_ours.jf = 0;
    program.push(is_ours);
    program.push(instruction(JUMP, 0, 1 + tests.len() as u32));
    program.push(instruction(LOAD, 0, 0));
    program.extend(tests);
    program
}

/// Where a filter sees the kind of machine; and this kind.
const ARCHITECTURE: u32 = 4;
#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const OURS: u32 = 0xc000_00f3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_refused_and_let_go_on() {
        for number in watch::watched() {
            let mut refused = REFUSED.iter().chain(REFUSED_HERE).chain(REFUSED_IN_PART);
            assert!(refused.all(|(known, _)| *known != number), "{number}");
            assert!(!UNKNOWN.contains(&number), "{number}");
        }
        #[cfg(target_arch = "x86_64")]
        assert!(watch::watched().all(|number| number != libc::SYS_mknod));
    }

    #[test]
    fn refused_calls_have_names() {
        assert_eq!(name_of(libc::SYS_mount), "mount");
        assert_eq!(name_of(libc::SYS_unshare), "unshare");
    }
}
