// The client: commands, sessions, jobs, approvals and stored output.

import { find } from "./binary.ts";
import { type Approve, Connection, type OpenCall, within } from "./connection.ts";
import { BashdError, CommandDenied, CommandFailed, EndedAtOnce, RequestFailed, ServerGone, SessionLost, WrongProtocol } from "./errors.ts";
import {
  type ArtifactOptions,
  type BashArguments,
  type BashOptions,
  type Events,
  type Greeting,
  type JobEndedEvent,
  type JobInfo,
  type JobList,
  type JobOptions,
  type JobOutput,
  type JobScreen,
  type JobsWaited,
  type OfferedTool,
  PROTOCOL,
  type Reply,
  type Requests,
  type StoredOutput,
  type WaitedJob,
} from "./types.ts";

/** Milliseconds that a new server has to answer `hello`. */
const ANSWER_WITHIN = 15_000;

/** Seconds that one request may wait for a job; a longer wait is several requests. */
const LONGEST_WAIT = 3600;

/** What a call reports while it runs. */
export type Event = { [Kind in "started" | "output" | "finished"]: { type: Kind } & Events[Kind] }[
  | "started"
  | "output"
  | "finished"];

export interface ClientOptions {
  /** Whose tools `tools` offers, and whose arguments `call` takes. */
  profile?: string;
  /** Where commands run; by default here. */
  cwd?: string;
  /** Is asked before a command runs for which a rule says `ask`. Without it, such a command is denied. */
  approve?: Approve;
  /** Is told when a job has ended that this client started. */
  onJobEnded?: (event: JobEndedEvent) => void;
  /** Further options of `bashd rpc`, such as `["--safe-mode"]`. */
  arguments?: string[];
  /** The server's environment, and so that of all commands; by default this process's. */
  env?: NodeJS.ProcessEnv;
  /** The bashd to start; by default the package's own, `BASHD`, or the one on `PATH`. */
  binary?: string;
  /** The server to connect to instead (`bashd rpc --socket`). */
  socket?: string;
  /** Is told what the server complains about; by default stderr is. */
  complained?: (text: string) => void;
}

/** How to stop waiting: the call is cancelled then, and the promise is rejected with the signal's reason. */
export interface Waiting {
  signal?: AbortSignal | undefined;
}

export interface RunOptions extends BashOptions, Waiting {
  /** Reject with `CommandFailed` if the command fails. */
  check?: boolean;
}

/** Runs commands by a server of its own, which is started with the first call and ended by `close`. */
export class Client implements AsyncDisposable {
  readonly #options: ClientOptions;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #greeting: Greeting | undefined;
  #isClosed = false;
  #generation = 0;

  constructor(options: ClientOptions = {}) {
    const ofServers = [options.profile, options.cwd, options.arguments, options.env, options.binary];
    if (options.socket !== undefined && ofServers.some((option) => option !== undefined)) {
      throw new TypeError("whoever serves the socket decides on profile, cwd, arguments, env and binary");
    }
    this.#options = options;
  }

  /** Starts or finds the server, if there is none, and says what it is. Every call does this by itself. */
  async connect(): Promise<Greeting> {
    await this.connected();
    return this.#greeting!;
  }

  /** Ends the calls in progress and the server. Jobs stay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connecting?.catch(() => {});
    await this.#connection?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** How often a server was started; its process, if this program started it. */
  get server(): { generation: number; pid: number | undefined } {
    return { generation: this.#generation, pid: this.#connection?.pid };
  }

  /** @internal */
  async connected(): Promise<Connection> {
    if (this.#isClosed) throw new BashdError("this client is closed");
    if (this.#connection?.isAlive) return this.#connection;
    this.#connecting ??= this.#connectAgain().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connectAgain(): Promise<Connection> {
    // Nothing was sent to it since it ended: another one may take its place.
    await this.#connection?.close();
    const { profile, cwd, socket, env, approve, onJobEnded } = this.#options;
    const callbacks = {
      approve,
      complained: this.#options.complained ?? ((text: string) => void process.stderr.write(text)),
      told: (kind: string, event: unknown) => {
        if (kind !== "job_ended") return;
        try {
          onJobEnded?.(event as JobEndedEvent);
        } catch (error) {
          process.emitWarning(`the callback for the end of a job failed: ${error}`, "BashdWarning");
        }
      },
    };
    let connection: Connection;
    if (socket !== undefined) {
      connection = await Connection.toSocket(socket, callbacks);
    } else {
      const options = [...(profile ? ["--profile", profile] : []), ...(cwd ? ["--cwd", cwd] : []), ...(this.#options.arguments ?? [])];
      const command = [this.#options.binary ?? find(), "rpc", ...options];
      connection = await Connection.toProcess(command, env, callbacks);
    }
    try {
      this.#greeting = await this.#greet(connection);
    } catch (error) {
      // There is nothing to wait for.
      await connection.close(0);
      throw error;
    }
    this.#connection = connection;
    this.#generation += 1;
    return connection;
  }

  async #greet(connection: Connection): Promise<Greeting> {
    const capabilities = { approve: this.#options.approve !== undefined, jobs: this.#options.onJobEnded !== undefined };
    const { call } = connection.begin("hello", { capabilities });
    let greeting: Greeting;
    try {
      if (!(await within(call.answer, ANSWER_WITHIN))) {
        throw new ServerGone(`the server did not answer within ${ANSWER_WITHIN / 1000} s`, false);
      }
      greeting = (await call.answer) as Greeting;
    } catch (error) {
      throw error instanceof ServerGone ? new ServerGone(error.message, false) : error;
    }
    if (greeting.protocol !== PROTOCOL) {
      throw new WrongProtocol(
        `bashd ${greeting.version} speaks version ${greeting.protocol} of the protocol, and this package version ${PROTOCOL}: ` +
          "install the two in versions that fit",
      );
    }
    return greeting;
  }

  /** Sends one request of the protocol, and returns the answer's data. */
  async request<Kind extends keyof Requests>(
    kind: Kind,
    fields: Requests[Kind]["fields"],
    waiting: Waiting = {},
  ): Promise<Requests[Kind]["data"]> {
    waiting.signal?.throwIfAborted();
    const connection = await this.connected();
    waiting.signal?.throwIfAborted();
    const { id, call } = connection.begin(kind, fields);
    return (await answered(connection, id, call, waiting.signal)) as Requests[Kind]["data"];
  }

  /**
   * Runs a command with bash and returns how it ended. What takes longer than `timeout` (120 s) is ended with
   * everything it started.
   */
  async run(command: string, options: RunOptions = {}): Promise<Reply> {
    const { check = false, signal, ...given } = options;
    signal?.throwIfAborted();
    const running = this.running(command, given, false, signal);
    return settled(await running.reply(), running.callbackFailed, check);
  }

  /** Runs a command whose output you get as it arrives. */
  stream(command: string, options: BashOptions & Waiting = {}): Running {
    const { signal, ...given } = options;
    return this.running(command, given, true, signal);
  }

  /** @internal */
  running(command: string, options: BashOptions, stream: boolean, signal: AbortSignal | undefined): Running {
    // A program's timeout is an end; for a model's call, which goes on as a job, there is `call`.
    const given: BashArguments = { command, on_timeout: "kill", ...options };
    return new Running(this, { arguments: { ...given }, profile: "default", stream }, signal);
  }

  /** Makes a model's tool call, with the arguments as it gave them. The reply says what happened, whatever it was. */
  async call(given: Record<string, unknown>, options: { profile?: string } & Waiting = {}): Promise<Reply> {
    const { profile, signal } = options;
    return this.request("call", { arguments: given, ...(profile !== undefined && { profile }) }, { signal });
  }

  /** A shell that keeps its directory, variables and functions from one call to the next. */
  session(name: string): Session {
    return new Session(this, name);
  }

  /** Starts a command as a job, which goes on when this client is gone. With `until`, waits until it is ready. */
  async start(command: string, options: BashOptions & Waiting = {}): Promise<Job> {
    const { signal, ...given } = options;
    const reply = settled(await this.call({ command, background: true, ...given }, { profile: "default", signal }));
    if (reply.job === null) throw new EndedAtOnce(reply);
    return new Job(this, reply.job);
  }

  /** The jobs that run, and those whose end nobody has seen yet. */
  async jobs(): Promise<JobInfo[]> {
    return ((await this.jobTool({ action: "list" })) as JobList).jobs;
  }

  /** The job with this id, also one of an earlier client. */
  job(id: string): Job {
    return new Job(this, id);
  }

  /** @internal */
  async jobTool(given: Record<string, unknown>, waiting: Waiting = {}): Promise<unknown> {
    const reply = await this.request("job", { arguments: given, profile: "default" }, waiting);
    if (reply.is_error) throw new RequestFailed(reply.text);
    return reply.result;
  }

  /** A part of the stored output that `reply.artifact` names: lines, the end, or what matches. */
  async readArtifact(address: string, options: ArtifactOptions & Waiting = {}): Promise<StoredOutput> {
    const { signal, ...given } = options;
    return this.request("artifact", { arguments: { id: address, ...given } }, { signal });
  }

  /** The tools that a model has with a profile, for any framework. The one that runs commands is first. */
  async tools(profile: string | undefined = this.#options.profile): Promise<Tool[]> {
    const { tools } = await this.request("tools", profile === undefined ? {} : { profile });
    return tools.map((tool) => new Tool(this, tool, profile));
  }
}

/** Waits for the answer to a call. Who stops waiting has it cancelled. */
async function answered(connection: Connection, id: string, call: OpenCall, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal || call.isAnswered) return call.answer;
  return new Promise((resolve, reject) => {
    const stop = () => {
      connection.cancel(id);
      reject(signal.reason);
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    call.answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The reply to a command that ran; throws what kept it from running. */
function settled(reply: Reply, callbackFailed?: unknown, check = false): Reply {
  if (reply.denied !== null) throw new CommandDenied(reply, reply.denied, callbackFailed === undefined ? {} : { cause: callbackFailed });
  if (reply.error !== null) throw new RequestFailed(reply.error);
  if (check && (reply.exit_code !== 0 || reply.timed_out || reply.cancelled) && reply.job === null) throw new CommandFailed(reply);
  return reply;
}

/**
 * A command that runs: its events as they arrive, then its reply. Events wait in memory until you take them. Leaving the
 * loop before the end cancels the command.
 */
export class Running implements AsyncIterable<Event> {
  readonly #client: Client;
  readonly #fields: Requests["call"]["fields"];
  readonly #signal: AbortSignal | undefined;
  readonly #events: Event[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  #begun: Promise<{ connection: Connection; id: string; call: OpenCall }> | undefined;
  #call: OpenCall | undefined;

  /** @internal */
  constructor(client: Client, fields: Requests["call"]["fields"], signal: AbortSignal | undefined) {
    this.#client = client;
    this.#fields = fields;
    this.#signal = signal;
  }

  async #begin(): Promise<{ connection: Connection; id: string; call: OpenCall }> {
    this.#begun ??= this.#client.connected().then((connection) => {
      this.#signal?.throwIfAborted();
      const { id, call } = connection.begin("call", this.#fields, (type, event) => {
        this.#events.push({ ...event, type } as Event);
        this.#wake?.();
      });
      this.#call = call;
      const over = () => {
        this.#isOver = true;
        this.#wake?.();
      };
      call.answer.then(over, over);
      return { connection, id, call };
    });
    return this.#begun;
  }

  /** Why a callback for approval failed, if one did. */
  get callbackFailed(): unknown {
    return this.#call?.callbackFailed;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Event> {
    const { connection, id, call } = await this.#begin();
    const stop = () => {
      connection.cancel(id);
      this.#wake?.();
    };
    this.#signal?.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        this.#signal?.throwIfAborted();
        const event = this.#events.shift();
        if (event) yield event;
        else if (this.#isOver) break;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#signal?.removeEventListener("abort", stop);
      if (!call.isAnswered) connection.cancel(id);
    }
  }

  /** The output alone, both streams as they were written. */
  async *output(): AsyncGenerator<string> {
    for await (const event of this) if (event.type === "output") yield event.text;
  }

  /** Ends the command with everything it started; the reply says so. */
  async cancel(): Promise<void> {
    const { connection, id } = await this.#begin();
    connection.cancel(id);
  }

  /** How it ended. */
  async reply(): Promise<Reply> {
    const { connection, id, call } = await this.#begin();
    return (await answered(connection, id, call, this.#signal)) as Reply;
  }
}

/** A shell that lives from call to call; calls of one session run one after the other. */
export class Session {
  readonly name: string;
  readonly #client: Client;
  #generation: number | undefined;

  /** @internal */
  constructor(client: Client, name: string) {
    this.#client = client;
    this.name = name;
  }

  /** Like `Client.run`, in this shell. */
  async run(command: string, options: RunOptions = {}): Promise<Reply> {
    await this.#sameServer();
    return this.#client.run(command, { ...options, session: this.name });
  }

  /** Like `Client.stream`, in this shell. */
  async stream(command: string, options: BashOptions & Waiting = {}): Promise<Running> {
    await this.#sameServer();
    return this.#client.stream(command, { ...options, session: this.name });
  }

  async #sameServer(): Promise<void> {
    await this.#client.connected();
    const before = this.#generation;
    this.#generation = this.#client.server.generation;
    if (before !== undefined && before !== this.#generation) {
      throw new SessionLost(`the server of session ${this.name} is gone, and what its shell knew; the next call begins anew`);
    }
  }
}

/** What a wait may be for: one of these, else the end. */
export interface WaitOptions extends Pick<JobOptions, "regex" | "port" | "http" | "silent_ms" | "offset">, Waiting {
  /** Seconds to wait at most; by default for ever. */
  timeout?: number;
}

/** A command that runs on its own, by its id: it survives this client and its server. */
export class Job {
  readonly id: string;
  readonly #client: Client;

  /** @internal */
  constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
  }

  /** What it is doing. */
  async info(): Promise<JobInfo> {
    return (await this.read({ tail: 0 })).job;
  }

  /** Waits for its end, or until one condition is met; `met` says which. */
  async wait(options: WaitOptions = {}): Promise<WaitedJob> {
    const { timeout, signal, ...condition } = options;
    const deadline = timeout === undefined ? undefined : Date.now() + timeout * 1000;
    for (;;) {
      const left = deadline === undefined ? LONGEST_WAIT : Math.max(0, (deadline - Date.now()) / 1000);
      const given = { ...condition, timeout: Math.min(left, LONGEST_WAIT) };
      const waited = ((await this.#act("wait", given, { signal })) as JobsWaited).jobs[0]!;
      if (waited.met !== "not_yet" || (deadline !== undefined && left <= LONGEST_WAIT)) return waited;
    }
  }

  /** A part of its output; `next_offset` is where the next look begins. */
  async read(options: Pick<JobOptions, "offset" | "tail" | "grep" | "max_bytes"> & Waiting = {}): Promise<JobOutput> {
    const { signal, ...given } = options;
    return (await this.#act("output", given, { signal })) as JobOutput;
  }

  /** Sends input, if it was started with `stdin_open` or `pty`; returns how many bytes. */
  async send(text?: string, options: Pick<JobOptions, "paste" | "keys" | "close"> = {}): Promise<number> {
    const sent = (await this.#act("send", { ...(text !== undefined && { text }), ...options })) as { sent_bytes: number };
    return sent.sent_bytes;
  }

  /** What its terminal shows, if it was started with `pty`. */
  async screen(options: Pick<JobOptions, "regex" | "silent_ms" | "timeout" | "scrollback"> & Waiting = {}): Promise<JobScreen> {
    const { signal, ...given } = options;
    return (await this.#act("screen", given, { signal })) as JobScreen;
  }

  /** Sends a signal, such as `INT`, to every process of it. */
  async signal(name: string): Promise<void> {
    await this.#act("signal", { signal: name });
  }

  /** Gives it a name. */
  async rename(name: string): Promise<void> {
    await this.#act("rename", { name });
  }

  /** Ends it with everything it started. */
  async end(): Promise<JobInfo> {
    return ((await this.#act("kill", {})) as JobList).jobs[0]!;
  }

  #act(action: string, given: object, waiting: Waiting = {}): Promise<unknown> {
    return this.#client.jobTool({ action, job: this.id, ...given }, waiting);
  }
}

/** What a tool says to the model. */
export interface ToolAnswer {
  text: string;
  isError: boolean;
  /** The whole reply; a tool that reads stored output has none. */
  reply: Reply | null;
}

/** A tool for a model, as its profile defines it. */
export class Tool {
  readonly name: string;
  readonly description: string;
  /** Its arguments, in JSON Schema. */
  readonly inputSchema: Record<string, unknown>;
  readonly #client: Client;
  readonly #request: OfferedTool["request"];
  readonly #profile: string | undefined;

  /** @internal */
  constructor(client: Client, offered: OfferedTool, profile: string | undefined) {
    this.name = offered.name;
    this.description = offered.description;
    this.inputSchema = offered.input_schema;
    this.#client = client;
    this.#request = offered.request;
    this.#profile = profile;
  }

  /** Answers a model's call. Bad arguments, denials and failures are texts for the model; only a lost server throws. */
  async call(given: Record<string, unknown>, waiting: Waiting = {}): Promise<ToolAnswer> {
    const profile = this.#profile;
    try {
      if (this.#request === "artifact") {
        const stored = await this.#client.request("artifact", { arguments: given }, waiting);
        return { text: stored.text, isError: false, reply: null };
      }
      const fields = { arguments: given, ...(profile !== undefined && { profile }) };
      const reply = await this.#client.request(this.#request, fields, waiting);
      return { text: reply.text, isError: reply.is_error, reply };
    } catch (error) {
      if (error instanceof RequestFailed) return { text: `Error: ${error.message}`, isError: true, reply: null };
      throw error;
    }
  }
}
