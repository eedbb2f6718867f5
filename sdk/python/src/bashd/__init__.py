"""bashd from Python: commands, sessions, jobs and approvals, typed, for asyncio (`Client`) and without (`SyncClient`)."""

from .client import Client, Event, Job, Running, Session, Tool, ToolAnswer
from .errors import (
    BashdError,
    BinaryNotFound,
    CommandDenied,
    CommandFailed,
    EndedAtOnce,
    RequestFailed,
    ServerGone,
    SessionLost,
    WrongProtocol,
)
from .sync import SyncClient, SyncJob, SyncRunning, SyncSession, SyncTool
from .types import (
    Approval,
    FinishedEvent,
    JobEndedEvent,
    JobInfo,
    JobOutput,
    JobScreen,
    OutputEvent,
    Reply,
    StartedEvent,
    StoredOutput,
    WaitedJob,
)

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "BashdError",
    "BinaryNotFound",
    "Client",
    "CommandDenied",
    "CommandFailed",
    "EndedAtOnce",
    "Event",
    "FinishedEvent",
    "Job",
    "JobEndedEvent",
    "JobInfo",
    "JobOutput",
    "JobScreen",
    "OutputEvent",
    "Reply",
    "RequestFailed",
    "Running",
    "ServerGone",
    "Session",
    "SessionLost",
    "StartedEvent",
    "StoredOutput",
    "SyncClient",
    "SyncJob",
    "SyncRunning",
    "SyncSession",
    "SyncTool",
    "Tool",
    "ToolAnswer",
    "WaitedJob",
    "WrongProtocol",
]
