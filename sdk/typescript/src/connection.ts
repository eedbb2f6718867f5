// One connection to a server, from its first message to its last.
//
// A server is a process that this one started, or somebody's on a Unix socket. Messages are JSON lines. Whatever ends the
// connection ends every call that is open on it: each is told, and none is repeated, since its command may have run.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { connect, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { BinaryNotFound, RequestFailed, ServerGone } from "./errors.ts";
import type { Approval, ApprovalAnswer, Events } from "./types.ts";

/** What a callback says: no, yes, or for how long a yes holds. */
export type Answer = boolean | "once" | "session" | "always";

/** Asks the user. The signal is aborted when nobody waits for the answer any more. */
export type Approve = (approval: Approval, signal: AbortSignal) => Answer | Promise<Answer>;

/** Is told of an event. */
export type Told = <Kind extends keyof Events>(kind: Kind, event: Events[Kind]) => void;

export interface Callbacks {
  approve: Approve | undefined;
  told: Told;
  complained: (text: string) => void;
}

/** Milliseconds that a server has to end by itself. */
const END_WITHIN = 8000;

/** Characters of a server's stderr that an error shows. */
const MOST_COMPLAINTS = 4096;

/** A request that is not answered yet. */
export class OpenCall {
  readonly answer: Promise<unknown>;
  readonly told: Told | undefined;
  /** Why a callback for approval failed, if one did. */
  callbackFailed: unknown = undefined;
  /** Withdraws the questions to the user. */
  readonly over = new AbortController();
  isAnswered = false;
  settle!: { resolve: (data: unknown) => void; reject: (error: Error) => void };

  constructor(told: Told | undefined) {
    this.told = told;
    this.answer = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // Somebody may have stopped waiting.
    this.answer.catch(() => {});
  }

  end(settle: () => void): void {
    this.isAnswered = true;
    settle();
    this.over.abort();
  }
}

interface Message {
  id?: string;
  type: string;
  command?: string;
  success?: boolean;
  error?: string;
  data?: unknown;
  call?: string;
  method?: string;
  params?: unknown;
}

/** Speaks the protocol over pipes or a socket. */
export class Connection {
  readonly #callbacks: Callbacks;
  readonly #calls = new Map<string, OpenCall>();
  #last = 0;
  #input: Writable;
  #process: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #socket: Socket | undefined;
  #exited: Promise<void>;
  #complaints = "";
  #refusal = "";
  #isGone = false;
  #isClosing = false;

  private constructor(callbacks: Callbacks, input: Writable, output: Readable, exited: Promise<void>) {
    this.#callbacks = callbacks;
    this.#input = input;
    this.#exited = exited;
    const decoder = new StringDecoder("utf8");
    let chunks: string[] = [];
    output.on("data", (data: Buffer) => {
      const lines = decoder.write(data).split("\n");
      const rest = lines.pop() ?? "";
      for (const line of lines) {
        chunks.push(line);
        const whole = chunks.join("");
        chunks = [];
        const message = read(whole);
        if (!message) {
          this.#refusal = `the server said what is no message: ${whole.slice(0, 200)}`;
          this.#lost();
          return;
        }
        this.#hear(message);
      }
      if (rest) chunks.push(rest);
    });
    output.on("error", () => {});
    output.once("close", () => this.#lost());
    // What is said to a server that has just ended is lost; the end itself is told.
    input.on("error", () => {});
  }

  /** Starts a server and connects to it. */
  static async toProcess(command: string[], env: NodeJS.ProcessEnv | undefined, callbacks: Callbacks): Promise<Connection> {
    // In a session of its own: Ctrl-C is for this program, which decides what ends.
    const child = spawn(command[0]!, command.slice(1), { stdio: ["pipe", "pipe", "pipe"], detached: true, ...(env && { env }) });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error: NodeJS.ErrnoException) => {
        const cause = { cause: error };
        if (error.code === "ENOENT") reject(new BinaryNotFound(`${command[0]} does not exist`, cause));
        else reject(new ServerGone(`${command[0]} can't be started: ${error.message}`, false, cause));
      });
    });
    const connection = new Connection(callbacks, child.stdin, child.stdout, exited);
    connection.#process = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      connection.#complaints = (connection.#complaints + text).slice(-MOST_COMPLAINTS);
      callbacks.complained(text);
    });
    return connection;
  }

  /** Connects to the server on a socket. */
  static async toSocket(path: string, callbacks: Callbacks): Promise<Connection> {
    const socket = connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", (error) => reject(new ServerGone(`nobody serves ${path}: ${error.message}`, false, { cause: error })));
    });
    const exited = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const connection = new Connection(callbacks, socket, socket, exited);
    connection.#socket = socket;
    return connection;
  }

  /** Whether a request can still be sent. */
  get isAlive(): boolean {
    const hasEnded = this.#process !== undefined && (this.#process.exitCode !== null || this.#process.signalCode !== null);
    return !(this.#isGone || this.#isClosing || hasEnded);
  }

  /** The process of the server, if this program started it. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Keeps this program alive while something is open, and only then. */
  #hold(): void {
    const isBusy = this.#calls.size > 0;
    const held = [this.#process, this.#process?.stdin, this.#process?.stdout, this.#process?.stderr, this.#socket] as unknown[];
    for (const one of held as ({ ref?: () => void; unref?: () => void } | undefined)[]) {
      if (isBusy) one?.ref?.();
      else one?.unref?.();
    }
  }

  #lost(): void {
    if (!this.#isGone) {
      this.#isGone = true;
      void this.#giveUp();
    }
  }

  /** Tells every open call that there will be no answer. */
  async #giveUp(): Promise<void> {
    const why = await this.#ending();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.end(() => call.settle.reject(new ServerGone(`${why}, before it answered`, true)));
    this.#hold();
  }

  /** How the server ended, in words. */
  async #ending(): Promise<string> {
    const child = this.#process;
    if (!child || this.#refusal) return this.#refusal || "the server closed the connection";
    await within(this.#exited, 1000);
    const ending =
      child.signalCode !== null
        ? `was killed by ${child.signalCode}`
        : child.exitCode !== null
          ? `exited with status ${child.exitCode}`
          : "closed its output";
    const complaints = this.#complaints.trim().split("\n").join("; ");
    return `bashd rpc ${ending}${complaints && ` (${complaints})`}`;
  }

  #hear(message: Message): void {
    const call = this.#calls.get(message.id ?? "");
    if (message.type === "response") {
      this.#answered(message, call);
    } else if (message.type === "request") {
      void this.#ask(message);
    } else {
      const told = call ? call.told : message.id === undefined ? this.#callbacks.told : undefined;
      told?.(message.type as keyof Events, message as never);
    }
  }

  #answered(message: Message, call: OpenCall | undefined): void {
    if (!call) {
      if (message.command === "connect") this.#refusal = `the server refused the connection: ${message.error}`;
      return;
    }
    this.#calls.delete(message.id!);
    const { resolve, reject } = call.settle;
    call.end(() => (message.success ? resolve(message.data) : reject(new RequestFailed(message.error))));
    this.#hold();
  }

  /** Asks the user, and passes on what they say. A callback that fails is a no. */
  async #ask(message: Message): Promise<void> {
    const call = this.#calls.get(message.call ?? "");
    if (!call) return;
    const reply = { id: message.id, type: "reply" };
    const { approve } = this.#callbacks;
    if (message.method !== "approve" || !approve) {
      this.#send({ ...reply, error: `this client does not know ${message.method}` });
      return;
    }
    try {
      const answer = await approve(message.params as Approval, call.over.signal);
      this.#send({ ...reply, result: asResult(answer) });
    } catch (error) {
      call.callbackFailed = error;
      this.#send({ ...reply, error: `the callback failed: ${error}` });
    }
  }

  #send(message: object): void {
    if (this.#input.writable) this.#input.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a request. */
  begin(type: string, fields: object, told?: Told): { id: string; call: OpenCall } {
    const id = String(++this.#last);
    const call = new OpenCall(told);
    this.#calls.set(id, call);
    this.#hold();
    this.#send({ id, type, ...fields });
    if (this.#isGone) void this.#giveUp();
    return { id, call };
  }

  /** Has the server end a call, if it is not answered yet. */
  cancel(id: string): void {
    // Nobody waits for the answer to this: the call itself is answered.
    if (this.#calls.has(id)) this.begin("cancel", { target: id });
  }

  /** Ends every call and the server, and waits for it; for answers at most so many milliseconds. */
  async close(patience = END_WITHIN): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    for (const id of [...this.#calls.keys()]) this.cancel(id);
    const open = [...this.#calls.values()].map((call) => call.answer);
    if (!this.#isGone) await within(Promise.allSettled(open), patience);
    this.#process?.ref();
    this.#socket?.ref();
    this.#input.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await within(this.#exited, END_WITHIN)) break;
      this.#process?.kill(signal);
      this.#socket?.destroy();
    }
    for (const stream of [this.#process?.stdout, this.#process?.stderr, this.#socket]) stream?.destroy();
  }
}

/** A line as a message, if it is one. */
function read(line: string): Message | undefined {
  try {
    const message = JSON.parse(line) as Message | null;
    return typeof message?.type === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** A callback's answer as the protocol has it. */
function asResult(answer: unknown): ApprovalAnswer {
  if (typeof answer === "boolean") return { approved: answer };
  if (answer === "once" || answer === "session" || answer === "always") return { approved: true, scope: answer };
  throw new TypeError(`an approval is true, false, "once", "session" or "always", not ${String(answer)}`);
}

/** Whether something happens within so many milliseconds. */
export async function within(happens: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([happens.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
