"""A filesystem that answers everything but reads of `unread` and the closing of `unflushed`.

Mounted at the first argument; the second is a file that gets a line for each request that stays unanswered. Spoken is
the kernel's FUSE protocol, 7.31, without a library. When this process ends, so does every wait for it.
"""

import ctypes
import errno
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE = 1, 2, 3, 14, 15, 18
FLUSH, INIT, INTERRUPT, BATCH_FORGET = 25, 26, 36, 42

fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
FILES = {b"unread": 2, b"unflushed": 3}


def attr(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100644, 4096)
    return struct.pack("<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


print("mounted", flush=True)
while True:
    request = os.read(fd, 1 << 20)
    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    error, body = 0, b""
    if opcode == INIT:
        body = struct.pack("<4I2H2I2H8I", 7, 31, 4096, 0, 8, 8, 4096, 1, 0, 0, *[0] * 8)
    elif opcode == LOOKUP:
        child = FILES.get(request[40:].split(b"\0")[0])
        error = 0 if child else -errno.ENOENT
        body = struct.pack("<4Q2I", child, 0, 60, 60, 0, 0) + attr(child) if child else b""
    elif opcode == GETATTR:
        body = struct.pack("<QII", 60, 0, 0) + attr(node)
    elif opcode == OPEN:
        body = struct.pack("<QIi", 0, 1, 0)  # past the page cache, whose waits can be killed
    elif opcode in (FORGET, INTERRUPT, BATCH_FORGET):
        continue  # wants no answer
    elif opcode == READ or (opcode == FLUSH and node == FILES[b"unflushed"]):
        with open(sys.argv[2], "a") as log:
            print(opcode, file=log)
        continue  # gets none
    elif opcode not in (RELEASE, FLUSH):
        error = -errno.ENOSYS
    try:
        os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
    except FileNotFoundError:
        pass  # nobody waits for it any more
