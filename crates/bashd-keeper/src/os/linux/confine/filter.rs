//! The system calls that a confined command does without, as a program for the kernel.
//!
//! A list of refusals: what is not named is allowed, since Landlock and the namespaces hold what
//! files and processes are concerned. Named is what would undo these, what reaches the kernel past
//! them, and sockets of kinds that they do not cover.

use crate::confinement::{Confinement, Level, Network};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_nfsservctl,
];

/// Likewise, on machines that have them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_uselib,
    libc::SYS_lookup_dcookie,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

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
const TERMINAL: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];

/// What the kernel sets in the number of a call of the x32 interface, which has numbers of its own.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Address families above this do not exist.
const LAST_FAMILY: libc::c_int = 64;

/// The program for a confinement at a level.
pub(super) fn program(confinement: &Confinement, level: Level) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for &number in REFUSED.iter().chain(REFUSED_HERE) {
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
    program.extend(listed);
    Ok(program)
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

/// The beginning of the program: what is unknown. The rest of it follows.
fn unknown() -> BpfProgram {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut tests: Vec<(u16, u32)> = UNKNOWN
        .iter()
        .filter_map(|&number| Some((EQUAL, u32::try_from(number).ok()?)))
        .collect();
    #[cfg(target_arch = "x86_64")]
    tests.push(((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, X32));
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
