"""One connection to a server, from its first message to its last.

A server is a process that this one started, or somebody's on a Unix socket. Messages are JSON lines. Whatever ends the
connection ends every call that is open on it: each is told, and none is repeated, since its command may have run.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import subprocess
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Union

from .errors import BinaryNotFound, RequestFailed, ServerGone
from .types import EVENTS, Approval

log = logging.getLogger("bashd")

Answer = Union[bool, str]
"""What a callback says: no, yes, or for how long a yes holds (`once`, `session`, `always`)."""

Approve = Callable[[Approval], Union[Answer, Awaitable[Answer]]]
"""Asks the user. A plain function is called in a thread of its own, so that it may wait."""

Told = Callable[[str, Any], None]
"""Is told of an event: its name, and the event."""

END_WITHIN = 8.0
"""Seconds that a server has to end by itself."""

MOST_COMPLAINTS = 4096
"""Bytes of a server's stderr that an error shows."""


class OpenCall:
    """A request that is not answered yet."""

    def __init__(self, told: Told | None) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # Somebody may have stopped waiting.
        self.answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.told = told
        self.questions: set[asyncio.Task[None]] = set()
        self.callback_failed: Exception | None = None

    def end(self) -> None:
        """Withdraws the questions to the user: nobody waits for the answers."""
        for question in self.questions:
            question.cancel()


class Connection(asyncio.Protocol):
    """Speaks the protocol over pipes or a socket."""

    def __init__(self, approve: Approve | None, told: Told) -> None:
        self._approve = approve
        self._told = told
        self._calls: dict[str, OpenCall] = {}
        self._last = 0
        self._chunks: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._transports: list[asyncio.BaseTransport] = []
        self._writer: asyncio.WriteTransport | None = None
        self._complaints = Complaints()
        self._refusal = ""
        self._gone = asyncio.get_running_loop().create_future()
        self._giving_up: set[asyncio.Task[None]] = set()
        self.is_closing = False

    @classmethod
    async def to_process(cls, command: list[str], environment: dict[str, str] | None, *callbacks: Any) -> Connection:
        """Starts a server and connects to it."""
        self = cls(*callbacks)
        pipe = subprocess.PIPE
        try:
            # In a session of its own: Ctrl-C is for this program, which decides what ends.
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, bufsize=0, start_new_session=True
            )
        except FileNotFoundError as error:
            raise BinaryNotFound(f"{command[0]} does not exist") from error
        except OSError as error:
            raise ServerGone(f"{command[0]} can't be started: {error}", may_have_run=False) from error
        loop = asyncio.get_running_loop()
        self._process = process
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        reading, _ = await loop.connect_read_pipe(lambda: self, process.stdout)
        complaining, _ = await loop.connect_read_pipe(lambda: self._complaints, process.stderr)
        self._transports = [self._writer, reading, complaining]
        return self

    @classmethod
    async def to_socket(cls, path: str, *callbacks: Any) -> Connection:
        """Connects to the server on a socket."""
        self = cls(*callbacks)
        try:
            self._writer, _ = await asyncio.get_running_loop().create_unix_connection(lambda: self, path)
        except OSError as error:
            raise ServerGone(f"nobody serves {path}: {error}", may_have_run=False) from error
        self._transports = [self._writer]
        return self

    @property
    def is_alive(self) -> bool:
        """Whether a request can still be sent."""
        has_ended = self._process is not None and self._process.poll() is not None
        return not (self._gone.done() or self.is_closing or has_ended)

    # What comes in

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._chunks.append(line)
            line, self._chunks = b"".join(self._chunks), []
            try:
                message = json.loads(line)
                kind = message["type"]
            except (ValueError, LookupError, TypeError):
                self._refusal = f"the server said what is no message: {line[:200]!r}"
                self.connection_lost(None)
                return
            self._hear(kind, message)
        if rest:
            self._chunks.append(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._gone.done():
            self._gone.set_result(None)
            self._give_up_soon()

    def _give_up_soon(self) -> None:
        task = asyncio.ensure_future(self._give_up())
        self._giving_up.add(task)
        task.add_done_callback(self._giving_up.discard)

    async def _give_up(self) -> None:
        """Tells every open call that there will be no answer."""
        why = await self._ending()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.end()
            if not call.answer.done():
                call.answer.set_exception(ServerGone(f"{why}, before it answered", may_have_run=True))

    async def _ending(self) -> str:
        """How the server ended, in words."""
        if self._process is None or self._refusal:
            return self._refusal or "the server closed the connection"
        try:
            status = await asyncio.to_thread(self._process.wait, 1.0)
            ending = f"exited with status {status}" if status >= 0 else f"was killed by signal {-status}"
        except subprocess.TimeoutExpired:
            ending = "closed its output"
        complaints = self._complaints.text()
        return f"bashd rpc {ending}" + (f" ({complaints})" if complaints else "")

    def _hear(self, kind: str, message: dict[str, Any]) -> None:
        call = self._calls.get(str(message.get("id", "")))
        if kind == "response":
            self._answered(message, call)
        elif kind == "request":
            self._asked(message)
        elif kind in EVENTS:
            told = call.told if call else self._told if "id" not in message else None
            if told:
                told(kind, EVENTS[kind].of(message))

    def _answered(self, message: dict[str, Any], call: OpenCall | None) -> None:
        if call is None:
            if message["command"] == "connect":
                self._refusal = f"the server refused the connection: {message.get('error')}"
            return
        del self._calls[message["id"]]
        call.end()
        if call.answer.done():
            return
        if message["success"]:
            call.answer.set_result(message.get("data"))
        else:
            call.answer.set_exception(RequestFailed(message["error"]))

    def _asked(self, message: dict[str, Any]) -> None:
        call = self._calls.get(str(message.get("call", "")))
        if call is not None:
            question = asyncio.ensure_future(self._ask(message, call))
            call.questions.add(question)
            question.add_done_callback(call.questions.discard)

    async def _ask(self, message: dict[str, Any], call: OpenCall) -> None:
        """Asks the user, and passes on what they say. A callback that fails is a no."""
        reply: dict[str, Any] = {"id": message["id"], "type": "reply"}
        if message["method"] != "approve" or self._approve is None:
            self._send(reply | {"error": f"this client does not know {message['method']}"})
            return
        try:
            answer = await asked(self._approve, Approval.of(message["params"]))
            reply["result"] = as_result(answer)
        except Exception as error:
            call.callback_failed = error
            reply["error"] = f"the callback failed: {error!r}"
            log.warning("the callback for approval failed: %r", error)
        self._send(reply)

    # What goes out

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    def begin(self, kind: str, fields: dict[str, Any], told: Told | None = None) -> tuple[str, OpenCall]:
        """Sends a request."""
        self._last += 1
        id = str(self._last)
        call = self._calls[id] = OpenCall(told)
        self._send({"id": id, "type": kind, **fields})
        if self._gone.done():
            self._give_up_soon()
        return id, call

    def cancel(self, id: str) -> None:
        """Has the server end a call, if it is not answered yet."""
        if id in self._calls:
            # Nobody waits for the answer to this: the call itself is answered.
            self.begin("cancel", {"target": id})

    async def close(self, patience: float = END_WITHIN) -> None:
        """Ends every call and the server, and waits for it; for answers at most this many seconds."""
        if self.is_closing:
            return
        self.is_closing = True
        for id in list(self._calls):
            self.cancel(id)
        open_calls = [call.answer for call in self._calls.values()]
        if open_calls and not self._gone.done():
            await asyncio.wait(open_calls, timeout=patience)
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            await asyncio.to_thread(end, self._process)
        for transport in self._transports:
            transport.close()
        # The transports' own last steps, and the calls that are told so.
        await asyncio.sleep(0)
        await asyncio.gather(*self._giving_up)


class Complaints(asyncio.Protocol):
    """The end of what a server wrote to stderr; each line is logged."""

    def __init__(self) -> None:
        self._kept = b""

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-MOST_COMPLAINTS:]
        for line in data.decode(errors="replace").splitlines():
            log.warning("%s", line)

    def text(self) -> str:
        """What is kept, on one line."""
        return "; ".join(self._kept.decode(errors="replace").split("\n")).strip("; ")


def end(process: subprocess.Popen[bytes]) -> None:
    """Waits for a server whose stdin is closed; ends it if that takes too long."""
    for then in (process.terminate, process.kill, lambda: None):
        try:
            process.wait(END_WITHIN)
            return
        except subprocess.TimeoutExpired:
            then()


async def asked(callback: Callable[[Any], Any], question: Any) -> Any:
    """What a callback says. A plain function runs in a thread: it may wait for a person."""
    if inspect.iscoroutinefunction(callback):
        return await callback(question)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Any] = loop.create_future()

    def tell(answer: Any, error: Exception | None) -> None:
        if not answered.done():
            answered.set_result(answer) if error is None else answered.set_exception(error)

    def work() -> None:
        outcome: tuple[Any, Exception | None]
        try:
            outcome = callback(question), None
        except Exception as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):
            # The loop may be gone when somebody answers at last.
            loop.call_soon_threadsafe(tell, *outcome)

    # Not one of the loop's own threads, whose end the program would wait for.
    threading.Thread(target=work, name="bashd-approval", daemon=True).start()
    answer = await answered
    return await answer if inspect.isawaitable(answer) else answer


def as_result(answer: Any) -> dict[str, Any]:
    """A callback's answer as the protocol has it."""
    if isinstance(answer, bool):
        return {"approved": answer}
    if answer in ("once", "session", "always"):
        return {"approved": True, "scope": answer}
    raise ValueError(f"an approval is True, False, 'once', 'session' or 'always', not {answer!r}")
