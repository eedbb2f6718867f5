"""Which processes there are, by what they are for: what a server keeps is known, and everything else should be gone."""

import collections
import os
import pathlib

SERVERS = "servers"
WAITING = "fork servers and spare keepers"
STARTED = "started shells and their keepers"
SESSIONS = "sessions' shells and their keepers"
COMMANDS = "commands, what they left, and their keepers"
KINDS = (SERVERS, WAITING, STARTED, SESSIONS, COMMANDS)

# What a shell does that was started ahead, and how the shell of a session is started.
AHEAD = "IFS= builtin read -r -d '' -u 3 BASHD_RUN"
IN_SESSION = ["bash", "--norc", "--noprofile", "bash"]


class Process:
    """A process as `/proc` has it."""

    def __init__(self, pid):
        self.pid = pid
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        self.words = [word.decode(errors="replace") for word in words if word]
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        self.state, self.parent = stat[0], int(stat[1])

    def __str__(self):
        return f"{self.pid} {self.state} {self.parent} {' '.join(self.words)[:200]}"

    @property
    def is_keeper(self):
        return self.words[:1] == ["bashd-keeper"]


def all_besides(own):
    """Those of the namespace, without its first one and these."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, *own):
            try:
                found.append(Process(int(name)))
            except (OSError, IndexError):
                pass
    return found


def by_kind(found):
    """How many there are of each kind."""
    below = collections.defaultdict(list)
    for process in found:
        below[process.parent].append(process)
    kinds = {process.pid: kind(process, below) for process in found}
    for process in found:
        # A keeper is of the kind of its shell; that of an ended fork server has lost its parent.
        shells = [kinds[child.pid] for child in below[process.pid] if not child.is_keeper]
        if process.is_keeper:
            kinds[process.pid] = shells[0] if shells else WAITING
    counted = collections.Counter(kinds.values())
    return {name: counted[name] for name in KINDS}


def kind(process, below):
    """What a process is for that is no keeper."""
    if process.words[1:2] and process.words[1] in ("mcp", "rpc", "acp"):
        return SERVERS
    if process.words == IN_SESSION:
        return SESSIONS
    waits = process.words[:2] == ["bash", "-c"] and process.words[2].startswith(AHEAD)
    return STARTED if waits and not below[process.pid] else COMMANDS
