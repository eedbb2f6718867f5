#!/usr/bin/env python3
"""Servers on all transports, 16 clients, and a second process that makes trouble; then everything is counted.

    chaos.py [--seconds N] [--seed S] [--pace P] [--calm] [--bashd FILE]

Each client waits for P seconds (0) before a call, so that a run beside other work leaves that some of the processors.
With `--calm` nothing goes wrong: the same work, for a table of what servers cost before and after it.

Everything runs in namespaces of its own for processes and mounts: nothing outside is touched, and nothing can stay.
wires.py has the servers and their clients, work.py what clients do and what is right, trouble.py the second process,
processes.py what each process is for.

Status 0: every answer was right or said what went wrong, none was late, and nothing is left. 1: not so. 77: this can't
be tried here.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import processes
import wires
import work

HERE = pathlib.Path(__file__).resolve().parent

# How long things may take to go away at the end.
PATIENCE = 20

# What a server may have more at the end than at the beginning.
MORE = {"rss_kib": 24 * 1024, "descriptors": 8, "threads": 4}


def main():
    parser = argparse.ArgumentParser(prog="chaos")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--pace", type=float, default=0)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--bashd", default=shutil.which("bashd"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        sys.exit(outside(options))
    sys.exit(init(lambda: Run(options).all()))


def outside(options):
    """Starts this again in namespaces of its own."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("chaos: /dev/fuse can't be opened here", file=sys.stderr)
        return 77
    own = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-mpf", "--mount-proc", "--propagation", "private"]
    if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
        print("chaos: there are no namespaces here", file=sys.stderr)
        return 77
    print(f"seed {options.seed}", flush=True)
    again = [sys.executable, __file__, "--inside", "--seed", str(options.seed), "--seconds", str(options.seconds)]
    again += ["--pace", str(options.pace)]
    again += ["--calm"] if options.calm else []
    status = subprocess.run([*own, *again, "--bashd", os.path.abspath(options.bashd)]).returncode
    if status != 0:
        print(f"again with: ./chaos --seconds {options.seconds:g} --seed {options.seed}", flush=True)
    return status


def init(run):
    """The first process of a namespace waits for whatever has lost its parent."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = run()
        finally:
            sys.stdout.flush()
            os._exit(status)
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


class Scene:
    """Where it happens. The state is on a small disk of its own."""

    def __init__(self, options):
        self.bashd, self.pace = options.bashd, options.pace
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="bashd-chaos-"))
        self.workspace, self.hung = self.root / "workspace", self.root / "workspace/hung"
        self.state = self.root / "home/.local/state/bashd"
        for place in (self.hung, self.state, self.root / "tmp"):
            place.mkdir(parents=True)
        small = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs"]
        for place in (self.state, "/dev/shm"):
            subprocess.run([*small, place], check=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
        }
        self.until = 0

    def remove(self):
        subprocess.run(["umount", "-l", self.state], check=False)
        shutil.rmtree(self.root, ignore_errors=True)


class Run:
    def __init__(self, options):
        self.options, self.scene, self.book = options, Scene(options), work.Book()
        self.faults = []
        socket = str(self.scene.root / "s.sock")
        self.servers, self.wires = [], []
        for server, wire, clients in [
            (wires.McpServer(self.scene, "mcp-1", ["mcp"]), wires.McpWire, 1),
            (wires.McpServer(self.scene, "mcp-2", ["mcp"]), wires.McpWire, 1),
            (wires.LineServer(self.scene, "rpc-1", ["rpc"]), wires.RpcWire, 1),
            (wires.LineServer(self.scene, "rpc-2", ["rpc"]), wires.RpcWire, 1),
            (wires.HttpServer(self.scene, "http", ["mcp", "--http", "0", "--token", "none"]), wires.HttpWire, 4),
            (wires.SocketServer(self.scene, "socket", ["rpc", "--socket", socket]), wires.SocketWire, 5),
            (wires.AcpServer(self.scene, "acp", ["acp"]), wires.AcpWire, 3),
        ]:
            self.servers.append(server)
            self.wires += [wire(server, len(self.wires) + count) for count in range(clients)]

    def all(self):
        try:
            before = self.begin()
            did = self.trouble()
            after = self.calm_down(before)
            self.end()
            self.show(before[1], after[1], did)
            self.table(before, after)
        finally:
            if not self.faults and not self.book.wrong:
                self.scene.remove()
            else:
                print(f"kept: {self.scene.root}")
        return 1 if self.faults or self.book.wrong else 0

    def trouble(self):
        """The time in which everything happens at once; what the second process did."""
        seconds = self.options.seconds
        self.scene.until = time.monotonic() + seconds
        if self.options.calm:
            self.work()
            return []
        script = [sys.executable, HERE / "trouble.py", self.scene.state, self.scene.hung, str(seconds)]
        second = subprocess.Popen([*script, str(self.options.seed)], stdout=subprocess.PIPE, text=True)
        workers = self.begin_work()
        told, _ = second.communicate()
        if second.returncode != 0:
            self.faults.append(f"the second process failed: {second.returncode}")
        (self.scene.root / "trouble.jsonl").write_text(told)
        self.finish_work(workers)
        return [json.loads(line) for line in told.splitlines()]

    def begin_work(self):
        workers = [work.Worker(wire, self.options.seed, self.scene, self.book) for wire in self.wires]
        for worker in workers:
            worker.start()
        return workers

    def finish_work(self, workers):
        until = max(time.monotonic(), self.scene.until) + 2 * work.SLACK + 30
        for worker in workers:
            worker.join(max(0, until - time.monotonic()))
            if worker.is_alive():
                self.faults.append(f"{worker.name} still waits: {worker.kind} {worker.token}")

    def work(self):
        self.finish_work(self.begin_work())

    def begin(self):
        """What there is, and what it costs, once all clients have called, and it is quiet again."""
        for wire in self.wires:
            self.warm(wire)
        # One started shell waits in each server, and more only for as long as many calls came.
        few = 2 * len(self.servers)
        begun = time.monotonic()
        while (counts := processes.by_kind(self.left()))[processes.STARTED] > few:
            if time.monotonic() - begun > PATIENCE:
                self.faults.append(f"too many shells wait: {counts}")
                break
            time.sleep(0.2)
        return counts, {server.name: server.cost() for server in self.servers}

    def calm_down(self, before):
        """The same when everything is over; it may take a while to be as little as it was."""
        for wire in self.wires:
            self.warm(wire)
        self.end_jobs()
        begun = time.monotonic()
        while True:
            counts = processes.by_kind(self.left())
            costs = {server.name: server.cost() for server in self.servers}
            excess = [
                f"{kind}: {count} processes, at the beginning {before[0][kind]}"
                for kind, count in counts.items()
                if count > before[0][kind]
            ]
            excess += [
                f"{name}: {what} {cost[what]}, at the beginning {before[1][name][what]}"
                for name, cost in costs.items()
                for what, most in MORE.items()
                if cost[what] > before[1][name][what] + most
            ]
            if not excess or time.monotonic() - begun > work.LEFT + PATIENCE:
                self.faults += excess
                return counts, costs
            time.sleep(0.2)

    def warm(self, wire):
        """One client's plain calls, which must be right."""
        for attempt in range(3):
            try:
                wire.ready()
                profiles = [{"profile": "pi"}] if wire.has_profiles else []
                for arguments, how in [({}, {})] * 3 + [({"session": "s"}, {})] + [({}, profile) for profile in profiles]:
                    reply = wire.call({"command": "echo fine", **arguments}, work.SLACK, **how)
                    if reply.get("output") != "fine\n" or reply.get("exit_code") != 0:
                        self.faults.append(f"{wire.server.name} does not work: {reply}")
                return
            except (wires.Gone, wires.Late) as reason:
                wire.lost()
                if attempt == 2:
                    self.faults.append(f"{wire.server.name} does not answer: {reason!r}")

    def end(self):
        """Ends everything, as its users would, and looks at what is left."""
        for wire in self.wires:
            getattr(wire, "close", lambda: None)()
        for server in self.servers:
            status = server.finish()
            if status != 0:
                self.faults.append(f"{server.name} ended with {status}")
            for status, complaints in server.ended_badly:
                self.faults.append(f"{server.name} ended by itself with {status}: {complaints}")
        for _ in range(2):
            self.end_jobs()
        begun = time.monotonic()
        while left := self.left():
            if time.monotonic() - begun > PATIENCE:
                self.faults += [f"left: {process}" for process in left]
                return
            time.sleep(0.1)

    def end_jobs(self):
        listed = self.bashd("jobs", "--json", "--all")
        jobs = [json.loads(line) for line in listed.splitlines()]
        running = [job["id"] for job in jobs if job["state"] in ("running", "survivors", "waiting_for_input")]
        if running:
            self.bashd("jobs", "kill", *running)

    def bashd(self, *arguments):
        run = subprocess.run(
            [self.scene.bashd, *arguments], env=self.scene.environment, capture_output=True, text=True, timeout=60
        )
        if run.returncode not in (0, 1) or "panicked" in run.stderr:
            self.faults.append(f"bashd {' '.join(arguments)}: {run.returncode}: {run.stderr[-500:]}")
        return run.stdout

    @staticmethod
    def left():
        """Processes of the namespace besides this run."""
        return processes.all_besides((os.getpid(),))

    def show(self, before, after, did):
        book = self.book
        times = sorted(book.times) or [0.0]
        print(f"calls: {dict(book.counts)}; p50 {times[len(times) // 2]:.3f} s, "
              f"p99 {times[len(times) * 99 // 100]:.3f} s, longest {book.longest:.1f} s")
        print(f"trouble: {dict(collections.Counter(' '.join([one['did'], one.get('kind', '')]).strip() for one in did))}")
        for server in self.servers:
            name = server.name
            print(f"{name}: started {server.generation} times; {before[name]} before, {after[name]} after")
        print("what was said:")
        for (kind, words), count in sorted(book.said.items(), key=lambda entry: -entry[1]):
            print(f"  {count:4} {kind}: {words}")
        for fault in [*book.wrong[:20], *self.faults]:
            print(f"WRONG {fault}"[:1500])

    def table(self, before, after):
        """What there is and what servers cost before and after the work, and how long short commands took."""
        print("| processes | before | after |")
        print("|---|--:|--:|")
        for kind in processes.KINDS:
            print(f"| {kind} | {before[0][kind]} | {after[0][kind]} |")
        print("| server | RSS before | after | descriptors before | after | threads before | after | calls | p50 | p99 |")
        print("|---|" + "--:|" * 9)
        for server in self.servers:
            name, old, new = server.name, before[1][server.name], after[1][server.name]
            times = sorted(self.book.short.get(name, [0.0]))
            cells = [f"`{name}`"]
            cells += [f"{cost['rss_kib'] / 1024:.1f} MiB" for cost in (old, new)]
            cells += [str(cost[what]) for what in ("descriptors", "threads") for cost in (old, new)]
            cells += [str(len(times))]
            cells += [f"{times[len(times) * part // 100] * 1000:.0f} ms" for part in (50, 99)]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
