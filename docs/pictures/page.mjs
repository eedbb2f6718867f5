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

const tests = String.raw`printf '\033[1m   Compiling\033[0m shop v0.3.1\n    Finished test in 4.21s\n\nrunning 248 tests\n'; for n in $(seq 1 120); do if [ $((n % 41)) = 7 ]; then printf 'test cart::discount_%03d ... \033[31mFAILED\033[0m\n' $n; else printf 'test cart::price_%03d ... \033[32mok\033[0m\n' $n; fi; sleep 0.005; done; sleep 300`;
const jobs = [];
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
      },
      { colorScheme, viewport: { width: 1280, height: 720 } },
    );
  }
} finally {
  for (const one of jobs) bashd(["jobs", "kill", one.id]);
  fs.rmSync(home, { recursive: true, force: true });
}
