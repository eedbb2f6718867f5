// A client of the Agent Client Protocol on the official TypeScript SDK, for the tests of `bashd acp`.
// It serves terminals with real processes, and is well, deaf or gone as its last argument says.
// Usage: node acp_client.mts SCENARIO CWD COMMAND BASHD ARGUMENTS...   Prints one JSON object.
import { spawn, type ChildProcess } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

// NODE_MODULES is where the SDK is.
const require = createRequire(`${process.env.NODE_MODULES}/x.js`);
const sdk = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);
const { PROTOCOL_VERSION, RequestError, client, methods, ndJsonStream } = sdk;

type Exit = { exitCode: number | null; signal: string | null };
type Terminal = { child: ChildProcess; output: string; exit: Promise<Exit>; exited?: Exit };

const [scenario, cwd, command, bashd, ...bashdArguments] = process.argv.slice(2);
const log: string[] = [];
const asked: unknown[] = [];
const updates: { sessionUpdate: string }[] = [];
const terminals = new Map<string, Terminal>();
const never = new Promise<never>(() => {});

function create({ command, args, env, cwd }: any): Terminal {
  const variables = Object.fromEntries((env ?? []).map(({ name, value }: any) => [name, value]));
  const child = spawn(command, args ?? [], { cwd, env: { ...process.env, ...variables }, detached: true });
  const terminal: Terminal = { child, output: "", exit: never };
  child.stdout!.setEncoding("utf8").on("data", (text: string) => (terminal.output += text));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (terminal.output += text));
  terminal.exit = new Promise((resolve) =>
    child.on("close", (exitCode, signal) => resolve((terminal.exited = { exitCode, signal }))),
  );
  return terminal;
}

function kill(terminal: Terminal) {
  if (!terminal.exited) process.kill(-terminal.child.pid!, "SIGKILL");
}

const start = () => spawn(bashd, bashdArguments, { stdio: ["pipe", "pipe", "inherit"] });
const streamOf = (agent: ChildProcess) =>
  ndJsonStream(Writable.toWeb(agent.stdin!) as any, Readable.toWeb(agent.stdout!) as any);
let agent = start();
const answer = async (what: string, act: () => unknown) => {
  log.push(what);
  if (scenario === "hung" && what !== "create") return never;
  return act();
};
const of = (id: string) => terminals.get(id) ?? fail(`no terminal ${id}`);
const fail = (message: string): never => {
  throw new RequestError(-32000, message);
};

const app = client({ name: "bashd-test" })
  .onRequest(methods.client.terminal.create, ({ params }: any) =>
    answer("create", () => {
      if (scenario === "denied") fail("the user said no");
      terminals.set("t1", create(params));
      return { terminalId: "t1" };
    }) as any,
  )
  .onRequest(methods.client.terminal.output, ({ params, agent }: any) =>
    answer("output", () => {
      const terminal = of(params.terminalId);
      if (terminal.output !== "") {
        if (scenario === "lost") {
          kill(terminal);
          process.exit(0);
        }
        if (scenario === "abort") agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
      }
      return { output: terminal.output, truncated: false, exitStatus: terminal.exited };
    }) as any,
  )
  .onRequest(methods.client.terminal.waitForExit, ({ params }: any) =>
    answer("wait", () => of(params.terminalId).exit) as any,
  )
  .onRequest(methods.client.terminal.kill, ({ params }: any) =>
    answer("kill", () => (kill(of(params.terminalId)), {})) as any,
  )
  .onRequest(methods.client.terminal.release, ({ params }: any) =>
    answer("release", () => (kill(of(params.terminalId)), {})) as any,
  )
  .onRequest(methods.client.session.requestPermission, ({ params, agent }: any) =>
    answer("permission", () => {
      asked.push(params);
      if (scenario === "no_permission") fail("this client asks nobody");
      if (scenario === "abort_permission") {
        agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
        return { outcome: { outcome: "cancelled" } };
      }
      const wanted = ["permit", "needs"].includes(scenario) ? "allow_once" : "reject_once";
      const { optionId } = params.options.find(({ kind }: any) => kind === wanted);
      return { outcome: { outcome: "selected", optionId } };
    }) as any,
  )
  .onNotification(methods.client.session.update, ({ params }: any) => void updates.push(params.update));

const clientCapabilities = scenario === "local" ? {} : { terminal: true };
const greeting = { protocolVersion: PROTOCOL_VERSION, clientCapabilities };
// The SDK hands notifications on in turns of their own, after the answer that came behind them.
const isTold = () => updates.some((update) => update.sessionUpdate === "agent_message_chunk");
async function untilTold() {
  for (let waited = 0; !isTold() && waited < 6000; waited++) await sleep(5);
}

// Another process of bashd goes on with a session of one that is gone; what it says, and what it tells again.
async function goOn(method: string, sessionId: string, text: string) {
  agent = start();
  const seen: any = {};
  await app.connectWith(streamOf(agent), async (connection: any) => {
    seen.capabilities = (await connection.request(methods.agent.initialize, greeting)).agentCapabilities;
    const refused = (params: any) =>
      connection.request(method, { cwd, mcpServers: [], ...params }).catch((error: any) => error.data);
    seen.elsewhere = await refused({ sessionId, cwd: "/" });
    seen.unknown = await refused({ sessionId: `${sessionId.slice(0, -4)}0000` });
    seen.path = await refused({ sessionId: "session-../../x" });
    updates.length = 0;
    await connection.request(method, { sessionId, cwd, mcpServers: [] });
    if (method === methods.agent.session.load) await untilTold();
    seen.again = updates.splice(0);
    await connection.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    await untilTold();
    seen.updates = updates.splice(0);
  });
  return seen;
}

let sessionOfBefore = "";
await app.connectWith(streamOf(agent), async (connection: any) => {
  await connection.request(methods.agent.initialize, greeting);
  const { sessionId } = await connection.request(methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text" as const, text: command }];
  // What the command is to write is the directory beside the one it runs in.
  const needs = { write: [`${cwd}/../outside`], reason: scenario === "needs_unsaid" ? "" : "it is asked for" };
  const _meta = scenario.startsWith("needs") ? { "bashd/needs": needs } : undefined;
  const turn = connection.request(methods.agent.session.prompt, { sessionId, prompt, _meta });
  if (scenario === "abort_local") {
    setTimeout(() => connection.notify(methods.agent.session.cancel, { sessionId }), 500);
  }
  if (scenario === "session") {
    await turn;
    await untilTold();
    // The session of before, and the shell that was kept for it.
    updates.length = 0;
    await connection.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
    await untilTold();
    const link = { type: "resource_link" as const, uri: `file://${cwd}/a%20b`, name: "a b" };
    const again = [{ type: "text" as const, text: "echo $kept $PWD " }, link];
    updates.length = 0;
    await connection.request(methods.agent.session.prompt, { sessionId, prompt: again });
    const image = [{ type: "text" as const, text: "echo ran " }, { type: "image" as const, data: "", mimeType: "image/png" }];
    const refused = await connection.request(methods.agent.session.prompt, { sessionId, prompt: image }).catch((error: any) => error.data);
    log.push(JSON.stringify(refused));
  }
  const result = await turn.catch((error: any) => ({ error: error.message, data: error.data }));
  if (!("error" in result)) await untilTold();
  sessionOfBefore = sessionId;
  if (scenario !== "resumed") console.log(JSON.stringify({ result, log, updates, asked }));
});
if (scenario === "resumed") {
  const gone = (process: ChildProcess) => new Promise((resolve) => process.on("exit", resolve));
  const text = "echo ${kept-gone} $PWD; cd /";
  let over = gone(agent);
  agent.kill("SIGKILL");
  await over;
  const loaded = await goOn(methods.agent.session.load, sessionOfBefore, text);
  over = gone(agent);
  agent.stdin!.end();
  await over;
  const resumed = await goOn(methods.agent.session.resume, sessionOfBefore, text);
  console.log(JSON.stringify({ loaded, resumed }));
}
for (const terminal of terminals.values()) kill(terminal);
agent.stdin!.end();
agent.on("exit", (code) => process.exit(code ?? 1));
