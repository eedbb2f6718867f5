// bashd from TypeScript: commands, sessions, jobs and approvals, typed.

export { Client, type ClientOptions, type Event, Job, type RunOptions, Running, Session, Tool, type ToolAnswer, type Waiting, type WaitOptions } from "./client.ts";
export type { Answer, Approve } from "./connection.ts";
export * from "./errors.ts";
export type * from "./types.ts";
