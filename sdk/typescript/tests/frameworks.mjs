// bashd's tools in real frameworks, with a model that says what a script says: the README's programs, an approval, a cancel.
//
//   frameworks.mjs MODEL README       MODEL is the path of `model.py`; the package `bashd` is installed here
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [modelFile, readme] = process.argv.slice(2);
process.env.OPENAI_API_KEY = "none";
process.env.OPENAI_AGENTS_DISABLE_TRACING = "1";

const SERVE = `
import json, runpy, sys
Model = runpy.run_path(sys.argv[1])["Model"]
with Model(json.loads(sys.argv[2])) as model:
    print(model.url, flush=True)
    sys.stdin.read()
    print(json.dumps([result["text"] for result in model.script.results]))
`;

/** Does something while a model takes these steps; returns the results that it read. */
async function withModel(steps, work) {
  const given = JSON.stringify([...steps, { say: "All done." }]);
  const server = spawn("python3", ["-c", SERVE, modelFile, given], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  process.env.OPENAI_BASE_URL = `${(await lines.next()).value}/v1`;
  try {
    await work();
  } finally {
    server.stdin.end();
  }
  const results = JSON.parse((await lines.next()).value);
  if (server.exitCode === null) await once(server, "exit");
  return results;
}

const bash = (command) => ({ tool: "bash", arguments: { command } });

const { Client } = await import("bashd");
const { createOpenAI } = await import("@ai-sdk/openai");
const { generateText, stepCountIs } = await import("ai");
const agents = await import("@openai/agents");
const forAi = await import("bashd/ai");
const forAgents = await import("bashd/openai-agents");

const runs = {
  ai: async (client, signal) => {
    const tools = await forAi.bashdTools(client);
    // Nothing is asked of a model again: the steps are counted.
    const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })("gpt-5");
    return (await generateText({ model, tools, stopWhen: stepCountIs(20), prompt: "go", abortSignal: signal, maxRetries: 0 })).text;
  },
  "@openai/agents": async (client, signal) => {
    const agent = new agents.Agent({ name: "a", model: "gpt-5", tools: await forAgents.bashdTools(client) });
    const provider = new agents.OpenAIProvider({ baseURL: process.env.OPENAI_BASE_URL });
    return (await new agents.Runner({ modelProvider: provider, tracingDisabled: true }).run(agent, "go", { signal })).finalOutput;
  },
};

const programs = [...readFileSync(readme, "utf8").matchAll(/^```typescript\n(.*?)^```$/gms)].map(([, text]) => text);
for (const [name, run] of Object.entries(runs)) {
  const own = programs.filter((program) => program.includes(`from "${name}"`));
  assert.equal(own.length, 1, name);
  const path = resolve(`readme-${name.replace(/\W/g, "-")}.mts`);
  writeFileSync(path, own[0]);
  let printed = "";
  let results = await withModel([bash("echo hello; exit 3")], async () => {
    const program = spawn(process.execPath, [path], { stdio: ["ignore", "pipe", "inherit"] });
    program.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
    const [status] = await once(program, "close");
    assert.equal(status, 0, name);
  });
  assert.deepEqual([printed, results], ["All done.\n", ["hello\n[exit code 3]"]], name);

  const asked = [];
  results = await withModel([[bash("echo a"), bash("echo b")], bash("touch yes"), bash("touch no")], async () => {
    const approve = ({ command }) => asked.push(command) && command === "touch yes";
    const client = new Client({ approve });
    assert.equal(await run(client), "All done.");
    await client.close();
  });
  assert.deepEqual(asked, ["touch yes", "touch no"], name);
  assert.deepEqual([existsSync("yes"), existsSync("no")], [true, false], name);
  assert.deepEqual(results.slice(0, 2), ["a\n", "b\n"], name);
  assert.match(results[3], /May it touch\?/, name);

  await withModel([bash("trap 'echo >ended; exit' TERM; echo >begun; sleep 600 & wait")], async () => {
    const client = new Client();
    const stop = new AbortController();
    const going = run(client, stop.signal);
    while (!existsSync("begun")) await new Promise((done) => setTimeout(done, 20));
    stop.abort(new Error("enough"));
    await going.catch(() => {});
    while (!existsSync("ended")) await new Promise((done) => setTimeout(done, 20));
    await client.close();
  });
  for (const left of ["yes", "begun", "ended"]) rmSync(left);
  console.log(name, "ok");
}
