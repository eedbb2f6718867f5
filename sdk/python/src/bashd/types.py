"""The types of the protocol. Written by `sdk/generate`: change `bashd schema --rpc` instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict

PROTOCOL = 1
"""The version of the protocol that this package speaks."""


@dataclass(frozen=True)
class Approval:
    """A question to the user: may this command run?."""

    command: str
    """The command."""
    rule: str
    """The rule that asks."""
    message: str
    """What the rule says."""

    @classmethod
    def of(cls, data: Any) -> Approval:
        """Reads it; what is not known is ignored."""
        return cls(
            command=data["command"],
            rule=data["rule"],
            message=data["message"],
        )


@dataclass(frozen=True)
class ApprovalAnswer:
    """The user's answer."""

    approved: bool
    """Whether it may run."""
    scope: Literal["once", "session", "always"] | None = None
    """For how long a yes holds."""

    @classmethod
    def of(cls, data: Any) -> ApprovalAnswer:
        """Reads it; what is not known is ignored."""
        return cls(
            approved=data["approved"],
            scope=data.get("scope"),
        )


class ArtifactOptions(TypedDict, total=False):
    """What the arguments of ArtifactArguments may say besides."""

    from_line: int
    """First line to return, counted from 1."""
    to_line: int
    """Last line to return."""
    tail: int
    """Return this many lines from the end instead of a range."""
    grep: str
    """Return only lines that match this regular expression, each with its number."""
    context: int
    """Also return this many lines around each match."""


class ArtifactArguments(ArtifactOptions):
    """The arguments of a call as a whole."""

    id: str
    """The address of the stored output, for example artifact://3."""


@dataclass(frozen=True)
class AwaitedInput:
    """The input for which a job waits."""

    prompt: str
    """The last line of the output, probably the prompt."""
    sure: Literal["yes", "probably"]
    """How sure that is."""
    asks: Literal["input", "password"]
    """What it wants."""

    @classmethod
    def of(cls, data: Any) -> AwaitedInput:
        """Reads it; what is not known is ignored."""
        return cls(
            prompt=data["prompt"],
            sure=data["sure"],
            asks=data["asks"],
        )


class BashOptions(TypedDict, total=False):
    """What the arguments of BashArguments may say besides."""

    cwd: str
    """Directory to run in; the current directory by default."""
    env: dict[str, str]
    """Environment variables to add for this call."""
    timeout: float
    """Time limit in seconds, 1 to 3600, 120 by default. Allow more for builds, installs and test suites."""
    on_timeout: Literal["background", "kill"]
    """What to do at the timeout: background lets the command continue as a job, kill ends it."""
    wait_max: float
    """Return after at most this many seconds; the command continues as a job, and its timeout still applies."""
    background: bool
    """Return immediately; the command runs as a job. Its only time limit is the server's for all jobs, unless timeout is given."""
    until: Until
    """With background: return when the command is ready, for example when its server listens. One of regex, port, http and silent_ms."""
    stdin: str
    """Text that the command reads on standard input."""
    pty: bool
    """Run in a 120x40 terminal, for programs that need one. For a full-screen program, the last screen is returned."""
    session: str
    """Session name. Calls with the same name share one shell, which keeps its directory, variables, functions and aliases; cwd then applies to that call only."""
    stdin_open: bool
    """Keep standard input open so that the job tool can send more. Use it with background."""


class BashArguments(BashOptions):
    """The arguments of a call as a whole."""

    command: str
    """The script to run with bash -c."""


@dataclass(frozen=True)
class BashData:
    """The answer to `bash`, in the fields of an older protocol."""

    output: str
    """The output; what ended the command is its first line."""
    cancelled: bool
    """It was ended, also by its timeout."""
    timed_out: bool
    """Its timeout ended it."""
    truncated: bool
    """Not everything is shown."""
    total_lines: int
    """Lines that it wrote."""
    total_bytes: int
    """Bytes that it wrote."""
    output_lines: int
    """Lines that are shown."""
    output_bytes: int
    """Bytes that are shown."""
    exit_code: int | None = None
    """The status, 128 + n for signal n."""
    elided_bytes: int | None = None
    """Bytes that are not shown."""
    elided_lines: int | None = None
    """Lines that are not shown."""
    column_dropped_bytes: int | None = None
    """Bytes cut off long lines."""
    column_truncated_lines: int | None = None
    """Lines that were cut."""
    artifact_id: str | None = None
    """The number of the stored output."""
    terminal_id: str | None = None
    """The client's terminal in which it ran."""

    @classmethod
    def of(cls, data: Any) -> BashData:
        """Reads it; what is not known is ignored."""
        return cls(
            output=data["output"],
            cancelled=data["cancelled"],
            timed_out=data["timedOut"],
            truncated=data["truncated"],
            total_lines=data["totalLines"],
            total_bytes=data["totalBytes"],
            output_lines=data["outputLines"],
            output_bytes=data["outputBytes"],
            exit_code=data.get("exitCode"),
            elided_bytes=data.get("elidedBytes"),
            elided_lines=data.get("elidedLines"),
            column_dropped_bytes=data.get("columnDroppedBytes"),
            column_truncated_lines=data.get("columnTruncatedLines"),
            artifact_id=data.get("artifactId"),
            terminal_id=data.get("terminalId"),
        )


@dataclass(frozen=True)
class Capabilities:
    """What a client can do."""

    terminal: bool | None = None
    """It runs commands in terminals of its own."""
    approve: bool | None = None
    """Its user can be asked whether a command may run."""
    jobs: bool | None = None
    """It wants to hear when its jobs end."""
    progress: bool | None = None
    """It also wants to hear of their progress."""

    @classmethod
    def of(cls, data: Any) -> Capabilities:
        """Reads it; what is not known is ignored."""
        return cls(
            terminal=data.get("terminal"),
            approve=data.get("approve"),
            jobs=data.get("jobs"),
            progress=data.get("progress"),
        )


@dataclass(frozen=True)
class Changes:
    """What the command did to files, where that is held or can be undone."""

    id: str | None
    """By which it is applied, discarded or undone; null if nothing changed."""
    state: Literal["none", "running", "held", "applied", "undone", "in_part", "discarded"]
    """Whether it is real."""
    created: int
    """Paths that are new."""
    modified: int
    """Paths that are others than before."""
    deleted: int
    """Paths that are gone."""
    bytes: int
    """Bytes of what is new."""
    paths: list[Paths]
    """At most twenty of them; a whole directory is one."""
    more: int
    """How many others there are."""
    conflicts: list[str]
    """Why it was not applied, though it should have been."""

    @classmethod
    def of(cls, data: Any) -> Changes:
        """Reads it; what is not known is ignored."""
        return cls(
            id=data["id"],
            state=data["state"],
            created=data["created"],
            modified=data["modified"],
            deleted=data["deleted"],
            bytes=data["bytes"],
            paths=[Paths.of(one) for one in data["paths"]],
            more=data["more"],
            conflicts=data["conflicts"],
        )


@dataclass(frozen=True)
class Confinement:
    """What the command may reach, and by how much that is held."""

    level: Literal["none", "landlock", "full"]
    """By how much it is held."""
    preset: str
    """The name under which it was asked for."""
    network: Literal["none", "named", "all"]
    """What of the network the command has."""
    hosts: list[str]
    """The hosts that it may connect to, if these are listed."""
    hosts_by: Literal["proxy", "transparent"] | None
    """How it gets at them."""
    files_watched: bool
    """Whether `refused` tells files and system calls, too."""
    reason: str | None
    """Why it is held by less than `full`."""

    @classmethod
    def of(cls, data: Any) -> Confinement:
        """Reads it; what is not known is ignored."""
        return cls(
            level=data["level"],
            preset=data["preset"],
            network=data["network"],
            hosts=data["hosts"],
            hosts_by=data["hosts_by"],
            files_watched=data["files_watched"],
            reason=data["reason"],
        )


@dataclass(frozen=True)
class Connections:
    """The hosts that the command connected to through its proxy: at most ten."""

    host: str
    """The host and its port."""
    count: int
    """How many connections."""
    sent: int
    """Bytes that went to it."""
    received: int
    """Bytes that came from it."""

    @classmethod
    def of(cls, data: Any) -> Connections:
        """Reads it; what is not known is ignored."""
        return cls(
            host=data["host"],
            count=data["count"],
            sent=data["sent"],
            received=data["received"],
        )


@dataclass(frozen=True)
class CreatedTerminal:
    """The terminal that the client has opened."""

    terminal_id: str
    """Its name, of the client's choice."""

    @classmethod
    def of(cls, data: Any) -> CreatedTerminal:
        """Reads it; what is not known is ignored."""
        return cls(
            terminal_id=data["terminalId"],
        )


@dataclass(frozen=True)
class Cursor:
    """The cursor of a terminal, counted from 0."""

    row: int
    """The row, from the top."""
    column: int
    """The column, from the left."""
    is_visible: bool
    """It is shown."""

    @classmethod
    def of(cls, data: Any) -> Cursor:
        """Reads it; what is not known is ignored."""
        return cls(
            row=data["row"],
            column=data["column"],
            is_visible=data["is_visible"],
        )


@dataclass(frozen=True)
class Denied:
    """The rule that denied the command; nothing ran."""

    rule: str
    """Its name."""
    message: str
    """What it says."""
    suggested_tool: str | None = None
    """The tool to use instead."""

    @classmethod
    def of(cls, data: Any) -> Denied:
        """Reads it; what is not known is ignored."""
        return cls(
            rule=data["rule"],
            message=data["message"],
            suggested_tool=data.get("suggested_tool"),
        )


@dataclass(frozen=True)
class EnvironmentVariable:
    """An environment variable."""

    name: str
    """Its name."""
    value: str
    """Its value."""

    @classmethod
    def of(cls, data: Any) -> EnvironmentVariable:
        """Reads it; what is not known is ignored."""
        return cls(
            name=data["name"],
            value=data["value"],
        )


@dataclass(frozen=True)
class FinishedEvent:
    """A call has ended; its reply follows."""

    exit_code: int | None
    """The exit status, where there is one."""
    signal: int | None
    """The signal that ended the shell."""
    timed_out: bool
    """The deadline ended it."""
    cancelled: bool
    """The caller ended it."""
    output_bytes: int
    """Bytes that it wrote."""
    wall_ms: int
    """From request to reply, in milliseconds."""

    @classmethod
    def of(cls, data: Any) -> FinishedEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            exit_code=data["exit_code"],
            signal=data["signal"],
            timed_out=data["timed_out"],
            cancelled=data["cancelled"],
            output_bytes=data["output_bytes"],
            wall_ms=data["wall_ms"],
        )


@dataclass(frozen=True)
class Grantable:
    """What a repeated call can ask for as `needs`, of what was refused."""

    write: list[str]
    """Paths; for something that does not exist, its directory."""
    network: list[str]
    """Hosts and their ports."""

    @classmethod
    def of(cls, data: Any) -> Grantable:
        """Reads it; what is not known is ignored."""
        return cls(
            write=data["write"],
            network=data["network"],
        )


@dataclass(frozen=True)
class Greeting:
    """What a server is."""

    protocol: int
    """The version of the protocol."""
    version: str
    """The version of bashd."""
    profile: str
    """The profile of calls that name none."""
    cwd: str
    """The directory of calls that name none."""
    limits: ServerLimits
    """."""

    @classmethod
    def of(cls, data: Any) -> Greeting:
        """Reads it; what is not known is ignored."""
        return cls(
            protocol=data["protocol"],
            version=data["version"],
            profile=data["profile"],
            cwd=data["cwd"],
            limits=ServerLimits.of(data["limits"]),
        )


class JobOptions(TypedDict, total=False):
    """What the arguments of JobArguments may say besides."""

    job: str
    """The job: its id, its short name (bg_1) or the name given by rename. Required for every action except list."""
    jobs: list[str]
    """wait, kill: several jobs."""
    offset: int
    """output, or wait with regex: start at this byte of the output. If there is nothing new, the answer is one line that says so."""
    tail: int
    """output: only the last N lines."""
    grep: str
    """output: only lines that match this regular expression."""
    max_bytes: int
    """output: at most this many bytes, 32768 by default."""
    regex: str
    """wait: until a line of the output matches this regular expression. screen: until the screen shows it."""
    port: int
    """wait: until something listens on this local TCP port."""
    http: str
    """wait: until this http:// address answers."""
    silent_ms: int
    """wait, screen: until nothing has been written for this many milliseconds."""
    any: bool
    """wait: for any one of the jobs instead of all of them."""
    timeout: float
    """wait, screen: wait at most this many seconds. The job keeps running."""
    text: str
    """send: input for the command, sent as is (end it with a newline to press Enter). The job must have been started with stdin_open or pty."""
    paste: str
    """send: text to paste after `text`, for programs that handle pasted text differently."""
    keys: list[str]
    """send: keys to press after that, by name: Enter, Tab, Escape, Space, Backspace, Up, Down, Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to F12, optionally with C- (ctrl), M- (alt) or S- (shift) in front, as in C-c; or a single character."""
    scrollback: int
    """screen: also the last N lines that scrolled off the screen."""
    close: bool
    """send: close the input after that."""
    signal: str
    """signal: its name, such as INT, HUP or USR1. Every process of the job receives it."""
    name: str
    """rename: the new name."""


class JobArguments(JobOptions):
    """The arguments of a call as a whole."""

    action: Literal["list", "output", "screen", "wait", "send", "signal", "kill", "rename"]
    """What to do."""


@dataclass(frozen=True)
class JobEndedEvent:
    """A job of this client has ended."""

    job: JobInfo
    """The job."""
    text: str
    """What its call would have answered."""
    details: dict[str, Any]
    """What the profile says about it."""
    artifact: str | None
    """Address of its stored output."""

    @classmethod
    def of(cls, data: Any) -> JobEndedEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            job=JobInfo.of(data["job"]),
            text=data["text"],
            details=data["details"],
            artifact=data["artifact"],
        )


@dataclass(frozen=True)
class JobInfo:
    """A job as it is at a moment."""

    id: str
    """Its id, unique in the state directory."""
    alias: str
    """Its short name, among its owner's jobs."""
    name: str | None
    """The name that somebody gave it."""
    owner: str
    """Whose it is: front end and client."""
    earlier: bool
    """Its owner's client is gone, so that another may take it over."""
    state: Literal["running", "waiting_for_input", "survivors", "exited", "killed", "lost"]
    """Which stage of its life it is in."""
    kind: Literal["background", "survivors", "foreground"]
    """How it became a job."""
    command: str
    """The command."""
    cwd: str
    """Its directory."""
    profile: str
    """The profile of the call."""
    pid: int
    """The shell, which is also its process group."""
    started_ms: int
    """Milliseconds since 1970 at which it began."""
    ended_ms: int | None
    """Milliseconds since 1970 at which it ended."""
    age_ms: int
    """Milliseconds since it began."""
    exit_code: int | None
    """The shell's exit status."""
    signal: int | None
    """The signal that ended the shell."""
    ended_by: Literal["timeout", "cancel"] | None
    """Who ended it, if it did not end by itself."""
    lost_because: str | None
    """Why it is unknown how it ended."""
    output_bytes: int
    """Bytes that it wrote."""
    dropped_bytes: int
    """Bytes that it wrote and that are no longer kept."""
    last_line: str
    """The last line that it wrote."""
    output_file: str
    """The file that its output goes to."""
    stdin_open: bool
    """Its stdin stays open."""
    terminal: list[int] | None
    """Columns and rows of its terminal."""
    waiting: AwaitedInput | None
    """What it waits for."""
    left_behind: list[LeftBehind]
    """What its shell left running."""
    out_of_memory: bool
    """The kernel killed one of its processes for lack of memory."""
    limits: Limits | None
    """The limits that it runs under."""

    @classmethod
    def of(cls, data: Any) -> JobInfo:
        """Reads it; what is not known is ignored."""
        return cls(
            id=data["id"],
            alias=data["alias"],
            name=data["name"],
            owner=data["owner"],
            earlier=data["earlier"],
            state=data["state"],
            kind=data["kind"],
            command=data["command"],
            cwd=data["cwd"],
            profile=data["profile"],
            pid=data["pid"],
            started_ms=data["started_ms"],
            ended_ms=data["ended_ms"],
            age_ms=data["age_ms"],
            exit_code=data["exit_code"],
            signal=data["signal"],
            ended_by=data["ended_by"],
            lost_because=data["lost_because"],
            output_bytes=data["output_bytes"],
            dropped_bytes=data["dropped_bytes"],
            last_line=data["last_line"],
            output_file=data["output_file"],
            stdin_open=data["stdin_open"],
            terminal=data["terminal"],
            waiting=None if data["waiting"] is None else AwaitedInput.of(data["waiting"]),
            left_behind=[LeftBehind.of(one) for one in data["left_behind"]],
            out_of_memory=data["out_of_memory"],
            limits=None if data["limits"] is None else Limits.of(data["limits"]),
        )


@dataclass(frozen=True)
class JobList:
    """Jobs."""

    jobs: list[JobInfo]
    """The jobs."""

    @classmethod
    def of(cls, data: Any) -> JobList:
        """Reads it; what is not known is ignored."""
        return cls(
            jobs=[JobInfo.of(one) for one in data["jobs"]],
        )


@dataclass(frozen=True)
class JobOutput:
    """A part of a job's output."""

    text: str
    """The text."""
    offset: int
    """Offset of its first byte."""
    next_offset: int
    """Where the next look begins."""
    output_bytes: int
    """Bytes of the stream so far."""
    dropped_bytes: int
    """Bytes of the stream that are no longer kept."""
    found: SearchCount | None
    """What a search found."""
    job: JobInfo
    """The job, after the look."""

    @classmethod
    def of(cls, data: Any) -> JobOutput:
        """Reads it; what is not known is ignored."""
        return cls(
            text=data["text"],
            offset=data["offset"],
            next_offset=data["next_offset"],
            output_bytes=data["output_bytes"],
            dropped_bytes=data["dropped_bytes"],
            found=None if data["found"] is None else SearchCount.of(data["found"]),
            job=JobInfo.of(data["job"]),
        )


@dataclass(frozen=True)
class JobProgressEvent:
    """A job of this client has written something."""

    job: JobInfo
    """The job."""
    text: str
    """The end of its output."""
    details: dict[str, Any]
    """What the profile says about it."""

    @classmethod
    def of(cls, data: Any) -> JobProgressEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            job=JobInfo.of(data["job"]),
            text=data["text"],
            details=data["details"],
        )


@dataclass(frozen=True)
class JobRenamed:
    """A job has another name."""

    name: str
    """Its name."""

    @classmethod
    def of(cls, data: Any) -> JobRenamed:
        """Reads it; what is not known is ignored."""
        return cls(
            name=data["name"],
        )


@dataclass(frozen=True)
class JobScreen:
    """What the terminal of a job shows."""

    lines: list[str]
    """Its rows; before them the lines that scrolled off, as far as requested."""
    scrolled: int
    """How many of the lines scrolled off."""
    cursor: Cursor
    """Where the cursor is."""
    title: str
    """The title that the program gave its window."""
    alternate: bool
    """It is the alternate screen, on which full-screen programs draw."""
    size: list[int]
    """Columns and rows."""
    met: Literal["yes", "ended", "not_yet"]
    """Whether the condition was met, or the job ended first."""
    job: JobInfo
    """The job, after the look."""

    @classmethod
    def of(cls, data: Any) -> JobScreen:
        """Reads it; what is not known is ignored."""
        return cls(
            lines=data["lines"],
            scrolled=data["scrolled"],
            cursor=Cursor.of(data["cursor"]),
            title=data["title"],
            alternate=data["alternate"],
            size=data["size"],
            met=data["met"],
            job=JobInfo.of(data["job"]),
        )


@dataclass(frozen=True)
class JobSent:
    """Input was sent."""

    sent_bytes: int
    """How many bytes."""

    @classmethod
    def of(cls, data: Any) -> JobSent:
        """Reads it; what is not known is ignored."""
        return cls(
            sent_bytes=data["sent_bytes"],
        )


@dataclass(frozen=True)
class JobSignalled:
    """A signal was sent."""

    signal: int
    """Which one."""

    @classmethod
    def of(cls, data: Any) -> JobSignalled:
        """Reads it; what is not known is ignored."""
        return cls(
            signal=data["signal"],
        )


@dataclass(frozen=True)
class JobsEndedEvent:
    """What to tell a model about jobs that ended together."""

    jobs: list[str]
    """Their ids."""
    text: str
    """In the profile's words."""

    @classmethod
    def of(cls, data: Any) -> JobsEndedEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            jobs=data["jobs"],
            text=data["text"],
        )


@dataclass(frozen=True)
class JobsWaited:
    """What a wait for jobs found."""

    jobs: list[WaitedJob]
    """The jobs, in their order."""
    output: str
    """The end of the output, where one job was waited for."""

    @classmethod
    def of(cls, data: Any) -> JobsWaited:
        """Reads it; what is not known is ignored."""
        return cls(
            jobs=[WaitedJob.of(one) for one in data["jobs"]],
            output=data["output"],
        )


@dataclass(frozen=True)
class LeftBehind:
    """Processes that outlived the call."""

    pid: int
    """Its process id."""
    command: str
    """Its command line."""
    age_ms: int
    """Milliseconds since it started."""
    reason: Literal["survivor", "not_permitted", "unkillable"]
    """Why it is still there."""
    job: str | None
    """The job by which it can be ended."""

    @classmethod
    def of(cls, data: Any) -> LeftBehind:
        """Reads it; what is not known is ignored."""
        return cls(
            pid=data["pid"],
            command=data["command"],
            age_ms=data["age_ms"],
            reason=data["reason"],
            job=data["job"],
        )


@dataclass(frozen=True)
class Limits:
    """What the command may use up, and by which means that is held."""

    kind: Literal["cgroup", "rlimits"]
    """How the limits are enforced."""
    cpu_seconds: int | None
    """Seconds of processor time of each process."""
    cpu_percent: int | None
    """Share of the processors; 100 is one."""
    memory_bytes: int | None
    """Bytes of memory."""
    processes: int | None
    """Processes at a time."""
    out_of_memory: bool
    """Whether the kernel ended a process for lack of memory."""

    @classmethod
    def of(cls, data: Any) -> Limits:
        """Reads it; what is not known is ignored."""
        return cls(
            kind=data["kind"],
            cpu_seconds=data["cpu_seconds"],
            cpu_percent=data["cpu_percent"],
            memory_bytes=data["memory_bytes"],
            processes=data["processes"],
            out_of_memory=data["out_of_memory"],
        )


@dataclass(frozen=True)
class NewTerminal:
    """A terminal that the client is to open."""

    command: str
    """The program."""
    args: list[str]
    """Its arguments."""
    env: list[EnvironmentVariable]
    """Its environment."""
    cwd: str
    """Its directory."""
    output_byte_limit: int
    """How much of its output to keep."""

    @classmethod
    def of(cls, data: Any) -> NewTerminal:
        """Reads it; what is not known is ignored."""
        return cls(
            command=data["command"],
            args=data["args"],
            env=[EnvironmentVariable.of(one) for one in data["env"]],
            cwd=data["cwd"],
            output_byte_limit=data["outputByteLimit"],
        )


@dataclass(frozen=True)
class OfferedTool:
    """A tool of a profile, and how it is called."""

    name: str
    """Its name."""
    description: str
    """What it does."""
    input_schema: dict[str, Any]
    """Its arguments, in JSON Schema."""
    request: Literal["call", "job", "artifact"]
    """The request by which it is called."""

    @classmethod
    def of(cls, data: Any) -> OfferedTool:
        """Reads it; what is not known is ignored."""
        return cls(
            name=data["name"],
            description=data["description"],
            input_schema=data["input_schema"],
            request=data["request"],
        )


@dataclass(frozen=True)
class OutputEvent:
    """A call has written something."""

    stream: Literal["out", "err"]
    """Where."""
    offset: int
    """Bytes of the stream before this text."""
    text: str
    """What."""

    @classmethod
    def of(cls, data: Any) -> OutputEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            stream=data["stream"],
            offset=data["offset"],
            text=data["text"],
        )


@dataclass(frozen=True)
class Paths:
    """At most twenty of them; a whole directory is one."""

    path: str
    """Relative to the command's directory if it is in there."""
    kind: Literal["created", "modified", "deleted"]
    """What happened to it."""

    @classmethod
    def of(cls, data: Any) -> Paths:
        """Reads it; what is not known is ignored."""
        return cls(
            path=data["path"],
            kind=data["kind"],
        )


@dataclass(frozen=True)
class Refused:
    """What the confinement refused: at most ten."""

    kind: Literal["write", "read", "connect", "exec", "syscall"]
    """What kind of thing."""
    what: str
    """The path, the host and its port, or the call of the kernel."""
    count: int
    """How often."""

    @classmethod
    def of(cls, data: Any) -> Refused:
        """Reads it; what is not known is ignored."""
        return cls(
            kind=data["kind"],
            what=data["what"],
            count=data["count"],
        )


@dataclass(frozen=True)
class Reply:
    """The answer to a call, whatever happened."""

    text: str
    """The reply as the model sees it."""
    is_error: bool
    """Whether the profile counts this reply as a tool error."""
    result: dict[str, Any]
    """The profile's own structured result."""
    output: str
    """The output, cut to its window."""
    exit_code: int | None
    """The command's exit status, where it has one."""
    signal: int | None
    """The signal that ended the shell."""
    timed_out: bool
    """The deadline ended the command."""
    cancelled: bool
    """The caller ended the command."""
    denied: Denied | None
    """The rule that denied the command; nothing ran."""
    error: str | None
    """Why bashd itself failed, or what was wrong with the request."""
    output_bytes: int
    """Bytes that the command wrote, shown or not."""
    output_lines: int
    """Newlines that the command wrote, shown or not."""
    stderr_bytes: int | None
    """Bytes on stderr, where the streams are apart."""
    omitted_bytes: int
    """Bytes that the output leaves out."""
    omitted_lines: int
    """Newlines that the output leaves out."""
    dropped_bytes: int
    """Bytes that are no longer kept."""
    wall_ms: int
    """From request to reply, in milliseconds."""
    artifact: str | None
    """Handle of the stored full output."""
    place: str | None
    """The place at which the command ran, if not here."""
    ended_by: str | None
    """`place`, if that ended the command: an allocation that was over."""
    job: str | None
    """Handle of the background job."""
    left_behind: list[LeftBehind]
    """Processes that outlived the call."""
    output_unfinished: bool
    """Whether something still worked on the output when the call was answered."""
    session_reset: str | None
    """Why the session has lost its state."""
    terminal: str | None
    """The terminal of the client in which it ran."""
    limits: Limits | None
    """What the command may use up, and by which means that is held."""
    confinement: Confinement | None
    """What the command may reach, and by how much that is held."""
    refused: list[Refused]
    """What the confinement refused: at most ten."""
    refused_more: int
    """Refusals of other things than these ten."""
    grantable: Grantable | None
    """What a repeated call can ask for as `needs`, of what was refused."""
    connections: list[Connections]
    """The hosts that the command connected to through its proxy: at most ten."""
    changes: Changes | None
    """What the command did to files, where that is held or can be undone."""

    @classmethod
    def of(cls, data: Any) -> Reply:
        """Reads it; what is not known is ignored."""
        return cls(
            text=data["text"],
            is_error=data["is_error"],
            result=data["result"],
            output=data["output"],
            exit_code=data["exit_code"],
            signal=data["signal"],
            timed_out=data["timed_out"],
            cancelled=data["cancelled"],
            denied=None if data["denied"] is None else Denied.of(data["denied"]),
            error=data["error"],
            output_bytes=data["output_bytes"],
            output_lines=data["output_lines"],
            stderr_bytes=data["stderr_bytes"],
            omitted_bytes=data["omitted_bytes"],
            omitted_lines=data["omitted_lines"],
            dropped_bytes=data["dropped_bytes"],
            wall_ms=data["wall_ms"],
            artifact=data["artifact"],
            place=data["place"],
            ended_by=data["ended_by"],
            job=data["job"],
            left_behind=[LeftBehind.of(one) for one in data["left_behind"]],
            output_unfinished=data["output_unfinished"],
            session_reset=data["session_reset"],
            terminal=data["terminal"],
            limits=None if data["limits"] is None else Limits.of(data["limits"]),
            confinement=None if data["confinement"] is None else Confinement.of(data["confinement"]),
            refused=[Refused.of(one) for one in data["refused"]],
            refused_more=data["refused_more"],
            grantable=None if data["grantable"] is None else Grantable.of(data["grantable"]),
            connections=[Connections.of(one) for one in data["connections"]],
            changes=None if data["changes"] is None else Changes.of(data["changes"]),
        )


@dataclass(frozen=True)
class SearchCount:
    """What a search found."""

    lines: int
    """Lines that match."""
    shown: int
    """How many of them the text shows."""

    @classmethod
    def of(cls, data: Any) -> SearchCount:
        """Reads it; what is not known is ignored."""
        return cls(
            lines=data["lines"],
            shown=data["shown"],
        )


@dataclass(frozen=True)
class ServerLimits:
    """How much a server takes."""

    line_bytes: int
    """Bytes of a line."""
    running: int
    """Commands that run at once."""
    calls: int
    """Calls of a client that may be in progress."""

    @classmethod
    def of(cls, data: Any) -> ServerLimits:
        """Reads it; what is not known is ignored."""
        return cls(
            line_bytes=data["line_bytes"],
            running=data["running"],
            calls=data["calls"],
        )


@dataclass(frozen=True)
class StartedEvent:
    """The shell of a call has started."""

    pid: int
    """Its process id."""

    @classmethod
    def of(cls, data: Any) -> StartedEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            pid=data["pid"],
        )


@dataclass(frozen=True)
class StoredOutput:
    """A part of stored output."""

    id: str
    """Its address."""
    output: str
    """The part that was asked for."""
    truncated: bool
    """There is more than one answer holds."""
    bytes: int
    """Bytes that the command wrote."""
    lines: int
    """Newlines that the command wrote."""
    dropped_bytes: int
    """Bytes that were not kept."""
    text: str
    """The part as a model reads it."""

    @classmethod
    def of(cls, data: Any) -> StoredOutput:
        """Reads it; what is not known is ignored."""
        return cls(
            id=data["id"],
            output=data["output"],
            truncated=data["truncated"],
            bytes=data["bytes"],
            lines=data["lines"],
            dropped_bytes=data["dropped_bytes"],
            text=data["text"],
        )


@dataclass(frozen=True)
class TerminalEvent:
    """A call runs in a terminal of the client."""

    terminal_id: str
    """Which one."""

    @classmethod
    def of(cls, data: Any) -> TerminalEvent:
        """Reads it; what is not known is ignored."""
        return cls(
            terminal_id=data["terminalId"],
        )


@dataclass(frozen=True)
class TerminalExit:
    """How the program in a terminal ended."""

    exit_code: int | None = None
    """Its status."""
    signal: str | None = None
    """The signal that ended it."""

    @classmethod
    def of(cls, data: Any) -> TerminalExit:
        """Reads it; what is not known is ignored."""
        return cls(
            exit_code=data.get("exitCode"),
            signal=data.get("signal"),
        )


@dataclass(frozen=True)
class TerminalLook:
    """A look at a terminal of the client."""

    terminal_id: str
    """Its name."""
    output_byte_limit: int | None = None
    """The limit again, if the client keeps less."""

    @classmethod
    def of(cls, data: Any) -> TerminalLook:
        """Reads it; what is not known is ignored."""
        return cls(
            terminal_id=data["terminalId"],
            output_byte_limit=data.get("outputByteLimit"),
        )


@dataclass(frozen=True)
class TerminalName:
    """A terminal of the client."""

    terminal_id: str
    """Its name."""

    @classmethod
    def of(cls, data: Any) -> TerminalName:
        """Reads it; what is not known is ignored."""
        return cls(
            terminal_id=data["terminalId"],
        )


@dataclass(frozen=True)
class TerminalShown:
    """What a terminal of the client has shown."""

    output: str
    """Its output."""
    truncated: bool | None = None
    """The output lacks its beginning."""
    exit_status: TerminalExit | None = None
    """How it ended, if it has."""

    @classmethod
    def of(cls, data: Any) -> TerminalShown:
        """Reads it; what is not known is ignored."""
        return cls(
            output=data["output"],
            truncated=data.get("truncated"),
            exit_status=None if data.get("exitStatus") is None else TerminalExit.of(data.get("exitStatus")),
        )


@dataclass(frozen=True)
class ToolDefinition:
    """A tool as a model is told about it."""

    name: str
    """Its name."""
    description: str
    """What it does."""
    input_schema: dict[str, Any]
    """Its arguments, in JSON Schema."""

    @classmethod
    def of(cls, data: Any) -> ToolDefinition:
        """Reads it; what is not known is ignored."""
        return cls(
            name=data["name"],
            description=data["description"],
            input_schema=data["input_schema"],
        )


@dataclass(frozen=True)
class ToolList:
    """The tools of a profile."""

    tools: list[OfferedTool]
    """The one that runs commands is first."""

    @classmethod
    def of(cls, data: Any) -> ToolList:
        """Reads it; what is not known is ignored."""
        return cls(
            tools=[OfferedTool.of(one) for one in data["tools"]],
        )


class Until(TypedDict, total=False):
    """One of several conditions, and how long to wait for it."""

    regex: str
    """A line of the output matches this regular expression."""
    port: int
    """Something listens on this local TCP port."""
    http: str
    """This http:// address answers."""
    silent_ms: int
    """Nothing has been written for this many milliseconds."""
    timeout: float
    """Wait at most this many seconds. The job keeps running."""


@dataclass(frozen=True)
class WaitedJob:
    """What a wait for one job found."""

    met: Literal["yes", "ended", "not_yet"]
    """Whether the condition was met, or the job ended first."""
    by: str | None
    """The line that matched, or the status with which the address answered."""
    job: JobInfo
    """The job, after the wait."""

    @classmethod
    def of(cls, data: Any) -> WaitedJob:
        """Reads it; what is not known is ignored."""
        return cls(
            met=data["met"],
            by=data["by"],
            job=JobInfo.of(data["job"]),
        )


EVENTS = {
    "started": StartedEvent,
    "terminal": TerminalEvent,
    "output": OutputEvent,
    "finished": FinishedEvent,
    "job_ended": JobEndedEvent,
    "jobs_ended": JobsEndedEvent,
    "job_progress": JobProgressEvent,
}
"""The type of each event, by the name that a message has."""
