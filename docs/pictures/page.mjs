// Makes the pictures of the page in the docs, from a real server with real runs:
//
//   NODE_MODULES=target/peers/browser/node_modules BASHD=target/release/bashd node docs/pictures/page.mjs
//
// Everything happens in a home of its own. `./test --with browser` installs what it needs.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
for (const name of ["NODE_MODULES", "BASHD"]) process.env[name] = path.resolve(process.env[name] ?? "");
const home = fs.mkdtempSync(path.join(os.tmpdir(), "bashd-page-"));
process.env.HOME = home;
for (const name of Object.keys(process.env)) if (name.startsWith("XDG_")) delete process.env[name];
const work = path.join(home, "src", "shop");
fs.mkdirSync(work, { recursive: true });
process.chdir(work);
const { bashd, bashdAside, job, openRun, rowWith, shows, withPage } = await import(path.join(here, "../../crates/bashd-cli/tests/browser/harness.mjs"));

/** A month of calls, as agents leave them. */
function past() {
  const ledger = path.join(home, ".local", "state", "bashd", "ledger");
  fs.mkdirSync(ledger, { recursive: true, mode: 0o700 });
  const commands = ["cargo test --workspace", "git status --short", "npm run build", "rg -n 'fn main' src", "ls -la", "python3 -m pytest -x tests", "git diff HEAD~1", "cargo clippy --all-targets"];
  const clients = ["mcp:K3T9AZ2C.1", "mcp:7QX41MHB.1", "rpc:9FD2C0XA.1", "acp:M4N8T1KZ.2"];
  let chance = 7;
  const next = (most) => (chance = (chance * 48271) % 2147483647) % most;
  const months = new Map();
  for (let hour = 24 * 29; hour > 1; hour -= 1) {
    const time = new Date(Date.now() - hour * 3600e3);
    const count = [0, 6].includes(time.getDay()) ? next(4) : Math.max(0, 14 - Math.abs(time.getHours() - 14) * 2 + next(8));
    for (let number = 0; number < count; number += 1) {
      const at = next(commands.length);
      const failed = next(11) === 0;
      const bytes = next(60000) + 200;
      const record = { v: 1, id: `01K${hour.toString(36).padStart(4, "0")}${number.toString(36).padStart(2, "0")}XXXXXXXXXX`.toUpperCase(), time: new Date(time.getTime() + number * 60e3).toISOString(), profile: "default", owner: clients[next(8) % 4], session: "main", command: commands[at], command_truncated: false, cwd: work, outcome: "exited", exit_code: failed ? 1 : 0, signal: null, error: null, wall_ms: next(9000) * (at % 3 ? 1 : 4), ran_ms: 10, output_bytes: bytes, output_lines: bytes >> 5 };
      if (at < 3) record.minimized = { by: commands[at].split(" ")[0], shown_bytes: Math.min(bytes, 32768) >> 2, artifact: null };
      const month = record.time.slice(0, 7);
      months.set(month, (months.get(month) ?? "") + JSON.stringify(record) + "\n");
    }
  }
  for (const [month, text] of months) fs.writeFileSync(path.join(ledger, `${month}.jsonl`), text, { mode: 0o600 });
}

const tests = String.raw`printf '\033[1m   Compiling\033[0m shop v0.3.1\n    Finished test in 4.21s\n\nrunning 248 tests\n'; for n in $(seq 1 120); do if [ $((n % 41)) = 7 ]; then printf 'test cart::discount_%03d ... \033[31mFAILED\033[0m\n' $n; else printf 'test cart::price_%03d ... \033[32mok\033[0m\n' $n; fi; sleep 0.005; done; sleep 300`;
const jobs = [];
past();
bashd(["run", "git init -q . && git status --short"]);
bashd(["run", "grep -rn 'discount' src || exit 1"]);
bashd(["run", "ls -la"]);
bashd(["run", "seq 1 40000"]);
bashd(["run", "cargo build --release"]);
jobs.push(job("python3 -m http.server 8000 --bind 127.0.0.1; sleep 300"));
jobs.push(job("echo 'watching src for changes'; echo 'built in 312 ms'; sleep 300"));
jobs.push(job("read -rsp 'Passphrase for key shop@example.org: ' word; sleep 300", ["--pty"]));
fs.mkdirSync("scripts");
fs.writeFileSync("scripts/test", `#!/bin/bash\n${tests}\n`, { mode: 0o755 });
jobs.push(job("scripts/test --workspace --no-fail-fast"));
try {
  for (const colorScheme of ["dark", "light"]) {
    await withPage(
      async ({ page }) => {
        const asking = bashdAside(["run", "cd ~/src/shop && git push --force origin main"]);
        await page.locator(".ask").waitFor();
        await page.locator(".ask button:enabled").first().waitFor();
        await rowWith(page, "waits").waitFor();
        await page.screenshot({ path: path.join(here, `page-${colorScheme}.png`) });
        await page.locator(".ask button", { hasText: "Deny" }).click();
        await asking.done;
        await page.locator("#asks").waitFor({ state: "hidden" });
        await openRun(page, "scripts/test");
        await shows(page, "price_120");
        await page.locator("#run-pattern").fill("FAILED");
        await page.locator("#run-pattern").press("Enter");
        await page.locator("#run-hits", { hasText: "1 of" }).waitFor();
        await shows(page, "FAILED");
        await page.screenshot({ path: path.join(here, `run-${colorScheme}.png`) });
        await page.locator("#run-close").click();
        await page.locator("[data-view=then]").click();
        await page.locator("#past-rows tr", { hasText: "seq 1 40000" }).waitFor();
        await page.locator("#chart-clients li").nth(4).waitFor();
        await page.screenshot({ path: path.join(here, `then-${colorScheme}.png`) });
        await page.locator("#past-rows tr", { hasText: "seq 1 40000" }).first().locator("button").click();
        await page.locator("#call-shown", { hasText: "artifact://" }).waitFor();
        await page.locator("#call-raw", { hasText: "more: open the output" }).waitFor();
        await page.screenshot({ path: path.join(here, `call-${colorScheme}.png`) });
      },
      { colorScheme, viewport: { width: 1280, height: 720 } },
    );
  }
} finally {
  for (const one of jobs) bashd(["jobs", "kill", one.id]);
  fs.rmSync(home, { recursive: true, force: true });
}
