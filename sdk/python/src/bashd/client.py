"""The client: commands, sessions, jobs, approvals and stored output, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, Union, Unpack

from . import binary
from .connection import Approve, Connection, OpenCall, log
from .errors import (
    BashdError,
    CommandDenied,
    CommandFailed,
    EndedAtOnce,
    RequestFailed,
    ServerGone,
    SessionLost,
    WrongProtocol,
)
from .types import (
    PROTOCOL,
    ArtifactOptions,
    BashOptions,
    FinishedEvent,
    Greeting,
    JobEndedEvent,
    JobInfo,
    JobOutput,
    JobScreen,
    OfferedTool,
    OutputEvent,
    Reply,
    StartedEvent,
    StoredOutput,
    WaitedJob,
)

if TYPE_CHECKING:
    from types import TracebackType

Event = Union[StartedEvent, OutputEvent, FinishedEvent]
"""What a call reports while it runs."""

ANSWER_WITHIN = 15.0
"""Seconds that a new server has to answer `hello`."""

LONGEST_WAIT = 3600.0
"""Seconds that one request may wait for a job; a longer wait is several requests."""


class Client:
    """Runs commands by a server of its own, which is started with the first call and ended by `close`.

    >>> async with Client() as client:
    ...     reply = await client.run("make")
    """

    def __init__(
        self,
        *,
        profile: str | None = None,
        cwd: str | None = None,
        approve: Approve | None = None,
        on_job_ended: Callable[[JobEndedEvent], Any] | None = None,
        arguments: list[str] | None = None,
        environment: dict[str, str] | None = None,
        binary: str | None = None,
        socket: str | None = None,
    ) -> None:
        """
        - `profile`: whose tools `tools` offers, and whose arguments `call` takes.
        - `cwd`: where commands run; by default here.
        - `approve`: is asked before a command runs for which a rule says `ask`. Without it, such a command is denied.
        - `on_job_ended`: is told when a job has ended that this client started.
        - `arguments`: further options of `bashd rpc`, such as `["--safe-mode"]`.
        - `environment`: the server's, and so that of all commands; by default this process's.
        - `binary`: the bashd to start; by default the package's own, `BASHD`, or the one on `PATH`.
        - `socket`: the server to connect to instead (`bashd rpc --socket`).
        """
        if socket is not None and (profile, cwd, arguments, environment, binary) != (None,) * 5:
            raise ValueError("whoever serves the socket decides on profile, cwd, arguments, environment and binary")
        self._profile = profile
        self._options = [*(["--profile", profile] if profile else []), *(["--cwd", cwd] if cwd else []), *(arguments or [])]
        self._approve = approve
        self._on_job_ended = on_job_ended
        self._environment = environment
        self._binary = binary
        self._socket = socket
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._greeting: Greeting | None = None
        self._is_closed = False
        self._generation = 0

    # Its life

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def connect(self) -> Greeting:
        """Starts or finds the server, if there is none, and says what it is. Every call does this by itself."""
        await self._connected()
        assert self._greeting is not None
        return self._greeting

    async def close(self) -> None:
        """Ends the calls in progress and the server. Jobs stay."""
        self._is_closed = True
        if self._connection is not None:
            await self._connection.close()

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise BashdError("this client belongs to another event loop: make one for each")
        self._loop = loop
        async with self._connecting:
            if self._is_closed:
                raise BashdError("this client is closed")
            if self._connection is not None and self._connection.is_alive:
                return self._connection
            if self._connection is not None:
                # Nothing was sent to it since it ended: another one may take its place.
                await self._connection.close()
            callbacks = (self._approve, self._heard)
            if self._socket is not None:
                connection = await Connection.to_socket(self._socket, *callbacks)
            else:
                command = [self._binary or binary.find(), "rpc", *self._options]
                connection = await Connection.to_process(command, self._environment, *callbacks)
            try:
                self._greeting = await self._greet(connection)
            except BaseException:
                # There is nothing to wait for.
                await connection.close(patience=0.0)
                raise
            self._connection = connection
            self._generation += 1
            return connection

    async def _greet(self, connection: Connection) -> Greeting:
        capabilities = {"approve": self._approve is not None, "jobs": self._on_job_ended is not None}
        _, hello = connection.begin("hello", {"capabilities": capabilities})
        try:
            data = await asyncio.wait_for(asyncio.shield(hello.answer), ANSWER_WITHIN)
        except ServerGone as error:
            raise ServerGone(str(error), may_have_run=False) from None
        except asyncio.TimeoutError:
            raise ServerGone(f"the server did not answer within {ANSWER_WITHIN:g} s", may_have_run=False) from None
        spoken = data.get("protocol")
        if spoken != PROTOCOL:
            raise WrongProtocol(
                f"bashd {data.get('version')} speaks version {spoken} of the protocol, and this package version {PROTOCOL}: "
                "install the two in versions that fit"
            )
        return Greeting.of(data)

    def _heard(self, kind: str, event: Any) -> None:
        if kind == "job_ended" and self._on_job_ended is not None:
            try:
                self._on_job_ended(event)
            except Exception:
                log.exception("the callback for the end of a job failed")

    async def request(self, kind: str, **fields: Any) -> Any:
        """Sends one request of the protocol, and returns the answer's data. If you stop waiting, the call is cancelled."""
        connection = await self._connected()
        id, call = connection.begin(kind, fields)
        return await answered(connection, id, call)

    # Commands

    async def run(self, command: str, *, check: bool = False, **options: Unpack[BashOptions]) -> Reply:
        """Runs a command with bash and returns how it ended.

        What takes longer than `timeout` (120 s) is ended with everything it started. With `check=True`, a command that
        fails raises `CommandFailed`. If you stop waiting, the command is cancelled.
        """
        async with self._running(command, options, stream=False) as running:
            return settled(await running.reply(), running, check=check)

    def stream(self, command: str, **options: Unpack[BashOptions]) -> Running:
        """Runs a command whose output you get as it arrives."""
        return self._running(command, options, stream=True)

    def _running(self, command: str, options: BashOptions, *, stream: bool) -> Running:
        # A program's timeout is an end; for a model's call, which goes on as a job, there is `call`.
        arguments = {"command": command, "on_timeout": "kill", **options}
        return Running(self, {"arguments": arguments, "profile": "default", "stream": stream})

    async def call(self, arguments: dict[str, Any], *, profile: str | None = None) -> Reply:
        """Makes a model's tool call, with the arguments as it gave them. The reply says what happened, whatever it was."""
        fields = {"arguments": arguments, **({"profile": profile} if profile else {})}
        return Reply.of(await self.request("call", **fields))

    def session(self, name: str) -> Session:
        """A shell that keeps its directory, variables and functions from one call to the next."""
        return Session(self, name)

    # Jobs

    async def start(self, command: str, **options: Unpack[BashOptions]) -> Job:
        """Starts a command as a job, which goes on when this client is gone. With `until`, waits until it is ready."""
        arguments = {"command": command, "background": True, **options}
        reply = settled(await self.call(arguments, profile="default"))
        if reply.job is None:
            raise EndedAtOnce(reply)
        return Job(self, reply.job)

    async def jobs(self) -> list[JobInfo]:
        """The jobs that run, and those whose end nobody has seen yet."""
        result = await self._job(action="list")
        return [JobInfo.of(job) for job in result["jobs"]]

    def job(self, id: str) -> Job:
        """The job with this id, also one of an earlier client."""
        return Job(self, id)

    async def _job(self, **arguments: Any) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}
        reply = Reply.of(await self.request("job", arguments=given, profile="default"))
        if reply.is_error:
            raise RequestFailed(reply.text)
        return reply.result

    # Stored output and tools

    async def read_artifact(self, address: str, **options: Unpack[ArtifactOptions]) -> StoredOutput:
        """A part of the stored output that `reply.artifact` names: lines, the end, or what matches."""
        return StoredOutput.of(await self.request("artifact", arguments={"id": address, **options}))

    async def tools(self, profile: str | None = None) -> list[Tool]:
        """The tools that a model has with a profile, for any framework."""
        profile = profile or self._profile
        data = await self.request("tools", **({"profile": profile} if profile else {}))
        return [Tool(self, OfferedTool.of(tool), profile) for tool in data["tools"]]


async def answered(connection: Connection, id: str, call: OpenCall) -> Any:
    """Waits for the answer to a call. Who stops waiting has it cancelled."""
    try:
        return await asyncio.shield(call.answer)
    except asyncio.CancelledError:
        connection.cancel(id)
        raise


def settled(reply: Reply, running: Running | None = None, *, check: bool = False) -> Reply:
    """The reply to a command that ran; raises what kept it from running."""
    if reply.denied is not None:
        cause = running.callback_failed if running is not None else None
        raise CommandDenied(reply, reply.denied) from cause
    if reply.error is not None:
        raise RequestFailed(reply.error)
    if check and (reply.exit_code != 0 or reply.timed_out or reply.cancelled) and reply.job is None:
        raise CommandFailed(reply)
    return reply


class Running:
    """A command that runs: its events as they arrive, then its reply.

    >>> async with client.stream("make") as running:
    ...     async for text in running.output():
    ...         print(text, end="")
    ...     reply = await running.reply()

    Events wait in memory until you take them. Leaving the block before the end cancels the command.
    """

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        self._client = client
        self._fields = fields
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._begun: tuple[Connection, str, OpenCall] | None = None
        self._beginning = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        connection, id, call = await self._begin()
        if not call.answer.done():
            connection.cancel(id)

    async def _begin(self) -> tuple[Connection, str, OpenCall]:
        async with self._beginning:
            if self._begun is None:
                connection = await self._client._connected()
                id, call = connection.begin("call", self._fields, self._heard)
                call.answer.add_done_callback(lambda _: self._events.put_nowait(None))
                self._begun = connection, id, call
            return self._begun

    def _heard(self, kind: str, event: Any) -> None:
        self._events.put_nowait(event)

    @property
    def callback_failed(self) -> Exception | None:
        """Why a callback for approval failed, if one did."""
        return self._begun[2].callback_failed if self._begun else None

    async def __aiter__(self) -> AsyncIterator[Event]:
        await self._begin()
        while (event := await self._events.get()) is not None:
            yield event
        # The next reader is not to wait for ever.
        self._events.put_nowait(None)

    async def output(self) -> AsyncIterator[str]:
        """The output alone, both streams as they were written."""
        async for event in self:
            if isinstance(event, OutputEvent):
                yield event.text

    async def cancel(self) -> None:
        """Ends the command with everything it started; the reply says so."""
        connection, id, _ = await self._begin()
        connection.cancel(id)

    async def reply(self) -> Reply:
        """How it ended. If you stop waiting, the command is cancelled."""
        return Reply.of(await answered(*await self._begin()))


class Session:
    """A shell that lives from call to call; calls of one session run one after the other."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._generation: int | None = None

    async def run(self, command: str, *, check: bool = False, **options: Unpack[BashOptions]) -> Reply:
        """Like `Client.run`, in this shell."""
        await self._same_server()
        options["session"] = self.name
        return await self._client.run(command, check=check, **options)

    async def stream(self, command: str, **options: Unpack[BashOptions]) -> Running:
        """Like `Client.stream`, in this shell."""
        await self._same_server()
        options["session"] = self.name
        return self._client.stream(command, **options)

    async def _same_server(self) -> None:
        await self._client._connected()
        before, self._generation = self._generation, self._client._generation
        if before not in (None, self._generation):
            raise SessionLost(f"the server of session {self.name} is gone, and what its shell knew; the next call begins anew")


class Job:
    """A command that runs on its own, by its id: it survives this client and its server."""

    def __init__(self, client: Client, id: str) -> None:
        self.id = id
        self._client = client

    async def info(self) -> JobInfo:
        """What it is doing."""
        return (await self.read(tail=0)).job

    async def wait(
        self,
        *,
        timeout: float | None = None,
        regex: str | None = None,
        port: int | None = None,
        http: str | None = None,
        silent_ms: int | None = None,
        offset: int | None = None,
    ) -> WaitedJob:
        """Waits for its end, or until one condition is met; `met` says which."""
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        while True:
            left = LONGEST_WAIT if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())
            condition = {"regex": regex, "port": port, "http": http, "silent_ms": silent_ms, "offset": offset}
            result = await self._act("wait", timeout=min(left, LONGEST_WAIT), **condition)
            waited = WaitedJob.of(result["jobs"][0])
            if waited.met != "not_yet" or left <= LONGEST_WAIT and deadline is not None:
                return waited

    async def read(
        self, *, offset: int | None = None, tail: int | None = None, grep: str | None = None, max_bytes: int | None = None
    ) -> JobOutput:
        """A part of its output; `next_offset` is where the next look begins."""
        return JobOutput.of(await self._act("output", offset=offset, tail=tail, grep=grep, max_bytes=max_bytes))

    async def send(
        self, text: str | None = None, *, paste: str | None = None, keys: list[str] | None = None, close: bool | None = None
    ) -> int:
        """Sends input, if it was started with `stdin_open` or `pty`; returns how many bytes."""
        result = await self._act("send", text=text, paste=paste, keys=keys, close=close)
        return int(result["sent_bytes"])

    async def screen(
        self,
        *,
        regex: str | None = None,
        silent_ms: int | None = None,
        timeout: float | None = None,
        scrollback: int | None = None,
    ) -> JobScreen:
        """What its terminal shows, if it was started with `pty`."""
        look = {"regex": regex, "silent_ms": silent_ms, "timeout": timeout, "scrollback": scrollback}
        return JobScreen.of(await self._act("screen", **look))

    async def signal(self, name: str) -> None:
        """Sends a signal, such as `INT`, to every process of it."""
        await self._act("signal", signal=name)

    async def rename(self, name: str) -> None:
        """Gives it a name."""
        await self._act("rename", name=name)

    async def end(self) -> JobInfo:
        """Ends it with everything it started."""
        result = await self._act("kill")
        return JobInfo.of(result["jobs"][0])

    async def _act(self, action: str, **arguments: Any) -> Any:
        return await self._client._job(action=action, job=self.id, **arguments)


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool says to the model."""

    text: str
    is_error: bool
    reply: Reply | None
    """The whole reply; a tool that reads stored output has none."""


class Tool:
    """A tool for a model, as its profile defines it."""

    def __init__(self, client: Client, offered: OfferedTool, profile: str | None) -> None:
        self.name = offered.name
        self.description = offered.description
        self.input_schema = offered.input_schema
        self._client = client
        self._request = offered.request
        self._profile = profile

    async def call(self, arguments: dict[str, Any]) -> ToolAnswer:
        """Answers a model's call. Bad arguments, denials and failures are texts for the model; only a lost server raises."""
        fields: dict[str, Any] = {"arguments": arguments}
        if self._profile is not None and self._request != "artifact":
            fields["profile"] = self._profile
        try:
            data = await self._client.request(self._request, **fields)
        except RequestFailed as error:
            return ToolAnswer(f"Error: {error}", True, None)
        if self._request == "artifact":
            return ToolAnswer(StoredOutput.of(data).text, False, None)
        reply = Reply.of(data)
        return ToolAnswer(reply.text, reply.is_error, reply)
