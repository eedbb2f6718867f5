// The official TypeScript SDK as a client that gives up on a request after a minute, which is what it does unless told otherwise.
//
//   mcp_wait.mjs BASHD [ARGUMENT...]
//
// Runs a command that takes longer, waits for the job that it gets, and prints what it saw as one JSON object.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [bashd, ...args] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_MODULES}/x.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "peer", version: "1" }, {});
await client.connect(new StdioClientTransport({ command: bashd, args, env: process.env }));
const begun = Date.now();
const command = "echo so far; sleep 70; echo done";
const { _meta } = await client.callTool({ name: "bash", arguments: { command } });
const result = _meta["bashd/reply"];
const waited_ms = Date.now() - begun;
const wait = { action: "wait", job: result.job };
const waited = await client.callTool({ name: "job", arguments: wait });
const read = { action: "output", job: result.job };
const { content } = await client.callTool({ name: "job", arguments: read });
console.log(JSON.stringify({ waited_ms, result, job_waited_is_error: waited.isError, ended: content[0].text }));
await client.close();
