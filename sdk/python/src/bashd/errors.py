"""What can go wrong, one class each. A command that fails is none of it: that is a reply."""

from __future__ import annotations

from .types import Denied, Reply


class BashdError(Exception):
    """Every error of this package."""


class BinaryNotFound(BashdError):
    """There is no bashd to start."""


class WrongProtocol(BashdError):
    """The bashd that was found speaks another version of the protocol."""


class ServerGone(BashdError):
    """The server ended, or can't be reached. The next call starts another one."""

    def __init__(self, message: str, *, may_have_run: bool) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run
        """Whether the command of this call may have run, in part or as a whole."""


class RequestFailed(BashdError):
    """The server refused a request, or failed at it; no command ran."""


class SessionLost(BashdError):
    """The server that had this session's shell is gone, and its state with it. The next call begins anew."""


class CommandDenied(BashdError):
    """A rule or the user said no; the command did not run. If a callback for approval failed, that is the cause."""

    def __init__(self, reply: Reply, denied: Denied) -> None:
        super().__init__(denied.message)
        self.reply = reply
        self.denied = denied


class CommandFailed(BashdError):
    """With `check=True`: the command failed, timed out or was cancelled."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(how_it_ended(reply))
        self.reply = reply


class EndedAtOnce(BashdError):
    """A command that was to be a job ended before it became one."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"the command ended before it became a job: {how_it_ended(reply)}")
        self.reply = reply


def how_it_ended(reply: Reply) -> str:
    """The ending in a few words, with the end of the output."""
    if reply.timed_out:
        ending = "it timed out"
    elif reply.cancelled:
        ending = "it was cancelled"
    elif reply.signal is not None:
        ending = f"signal {reply.signal} ended it"
    else:
        ending = f"exit status {reply.exit_code}"
    shown = reply.output.strip()[-400:]
    return f"{ending}\n{shown}" if shown else ending
