"""A file system that a process serves, as those over a network are.

    fuse.py PLACE COMMAND...     shows the directory PLACE at itself through FUSE, and runs the command there

To be run in a mount namespace of its own. It ends with the command.
"""

import ctypes
import errno
import itertools
import os
import stat
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NOTHING_SAID = {2, 36, 42}  # FORGET, INTERRUPT, BATCH_FORGET
SIZE_IS_SET, MODE_IS_SET = 1 << 3, 1 << 0


class Served:
    """The directory behind it, by its nodes: each is a path below."""

    def __init__(self, behind):
        self.behind = behind
        self.paths = {1: ""}
        self.nodes = {"": 1}
        self.numbers = itertools.count(2)
        self.files = {}

    def at(self, node, name=b""):
        path = self.paths[node]
        name = name.rstrip(b"\0").decode()
        return f"{path}/{name}" if name else path

    def real(self, path):
        return f"{self.behind}/.{path}"

    def entry(self, path):
        """Looks it up; a file keeps its node for good."""
        found = os.lstat(self.real(path))
        node = self.nodes.get(path) or self.nodes.setdefault(path, next(self.numbers))
        self.paths[node] = path
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attributes(found, node)

    def opened(self, path, flags, mode=0o644):
        fd = os.open(self.real(path), flags & ~os.O_NOFOLLOW, mode)
        self.files[fd] = path
        return struct.pack("<QII", fd, 0, 0)

    def answer(self, kind, node, body):
        """What the kernel gets for a request; errors are those of the directory behind."""
        if kind == 26:  # INIT
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 8, 8, 65536, 1, 16, 0, 0)
        if kind == 1:
            return self.entry(self.at(node, body))
        if kind == 3:
            return struct.pack("<QII", 0, 0, 0) + attributes(os.lstat(self.real(self.at(node))), node)
        if kind == 4:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            path = self.real(self.at(node))
            if valid & SIZE_IS_SET:
                os.truncate(path, size)
            if valid & MODE_IS_SET:
                os.chmod(path, struct.unpack_from("<I", body, 68)[0] & 0o7777)
            return self.answer(3, node, b"")
        if kind == 5:
            return os.readlink(self.real(self.at(node))).encode()
        if kind == 6:
            name, target = body.split(b"\0")[:2]
            os.symlink(target, self.real(self.at(node, name)))
            return self.entry(self.at(node, name))
        if kind == 9:
            path = self.at(node, body[8:])
            os.mkdir(self.real(path), struct.unpack_from("<I", body)[0])
            return self.entry(path)
        if kind in (10, 11):
            path = self.real(self.at(node, body))
            (os.unlink if kind == 10 else os.rmdir)(path)
            return b""
        if kind in (12, 45):
            (into,) = struct.unpack_from("<Q", body)
            old, new = body[8 if kind == 12 else 16 :].split(b"\0")[:2]
            old, new = self.at(node, old), self.at(into, new)
            os.rename(self.real(old), self.real(new))
            self.nodes.pop(new, None)
            moved = [path for path in self.nodes if path == old or path.startswith(old + "/")]
            for path in moved:
                there = new + path[len(old) :]
                self.nodes[there] = self.nodes.pop(path)
                self.paths[self.nodes[there]] = there
            return b""
        if kind in (14, 27):
            flags = struct.unpack_from("<I", body)[0] if kind == 14 else os.O_RDONLY | os.O_DIRECTORY
            return self.opened(self.at(node), flags)
        if kind == 35:
            flags, mode = struct.unpack_from("<II", body)
            path = self.at(node, body[16:])
            opened = self.opened(path, flags | os.O_CREAT, mode)
            return self.entry(path) + opened
        if kind == 15:
            fd, offset, size = struct.unpack_from("<QQI", body)
            return os.pread(fd, size, offset)
        if kind == 16:
            fd, offset, size = struct.unpack_from("<QQI", body)
            return struct.pack("<II", os.pwrite(fd, body[40 : 40 + size], offset), 0)
        if kind == 17:
            return struct.pack("<QQQQQIII28x", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096)
        if kind in (18, 29):
            os.close(struct.unpack_from("<Q", body)[0])
            return b""
        if kind == 28:
            fd, offset, size = struct.unpack_from("<QQI", body)
            names = sorted([".", "..", *os.listdir(self.real(self.files[fd]))])
            text = b""
            for place, name in list(enumerate(names, 1))[offset:]:
                one = struct.pack("<QQII", place, place, len(name), 0) + name.encode()
                one += b"\0" * (-len(one) % 8)
                if len(text) + len(one) > size:
                    break
                text += one
            return text
        if kind in (20, 25, 34, 38):
            return b""
        raise OSError(errno.ENOSYS, "not served")


def attributes(found, node):
    times = [found.st_atime, found.st_mtime, found.st_ctime]
    numbers = [node, found.st_size, found.st_blocks, *map(int, times), 0, 0, 0]
    rest = [found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0]
    return struct.pack("<QQQQQQIIIIIIIIII", *numbers, *rest)


def serve(device, served):
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:
            return
        _, kind, unique, node = struct.unpack_from("<IIQQ", request)
        if kind in NOTHING_SAID:
            continue
        failed, body = 0, b""
        try:
            body = served.answer(kind, node, request[40:])
        except OSError as error:
            failed = -error.errno
        except (KeyError, FileNotFoundError):
            failed = -errno.ENOENT
        os.write(device, struct.pack("<IiQ", 16 + len(body), failed, unique) + body)


def main():
    place, command = sys.argv[1], sys.argv[2:]
    behind = os.open(place, os.O_PATH | os.O_DIRECTORY)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode={stat.S_IFDIR:o},user_id={os.getuid()},group_id={os.getgid()},default_permissions"
    if LIBC.mount(b"shown", place.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"no FUSE here: {os.strerror(ctypes.get_errno())}")
    server = os.fork()
    if server == 0:
        serve(device, Served(f"/proc/self/fd/{behind}"))
        os._exit(0)
    os.close(device)
    os.close(behind)
    os.chdir(place)
    status = os.spawnvp(os.P_WAIT, command[0], command)
    LIBC.umount2(place.encode(), 2)
    os.kill(server, 9)
    os.waitpid(server, 0)
    sys.exit(status)


main()
