"""What a client does, and whether what it is told is right.

Every call carries a token that no other call has. An answer is right if it has exactly the output and status that its
command gives; else it must say what went wrong, in a field. Anything else is wrong, and so is a token of somebody else.
"""

import collections
import random
import re
import threading
import time

from wires import Gone, Late

TOKEN = re.compile(r"tok-\d+-\d+x")

# How much longer than its own limit a call may take: what the troublemaker stops is resumed or killed within 5 s, another
# fork server takes 2 s, and the machine may be busy.
SLACK = 25

# How long what a command leaves behind lives, in seconds: on a full disk it can't become a job, and then nothing but its
# own end takes it away.
LEFT = 15


class Book:
    """What became of all calls."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts, self.said, self.wrong = collections.Counter(), collections.Counter(), []
        self.longest, self.times = 0.0, []
        # How long short commands took, by server.
        self.short = {}

    def note(self, kind, verdict, words="", facts=""):
        with self.lock:
            self.counts[verdict] += 1
            if verdict == "said":
                self.said[kind, plain(words)] += 1
            if verdict == "wrong":
                self.wrong.append(f"{kind}: {words}: {facts}")

    def took(self, kind, seconds):
        server, work = kind.split()
        with self.lock:
            if work == "short":
                self.short.setdefault(server, []).append(seconds)
            self.longest = max(self.longest, seconds)
            self.times.append(seconds)


def plain(words):
    """Words without what differs from call to call."""
    words = TOKEN.sub("TOKEN", str(words))
    words = re.sub(r"/[^\s\"']+", "PATH", words)
    words = re.sub(r"\d+", "N", words)
    return re.sub(r"(N,?\s+)+", "N ", words).replace("\n", " ")[:160]


def own(reply):
    """A reply without earlier jobs: those of a client whose server was killed, or that seems to be gone because somebody
    removed what shows it, are there for everybody."""
    lines = [line for line in reply.get("text", "").splitlines() if " (earlier): " not in line]
    result = reply.get("result")
    if isinstance(result, dict) and isinstance(result.get("jobs"), list):
        jobs = [job for job in result["jobs"] if not job.get("earlier")]
        result = {**result, "jobs": jobs}
    return {**reply, "text": "\n".join(lines), "result": result}


class Worker(threading.Thread):
    """One client."""

    def __init__(self, wire, seed, scene, book):
        super().__init__(daemon=True, name=f"client-{wire.number}")
        self.wire, self.scene, self.book = wire, scene, book
        self.random = random.Random(f"{seed}/client/{wire.number}")
        self.count, self.kept, self.variable = 0, [], None
        self.kinds = [(self.short, 8), (self.cancelled, 2), (self.quiet, 1)]
        if wire.has_jobs:
            self.kinds += [
                (self.in_session, 6),
                (self.in_background, 4),
                (self.stores, 3),
                (self.reads_again, 2),
                (self.timed_out, 1),
                (self.goes_on, 2),
                (self.leaves_something, 1),
                (self.in_a_hung_place, 1),
                (self.lists, 2),
            ]

    def run(self):
        kinds, weights = zip(*self.kinds)
        while time.monotonic() < self.scene.until:
            kind = self.random.choices(kinds, weights)[0]
            # Drawn in any case: what a client does next must not depend on what it was told.
            self.draws = random.Random(self.random.random())
            time.sleep(self.scene.pace)
            self.once(kind)

    def once(self, kind):
        self.count += 1
        self.token = f"tok-{self.wire.number}-{self.count}x"
        self.kind = f"{self.wire.server.name} {kind.__name__}"
        try:
            if self.wire.ready():
                self.kept, self.variable = [], None
            kind()
        except Gone as reason:
            self.gone(reason)
        except Late:
            self.wire.lost()
            self.book.note(self.kind, "wrong", "no answer within its bound", self.token)

    def gone(self, reason):
        """A server that lives has no reason to hang up."""
        self.book.note(self.kind, "unanswered", str(reason))
        child, generation = self.wire.server.child, self.wire.generation
        self.wire.lost()
        for _ in range(100):
            if child.poll() is not None or generation != self.wire.server.generation:
                return
            time.sleep(0.05)
        if generation:
            self.book.note(self.kind, "wrong", f"the server lives, and hung up: {reason}", self.token)

    def timed(self, ask, limit):
        begun = time.monotonic()
        reply = ask(limit + SLACK)
        self.book.took(self.kind, time.monotonic() - begun)
        strange = set(TOKEN.findall(str(own(reply))))
        strange = {token for token in strange if not token.startswith(f"tok-{self.wire.number}-")}
        if strange:
            self.book.note(self.kind, "wrong", f"another's: {strange}", reply)
        return reply

    def call(self, command, limit=20, cancel_after=None, **arguments):
        arguments |= {"command": command}
        return self.timed(lambda bound: self.wire.call(arguments, bound, cancel_after=cancel_after), limit)

    def job(self, limit=5, **arguments):
        return self.timed(lambda bound: self.wire.job(arguments, bound), limit)

    def judge(self, reply, output, status, may=()):
        """Whether a run ended as its command must; `may` are endings that were asked for."""
        trouble = reply.get("error") or reply.get("session_reset")
        text = reply.get("text", "")
        for ending in ("cancelled", "timed_out"):
            if reply.get(ending):
                verdict = "right" if ending in may else "wrong"
                self.book.note(self.kind, verdict, f"{ending}, which nobody asked for", reply)
                return verdict == "right"
        if reply.get("job") and "job" in may:
            self.book.note(self.kind, "right")
        elif reply.get("error"):
            self.book.note(self.kind, "said", reply["error"], reply)
        elif reply.get("exit_code") is None and reply.get("signal") is None and trouble:
            self.book.note(self.kind, "said", trouble, reply)
        elif reply.get("exit_code") == status and reply.get("output") == output:
            self.book.note(self.kind, "right")
            return True
        elif "[bashd: " in text and reply.get("exit_code") in (status, None):
            self.book.note(self.kind, "said", text[text.index("[bashd: ") :], reply)
        elif reply.get("exit_code") is None and "[" in text:
            self.book.note(self.kind, "said", text[text.rindex("[") :], reply)
        else:
            self.book.note(self.kind, "wrong", f"not {status} and {output[-60:]!r}", reply)
        return False

    # The kinds of work.

    def short(self):
        status = self.draws.randrange(1, 100)
        self.judge(self.call(f"echo {self.token}; exit {status}" if self.wire.has_jobs else
                             f"echo {self.token}; (exit {status})"), f"{self.token}\n", status)

    def quiet(self):
        time.sleep(self.draws.random() / 2)

    def in_session(self):
        if self.variable is None or self.draws.random() < 0.3:
            reply = self.call(f"kept={self.token}; echo {self.token}", session="s")
            is_right = self.judge(reply, f"{self.token}\n", 0)
            is_kept = is_right and "busy" not in str(reply.get("result"))
            self.variable = self.token if is_kept else None
            return
        reply = self.call('echo "$kept"; (exit 7)', session="s")
        if reply.get("session_reset"):
            self.variable = None
            self.judge(reply, "\n", 7)
        elif not self.judge(reply, f"{self.variable}\n", 7):
            self.variable = None

    def in_background(self):
        pause = self.draws.random()
        reply = self.call(f"echo {self.token}; sleep {pause:.2f}; echo {self.token}; exit 9", background=True)
        job = reply.get("job")
        if not job:
            # It was quicker than the reply, or could not be.
            self.judge(reply, f"{self.token}\n{self.token}\n", 9)
            return
        waited = self.job(limit=12, action="wait", job=job, timeout=10)
        jobs = (waited.get("result") or {}).get("jobs") or [{}]
        state = jobs[0].get("job") or {}
        shown = self.job(action="output", job=job)
        if state.get("state") == "exited":
            whole = f"{self.token}\n{self.token}\n"
            is_right = state.get("exit_code") == 9 and (
                whole in shown.get("text", "") or shown.get("is_error") or "[bashd: " in shown.get("text", "")
            )
            self.book.note(self.kind, "right" if is_right else "wrong", "of an ended job", (waited, shown))
        else:
            words = waited.get("error") or waited.get("text") or ""
            self.book.note(self.kind, "said" if words else "wrong", words, (reply, waited))

    def stores(self):
        reply = self.call(f"seq 1 9000; echo {self.token}")
        text = reply.get("text", "")
        if reply.get("exit_code") == 0 and (text.rstrip().endswith(self.token) or "[bashd: " in text):
            self.book.note(self.kind, "right")
        else:
            self.judge(reply, "", None)
        if reply.get("artifact"):
            self.kept.append((reply["artifact"], self.token))

    def reads_again(self):
        if not self.kept:
            return
        address, token = self.draws.choice(self.kept)
        reply = self.timed(lambda bound: self.wire.stored(address, bound), 20)
        if token in reply.get("text", ""):
            self.book.note(self.kind, "right")
            return
        # Before an error there may be news of this client's own jobs; `timed` has looked for what is another's.
        strange = [] if reply.get("is_error") else TOKEN.findall(reply.get("text", ""))
        is_lost = "[bashd: " in reply.get("text", "")
        is_said = not strange and (reply.get("is_error") or reply.get("error") or reply.get("exit_code") or is_lost)
        words = reply.get("error") or reply.get("text", "")
        self.book.note(self.kind, "said" if is_said else "wrong", words, reply)
        self.kept.remove((address, token))

    def cancelled(self):
        command = f"echo {self.token}; sleep 60; exit 5"
        reply = self.call(command, limit=5, cancel_after=self.draws.random())
        if reply.get("cancelled") or "cancel" in str(reply).lower():
            self.book.note(self.kind, "right")
        else:
            self.judge(reply, "", None)

    def timed_out(self):
        reply = self.call(f"echo {self.token}; sleep 60", limit=1, timeout=1, on_timeout="kill")
        self.judge(reply, "", None, may=("timed_out",))

    def goes_on(self):
        reply = self.call(f"echo {self.token}; sleep 60", limit=1, timeout=1)
        # Without a job it ends at its timeout.
        self.judge(reply, "", None, may=("job", "timed_out"))
        if reply.get("job"):
            self.end(reply["job"])

    def leaves_something(self):
        reply = self.call(f"sleep {LEFT} & echo {self.token}; exit 4")
        self.judge(reply, f"{self.token}\n", 4)
        for left in reply.get("left_behind") or []:
            if left.get("job"):
                self.end(left["job"])

    def end(self, job):
        reply = self.job(limit=12, action="kill", job=job)
        words = reply.get("error") or reply.get("text", "")
        is_ended = re.match(r"\S+:? (killed|exited|ended on request|had already ended)", words)
        self.book.note(f"{self.kind}, killed", "right" if is_ended else "said", words, reply)

    def in_a_hung_place(self):
        reply = self.call(f"echo {self.token}", limit=3, timeout=2, on_timeout="kill", cwd=str(self.scene.hung))
        self.judge(reply, f"{self.token}\n", 0, may=("timed_out",))

    def lists(self):
        reply = self.job(action="list")
        is_told = isinstance((reply.get("result") or {}).get("jobs"), list) or reply.get("text") or reply.get("error")
        self.book.note(self.kind, "right" if is_told else "wrong", "a list", reply)
