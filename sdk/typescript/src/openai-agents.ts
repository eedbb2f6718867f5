// bashd's tools for the OpenAI Agents SDK.

import { type FunctionTool, tool } from "@openai/agents";
import type { Client } from "./client.ts";

/**
 * Every tool of a profile, with its own name, description and schema: the one that runs commands is first. A run whose
 * signal is aborted ends its commands. The client's `approve` is asked where a rule says so.
 */
export async function bashdTools(client: Client, profile?: string): Promise<FunctionTool<unknown, any, unknown>[]> {
  return (await client.tools(profile)).map((one) =>
    tool({
      name: one.name,
      description: one.description,
      parameters: one.inputSchema as any,
      // Its form of a schema requires every field, and bashd's fields are optional.
      strict: false,
      execute: async (given, _context, details) =>
        (await one.call(given as Record<string, unknown>, { signal: details?.signal })).text,
    }),
  );
}
