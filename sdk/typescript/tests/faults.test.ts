// What the client says when something is wrong: a dead server, none, another version, callbacks that fail, much at once.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { BashdError, BinaryNotFound, Client, type ClientOptions, CommandDenied, RequestFailed, ServerGone, SessionLost, WrongProtocol } from "../src/index.ts";

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));
const quiet = (options: ClientOptions = {}) => new Client({ complained: () => {}, ...options });

let made = 0;
/** A script that stands in for bashd. */
function program(text: string): string {
  const path = resolve(`stand-in-${(made += 1)}`);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  return path;
}

test("a server that is killed in a call is told and replaced", async () => {
  await using client = quiet();
  const session = client.session("s");
  await session.run("X=1");
  const calls = [1, 2, 3].map(() => client.run("echo; sleep 60"));
  const stream = client.stream("echo begun; sleep 60");
  for await (const _ of stream.output()) process.kill(client.server.pid!, "SIGKILL");
  for (const gone of [...calls, stream.reply()]) {
    await assert.rejects(gone, (error) => {
      assert(error instanceof ServerGone);
      assert.equal(error.message, "bashd rpc was killed by SIGKILL, before it answered");
      return error.mayHaveRun;
    });
  }
  assert.equal((await client.run("echo again")).output, "again\n");
  await assert.rejects(session.run("echo $X"), SessionLost);
  assert.equal((await session.run("echo ${X-none}")).output, "none\n");
});

test("a server that died between calls is replaced without a word", async () => {
  await using client = quiet();
  await client.run("true");
  const { pid } = client.server;
  process.kill(pid!, "SIGKILL");
  // Until this process has heard of it.
  while (existsSync(`/proc/${pid}`)) await pause(10);
  assert.equal((await client.run("echo again")).output, "again\n");
  assert.equal(client.server.generation, 2);
});

test("a missing binary is named", async () => {
  const { BASHD, PATH } = process.env;
  try {
    delete process.env["BASHD"];
    process.env["PATH"] = "/nowhere";
    await assert.rejects(new Client().run("true"), (error) => error instanceof BinaryNotFound && /no bashd on PATH/.test(error.message));
    process.env["BASHD"] = "/no/such/bashd";
    await assert.rejects(new Client().run("true"), /BASHD names \/no\/such\/bashd/);
  } finally {
    Object.assign(process.env, { BASHD, PATH });
  }
  await assert.rejects(new Client({ binary: "/no/such/bashd" }).run("true"), BinaryNotFound);
});

test("another version of the protocol is refused and named", async () => {
  const answer = '{"id":"1","type":"response","command":"hello","success":true,"data":{"protocol":9,"version":"9.1"}}';
  const client = new Client({ binary: program(`read hello; echo '${answer}'; cat >/dev/null`) });
  await assert.rejects(client.run("true"), (error) => {
    assert(error instanceof WrongProtocol);
    return /bashd 9.1 speaks version 9 of the protocol, and this package version 1/.test(error.message);
  });
});

test("a server that does not start says why", async () => {
  await assert.rejects(quiet({ profile: "nonsense" }).run("true"), (error) => {
    assert(error instanceof ServerGone);
    assert.match(error.message, /exited with status 125 .*there is no profile `nonsense`/);
    return !error.mayHaveRun;
  });
});

test("a server that says nonsense is given up", async () => {
  for (const nonsense of ["hello", "[1]", "{}", "null"]) {
    const client = new Client({ binary: program(`echo '${nonsense}'; cat >/dev/null`) });
    await assert.rejects(client.run("true"), (error) => error instanceof ServerGone && /no message/.test(error.message));
  }
});

test("a closed client says so, and its calls are cancelled", async () => {
  const client = quiet();
  await client.run("true");
  const running = client.run("sleep 60");
  await pause(100);
  const { pid } = client.server;
  await client.close();
  assert.equal(existsSync(`/proc/${pid}`), false);
  assert.equal((await running).cancelled, true);
  await assert.rejects(client.run("true"), (error) => error instanceof BashdError && /closed/.test(error.message));
  await client.close();
});

test("a server on a socket is shared", async () => {
  const server = spawn(process.env["BASHD"]!, ["rpc", "--socket", "s"], { stdio: "inherit" });
  const ended = once(server, "exit");
  try {
    while (!existsSync("s")) await pause(20);
    await using one = new Client({ socket: "s" });
    await using two = new Client({ socket: "s" });
    const replies = await Promise.all([one.run("echo 1"), two.run("echo 2")]);
    assert.deepEqual(
      replies.map((reply) => reply.output),
      ["1\n", "2\n"],
    );
    const gone = one.run("echo; sleep 60");
    await pause(200);
    server.kill();
    // The server answers what it ends.
    assert.equal((await gone).cancelled, true);
    await ended;
    await pause(50);
    await assert.rejects(two.run("true"), (error) => error instanceof ServerGone && /nobody serves s/.test(error.message));
  } finally {
    server.kill("SIGKILL");
    await ended;
  }
  assert.throws(() => new Client({ socket: "s", profile: "default" }), TypeError);
});

test("a callback that fails is a no, and the cause", async () => {
  const thrown = new Error("oh");
  await using client = new Client({
    approve: () => {
      throw thrown;
    },
  });
  await assert.rejects(client.run("touch never"), (error) => error instanceof CommandDenied && error.cause === thrown);
  assert.equal((await client.run("echo alive")).output, "alive\n");
  await using unsure = new Client({ approve: () => "maybe" as never });
  await assert.rejects(unsure.run("touch never"), (error) => error instanceof CommandDenied && error.cause instanceof TypeError);
  assert.equal(existsSync("never"), false);
});

test("a callback for the end of a job that fails ends nothing else", async () => {
  const warned = once(process, "warning");
  await using client = new Client({
    onJobEnded: () => {
      throw new Error("oh");
    },
  });
  const job = await client.start("sleep 600");
  await job.signal("KILL");
  const [warning] = await warned;
  assert.match(String(warning), /the callback for the end of a job failed: Error: oh/);
  assert.equal((await client.run("echo alive")).output, "alive\n");
});

test("a cancel while the user is asked withdraws the question", async () => {
  const stop = new AbortController();
  let withdrawn: Promise<unknown> | undefined;
  await using client = new Client({
    approve: async (_, signal) => {
      withdrawn = once(signal, "abort");
      stop.abort(new Error("enough"));
      await withdrawn;
      return true;
    },
  });
  await assert.rejects(client.run("touch never", { signal: stop.signal }), /enough/);
  assert(withdrawn);
  await withdrawn;
  assert.equal((await client.run("echo alive")).output, "alive\n");
  assert.equal(existsSync("never"), false);
});

test("a hundred calls at once", async () => {
  await using client = new Client();
  const numbers = Array.from({ length: 100 }, (_, number) => number);
  const replies = await Promise.all(numbers.map((number) => client.run(`echo ${number}`)));
  assert.deepEqual(
    replies.map((reply) => reply.output),
    numbers.map((number) => `${number}\n`),
  );
});

test("ten megabytes of output", async () => {
  await using client = new Client();
  const running = client.stream("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end");
  let length = 0;
  let last = "";
  for await (const text of running.output()) {
    length += text.length;
    last = (last + text).slice(-5);
  }
  const reply = await running.reply();
  assert.deepEqual([length, last, reply.output_bytes], [10_000_005, "\nend\n", 10_000_005]);
  assert.equal((await client.readArtifact(reply.artifact!, { tail: 1 })).output, "end\n");
  await assert.rejects(client.run("#".repeat(9_000_000)), (error) => error instanceof RequestFailed && /8 MiB/.test(error.message));
});

test("text of any kind", async () => {
  await using client = new Client();
  const text = "grüße 🦀 日本 \u2028 \\ \" '";
  assert.equal((await client.run("cat; printf '\\303\\050'", { stdin: text })).output, `${text}\ufffd(`);
  await assert.rejects(client.run("echo \ud800"), RequestFailed);
});

test("a program that never closes ends, and leaves nothing", () => {
  const index = new URL("../src/index.ts", import.meta.url);
  const script = `import { Client } from "${index}"; console.log((await new Client().run("exit 3")).exit_code);`;
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", timeout: 60_000 });
  assert.deepEqual([done.stdout, done.status], ["3\n", 0], done.stderr);
});

test("a program that is killed leaves nothing", async () => {
  // Whoever started this test looks for processes that it left.
  const index = new URL("../src/index.ts", import.meta.url);
  const script = `import { Client } from "${index}";
    for await (const text of new Client().stream("echo begun; sleep 600").output()) console.log(text);`;
  const program = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [text] = await once(program.stdout, "data");
  assert.equal(String(text), "begun\n\n");
  program.kill("SIGKILL");
  await once(program, "exit");
});
