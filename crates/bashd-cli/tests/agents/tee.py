"""Stands between a client and `bashd mcp`, and keeps what both say: tee.py LOG BASHD ARGUMENT..."""

import os
import subprocess
import sys
import threading

log, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def pass_on(mark, source, sink):
    while line := source.readline():
        os.write(out, mark + line)
        try:
            sink.write(line)
            sink.flush()
        except OSError:
            break
    try:
        sink.close()
    except OSError:
        pass


threading.Thread(target=pass_on, args=(b"> ", sys.stdin.buffer, server.stdin), daemon=True).start()
pass_on(b"< ", server.stdout, sys.stdout.buffer)
sys.exit(server.wait())
