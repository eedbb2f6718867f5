// The types of the protocol. Written by `sdk/generate`: change `bashd schema --rpc` instead.

/** The version of the protocol that this package speaks. */
export const PROTOCOL = 1;

/** A question to the user: may this command run?. */
export interface Approval {
  /** The command. */
  command: string;
  /** The rule that asks. */
  rule: string;
  /** What the rule says. */
  message: string;
}

/** The user's answer. */
export interface ApprovalAnswer {
  /** Whether it may run. */
  approved: boolean;
  /** For how long a yes holds. */
  scope?: "once" | "session" | "always";
}

/** What the arguments of ArtifactArguments may say besides. */
export interface ArtifactOptions {
  /** First line to return, counted from 1. */
  from_line?: number;
  /** Last line to return. */
  to_line?: number;
  /** Return this many lines from the end instead of a range. */
  tail?: number;
  /** Return only lines that match this regular expression, each with its number. */
  grep?: string;
  /** Also return this many lines around each match. */
  context?: number;
}

/** The arguments of a call as a whole. */
export interface ArtifactArguments extends ArtifactOptions {
  /** The address of the stored output, for example artifact://3. */
  id: string;
}

/** The input for which a job waits. */
export interface AwaitedInput {
  /** The last line of the output, probably the prompt. */
  prompt: string;
  /** How sure that is. */
  sure: "yes" | "probably";
  /** What it wants. */
  asks: "input" | "password";
}

/** What the arguments of BashArguments may say besides. */
export interface BashOptions {
  /** Directory to run in; the current directory by default. */
  cwd?: string;
  /** Environment variables to add for this call. */
  env?: Record<string, string>;
  /** Time limit in seconds, 1 to 3600, 120 by default. Allow more for builds, installs and test suites. */
  timeout?: number;
  /** What to do at the timeout: background lets the command continue as a job, kill ends it. */
  on_timeout?: "background" | "kill";
  /** Return after at most this many seconds; the command continues as a job, and its timeout still applies. */
  wait_max?: number;
  /** Return immediately; the command runs as a job. Its only time limit is the server's for all jobs, unless timeout is given. */
  background?: boolean;
  /** With background: return when the command is ready, for example when its server listens. One of regex, port, http and silent_ms. */
  until?: Until;
  /** Text that the command reads on standard input. */
  stdin?: string;
  /** Run in a 120x40 terminal, for programs that need one. For a full-screen program, the last screen is returned. */
  pty?: boolean;
  /** Session name. Calls with the same name share one shell, which keeps its directory, variables, functions and aliases; cwd then applies to that call only. */
  session?: string;
  /** Keep standard input open so that the job tool can send more. Use it with background. */
  stdin_open?: boolean;
}

/** The arguments of a call as a whole. */
export interface BashArguments extends BashOptions {
  /** The script to run with bash -c. */
  command: string;
}

/** The answer to `bash`, in the fields of an older protocol. */
export interface BashData {
  /** The output; what ended the command is its first line. */
  output: string;
  /** The status, 128 + n for signal n. */
  exitCode?: number;
  /** It was ended, also by its timeout. */
  cancelled: boolean;
  /** Its timeout ended it. */
  timedOut: boolean;
  /** Not everything is shown. */
  truncated: boolean;
  /** Lines that it wrote. */
  totalLines: number;
  /** Bytes that it wrote. */
  totalBytes: number;
  /** Lines that are shown. */
  outputLines: number;
  /** Bytes that are shown. */
  outputBytes: number;
  /** Bytes that are not shown. */
  elidedBytes?: number;
  /** Lines that are not shown. */
  elidedLines?: number;
  /** Bytes cut off long lines. */
  columnDroppedBytes?: number;
  /** Lines that were cut. */
  columnTruncatedLines?: number;
  /** The number of the stored output. */
  artifactId?: string;
  /** The client's terminal in which it ran. */
  terminalId?: string;
}

/** What a client can do. */
export interface Capabilities {
  /** It runs commands in terminals of its own. */
  terminal?: boolean;
  /** Its user can be asked whether a command may run. */
  approve?: boolean;
  /** It wants to hear when its jobs end. */
  jobs?: boolean;
  /** It also wants to hear of their progress. */
  progress?: boolean;
}

/** What the command did to files, where that is held or can be undone. */
export interface Changes {
  /** By which it is applied, discarded or undone; null if nothing changed. */
  id: string | null;
  /** Whether it is real. */
  state: "none" | "running" | "held" | "applied" | "undone" | "in_part" | "discarded";
  /** Paths that are new. */
  created: number;
  /** Paths that are others than before. */
  modified: number;
  /** Paths that are gone. */
  deleted: number;
  /** Bytes of what is new. */
  bytes: number;
  /** At most twenty of them; a whole directory is one. */
  paths: Paths[];
  /** How many others there are. */
  more: number;
  /** Why it was not applied, though it should have been. */
  conflicts: string[];
}

/** What the command may reach, and by how much that is held. */
export interface Confinement {
  /** By how much it is held. */
  level: "none" | "landlock" | "full";
  /** The name under which it was asked for. */
  preset: string;
  /** What of the network the command has. */
  network: "none" | "named" | "all";
  /** The hosts that it may connect to, if these are listed. */
  hosts: string[];
  /** How it gets at them. */
  hosts_by: "proxy" | "transparent" | null;
  /** Whether `refused` tells files and system calls, too. */
  files_watched: boolean;
  /** Why it is held by less than `full`. */
  reason: string | null;
}

/** The hosts that the command connected to through its proxy: at most ten. */
export interface Connections {
  /** The host and its port. */
  host: string;
  /** How many connections. */
  count: number;
  /** Bytes that went to it. */
  sent: number;
  /** Bytes that came from it. */
  received: number;
}

/** The terminal that the client has opened. */
export interface CreatedTerminal {
  /** Its name, of the client's choice. */
  terminalId: string;
}

/** The cursor of a terminal, counted from 0. */
export interface Cursor {
  /** The row, from the top. */
  row: number;
  /** The column, from the left. */
  column: number;
  /** It is shown. */
  is_visible: boolean;
}

/** The rule that denied the command; nothing ran. */
export interface Denied {
  /** Its name. */
  rule: string;
  /** What it says. */
  message: string;
  /** The tool to use instead. */
  suggested_tool?: string;
}

/** An environment variable. */
export interface EnvironmentVariable {
  /** Its name. */
  name: string;
  /** Its value. */
  value: string;
}

/** A call has ended; its reply follows. */
export interface FinishedEvent {
  /** The exit status, where there is one. */
  exit_code: number | null;
  /** The signal that ended the shell. */
  signal: number | null;
  /** The deadline ended it. */
  timed_out: boolean;
  /** The caller ended it. */
  cancelled: boolean;
  /** Bytes that it wrote. */
  output_bytes: number;
  /** From request to reply, in milliseconds. */
  wall_ms: number;
}

/** What a repeated call can ask for as `needs`, of what was refused. */
export interface Grantable {
  /** Paths; for something that does not exist, its directory. */
  write: string[];
  /** Hosts and their ports. */
  network: string[];
}

/** What a server is. */
export interface Greeting {
  /** The version of the protocol. */
  protocol: number;
  /** The version of bashd. */
  version: string;
  /** The profile of calls that name none. */
  profile: string;
  /** The directory of calls that name none. */
  cwd: string;
  /** . */
  limits: ServerLimits;
}

/** What the arguments of JobArguments may say besides. */
export interface JobOptions {
  /** The job: its id, its short name (bg_1) or the name given by rename. Required for every action except list. */
  job?: string;
  /** wait, kill: several jobs. */
  jobs?: string[];
  /** output, or wait with regex: start at this byte of the output. If there is nothing new, the answer is one line that says so. */
  offset?: number;
  /** output: only the last N lines. */
  tail?: number;
  /** output: only lines that match this regular expression. */
  grep?: string;
  /** output: at most this many bytes, 32768 by default. */
  max_bytes?: number;
  /** wait: until a line of the output matches this regular expression. screen: until the screen shows it. */
  regex?: string;
  /** wait: until something listens on this local TCP port. */
  port?: number;
  /** wait: until this http:// address answers. */
  http?: string;
  /** wait, screen: until nothing has been written for this many milliseconds. */
  silent_ms?: number;
  /** wait: for any one of the jobs instead of all of them. */
  any?: boolean;
  /** wait, screen: wait at most this many seconds. The job keeps running. */
  timeout?: number;
  /** send: input for the command, sent as is (end it with a newline to press Enter). The job must have been started with stdin_open or pty. */
  text?: string;
  /** send: text to paste after `text`, for programs that handle pasted text differently. */
  paste?: string;
  /** send: keys to press after that, by name: Enter, Tab, Escape, Space, Backspace, Up, Down, Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to F12, optionally with C- (ctrl), M- (alt) or S- (shift) in front, as in C-c; or a single character. */
  keys?: string[];
  /** screen: also the last N lines that scrolled off the screen. */
  scrollback?: number;
  /** send: close the input after that. */
  close?: boolean;
  /** signal: its name, such as INT, HUP or USR1. Every process of the job receives it. */
  signal?: string;
  /** rename: the new name. */
  name?: string;
}

/** The arguments of a call as a whole. */
export interface JobArguments extends JobOptions {
  /** What to do. */
  action: "list" | "output" | "screen" | "wait" | "send" | "signal" | "kill" | "rename";
}

/** A job of this client has ended. */
export interface JobEndedEvent {
  /** The job. */
  job: JobInfo;
  /** What its call would have answered. */
  text: string;
  /** What the profile says about it. */
  details: Record<string, unknown>;
  /** Address of its stored output. */
  artifact: string | null;
}

/** A job as it is at a moment. */
export interface JobInfo {
  /** Its id, unique in the state directory. */
  id: string;
  /** Its short name, among its owner's jobs. */
  alias: string;
  /** The name that somebody gave it. */
  name: string | null;
  /** Whose it is: front end and client. */
  owner: string;
  /** Its owner's client is gone, so that another may take it over. */
  earlier: boolean;
  /** Which stage of its life it is in. */
  state: "running" | "waiting_for_input" | "survivors" | "exited" | "killed" | "lost";
  /** How it became a job. */
  kind: "background" | "survivors" | "foreground";
  /** The command. */
  command: string;
  /** Its directory. */
  cwd: string;
  /** The profile of the call. */
  profile: string;
  /** The shell, which is also its process group. */
  pid: number;
  /** Milliseconds since 1970 at which it began. */
  started_ms: number;
  /** Milliseconds since 1970 at which it ended. */
  ended_ms: number | null;
  /** Milliseconds since it began. */
  age_ms: number;
  /** The shell's exit status. */
  exit_code: number | null;
  /** The signal that ended the shell. */
  signal: number | null;
  /** Who ended it, if it did not end by itself. */
  ended_by: "timeout" | "cancel" | null;
  /** Why it is unknown how it ended. */
  lost_because: string | null;
  /** Bytes that it wrote. */
  output_bytes: number;
  /** Bytes that it wrote and that are no longer kept. */
  dropped_bytes: number;
  /** The last line that it wrote. */
  last_line: string;
  /** The file that its output goes to. */
  output_file: string;
  /** Its stdin stays open. */
  stdin_open: boolean;
  /** Columns and rows of its terminal. */
  terminal: number[] | null;
  /** What it waits for. */
  waiting: AwaitedInput | null;
  /** What its shell left running. */
  left_behind: LeftBehind[];
  /** The kernel killed one of its processes for lack of memory. */
  out_of_memory: boolean;
  /** The limits that it runs under. */
  limits: Limits | null;
}

/** Jobs. */
export interface JobList {
  /** The jobs. */
  jobs: JobInfo[];
}

/** A part of a job's output. */
export interface JobOutput {
  /** The text. */
  text: string;
  /** Offset of its first byte. */
  offset: number;
  /** Where the next look begins. */
  next_offset: number;
  /** Bytes of the stream so far. */
  output_bytes: number;
  /** Bytes of the stream that are no longer kept. */
  dropped_bytes: number;
  /** What a search found. */
  found: SearchCount | null;
  /** The job, after the look. */
  job: JobInfo;
}

/** A job of this client has written something. */
export interface JobProgressEvent {
  /** The job. */
  job: JobInfo;
  /** The end of its output. */
  text: string;
  /** What the profile says about it. */
  details: Record<string, unknown>;
}

/** A job has another name. */
export interface JobRenamed {
  /** Its name. */
  name: string;
}

/** What the terminal of a job shows. */
export interface JobScreen {
  /** Its rows; before them the lines that scrolled off, as far as requested. */
  lines: string[];
  /** How many of the lines scrolled off. */
  scrolled: number;
  /** Where the cursor is. */
  cursor: Cursor;
  /** The title that the program gave its window. */
  title: string;
  /** It is the alternate screen, on which full-screen programs draw. */
  alternate: boolean;
  /** Columns and rows. */
  size: number[];
  /** Whether the condition was met, or the job ended first. */
  met: "yes" | "ended" | "not_yet";
  /** The job, after the look. */
  job: JobInfo;
}

/** Input was sent. */
export interface JobSent {
  /** How many bytes. */
  sent_bytes: number;
}

/** A signal was sent. */
export interface JobSignalled {
  /** Which one. */
  signal: number;
}

/** What to tell a model about jobs that ended together. */
export interface JobsEndedEvent {
  /** Their ids. */
  jobs: string[];
  /** In the profile's words. */
  text: string;
}

/** What a wait for jobs found. */
export interface JobsWaited {
  /** The jobs, in their order. */
  jobs: WaitedJob[];
  /** The end of the output, where one job was waited for. */
  output: string;
}

/** Processes that outlived the call. */
export interface LeftBehind {
  /** Its process id. */
  pid: number;
  /** Its command line. */
  command: string;
  /** Milliseconds since it started. */
  age_ms: number;
  /** Why it is still there. */
  reason: "survivor" | "not_permitted" | "unkillable";
  /** The job by which it can be ended. */
  job: string | null;
}

/** What the command may use up, and by which means that is held. */
export interface Limits {
  /** How the limits are enforced. */
  kind: "cgroup" | "rlimits";
  /** Seconds of processor time of each process. */
  cpu_seconds: number | null;
  /** Share of the processors; 100 is one. */
  cpu_percent: number | null;
  /** Bytes of memory. */
  memory_bytes: number | null;
  /** Processes at a time. */
  processes: number | null;
  /** Whether the kernel ended a process for lack of memory. */
  out_of_memory: boolean;
}

/** A terminal that the client is to open. */
export interface NewTerminal {
  /** The program. */
  command: string;
  /** Its arguments. */
  args: string[];
  /** Its environment. */
  env: EnvironmentVariable[];
  /** Its directory. */
  cwd: string;
  /** How much of its output to keep. */
  outputByteLimit: number;
}

/** A tool of a profile, and how it is called. */
export interface OfferedTool {
  /** Its name. */
  name: string;
  /** What it does. */
  description: string;
  /** Its arguments, in JSON Schema. */
  input_schema: Record<string, unknown>;
  /** The request by which it is called. */
  request: "call" | "job" | "artifact";
}

/** A call has written something. */
export interface OutputEvent {
  /** Where. */
  stream: "out" | "err";
  /** Bytes of the stream before this text. */
  offset: number;
  /** What. */
  text: string;
}

/** At most twenty of them; a whole directory is one. */
export interface Paths {
  /** Relative to the command's directory if it is in there. */
  path: string;
  /** What happened to it. */
  kind: "created" | "modified" | "deleted";
}

/** What the confinement refused: at most ten. */
export interface Refused {
  /** What kind of thing. */
  kind: "write" | "read" | "connect" | "exec" | "syscall";
  /** The path, the host and its port, or the call of the kernel. */
  what: string;
  /** How often. */
  count: number;
}

/** The answer to a call, whatever happened. */
export interface Reply {
  /** The reply as the model sees it. */
  text: string;
  /** Whether the profile counts this reply as a tool error. */
  is_error: boolean;
  /** The profile's own structured result. */
  result: Record<string, unknown>;
  /** The output, cut to its window. */
  output: string;
  /** The command's exit status, where it has one. */
  exit_code: number | null;
  /** The signal that ended the shell. */
  signal: number | null;
  /** The deadline ended the command. */
  timed_out: boolean;
  /** The caller ended the command. */
  cancelled: boolean;
  /** The rule that denied the command; nothing ran. */
  denied: Denied | null;
  /** Why bashd itself failed, or what was wrong with the request. */
  error: string | null;
  /** Bytes that the command wrote, shown or not. */
  output_bytes: number;
  /** Newlines that the command wrote, shown or not. */
  output_lines: number;
  /** Bytes on stderr, where the streams are apart. */
  stderr_bytes: number | null;
  /** Bytes that the output leaves out. */
  omitted_bytes: number;
  /** Newlines that the output leaves out. */
  omitted_lines: number;
  /** Bytes that are no longer kept. */
  dropped_bytes: number;
  /** From request to reply, in milliseconds. */
  wall_ms: number;
  /** Handle of the stored full output. */
  artifact: string | null;
  /** The place at which the command ran, if not here. */
  place: string | null;
  /** `place`, if that ended the command: an allocation that was over. */
  ended_by: string | null;
  /** Handle of the background job. */
  job: string | null;
  /** Processes that outlived the call. */
  left_behind: LeftBehind[];
  /** Whether something still worked on the output when the call was answered. */
  output_unfinished: boolean;
  /** Why the session has lost its state. */
  session_reset: string | null;
  /** The terminal of the client in which it ran. */
  terminal: string | null;
  /** What the command may use up, and by which means that is held. */
  limits: Limits | null;
  /** What the command may reach, and by how much that is held. */
  confinement: Confinement | null;
  /** What the confinement refused: at most ten. */
  refused: Refused[];
  /** Refusals of other things than these ten. */
  refused_more: number;
  /** What a repeated call can ask for as `needs`, of what was refused. */
  grantable: Grantable | null;
  /** The hosts that the command connected to through its proxy: at most ten. */
  connections: Connections[];
  /** What the command did to files, where that is held or can be undone. */
  changes: Changes | null;
}

/** What a search found. */
export interface SearchCount {
  /** Lines that match. */
  lines: number;
  /** How many of them the text shows. */
  shown: number;
}

/** How much a server takes. */
export interface ServerLimits {
  /** Bytes of a line. */
  line_bytes: number;
  /** Commands that run at once. */
  running: number;
  /** Calls of a client that may be in progress. */
  calls: number;
}

/** The shell of a call has started. */
export interface StartedEvent {
  /** Its process id. */
  pid: number;
}

/** A part of stored output. */
export interface StoredOutput {
  /** Its address. */
  id: string;
  /** The part that was asked for. */
  output: string;
  /** There is more than one answer holds. */
  truncated: boolean;
  /** Bytes that the command wrote. */
  bytes: number;
  /** Newlines that the command wrote. */
  lines: number;
  /** Bytes that were not kept. */
  dropped_bytes: number;
  /** The part as a model reads it. */
  text: string;
}

/** A call runs in a terminal of the client. */
export interface TerminalEvent {
  /** Which one. */
  terminalId: string;
}

/** How the program in a terminal ended. */
export interface TerminalExit {
  /** Its status. */
  exitCode?: number | null;
  /** The signal that ended it. */
  signal?: string | null;
}

/** A look at a terminal of the client. */
export interface TerminalLook {
  /** Its name. */
  terminalId: string;
  /** The limit again, if the client keeps less. */
  outputByteLimit?: number;
}

/** A terminal of the client. */
export interface TerminalName {
  /** Its name. */
  terminalId: string;
}

/** What a terminal of the client has shown. */
export interface TerminalShown {
  /** Its output. */
  output: string;
  /** The output lacks its beginning. */
  truncated?: boolean;
  /** How it ended, if it has. */
  exitStatus?: TerminalExit;
}

/** A tool as a model is told about it. */
export interface ToolDefinition {
  /** Its name. */
  name: string;
  /** What it does. */
  description: string;
  /** Its arguments, in JSON Schema. */
  input_schema: Record<string, unknown>;
}

/** The tools of a profile. */
export interface ToolList {
  /** The one that runs commands is first. */
  tools: OfferedTool[];
}

/** With background: return when the command is ready, for example when its server listens. One of regex, port, http and silent_ms. */
export interface Until {
  /** A line of the output matches this regular expression. */
  regex?: string;
  /** Something listens on this local TCP port. */
  port?: number;
  /** This http:// address answers. */
  http?: string;
  /** Nothing has been written for this many milliseconds. */
  silent_ms?: number;
  /** Wait at most this many seconds. The job keeps running. */
  timeout?: number;
}

/** What a wait for one job found. */
export interface WaitedJob {
  /** Whether the condition was met, or the job ended first. */
  met: "yes" | "ended" | "not_yet";
  /** The line that matched, or the status with which the address answered. */
  by: string | null;
  /** The job, after the wait. */
  job: JobInfo;
}

/** Every request: its fields, and what answers it. */
export interface Requests {
  /** Says what the client can do, and asks what the server is. */
  hello: {
    fields: {
      /** . */
      capabilities?: Capabilities;
    };
    data: Greeting;
  };
  /** Runs a command that a user typed; the answer has the fields of an older protocol. */
  bash: {
    fields: {
      /** Ignored: it concerns a client's own records. */
      excludeFromContext?: boolean;
      /** The command. */
      command: string;
      /** Send events before the answer. */
      stream?: boolean;
    };
    data: BashData;
  };
  /** Ends every `bash` of this client. */
  abort_bash: {
    fields: {
    };
    data: undefined;
  };
  /** Calls a tool of a profile. */
  call: {
    fields: {
      /** As the tool takes them. */
      arguments: Record<string, unknown>;
      /** The profile; by default the server's. */
      profile?: string;
      /** Its name; by default the profile's first tool. */
      tool?: string;
      /** Send events before the answer. */
      stream?: boolean;
      /** Whether to use a terminal of the client. */
      terminal?: boolean;
    };
    data: Reply;
  };
  /** Calls the job tool of a profile; `result` of the answer depends on the action. */
  job: {
    fields: {
      /** As the profile's job tool takes them. */
      arguments: Record<string, unknown>;
      /** The profile; by default the server's. */
      profile?: string;
    };
    data: Reply;
  };
  /** Registers a value that is shown and written down as `[secret NAME, 40 characters]` from now on. */
  secret: {
    fields: {
      /** What stands in its place. */
      name: string;
      /** The value, of at least 8 characters. */
      value: string;
    };
    data: undefined;
  };
  /** Ends one call; it is answered as cancelled. */
  cancel: {
    fields: {
      /** The id of a `bash`, `call`, `job` or `artifact`. */
      target: string | number;
    };
    data: undefined;
  };
  /** Asks for the tool of a profile that runs commands. */
  schema: {
    fields: {
      /** The profile; by default the server's. */
      profile?: string;
      /** Ask for all tools instead: the answer is then a list, in the form of the contract's own API. */
      all?: boolean;
    };
    data: ToolDefinition | Record<string, unknown>[];
  };
  /** Asks for every tool that a model has with a profile. */
  tools: {
    fields: {
      /** The profile; by default the server's. */
      profile?: string;
    };
    data: ToolList;
  };
  /** Reads a part of stored output. */
  artifact: {
    fields: {
      /** Which part. */
      arguments: Record<string, unknown>;
    };
    data: StoredOutput;
  };
  /** Answers a question of the server's; it is not answered itself. */
  reply: {
    fields: {
      /** Why there is no result. */
      error?: string;
      /** What the question asks for. */
      result?: Record<string, unknown>;
    };
    data: undefined;
  };
}

/** The types of events, by the name that a message has. */
export interface Events {
  started: StartedEvent;
  terminal: TerminalEvent;
  output: OutputEvent;
  finished: FinishedEvent;
  job_ended: JobEndedEvent;
  jobs_ended: JobsEndedEvent;
  job_progress: JobProgressEvent;
}
