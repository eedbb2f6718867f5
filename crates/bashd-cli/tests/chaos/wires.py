"""Servers on every transport, and the wires of their clients.

A wire sends one call and waits for its answer, bounded. What comes back has one form, whatever carried it: the fields of
docs/reply.md. `Gone` is raised if the server went away meanwhile, `Late` if the answer did not come within its bound.
"""

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time


class Gone(Exception):
    """The server, or the connection to it, is no more."""


class Late(Exception):
    """No answer came within the bound."""


class Server:
    """One server, which is started again when it was killed."""

    def __init__(self, scene, name, arguments):
        self.scene, self.name, self.arguments = scene, name, arguments
        self.lock = threading.Lock()
        self.child, self.generation, self.ended_badly = None, 0, []
        self.facts = {}

    def start(self):
        self.generation += 1
        said = open(self.scene.root / f"{self.name}.{self.generation}.stderr", "wb")
        self.child = subprocess.Popen(
            [self.scene.bashd, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=self.scene.environment,
            cwd=self.scene.workspace,
        )
        said.close()
        self.facts = {"begun": time.monotonic(), "stderr": said.name}
        self.up()
        # What each client does first, so that the first look is at a server that is in use.
        return self.child

    def up(self):
        """What a kind of server needs before it is used."""

    def ensure(self):
        """The generation of a server that lives."""
        with self.lock:
            if self.child is not None and self.child.poll() is None:
                return self.generation
            if self.child is not None:
                self.close_pipes()
                if self.child.returncode != -signal.SIGKILL:
                    self.ended_badly.append((self.child.returncode, self.complaints()))
            self.start()
            return self.generation

    def complaints(self):
        with open(self.facts["stderr"], errors="replace") as said:
            return said.read()[-2000:]

    def close_pipes(self):
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except OSError:
                pass

    def finish(self):
        """Ends it as a client or a service manager would; its status."""
        with self.lock:
            if self.child is None:
                return 0
            try:
                self.child.stdin.close()
            except OSError:
                pass
            if self.name in ("socket", "http"):
                self.child.terminate()
            try:
                status = self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                return f"does not end: {self.complaints()}"
            self.child.stdout.close()
            return 0 if status in (0, 143) else status

    def cost(self):
        """Memory, descriptors and threads of the running server."""
        process = f"/proc/{self.child.pid}"
        with open(f"{process}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        return {
            "rss_kib": int(fields["VmRSS"].split()[0]),
            "descriptors": len(os.listdir(f"{process}/fd")),
            "threads": int(fields["Threads"]),
        }


class LineServer(Server):
    """Speaks in lines on its stdin and stdout; several wires may share it."""

    def up(self):
        self.waiting, self.writing = {}, threading.Lock()
        self.heard = threading.Thread(target=self.listen, args=(self.child, self.waiting), daemon=True)
        self.heard.start()
        self.greet()

    def greet(self):
        """The handshake."""

    def listen(self, child, waiting):
        try:
            for line in child.stdout:
                message = json.loads(line)
                key = self.key(message)
                box = waiting.get(key)
                if box is not None:
                    box.put(message)
        except (ValueError, OSError):
            pass
        for box in list(waiting.values()):
            box.put(None)

    @staticmethod
    def key(message):
        return message.get("id")

    def say(self, message):
        line = json.dumps(message).encode() + b"\n"
        try:
            with self.writing:
                self.child.stdin.write(line)
                self.child.stdin.flush()
        except (OSError, ValueError) as error:
            raise Gone(str(error)) from None

    def ask(self, message, key, bound):
        box = self.waiting.setdefault(key, queue.Queue())
        try:
            self.say(message)
            return take(box, bound)
        finally:
            self.waiting.pop(key, None)


def take(box, bound):
    try:
        message = box.get(timeout=bound)
    except queue.Empty:
        raise Late from None
    if message is None:
        raise Gone("its output ended")
    return message


class McpServer(LineServer):
    """`bashd mcp` on stdin and stdout."""

    def greet(self):
        self.ask(hello(0), 0, 30)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})


def hello(number):
    about = {"name": "chaos", "version": "1"}
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": parameters}


class AcpServer(LineServer):
    """`bashd acp`: its sessions are told apart by the updates' session, and by the ids of requests."""

    def greet(self):
        parameters = {"protocolVersion": 1, "clientCapabilities": {}}
        self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters}, 0, 30)

    @staticmethod
    def key(message):
        return message.get("params", {}).get("sessionId") or message.get("id")


class HttpServer(Server):
    """`bashd mcp --http`."""

    def up(self):
        threading.Thread(target=self.child.stdout.read, daemon=True).start()
        begun = time.monotonic()
        mark = "listening on http://"
        while mark not in self.complaints():
            if time.monotonic() - begun > 20 or self.child.poll() is not None:
                raise Gone("it does not listen")
            time.sleep(0.02)
        address = self.complaints().split(mark)[1].split("/")[0]
        self.facts["address"] = address


class SocketServer(Server):
    """`bashd rpc --socket`."""

    def up(self):
        begun = time.monotonic()
        while True:
            try:
                connect(self.arguments[-1]).close()
                return
            except OSError:
                if time.monotonic() - begun > 20 or self.child.poll() is not None:
                    raise Gone("it does not listen") from None
                time.sleep(0.02)


def connect(path):
    stream = socket.socket(socket.AF_UNIX)
    try:
        stream.connect(path)
    except OSError:
        stream.close()
        raise
    return stream


class Wire:
    """One client's way to a server."""

    has_jobs = True
    # Whether a call can name another profile, whose session is then another one.
    has_profiles = False

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.generation, self.last = 0, 0

    def ready(self):
        """Connects again, if another server took the place of the last. Whether it did."""
        generation = self.server.ensure()
        if generation == self.generation:
            return False
        self.connect()
        self.generation = generation
        return True

    def connect(self):
        pass

    def lost(self):
        """The connection is of no more use."""
        self.generation = 0

    def fresh(self):
        self.last += 1
        return self.number * 1_000_000 + self.last


def from_rpc(answer):
    if answer.get("success") and "data" in answer:
        return answer["data"]
    return {"error": answer.get("error") or f"no data: {answer}", "text": json.dumps(answer)}


def from_mcp(answer):
    if "result" not in answer:
        return {"error": json.dumps(answer.get("error")), "text": json.dumps(answer)}
    result = answer["result"]
    reply = dict(result.get("_meta", {}).get("bashd/reply", {}))
    reply["text"] = "\n".join(part.get("text", "") for part in result.get("content", []))
    reply["is_error"] = result.get("isError", False)
    if reply["is_error"] and reply["text"].startswith("Error: "):
        reply["error"] = reply["text"].removeprefix("Error: ")
    return reply


class RpcWire(Wire):
    """A client of `bashd rpc` on pipes."""

    has_profiles = True

    def call(self, arguments, bound, cancel_after=None, profile=None):
        message = {"id": self.fresh(), "type": "call", "arguments": arguments}
        if profile:
            message["profile"] = profile
        cancel = {"type": "cancel", "target": message["id"], "id": -message["id"]}
        return from_rpc(self.ask(message, bound, cancel_after, cancel))

    def job(self, arguments, bound):
        return from_rpc(self.ask({"id": self.fresh(), "type": "job", "arguments": arguments}, bound))

    def stored(self, address, bound):
        return self.call({"command": f"tail -n 1 {address}"}, bound, profile="pi")

    def ask(self, message, bound, cancel_after=None, cancel=None):
        timer = later(cancel_after, lambda: self.server.say(cancel))
        try:
            return self.server.ask(message, message["id"], bound)
        finally:
            timer.cancel()


class SocketWire(RpcWire):
    """A client of the socket, with a connection of its own."""

    stream = None

    def connect(self):
        self.close()
        try:
            self.stream = connect(self.server.arguments[-1])
        except OSError as error:
            raise Gone(str(error)) from None
        self.lines = self.stream.makefile("rb")

    def close(self):
        if self.stream is not None:
            self.lines.close()
            self.stream.close()
            self.stream = None

    def ask(self, message, bound, cancel_after=None, cancel=None):
        timer = later(cancel_after, lambda: self.send(cancel))
        until = time.monotonic() + bound
        try:
            self.send(message)
            while True:
                left = until - time.monotonic()
                if left <= 0:
                    raise Late
                self.stream.settimeout(left)
                line = self.lines.readline()
                if not line.endswith(b"\n"):
                    raise Gone("the connection ended")
                answer = json.loads(line)
                if answer.get("id") == message["id"]:
                    return answer
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Gone(str(error)) from None
        finally:
            timer.cancel()

    def send(self, message):
        try:
            self.stream.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise Gone(str(error)) from None


# What stands for the answer that a cancelled request of the Model Context Protocol does not get.
CANCELLED = {"result": {"_meta": {"bashd/reply": {"cancelled": True}}}}


class McpWire(Wire):
    """A client of `bashd mcp` on pipes."""

    def call(self, arguments, bound, cancel_after=None):
        return self.tool("bash", arguments, bound, cancel_after)

    def job(self, arguments, bound):
        return self.tool("job", arguments, bound)

    def stored(self, address, bound):
        return self.tool("artifact", {"id": address, "tail": 1}, bound)

    def tool(self, name, arguments, bound, cancel_after=None):
        number = self.fresh()
        parameters = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": parameters}
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": number, "reason": "chaos"},
        }
        if cancel_after is None:
            return from_mcp(self.ask(message, bound))
        timer = later(cancel_after, lambda: self.take_back(cancel, number))
        try:
            return from_mcp(self.ask(message, bound))
        finally:
            timer.cancel()

    def ask(self, message, bound):
        return self.server.ask(message, message["id"], bound)

    def notify(self, message):
        self.server.say(message)

    def take_back(self, cancel, number):
        """A request that was cancelled is not answered: whether the server lives is asked by another."""
        self.notify(cancel)
        ping = {"jsonrpc": "2.0", "id": self.fresh(), "method": "ping"}
        self.server.ask(ping, ping["id"], 60)
        if box := self.server.waiting.get(number):
            box.put(CANCELLED)


class HttpWire(McpWire):
    """A client of `bashd mcp --http`, in a session of its own."""

    session = None
    taken_back = ()

    def take_back(self, cancel, number):
        self.taken_back = (number,)
        self.notify(cancel)

    def connect(self):
        self.session = None
        self.ask(hello(self.fresh()), 30)
        self.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, message, bound):
        status, body = self.post(message, bound)
        if status in (404, 503):
            # The session gave way, or there is no seat: it is begun again.
            raise Gone(f"status {status}")
        for line in body.splitlines():
            line = line.removeprefix("data:").strip()
            if line.startswith("{"):
                answer = json.loads(line)
                if answer.get("id") == message["id"]:
                    return answer
        if status == 200 and message["id"] in self.taken_back:
            return CANCELLED
        if not body.strip() or status == 200:
            raise Gone(f"status {status}, and no answer")
        return {"error": {"status": status, "body": body[:500]}}

    def notify(self, message):
        self.post(message, 20)

    def post(self, message, bound):
        address = self.server.facts.get("address", "127.0.0.1:9")
        until = time.monotonic() + bound
        connection = http.client.HTTPConnection(address, timeout=bound)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            answer = connection.getresponse()
            self.session = answer.getheader("Mcp-Session-Id") or self.session
            body = b""
            while part := answer.read1(1 << 16):
                body += part
                if time.monotonic() > until:
                    raise Late
            return answer.status, body.decode(errors="replace")
        except TimeoutError:
            raise Late from None
        except (OSError, http.client.HTTPException) as error:
            raise Gone(repr(error)) from None
        finally:
            connection.close()


class AcpWire(Wire):
    """A session of `bashd acp`."""

    has_jobs = False
    session = None

    def connect(self):
        parameters = {"cwd": str(self.server.scene.workspace), "mcpServers": []}
        number = self.fresh()
        message = {"jsonrpc": "2.0", "id": number, "method": "session/new", "params": parameters}
        answer = self.server.ask(message, number, 30)
        if "result" not in answer:
            raise Gone(json.dumps(answer))
        self.session = answer["result"]["sessionId"]

    def call(self, arguments, bound, cancel_after=None):
        number = self.fresh()
        prompt = [{"type": "text", "text": arguments["command"]}]
        parameters = {"sessionId": self.session, "prompt": prompt}
        message = {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": parameters}
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}}
        box = queue.Queue()
        for key in (number, self.session):
            self.server.waiting[key] = box
        timer = later(cancel_after, lambda: self.server.say(cancel))
        try:
            return self.turn(message, number, box, time.monotonic() + bound)
        finally:
            timer.cancel()
            self.server.waiting.pop(number, None)

    def turn(self, message, number, box, until):
        self.server.say(message)
        reply, text = {}, ""
        while True:
            heard = take(box, max(0, until - time.monotonic()))
            update = heard.get("params", {}).get("update", {})
            reply.update(update.get("rawOutput") or {})
            if update.get("sessionUpdate") == "agent_message_chunk":
                text += update["content"]["text"]
            if heard.get("id") == number:
                if "error" in heard:
                    return {"error": json.dumps(heard["error"]), "text": text}
                is_cancelled = heard["result"].get("stopReason") == "cancelled"
                return {"text": text, **reply} | ({"cancelled": True} if is_cancelled else {})


class NoTimer:
    """Nothing happens later."""

    def cancel(self):
        pass


def later(seconds, action):
    """Does something after a while; what went away by then is left alone."""
    if seconds is None:
        return NoTimer()

    def act():
        try:
            action()
        except (Gone, Late):
            pass

    timer = Repeated(seconds, act)
    timer.start()
    return timer


class Repeated(threading.Thread):
    """Acts until it is cancelled: what is said on a connection of its own may arrive before what it is about."""

    def __init__(self, seconds, act):
        super().__init__(daemon=True)
        self.seconds, self.act, self.is_over = seconds, act, threading.Event()

    def run(self):
        while not self.is_over.wait(self.seconds):
            self.act()
            self.seconds = 2

    def cancel(self):
        self.is_over.set()
