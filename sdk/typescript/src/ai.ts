// bashd's tools for the Vercel AI SDK.

import { jsonSchema, type ToolSet, tool } from "ai";
import type { Client } from "./client.ts";

/**
 * Every tool of a profile by its own name, with its own description and schema. A generation that is aborted ends its
 * commands. The client's `approve` is asked where a rule says so.
 */
export async function bashdTools(client: Client, profile?: string): Promise<ToolSet> {
  const tools = (await client.tools(profile)).map((one) => [
    one.name,
    tool({
      description: one.description,
      inputSchema: jsonSchema<Record<string, unknown>>(one.inputSchema as Parameters<typeof jsonSchema>[0]),
      execute: async (given, { abortSignal }) => (await one.call(given, { signal: abortSignal })).text,
    }),
  ]);
  return Object.fromEntries(tools) as ToolSet;
}
