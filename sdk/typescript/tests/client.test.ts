// What the client does, with a real server: BASHD names it. The configuration asks before `touch`.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { Client, CommandDenied, CommandFailed, EndedAtOnce, type Event, type JobEndedEvent, RequestFailed } from "../src/index.ts";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(isSo: () => boolean): Promise<void> {
  for (let round = 0; round < 400; round += 1) {
    if (isSo()) return;
    await pause(25);
  }
  assert.fail("it did not happen in time");
}

test("a command is an outcome, whatever its status", async () => {
  await using client = new Client();
  const reply = await client.run("echo out; echo err >&2; exit 3");
  assert.deepEqual([reply.exit_code, reply.output, reply.error], [3, "out\nerr\n", null]);
  await assert.rejects(client.run("echo why; exit 3", { check: true }), (error) => {
    assert(error instanceof CommandFailed);
    assert.equal(error.message, "exit status 3\nwhy");
    return error.reply.exit_code === 3;
  });
  const given = await client.run("pwd; echo $A; cat", { cwd: "/", env: { A: "b" }, stdin: "given", check: true });
  assert.equal(given.output, "/\nb\ngiven");
  await assert.rejects(client.run("true", { nonsense: 1 } as object), RequestFailed);
  const late = await client.run("echo so far; sleep 60", { timeout: 1 });
  assert.deepEqual([late.timed_out, late.output, late.job], [true, "so far\n", null]);
});

test("output comes as it is written", async () => {
  await using client = new Client();
  const running = client.stream("echo one; sleep 0.3; echo two >&2");
  const seen: Event[] = [];
  for await (const event of running) seen.push(event);
  assert.equal(seen[0]?.type, "started");
  assert.deepEqual(
    seen.flatMap((event) => (event.type === "output" ? [event.text] : [])),
    ["one\n", "two\n"],
  );
  assert.equal((await running.reply()).exit_code, 0);
});

test("a call that is cancelled says what it wrote, and who stops waiting ends the command", async () => {
  await using client = new Client();
  const running = client.stream("echo begun; sleep 60");
  for await (const _ of running.output()) await running.cancel();
  const reply = await running.reply();
  assert.deepEqual([reply.cancelled, reply.output], [true, "begun\n"]);

  const stop = new AbortController();
  const command = "trap 'echo ended >ended-by-abort; exit' TERM; echo begun; sleep 60 & wait";
  const stopped = client.stream(command, { signal: stop.signal });
  await assert.rejects(
    (async () => {
      for await (const _ of stopped.output()) stop.abort(new Error("enough"));
    })(),
    /enough/,
  );
  await until(() => existsSync("ended-by-abort"));
  await assert.rejects(client.run("true", { signal: AbortSignal.abort(new Error("before")) }), /before/);

  // A loop that is left ends its command.
  const left = client.stream("echo begun; sleep 60");
  for await (const _ of left) break;
  assert.equal((await left.reply()).cancelled, true);
});

test("a session keeps its shell", async () => {
  await using client = new Client();
  const session = client.session("build");
  await session.run("cd /; greet() { echo hello $1; }");
  assert.equal((await session.run("greet you; pwd")).output, "hello you\n/\n");
  const running = await session.stream("pwd");
  for await (const text of running.output()) assert.equal(text, "/\n");
});

test("stored output is read in parts", async () => {
  await using client = new Client();
  const reply = await client.run("seq 1 100000");
  const part = await client.readArtifact(reply.artifact!, { from_line: 50000, to_line: 50001 });
  assert.equal(part.output, "50000\n50001\n");
  await assert.rejects(client.readArtifact("artifact://9999"), RequestFailed);
});

test("a model's call is answered with a text", async () => {
  await using client = new Client();
  assert.equal((await client.call({ command: "exit 3" })).text, "[exit code 3]");
  const [bash, job, artifact] = await client.tools();
  assert.deepEqual([bash?.name, job?.name, artifact?.name], ["bash", "job", "artifact"]);
  assert.equal((await bash!.call({ command: "echo hi" })).text, "hi\n");
  assert.equal((await bash!.call({ wrong: 1 })).isError, true);
  assert.equal((await artifact!.call({ id: "artifact://9999" })).isError, true);
  const [phoenix, ...others] = await client.tools("phoenix");
  assert.equal(others.length, 0);
  assert.equal((await phoenix!.call({ command: "echo hi", mode: "slow" })).text, "hi\n");
});

test("a job is started, fed, read, awaited and ended", async () => {
  const ends: JobEndedEvent[] = [];
  await using client = new Client({ onJobEnded: (event) => void ends.push(event) });
  const job = await client.start("echo ready; read x; echo got $x; sleep 60", { stdin_open: true, until: { regex: "ready" } });
  assert((await client.jobs()).some((one) => one.id === job.id));
  assert.equal(await job.send("this\n"), 5);
  const waited = await job.wait({ regex: "got (.*)", timeout: 20 });
  assert.deepEqual([waited.met, waited.by], ["yes", "got this"]);
  assert.equal((await job.wait({ timeout: 0.1 })).met, "not_yet");
  assert.equal((await job.read()).text, "ready\ngot this\n");
  await job.rename("mine");
  assert.equal((await job.info()).name, "mine");
  await job.signal("KILL");
  await until(() => ends.length > 0);
  assert.equal(ends[0]?.job.state, "killed");

  const terminal = await client.start("read -p 'name? ' x; echo hello $x; sleep 60", { pty: true });
  assert.equal((await terminal.screen({ regex: "name", timeout: 20 })).lines[0], "name?");
  await terminal.send("you", { keys: ["Enter"] });
  assert((await terminal.screen({ regex: "hello", timeout: 20 })).lines.includes("hello you"));
  assert.equal((await terminal.end()).state, "killed");
  await assert.rejects(client.job("none").info(), RequestFailed);
});

test("what ends at once is no job", async () => {
  await using client = new Client();
  // It has 300 ms to end, which a busy machine may need for less.
  for (let round = 0; round < 10; round += 1) {
    try {
      await client.start("echo no; exit 7");
    } catch (error) {
      assert(error instanceof EndedAtOnce);
      assert.equal(error.reply.exit_code, 7);
      return;
    }
  }
  assert.fail("it always became a job");
});

test("the user is asked, and says for how long", async () => {
  const asked: string[] = [];
  await using client = new Client({
    approve: async ({ command, rule }) => {
      asked.push(`${command}: ${rule}`);
      return asked.length === 1 ? "session" : false;
    },
  });
  await client.run("touch one");
  await client.run("touch one");
  assert.deepEqual(asked, ["touch one: ask-touch"]);
  await assert.rejects(client.run("touch two"), (error) => error instanceof CommandDenied && error.denied.rule === "ask-touch");
  assert.deepEqual([existsSync("one"), existsSync("two")], [true, false]);
  await using alone = new Client();
  await assert.rejects(alone.run("touch three"), CommandDenied);
});
