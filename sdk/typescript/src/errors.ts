// What can go wrong, one class each. A command that fails is none of it: that is a reply.

import type { Denied, Reply } from "./types.ts";

/** Every error of this package. */
export class BashdError extends Error {
  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** There is no bashd to start. */
export class BinaryNotFound extends BashdError {}

/** The bashd that was found speaks another version of the protocol. */
export class WrongProtocol extends BashdError {}

/** The server ended, or can't be reached. The next call starts another one. */
export class ServerGone extends BashdError {
  /** Whether the command of this call may have run, in part or as a whole. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayHaveRun = mayHaveRun;
  }
}

/** The server refused a request, or failed at it; no command ran. */
export class RequestFailed extends BashdError {}

/** The server that had this session's shell is gone, and its state with it. The next call begins anew. */
export class SessionLost extends BashdError {}

/** A rule or the user said no; the command did not run. If a callback for approval failed, that is the `cause`. */
export class CommandDenied extends BashdError {
  readonly reply: Reply;
  readonly denied: Denied;

  constructor(reply: Reply, denied: Denied, options?: ErrorOptions) {
    super(denied.message, options);
    this.reply = reply;
    this.denied = denied;
  }
}

/** With `check: true`: the command failed, timed out or was cancelled. */
export class CommandFailed extends BashdError {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super(howItEnded(reply));
    this.reply = reply;
  }
}

/** A command that was to be a job ended before it became one. */
export class EndedAtOnce extends BashdError {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super(`the command ended before it became a job: ${howItEnded(reply)}`);
    this.reply = reply;
  }
}

/** The ending in a few words, with the end of the output. */
function howItEnded(reply: Reply): string {
  const ending = reply.timed_out
    ? "it timed out"
    : reply.cancelled
      ? "it was cancelled"
      : reply.signal !== null
        ? `signal ${reply.signal} ended it`
        : `exit status ${reply.exit_code}`;
  const shown = reply.output.trim().slice(-400);
  return shown ? `${ending}\n${shown}` : ending;
}
