// Where the binary is: in this package, named by `BASHD`, or on `PATH`.

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BinaryNotFound } from "./errors.ts";

/** The binary that a package with binaries brings along for this kind of machine. */
export const BUNDLED = fileURLToPath(new URL(`../native/${process.arch}/bashd`, import.meta.url));

/** The path of the binary; fails with what was looked at. */
export function find(environment: NodeJS.ProcessEnv = process.env): string {
  if (existsSync(BUNDLED)) return BUNDLED;
  const named = environment["BASHD"];
  if (named) {
    if (isProgram(named)) return named;
    throw new BinaryNotFound(`BASHD names ${named}, which is not a program`);
  }
  for (const directory of (environment["PATH"] ?? "").split(delimiter)) {
    const path = join(directory, "bashd");
    if (directory && isProgram(path)) return path;
  }
  throw new BinaryNotFound(
    "bashd was not found: this package has no binary for this platform, BASHD is not set, and there is no bashd on PATH",
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
