"""Tries what a confined command must not be able to do, and says of each whether it could.

Every probe is harmless where it succeeds: it writes only to directories that stand for "outside",
reads only what was planted, looks only at a process of the test, and gives system calls arguments
that fail even where the call is allowed. A probe returns whether it was possible; an error of the
system means that it was not. Each runs in a process of its own. A line for each: id, tab, the
word, tab, what it tries.
"""

import ctypes
import errno
import os
import socket
import struct
import sys

OUT = os.environ["P_OUT"]
WORKSPACE = os.environ["P_WORKSPACE"]
PID = int(os.environ["P_PID"])
LIBC = ctypes.CDLL(None, use_errno=True)
PROBES = []

# Answers of a call that never reached the kernel's own checks.
FILTERED = {errno.EPERM, errno.EACCES, errno.ENOSYS}


def probe(group, name, title):
    def add(function):
        PROBES.append((group, name, title, function))
        return function

    return add


def call(group, name, title, number, *arguments):
    """A system call whose arguments are wrong: whoever may make it hears about them."""

    def attempt():
        ctypes.set_errno(0)
        made = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
        return made != -1 or ctypes.get_errno() not in FILTERED

    PROBES.append((group, name, title, attempt))


def read(path):
    with open(path, "rb") as file:
        return b"canary" in file.read()


def write(path, mode="w"):
    with open(path, mode) as file:
        file.write("changed")
    return True


def out(name):
    return os.path.join(OUT, name)


# Writing outside.
probe("write", "write-file", "changes a file outside the workspace")(lambda: write(out("file")))
probe("write", "create-file", "makes a file outside")(lambda: write(out("new"), "x"))
probe("write", "append-file", "appends to a file outside")(lambda: write(out("file"), "a"))
probe("write", "truncate-file", "truncates a file outside")(lambda: os.truncate(out("file"), 0) is None)
probe("write", "make-directory", "makes a directory outside")(lambda: os.mkdir(out("made")) is None)
probe("write", "remove-file", "removes a file outside")(lambda: os.unlink(out("removed")) is None)
probe("write", "remove-directory", "removes a directory outside")(lambda: os.rmdir(out("empty")) is None)
probe("write", "rename-outside", "renames a file outside")(lambda: os.rename(out("renamed"), out("other")) is None)
probe("write", "rename-out", "moves a file of the workspace out")(
    lambda: write("moved-out") and os.rename("moved-out", out("moved")) is None
)
probe("write", "rename-in", "moves a file from outside into the workspace")(
    lambda: os.rename(out("taken"), "taken") is None
)
probe("write", "change-mode", "changes the mode of a file outside")(lambda: os.chmod(out("mode"), 0o755) is None)
probe("write", "change-times", "changes the times of a file outside")(lambda: os.utime(out("mode"), (0, 0)) is None)
probe("write", "change-attribute", "sets an extended attribute outside")(
    lambda: os.setxattr(out("mode"), "user.bashd", b"x") is None
)
probe("write", "link-outside", "makes a symlink outside")(lambda: os.symlink("x", out("symlink")) is None)
probe("write", "make-fifo", "makes a named pipe outside")(lambda: os.mkfifo(out("fifo")) is None)


@probe("write", "by-symlink", "writes through a symlink of the workspace")
def by_symlink():
    os.symlink(out("file"), "link")
    return write("link")


@probe("write", "by-directory-link", "writes through a symlink to a directory")
def by_directory_link():
    os.symlink(OUT, "directory-link")
    return write("directory-link/file")


@probe("write", "by-hard-link", "makes a hard link to a file outside, and writes it")
def by_hard_link():
    os.link(out("file"), "hard")
    return write("hard")


@probe("write", "by-dots", "writes by way of ..")
def by_dots():
    return write(os.path.join(WORKSPACE, os.path.relpath(out("file"), WORKSPACE)))


@probe("write", "by-proc-root", "writes by way of /proc/self/root")
def by_proc_root():
    return write("/proc/self/root" + out("file"))


@probe("write", "by-proc-cwd", "writes by way of /proc/self/cwd and ..")
def by_proc_cwd():
    return write("/proc/self/cwd/" + os.path.relpath(out("file"), WORKSPACE))


@probe("write", "by-other-root", "writes by way of another process's root")
def by_other_root():
    return write(f"/proc/{PID}/root{out('file')}")


@probe("write", "by-other-cwd", "writes by way of another process's directory")
def by_other_cwd():
    return write(f"/proc/{PID}/cwd/file")


@probe("write", "by-directory-descriptor", "writes by way of an open directory")
def by_directory_descriptor():
    directory = os.open(OUT, os.O_RDONLY | os.O_DIRECTORY)
    opened = os.open("file", os.O_WRONLY, dir_fd=directory)
    return os.write(opened, b"changed") > 0


@probe("write", "by-reopening", "reopens a file that was opened for reading")
def by_reopening():
    opened = os.open(out("file"), os.O_RDONLY)
    return write(f"/proc/self/fd/{opened}")


@probe("write", "by-stdin", "reopens its stdin, a file outside, for writing")
def by_stdin():
    return os.path.samestat(os.fstat(0), os.stat(out("stdin"))) and write("/proc/self/fd/0")


# Reading what is hidden.
probe("read", "home-key", "reads a key in the home")(lambda: read(os.environ["P_IDENTITY"]))
probe("read", "home-key-names", "lists a directory of keys")(
    lambda: len(os.listdir(os.path.dirname(os.environ["P_IDENTITY"]))) > 0
)
probe("read", "hidden-directory", "reads what the configuration hides")(lambda: read(os.environ["P_HIDDEN"]))
probe("read", "state", "reads bashd's state")(lambda: read(os.environ["P_STATE"]))
probe("read", "state-write", "writes bashd's state")(lambda: write(os.environ["P_STATE"]))
probe("read", "shadow", "reads /etc/shadow")(lambda: len(open("/etc/shadow", "rb").read()) > 0)
probe("read", "shared-memory", "reads a file of somebody else in /dev/shm")(lambda: read(os.environ["P_SHARED"]))
probe("read", "temporary", "reads a file of somebody else in /tmp")(lambda: read(os.environ["P_TEMPORARY"]))


@probe("read", "hidden-by-link", "reads a key through a symlink of the workspace")
def hidden_by_link():
    os.symlink(os.environ["P_IDENTITY"], "key-link")
    return read("key-link")


@probe("read", "hidden-by-hard-link", "reads a key through a hard link")
def hidden_by_hard_link():
    os.link(os.environ["P_IDENTITY"], "key-hard")
    return read("key-hard")


@probe("read", "secret-variable", "has a variable whose name says that it is secret")
def secret_variable():
    return "canary" in os.environ.get("PROBE_API_TOKEN", "")


# The traps of a workspace.
def there_and_back(name, other):
    os.rename(name, other)
    os.rename(other, name)
    return True


def git(name):
    return os.path.join(WORKSPACE, ".git", name)


probe("traps", "git-hook", "writes a hook of git")(lambda: write(git("hooks/pre-commit")))
probe("traps", "git-config", "writes git's configuration")(lambda: write(git("config")))
probe("traps", "git-rename", "moves .git away, to make another")(lambda: there_and_back(".git", "old-git"))
probe("traps", "git-hooks-rename", "moves the hooks away")(lambda: there_and_back(git("hooks"), git("old-hooks")))
probe("traps", "envrc", "writes .envrc")(lambda: write(".envrc"))
probe("traps", "workflow", "writes a workflow of the CI")(lambda: write(".github/workflows/ci.yml"))
probe("traps", "configured", "writes what the configuration protects")(lambda: write("kept"))

# Devices and the kernel's settings.
probe("kernel", "setting", "opens a setting of the kernel for writing")(
    lambda: os.close(os.open("/proc/sys/kernel/printk", os.O_WRONLY)) is None
)
probe("kernel", "sysrq", "opens /proc/sysrq-trigger for writing")(
    lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)) is None and not is_null("/proc/sysrq-trigger")
)
probe("kernel", "kcore", "opens the kernel's memory")(
    lambda: os.close(os.open("/proc/kcore", os.O_RDONLY)) is None and not is_null("/proc/kcore")
)
probe("kernel", "kernel-log", "opens the kernel's log")(
    lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY)) is None
)
probe("kernel", "tracing", "reads what the kernel traces")(
    lambda: os.close(os.open("/sys/kernel/tracing/README", os.O_RDONLY)) is None
)
probe("kernel", "sysfs", "opens a file of /sys for writing")(
    lambda: os.close(os.open("/sys/kernel/mm/ksm/run", os.O_WRONLY)) is None
)
probe("kernel", "cgroup", "makes a control group")(lambda: make_and_remove_group())
probe("kernel", "make-device", "makes a device")(lambda: os.mknod("device", 0o020600, os.makedev(1, 3)) is None)


def is_null(path):
    return os.stat(path).st_rdev == os.makedev(1, 3)


def make_and_remove_group():
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(root + "/cgroup.procs"):
            path = f"{root}/bashd-probe-{PID}"
            os.mkdir(path)
            os.rmdir(path)
            return True
    return False


# Other processes.
probe("processes", "see", "sees a process outside")(lambda: os.path.isdir(f"/proc/{PID}"))
probe("processes", "signal", "may signal a process outside")(lambda: os.kill(PID, 0) is None)
probe("processes", "environment", "reads the environment of a process outside")(
    lambda: b"canary" in open(f"/proc/{PID}/environ", "rb").read()
)
probe("processes", "memory", "opens the memory of a process outside")(
    lambda: os.close(os.open(f"/proc/{PID}/mem", os.O_RDONLY)) is None
)
probe("processes", "descriptors", "lists the descriptors of a process outside")(
    lambda: len(os.listdir(f"/proc/{PID}/fd")) > 0
)
probe("processes", "arguments", "reads the arguments of a process outside")(
    lambda: b"sleep" in open(f"/proc/{PID}/cmdline", "rb").read()
)
probe("processes", "trace", "traces a process outside")(lambda: traced())
probe("processes", "priority", "changes the priority of a process outside")(
    lambda: os.setpriority(os.PRIO_PROCESS, PID, 5) is None
)
probe("processes", "affinity", "changes the processors of a process outside")(
    lambda: os.sched_setaffinity(PID, os.sched_getaffinity(PID)) is None
)
probe("processes", "descriptors-inherited", "has descriptors beside 0, 1 and 2")(
    lambda: bool(set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"})
)


def traced():
    SEIZE, DETACH = 0x4206, 17
    ctypes.set_errno(0)
    if LIBC.ptrace(SEIZE, PID, 0, 0) == -1:
        return False
    LIBC.ptrace(DETACH, PID, 0, 0)
    return True


# Sockets.
@probe("sockets", "tcp", "connects to a port of the machine")
def tcp():
    with socket.create_connection(("127.0.0.1", int(os.environ["P_TCP"])), timeout=5) as made:
        return made.recv(6) == b"canary"


@probe("sockets", "udp", "exchanges packets with the machine")
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(2)
        made.sendto(b"x", ("127.0.0.1", int(os.environ["P_UDP"])))
        return made.recv(6) == b"canary"


@probe("sockets", "unix", "connects to a Unix socket outside")
def unix():
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(5)
        made.connect(os.environ["P_SOCKET"])
        return made.recv(6) == b"canary"


@probe("sockets", "abstract", "connects to an abstract Unix socket")
def abstract():
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(5)
        made.connect("\0" + os.environ["P_ABSTRACT"])
        return made.recv(6) == b"canary"


def opens(family, kind, protocol=0):
    def attempt():
        socket.socket(family, kind, protocol).close()
        return True

    return attempt


probe("sockets", "raw", "opens a raw socket")(opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
probe("sockets", "ping", "opens a socket for ping")(opens(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
probe("sockets", "packet", "opens a packet socket")(opens(socket.AF_PACKET, socket.SOCK_RAW, 0))
probe("sockets", "vsock", "opens a socket to the hypervisor")(opens(socket.AF_VSOCK, socket.SOCK_STREAM))
probe("sockets", "alg", "opens a socket of the kernel's cryptography")(opens(socket.AF_ALG, socket.SOCK_SEQPACKET))
probe("sockets", "netlink-machine", "sees the machine's network interfaces")(
    lambda: any(name != "lo" for _, name in socket.if_nameindex())
)

# System calls, by their numbers on x86_64; the arguments are wrong on purpose.
NUL = ctypes.c_char_p(b"/nonexistent/bashd-probe")
WRONG = -1


@probe("calls", "user-namespace", "makes a user namespace")
def user_namespace():
    if LIBC.unshare(0x10000000) == -1:
        raise OSError(ctypes.get_errno(), "unshare")
    return True


@probe("calls", "mount-namespace", "makes a mount namespace with clone's flags")
def mount_namespace():
    if LIBC.unshare(0x10000000 | 0x00020000) == -1:
        raise OSError(ctypes.get_errno(), "unshare")
    return True


call("calls", "clone3", "makes processes by clone3", 435, None, 0)
call("calls", "setns", "enters a namespace", 308, WRONG, 0)
call("calls", "mount", "mounts", 165, NUL, NUL, NUL, 0, None)
call("calls", "umount", "unmounts", 166, NUL, 0)
call("calls", "pivot-root", "changes its root", 155, NUL, NUL)
call("calls", "chroot", "changes its root by chroot", 161, NUL)
call("calls", "open-tree", "copies mounts", 428, WRONG, NUL, 0)
call("calls", "fsopen", "opens a file system", 430, NUL, 0)
call("calls", "mount-setattr", "changes mounts", 442, WRONG, NUL, 0, None, 0)
call("calls", "bpf", "loads programs into the kernel", 321, 9999, None, 0)
call("calls", "io-uring", "makes system calls by io_uring", 425, 0, None)
call("calls", "keyctl", "uses the kernel's keys", 250, 9999, 0, 0, 0, 0)
call("calls", "add-key", "adds a key", 248, None, None, None, 0, 0)
call("calls", "perf", "watches the kernel's events", 298, None, 0, WRONG, WRONG, 0)
call("calls", "file-handle", "opens files by handles", 304, WRONG, None, 0)
call("calls", "userfaultfd", "handles page faults", 323, 0x70000000)
call("calls", "kexec", "loads another kernel", 246, 0, 0, None, 0x7FFFFFFF)
call("calls", "init-module", "loads a module", 175, None, 0, NUL)
call("calls", "finit-module", "loads a module from a file", 313, WRONG, NUL, 0)
call("calls", "delete-module", "removes a module", 176, NUL, 0o4000)
call("calls", "clock", "sets the clock", 227, 0, None)
call("calls", "settimeofday", "sets the time", 164, ctypes.c_char_p(b"\0" * 8 + struct.pack("q", 2000000)), None)
call("calls", "swapon", "uses a file as memory", 167, NUL, 0)
call("calls", "reboot", "restarts the machine", 169, 0, 0, 0, None)
call("calls", "accounting", "records all processes", 163, NUL)
call("calls", "hostname", "names the machine", 170, None, WRONG)
call("calls", "kernel-log-call", "reads the kernel's log by a call", 103, 99, None, 0)
call("calls", "ports", "gets at the machine's ports", 172, 4)
call("calls", "fanotify", "watches all files", 300, 0x7FFFFFFF, 0)
call("calls", "tiocsti", "types into its terminal", 16, 0, 0x5412, None)
call("calls", "x32", "makes calls by their other numbers", 0x40000000 | 39)


@probe("calls", "set-id", "gains rights by a set-id program")
def set_id():
    with open("/proc/self/status", encoding="utf-8") as status:
        fields = dict(line.split(":", 1) for line in status)
    return fields["NoNewPrivs"].strip() == "0"


@probe("calls", "capabilities", "has capabilities, or gets them by executing something")
def capabilities():
    with open("/proc/self/status", encoding="utf-8") as status:
        fields = dict(line.split(":", 1) for line in status)
    return any(int(fields[name], 16) for name in ("CapPrm", "CapEff", "CapAmb"))


def attempt(function):
    """Runs a probe in a process of its own, and says what came of it."""
    pid = os.fork()
    if pid == 0:
        try:
            status = 0 if function() else 1
        except OSError:
            status = 1
        except BaseException:
            status = 2
        os._exit(status)
    ended = os.waitpid(pid, 0)[1]
    return {0: "possible", 1 << 8: "refused"}.get(ended, "broken")


for group, name, title, function in PROBES:
    print(f"{group}\t{name}\t{title}\t{attempt(function)}", flush=True)
sys.exit(0)
