"""The second process: stops, kills and resumes processes, fills the disk, jumps the clock, deletes state, hangs a mount.

    trouble.py STATE HUNG SECONDS SEED

It works in the namespaces of the run, so that it can reach nothing else. Each thing it does is one line on its stdout.
Whatever it holds up is undone within five seconds, and all of it at the end.
"""

import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time

LONGEST = 5.0
DAY = 24 * 3600 * 1000


class Process:
    """A process that is surely the one that was chosen, whatever its number means later."""

    def __init__(self, pid):
        self.pid, self.descriptor = pid, os.pidfd_open(pid)

    def signal(self, which):
        try:
            signal.pidfd_send_signal(self.descriptor, which)
        except ProcessLookupError:
            pass

    def close(self):
        os.close(self.descriptor)


def facts(pid):
    """The words of a process's command line, and its parent."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return [word.decode(errors="replace") for word in words], parent


def found(kind):
    """The processes of a kind: server, forker or keeper."""
    all_facts = {int(name): facts(name) for name in os.listdir("/proc") if name.isdigit()}
    all_facts = {pid: told for pid, told in all_facts.items() if told}
    servers = [pid for pid, (words, _) in all_facts.items() if words[1:2] and words[1] in ("mcp", "rpc", "acp")]
    keepers = [pid for pid, (words, _) in all_facts.items() if words[0].startswith("bashd-keeper")]
    forkers = [pid for pid in keepers if all_facts[pid][1] not in keepers]
    return {"server": servers, "forker": forkers, "keeper": [pid for pid in keepers if pid not in forkers]}[kind]


class Trouble:
    def __init__(self, state, hung, seed):
        self.state, self.hung = pathlib.Path(state), pathlib.Path(hung)
        self.random = random.Random(f"{seed}/trouble")
        self.undoing = []
        self.begun = time.monotonic()
        self.actions = [
            (self.stop("keeper", LONGEST), 6),
            (self.kill("keeper"), 5),
            (self.stop("forker", LONGEST), 3),
            (self.kill("forker"), 2),
            (self.stop("server", 2.0), 2),
            (self.kill("server"), 1),
            (self.fill, 3),
            (self.jump, 3),
            (self.delete, 3),
            (self.hang, 3),
        ]

    def tell(self, did, **more):
        at = round(time.monotonic() - self.begun, 2)
        print(json.dumps({"at": at, "did": did, **more}), flush=True)

    def run(self, seconds):
        actions, weights = zip(*self.actions)
        while time.monotonic() - self.begun < seconds:
            # All that is random is drawn before anything is looked at, so that it repeats.
            action = self.random.choices(actions, weights)[0]
            self.draws = random.Random(self.random.random())
            action()
            pause = self.random.uniform(0.05, 0.6)
            until = time.monotonic() + pause
            while time.monotonic() < until:
                self.undo(time.monotonic())
                time.sleep(0.02)
        self.undo(float("inf"))

    def undo(self, now):
        due = [entry for entry in self.undoing if entry[0] <= now]
        self.undoing = [entry for entry in self.undoing if entry[0] > now]
        for _, step in due:
            step()

    def later(self, most, step):
        self.undoing.append((time.monotonic() + self.draws.uniform(0.05, most), step))

    def chosen(self, kind):
        pids = sorted(found(kind))
        try:
            return Process(self.draws.choice(pids)) if pids else None
        except ProcessLookupError:
            return None

    def kill(self, kind):
        def action():
            if process := self.chosen(kind):
                self.tell("kill", kind=kind, pid=process.pid)
                process.signal(signal.SIGKILL)
                process.close()

        return action

    def stop(self, kind, most):
        def action():
            if not (process := self.chosen(kind)):
                return
            end = signal.SIGKILL if kind != "server" and self.draws.random() < 0.3 else signal.SIGCONT
            self.tell("stop", kind=kind, pid=process.pid, then=end.name)
            process.signal(signal.SIGSTOP)

            def resume():
                process.signal(end)
                process.close()

            self.later(most, resume)

        return action

    def fill(self):
        ballast = self.state / "ballast"
        if ballast.exists():
            return
        self.tell("fill")
        try:
            with open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 20))
        except OSError:
            pass
        self.later(3.0, lambda: ballast.unlink(missing_ok=True))

    def jump(self):
        """As if the clock had been set since somebody looked last; a machine has one clock, which all share."""
        days = self.draws.choice([-3650, -10, -1, 1, 10, 400, 3650])
        note = self.state / "runs/clock"
        try:
            look = json.loads(note.read_text())
            look["wall_ms"] = max(0, look["wall_ms"] - days * DAY)
            note.with_name("clock.new").write_text(json.dumps(look))
            os.replace(note.with_name("clock.new"), note)
        except (OSError, ValueError):
            note.with_name("clock.new").unlink(missing_ok=True)
            return
        self.tell("jump", days=days)

    def delete(self):
        draw = self.draws.random()
        if draw < 0.15:
            self.tell("delete", what="everything")
            victims = list(self.state.iterdir())
        elif draw < 0.4:
            name = self.draws.choice(["runs", "ledger", "artifacts", "clients", "live", "shells", "key", "said"])
            victims = [self.state / name]
            self.tell("delete", what=name)
        else:
            # Unlike rglob, this takes no notice of directories that go meanwhile.
            found_in = ((place, names) for place, _, names in os.walk(self.state))
            files = sorted(pathlib.Path(place, name) for place, names in found_in for name in names)
            victims = [self.draws.choice(files)] if files else []
            self.tell("delete", what=[str(path.relative_to(self.state)) for path in victims])
        for victim in victims:
            if victim.name == "ballast":
                continue
            if victim.is_dir() and not victim.is_symlink():
                shutil.rmtree(victim, ignore_errors=True)
            else:
                victim.unlink(missing_ok=True)

    def hang(self):
        """A FUSE that nobody serves: whoever asks it waits until it goes."""
        if any(step.__name__ == "unhang" for _, step in self.undoing):
            return
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"hung", os.fsencode(self.hung), b"fuse", 0, options.encode()) != 0:
            os.close(device)
            return
        self.tell("hang")

        def unhang():
            libc.umount2(os.fsencode(self.hung), 2)
            os.close(device)

        self.later(LONGEST, unhang)


def main():
    state, hung, seconds, seed = sys.argv[1:]
    trouble = Trouble(state, hung, seed)
    # Whoever ends it early still gets everything back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        trouble.run(float(seconds))
    finally:
        trouble.undo(float("inf"))


main()
