"""A client of `bashd rpc` for the statements of `accept`.

    c = Client(*ASYNC, jobs=True)                           a server of `pi`; what the client offers
    c.call("echo hi", timeout=5)                            the reply to a call
    c.job(poll=["bg_1"])                                    the reply of the job tool
    c.heard                                                 every message that was no answer, in order
    c.until(lambda m: m["type"] == "job_ended")             the first message that is so
    c.ended()                                               the same of the end of a job
    c.later("sleep 1")                                      a call with `async`

A client that offers terminals has them in `Terminals`: `made` are the parameters of each, `asked` the names of all
requests in order. `limit` is how many bytes one keeps; `exit` replaces how each ended; `fails` names requests that it refuses.
"""

import json
import os
import queue
import subprocess
import threading
import time


ASYNC = ("--set", "async.enabled=true")
AUTO = ("--set", "bash.autoBackground.enabled=true", "--set", "bash.autoBackground.thresholdMs=500")


def show(*values):
    """Prints values as Python writes them."""
    print(*map(repr, values))


class Terminals:
    def __init__(self, limit=None, exit=None, fails=()):
        self.made, self.asked, self.running = [], [], []
        self.limit, self.exit, self.fails = limit, exit, fails

    def answer(self, method, params):
        self.asked.append(method.removeprefix("terminal/"))
        if self.asked[-1] in self.fails:
            return {"error": f"no {self.asked[-1]} today"}
        return {"result": getattr(self, self.asked[-1])(params)}

    def create(self, params):
        self.made.append(params)
        env = {**os.environ, **{entry["name"]: entry["value"] for entry in params["env"]}}
        process = subprocess.Popen(
            [params["command"], *params["args"]], cwd=params["cwd"], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
        process.kept = b""
        process.reader = threading.Thread(target=self.read, args=[process], daemon=True)
        process.reader.start()
        self.running.append(process)
        return {"terminalId": f"t{len(self.running)}"}

    def read(self, process):
        while piece := os.read(process.stdout.fileno(), 65536):
            process.kept += piece

    def of(self, params):
        return self.running[int(params["terminalId"][1:]) - 1]

    def status(self, process):
        code = process.wait()
        process.reader.join()
        return self.exit or {"exitCode": code if code >= 0 else None, "signal": None if code >= 0 else str(-code)}

    def output(self, params):
        process = self.of(params)
        kept = process.kept[-self.limit :] if self.limit else process.kept
        answer = {"output": kept.decode(errors="replace"), "truncated": len(kept) < len(process.kept)}
        return answer | ({"exitStatus": self.status(process)} if process.poll() is not None else {})

    def wait_for_exit(self, params):
        return self.status(self.of(params))

    def kill(self, params):
        os.killpg(self.of(params).pid, 9)
        return {}

    def release(self, params):
        return {}


class Client:
    def __init__(self, *options, terminals=None, **offers):
        self.process = subprocess.Popen(
            ["bashd", "rpc", "--profile", "pi", "--linger", "60", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )
        self.terminals, self.heard, self.answers, self.last = terminals, [], queue.Queue(), 0
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()
        if offers or terminals:
            self.ask("hello", capabilities=offers | ({"terminal": True} if terminals else {}))

    def listen(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if message["type"] == "request":
                threading.Thread(target=self.serve, args=[message], daemon=True).start()
            else:
                self.answers.put(message)

    def serve(self, message):
        answer = self.terminals.answer(message["method"], message["params"])
        self.send({"id": message["id"], "type": "reply"} | answer)

    def send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def say(self, kind, **fields):
        self.last += 1
        self.send({"id": str(self.last), "type": kind, **fields})
        return str(self.last)

    def until(self, is_it, seconds=60):
        for message in self.heard:
            if is_it(message):
                self.heard.remove(message)
                return message
        end = time.monotonic() + seconds
        while True:
            message = self.answers.get(timeout=max(0.001, end - time.monotonic()))
            if is_it(message):
                return message
            self.heard.append(message)

    def response(self, number):
        answer = self.until(lambda message: message["type"] == "response" and message.get("id") == number)
        return answer.get("data", answer)

    def ask(self, kind, **fields):
        return self.response(self.say(kind, **fields))

    def call(self, command, **arguments):
        return self.ask("call", arguments={"command": command, **arguments})

    def later(self, command, **arguments):
        return self.call(command, **{"async": True}, **arguments)

    def job(self, **arguments):
        return self.ask("job", arguments=arguments)

    def ended(self):
        return self.until(lambda message: message["type"] == "job_ended")
