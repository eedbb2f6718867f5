"""The same client without asyncio: each method waits. Everything is done by `Client`, on a loop in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from .client import Client, Event, Job, Running, Session, Tool, ToolAnswer
from .connection import Approve
from .types import (
    ArtifactOptions,
    BashOptions,
    Greeting,
    JobEndedEvent,
    JobInfo,
    JobOutput,
    JobScreen,
    OutputEvent,
    Reply,
    StoredOutput,
    WaitedJob,
)

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


class SyncClient:
    """Runs commands by a server of its own; see `Client` for what each argument means.

    `patience` is how many seconds any method waits at most; then it cancels what it began and raises `TimeoutError`.

    >>> with SyncClient() as client:
    ...     reply = client.run("make")
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
        patience: float | None = None,
    ) -> None:
        self._patience = patience
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bashd", daemon=True)
        self._thread.start()

        async def client() -> Client:
            return Client(
                profile=profile,
                cwd=cwd,
                approve=approve,
                on_job_ended=on_job_ended,
                arguments=arguments,
                environment=environment,
                binary=binary,
                socket=socket,
            )

        try:
            self._client = self._wait(client())
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        try:
            self.connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of what is done on the loop. Who stops waiting, by Ctrl-C too, has it cancelled."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("this client is closed")
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result(self._patience)
        except BaseException:
            done.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def connect(self) -> Greeting:
        """Starts or finds the server, if there is none, and says what it is."""
        return self._wait(self._client.connect())

    def close(self) -> None:
        """Ends the calls in progress and the server. Jobs stay."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
            self._stop()

    def request(self, kind: str, **fields: Any) -> Any:
        """Sends one request of the protocol, and returns the answer's data."""
        return self._wait(self._client.request(kind, **fields))

    def run(self, command: str, *, check: bool = False, **options: Unpack[BashOptions]) -> Reply:
        """Runs a command with bash and returns how it ended."""
        return self._wait(self._client.run(command, check=check, **options))

    def stream(self, command: str, **options: Unpack[BashOptions]) -> SyncRunning:
        """Runs a command whose output you get as it arrives."""

        async def begin() -> Running:
            return self._client.stream(command, **options)

        return SyncRunning(self, self._wait(begin()))

    def call(self, arguments: dict[str, Any], *, profile: str | None = None) -> Reply:
        """Makes a model's tool call, with the arguments as it gave them."""
        return self._wait(self._client.call(arguments, profile=profile))

    def session(self, name: str) -> SyncSession:
        """A shell that keeps its directory, variables and functions from one call to the next."""
        return SyncSession(self, self._client.session(name))

    def start(self, command: str, **options: Unpack[BashOptions]) -> SyncJob:
        """Starts a command as a job, which goes on when this client is gone."""
        return SyncJob(self, self._wait(self._client.start(command, **options)))

    def jobs(self) -> list[JobInfo]:
        """The jobs that run, and those whose end nobody has seen yet."""
        return self._wait(self._client.jobs())

    def job(self, id: str) -> SyncJob:
        """The job with this id, also one of an earlier client."""
        return SyncJob(self, self._client.job(id))

    def read_artifact(self, address: str, **options: Unpack[ArtifactOptions]) -> StoredOutput:
        """A part of the stored output that `reply.artifact` names."""
        return self._wait(self._client.read_artifact(address, **options))

    def tools(self, profile: str | None = None) -> list[SyncTool]:
        """The tools that a model has with a profile, for any framework."""
        return [SyncTool(self, tool) for tool in self._wait(self._client.tools(profile))]


class SyncRunning:
    """A command that runs: its events as they arrive, then its reply."""

    def __init__(self, client: SyncClient, running: Running) -> None:
        self._client = client
        self._running = running

    def __enter__(self) -> Self:
        self._client._wait(self._running.__aenter__())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client._wait(self._running.__aexit__(kind, error, trace))

    def __iter__(self) -> Iterator[Event]:
        events = self._running.__aiter__()

        async def following() -> Event | None:
            return await anext(events, None)

        while (event := self._client._wait(following())) is not None:
            yield event

    def output(self) -> Iterator[str]:
        """The output alone, both streams as they were written."""
        return (event.text for event in self if isinstance(event, OutputEvent))

    def cancel(self) -> None:
        """Ends the command with everything it started; the reply says so."""
        self._client._wait(self._running.cancel())

    def reply(self) -> Reply:
        """How it ended."""
        return self._client._wait(self._running.reply())


class SyncSession:
    """A shell that lives from call to call."""

    def __init__(self, client: SyncClient, session: Session) -> None:
        self.name = session.name
        self._client = client
        self._session = session

    def run(self, command: str, *, check: bool = False, **options: Unpack[BashOptions]) -> Reply:
        """Like `SyncClient.run`, in this shell."""
        return self._client._wait(self._session.run(command, check=check, **options))

    def stream(self, command: str, **options: Unpack[BashOptions]) -> SyncRunning:
        """Like `SyncClient.stream`, in this shell."""
        return SyncRunning(self._client, self._client._wait(self._session.stream(command, **options)))


class SyncJob:
    """A command that runs on its own, by its id."""

    def __init__(self, client: SyncClient, job: Job) -> None:
        self.id = job.id
        self._client = client
        self._job = job

    def info(self) -> JobInfo:
        """What it is doing."""
        return self._client._wait(self._job.info())

    def wait(
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
        job = self._job
        return self._client._wait(
            job.wait(timeout=timeout, regex=regex, port=port, http=http, silent_ms=silent_ms, offset=offset)
        )

    def read(
        self, *, offset: int | None = None, tail: int | None = None, grep: str | None = None, max_bytes: int | None = None
    ) -> JobOutput:
        """A part of its output; `next_offset` is where the next look begins."""
        return self._client._wait(self._job.read(offset=offset, tail=tail, grep=grep, max_bytes=max_bytes))

    def send(
        self, text: str | None = None, *, paste: str | None = None, keys: list[str] | None = None, close: bool | None = None
    ) -> int:
        """Sends input, if it was started with `stdin_open` or `pty`; returns how many bytes."""
        return self._client._wait(self._job.send(text, paste=paste, keys=keys, close=close))

    def screen(
        self,
        *,
        regex: str | None = None,
        silent_ms: int | None = None,
        timeout: float | None = None,
        scrollback: int | None = None,
    ) -> JobScreen:
        """What its terminal shows, if it was started with `pty`."""
        job = self._job
        return self._client._wait(
            job.screen(regex=regex, silent_ms=silent_ms, timeout=timeout, scrollback=scrollback)
        )

    def signal(self, name: str) -> None:
        """Sends a signal, such as `INT`, to every process of it."""
        self._client._wait(self._job.signal(name))

    def rename(self, name: str) -> None:
        """Gives it a name."""
        self._client._wait(self._job.rename(name))

    def end(self) -> JobInfo:
        """Ends it with everything it started."""
        return self._client._wait(self._job.end())


class SyncTool:
    """A tool for a model, as its profile defines it."""

    def __init__(self, client: SyncClient, tool: Tool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.input_schema = tool.input_schema
        self._client = client
        self._tool = tool

    def call(self, arguments: dict[str, Any]) -> ToolAnswer:
        """Answers a model's call."""
        return self._client._wait(self._tool.call(arguments))
