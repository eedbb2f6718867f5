// The official TypeScript SDK as a client of `bashd mcp`: its line 1 (handshake) and its line 2 (either lifecycle).
//
//   mcp_client.mjs LINE MODE WORKSPACE stdio BASHD [ARGUMENT...]
//   mcp_client.mjs LINE MODE WORKSPACE http URL TOKEN
//
// Does what a client does, and prints what it saw as one JSON object. NODE_MODULES is where the SDK is.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const LIMIT = 60_000;
const [line, mode, workspace, kind, ...rest] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_MODULES}/x.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function connect() {
  const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }] =
    line === "1"
      ? [
          await load("@modelcontextprotocol/sdk/client/index.js"),
          await load("@modelcontextprotocol/sdk/client/stdio.js"),
          await load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
        ]
      : [
          await load("@modelcontextprotocol/client"),
          await load("@modelcontextprotocol/client/stdio"),
          await load("@modelcontextprotocol/client"),
        ];
  const options = line === "1" ? {} : { versionNegotiation: { mode } };
  const client = new Client({ name: "peer", version: "1" }, options);
  const transport =
    kind === "stdio"
      ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
      : new StreamableHTTPClientTransport(new URL(rest[0]), {
          requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } },
        });
  await client.connect(transport);
  return client;
}

async function until(isTrue, what) {
  const begun = Date.now();
  while (!isTrue()) {
    if (Date.now() - begun > LIMIT) throw new Error(what);
    await new Promise((done) => setTimeout(done, 20));
  }
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}

const call = (client, name, given, options = {}) => {
  const params = { name, arguments: given };
  const all = { timeout: LIMIT, ...options };
  return line === "1" ? client.callTool(params, undefined, all) : client.callTool(params, all);
};

const bash = (client, command, options) => call(client, "bash", { command }, options);

async function cancel(client) {
  const pids = `${workspace}/pids-${process.pid}`;
  const script = `setsid sleep 300 & echo $! > ${pids}.new; echo $$ >> ${pids}.new; mv ${pids}.new ${pids}; sleep 300`;
  const stop = new AbortController();
  const running = bash(client, script, { signal: stop.signal }).catch(() => "cancelled");
  await until(() => existsSync(pids), "the command runs");
  stop.abort("enough");
  await running;
  const tree = readFileSync(pids, "utf8").trim().split("\n").map(Number);
  await until(() => !tree.some(isAlive), `${tree} are gone`);
  return tree.length;
}

// As a server for programs gives them, or where models are not shown them.
const fields = (result) => result.structuredContent ?? result._meta["bashd/reply"];

const client = await connect();
const seen = {};
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
const result = await bash(client, "echo hi; exit 3");
seen.text = result.content[0].text;
seen.result = fields(result);
const told = [];
const go = `${workspace}/go-${process.pid}`;
const running = bash(client, `echo working; until [ -e ${go} ]; do sleep 0.05; done`, {
  onprogress: (progress) => told.push(progress.message),
});
await until(() => told.length > 0, "progress is told");
writeFileSync(go, "");
await running;
seen.progress = told[0];
const artifact = fields(await bash(client, "seq 1 20000")).artifact;
const part = await call(client, "artifact", { id: artifact, from_line: 9999, to_line: 10001 });
seen.range = fields(part).output;
const found = await call(client, "artifact", { id: artifact, grep: "^1999[89]$" });
seen.found = fields(found).output;
const resource = await client.readResource({ uri: artifact });
seen.resource = resource.contents[0].text.length;
const script = "echo starting; sleep 0.2; echo listening on 80; sleep 300";
const started = await call(client, "bash", { command: script, background: true });
const job = fields(started).job;
const wanted = { action: "wait", job, regex: "listening on [0-9]+", timeout: 50 };
seen.waited = (await call(client, "job", wanted)).content[0].text;
const state = await client.readResource({ uri: `job://${job}` });
seen.job = JSON.parse(state.contents[0].text).state;
await call(client, "job", { action: "kill", job });
seen.cancelled = await cancel(client);
seen.after = fields(await bash(client, "echo alive")).output;
await client.close();
console.log(JSON.stringify(seen));
