#!/usr/bin/env node
// The command `bashd`: runs the binary with this process's stdin, stdout and stderr, and ends as it does.
import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { find } from "../dist/binary.js";

let path;
try {
  path = find();
  if (realpathSync(path) === realpathSync(process.argv[1])) throw new Error("bashd on PATH is this command itself: set BASHD to the binary");
} catch (error) {
  console.error(`bashd: ${error.message}`);
  process.exit(125);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`bashd: ${error.message}`);
  process.exit(125);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 125);
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(name);
  process.kill(process.pid, signal);
});
