// Both lines of the official TypeScript SDK with a model that says what a script says; see clients.py.
//
//   clients.mjs LINE URL BASHD ARGUMENT...       NODE_MODULES is where the SDK is
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [line, url, ...server] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_MODULES}/x.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)));

const parts =
  line === "1"
    ? {
        ...(await load("@modelcontextprotocol/sdk/client/index.js")),
        ...(await load("@modelcontextprotocol/sdk/client/stdio.js")),
        ...(await load("@modelcontextprotocol/sdk/types.js")),
      }
    : { ...(await load("@modelcontextprotocol/client")), ...(await load("@modelcontextprotocol/client/stdio")) };

const client = new parts.Client({ name: "peer", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const person = async () => ({ action: "accept", content: { choice: "once" } });
client.setRequestHandler(line === "1" ? parts.ElicitRequestSchema : "elicitation/create", person);
const stop = new AbortController();
process.on("SIGINT", () => stop.abort("enough"));
await client.connect(new parts.StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env }));
const { tools } = await client.listTools();

async function call({ name, arguments: given }) {
  const params = { name, arguments: JSON.parse(given) };
  const options = { timeout: 600_000, signal: stop.signal, onprogress: () => {} };
  const result = await (line === "1" ? client.callTool(params, undefined, options) : client.callTool(params, options));
  return result.content.map((block) => block.text).join("\n");
}

const messages = [{ role: "user", content: "go" }];
const offered = tools.map(({ name }) => ({ type: "function", function: { name, parameters: { type: "object" } } }));
for (;;) {
  const body = JSON.stringify({ model: "fake", messages, tools: offered });
  const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", body, headers: { "content-type": "application/json" } });
  const { message } = (await answer.json()).choices[0];
  messages.push(message);
  if (!message.tool_calls) break;
  const texts = await Promise.all(message.tool_calls.map((one) => call(one.function)));
  message.tool_calls.forEach((one, place) => messages.push({ role: "tool", tool_call_id: one.id, content: texts[place] }));
}
await client.close();
