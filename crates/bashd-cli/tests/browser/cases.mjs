// The cases of the page in a browser; `crates/bashd-cli/tests/it/web/browser.rs` runs them one by
// one: node cases.mjs NAME.

import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { TestBrowser, WebServer, assert, axeSource, bashd, bashdAside, job, openRun, rowWith, screenText, shows, until, withPage } from "./harness.mjs";

const RULE = "[[rules]]\nname = 'asks'\ndecision = 'ask'\nmessage = 'it loses work'\ncommand = 'made-up'\nexamples.deny = ['made-up']\nexamples.allow = ['true']\n";

/** Has commands that begin with `made-up` asked about. */
function askAboutMadeUp() {
  const file = bashd(["config", "path"]).trim();
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, RULE);
}

const value = (page, id) => page.locator(`#${id}`).inputValue();
const textOf = (page, selector) => page.locator(selector).textContent();
const kill = (id) => bashd(["jobs", "kill", id]);

/** Answers the question that is open by its button. */
async function answer(page, name) {
  const button = page.locator(".ask").first().getByRole("button", { name });
  await until(() => button.isEnabled());
  await button.click();
}

const cases = {
  /** What people do first, below ten seconds. */
  async smoke() {
    askAboutMadeUp();
    bashd(["run", "exit 3"]);
    const running = job("for n in $(seq 1 100000); do echo line $n; sleep 0.1; done");
    await withPage(async ({ page }) => {
      await rowWith(page, "exit 3").waitFor();
      await openRun(page, "for n in");
      await shows(page, /line 3\b/);
      const asking = bashdAside(["run", "made-up now"]);
      await page.locator(".ask").waitFor();
      assert((await page.title()).startsWith("(1)"), await page.title());
      await answer(page, "Deny");
      const { code } = await asking.done;
      assert(code === 126, `it ended with ${code}`);
      await page.locator("#asks").waitFor({ state: "hidden" });
      const looking = bashdAside(["run", "--effects", "ask", "echo '<b>new' >made-here"]);
      await page.locator(".ask .effects .good", { hasText: "+<b>new" }).waitFor();
      assert(!fs.existsSync("made-here"), "it was real before anybody looked");
      await answer(page, "Make it real");
      assert((await looking.done).code === 0 && fs.existsSync("made-here"), "it is not real");
      await page.locator("#asks").waitFor({ state: "hidden" });
      await page.locator("#run-end").click();
      await page.locator("#ending-yes").click();
      await page.locator("#ending-said", { hasText: "it was ended" }).waitFor();
      await page.locator("#ending-no").click();
      await page.locator("#run-state", { hasText: "signal" }).waitFor();
    });
    bashd(["jobs", "rm", running.id]);
  },

  async follow() {
    const running = job("seq 1 3000; for n in $(seq 1 100000); do printf '\\033[31mred %s\\033[0m\\n' $n; sleep 0.05; done");
    await withPage(async ({ page }) => {
      await openRun(page, "seq 1 3000");
      await shows(page, /red 5\b/);
      const color = await page.evaluate(() => {
        const spans = [...document.querySelectorAll("#run-screen .xterm-rows span")];
        return getComputedStyle(spans.find((span) => span.textContent.startsWith("red"))).color;
      });
      const [red, green, blue] = color.match(/\d+/g).map(Number);
      assert(red > green + 40 && red > blue + 40, `red is ${color}`);
      // Who scrolls back stays there, while more comes.
      await page.locator("#run-screen").hover();
      await page.mouse.wheel(0, -4000);
      await page.locator("#run-follow[aria-pressed=false]").waitFor();
      const still = await screenText(page);
      await page.waitForFunction((before) => document.querySelector(".space .row .bytes").textContent !== before, await page.locator(".space .row .bytes").first().textContent());
      assert((await screenText(page)) === still, "it moved under the reader");
      await page.locator("#run-first").click();
      await shows(page, /^1\n2\n3\n/);
      await page.locator("#run-follow").click();
      const last = Number((await shows(page, /red \d+/)).match(/red (\d+)/)[1]);
      await shows(page, new RegExp(`red ${last + 30}\\b`));
    });
    kill(running.id);
  },

  async search() {
    const running = job("seq 1 60000; echo 'the END of it'; sleep 300");
    await withPage(async ({ page }) => {
      await openRun(page, "seq 1 60000");
      await shows(page, "the END of it");
      const find = async (pattern) => {
        await page.locator("#run-pattern").fill(pattern);
        await page.locator("#run-pattern").press("Enter");
      };
      await find("^3999[7-9]$");
      await page.locator("#run-hits", { hasText: "1 of 3" }).waitFor();
      await shows(page, "39997\n39998");
      await until(async () => (await page.evaluate(() => getSelection().toString() || document.querySelectorAll(".xterm-selection div").length)) !== 0);
      await page.locator("#run-next").click();
      await page.locator("#run-hits", { hasText: "2 of 3" }).waitFor();
      await page.locator("#run-previous").click();
      await page.locator("#run-previous").click();
      await page.locator("#run-hits", { hasText: "3 of 3" }).waitFor();
      await find("no such thing");
      await page.locator("#run-hits", { hasText: "no hit" }).waitFor();
      await find("(");
      await page.locator("#run-hits", { hasText: "unclosed" }).waitFor();
    });
    kill(running.id);
  },

  async seek() {
    const bytes = 1024 ** 3;
    bashd(["--set", "jobs.output_bytes=2GiB", "run", "--background", `echo FIRST; yes 'abcdefghijklmnopqrstuvwxyz 0123456789' | head -c ${bytes}; echo; echo LAST; sleep 300`]);
    // A gibibyte takes a busy machine longer than any answer of the page.
    const written = () => JSON.parse(bashd(["jobs", "show", "bg_1", "--json"])).output_bytes;
    await until(() => written() > bytes, () => `${written()} bytes`, 90000);
    await withPage(async ({ page }) => {
      await openRun(page, "echo FIRST");
      await until(async () => /1 GiB of 1 GiB/.test(await textOf(page, "#run-where")), () => "no end");
      await shows(page, "LAST").catch(async (error) => {
        throw new Error(`${await textOf(page, "#run-where")} ${await page.locator("#run-follow").getAttribute("aria-pressed")} ${error}`);
      });
      const begun = Date.now();
      await page.locator("#run-first").click();
      await shows(page, /^FIRST\n/);
      const took = Date.now() - begun;
      assert(took < 2000, `the first byte took ${took} ms`);
      // On from there, over the end of what was loaded first.
      const press = async (key) => {
        for (let turn = 0; turn < 20; turn += 1) await page.keyboard.press(key);
        return Number(await value(page, "run-offset"));
      };
      await page.locator("#run-screen").focus();
      await until(async () => (await press("PageDown")) > 400 * 1024, () => "it did not go on");
      // The middle, and back up over its beginning.
      await page.locator("#run-offset").fill(String(bytes / 2));
      await until(async () => Math.abs(Number(await value(page, "run-offset")) - bytes / 2) < 4096);
      await shows(page, "abcdefghij");
      await page.locator("#run-screen").focus();
      await until(async () => bytes / 2 - (await press("PageUp")) > 200 * 1024, () => "it did not go back");
      await shows(page, /^(abcdefghijklmnopqrstuvwxyz 0123456789\n)+/);
      const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
      assert(heap < 150e6, `the page has ${heap} bytes`);
      await page.locator("#run-last").click();
      await shows(page, "LAST");
      // Who goes to the end while more is loaded for another place is there, and stays there.
      for (let turn = 1; turn < 4; turn += 1) {
        await page.locator("#run-offset").fill(String((bytes / 4) * turn));
        await until(async () => Math.abs(Number(await value(page, "run-offset")) - (bytes / 4) * turn) < 4096);
        await page.locator("#run-screen").focus();
        for (let times = 0; times < 150; times += 1) await page.keyboard.press("PageUp");
        await page.keyboard.press("End");
        await shows(page, /\nLAST\s*$/);
        await page.waitForTimeout(300);
        assert(/\nLAST\s*$/.test(await screenText(page)), `what was on its way came after the end: ${await screenText(page)}`);
      }
    });
    const jobs = bashd(["jobs", "--all", "--json"]).trim().split("\n");
    kill(JSON.parse(jobs.at(-1)).id);
  },

  async typing() {
    const running = job("read -rsp 'Password: ' word; echo; echo \"it has ${#word} letters\"; sleep 300", ["--pty"]);
    await withPage(async ({ page }) => {
      await openRun(page, "read -rsp");
      await shows(page, "Password:");
      await rowWith(page, "waits").waitFor();
      await page.locator("#run-screen .xterm-helper-textarea").focus();
      await page.keyboard.type("open sesame");
      await page.keyboard.press("Enter");
      await shows(page, "it has 11 letters");
      const html = await page.content();
      assert(!html.includes("sesame"), "the password is in the page");
      await page.locator("#run-fit").click();
      await until(() => /^1[0-9]{2},/.test(String(JSON.parse(bashd(["jobs", "show", running.id, "--json"])).terminal)));
    });
    kill(running.id);
    // A run without a terminal takes lines.
    const lines = job("read -r word; echo \"got $word\"; cat; echo over; sleep 300", ["--stdin-open"]);
    await withPage(async ({ page }) => {
      await openRun(page, "read -r word");
      await page.locator("#run-line").fill("a <b>line</b>");
      await page.locator("#run-line").press("Enter");
      await shows(page, "got a <b>line</b>");
      await page.locator("#run-eof").click();
      await shows(page, "over");
    });
    kill(lines.id);
  },

  async approvals() {
    askAboutMadeUp();
    await withPage(async ({ page, browser }) => {
      const other = await browser.context.newPage();
      await other.goto(page.url());
      const asking = bashdAside(["run", "cd / && made-up <b>x</b>; echo done"]);
      const card = page.locator(".ask");
      await card.waitFor();
      await other.locator(".ask").waitFor();
      const shown = await card.innerText();
      assert(shown.includes("asks") && shown.includes("it loses work"), shown);
      const marks = await textOf(page, ".ask .marks");
      assert(marks.indexOf("^") === 8, `the carets are at ${marks}`);
      assert((await other.title()) === "(1) asks · bashd", await other.title());
      await answer(page, "Allow once");
      const { out } = await asking.done;
      assert(out.includes("done"), out);
      // The other page sees it, too.
      await other.locator("#asks").waitFor({ state: "hidden" });
      await until(async () => (await other.title()) === "bashd");
      const denied = bashdAside(["run", "made-up two"]);
      await card.waitFor();
      await answer(page, "Deny");
      assert((await denied.done).code === 126, "it was not denied");
      // What was allowed for the session or for good is not asked again.
      const always = bashdAside(["run", "made-up always"]);
      await card.waitFor();
      await answer(page, "Always allow");
      assert((await always.done).code === 127, "it did not run");
      assert((await bashdAside(["run", "made-up always"]).done).code === 127, "it was asked again");
      // Who looks elsewhere is told by the browser, and a click leads to the question.
      await browser.context.grantPermissions(["notifications"]);
      await page.evaluate(() => {
        const Real = window.Notification;
        window.told = [];
        window.Notification = class extends Real {
          constructor(title, options) {
            super(title, options);
            window.told.push(this);
          }
        };
        Object.defineProperty(document, "hidden", { configurable: true, get: () => window.isAway });
        window.isAway = true;
      });
      const told = bashdAside(["run", "made-up <b>told</b>"]);
      await page.waitForFunction(() => window.told.length === 1);
      const notice = await page.evaluate(() => [window.told[0].title, window.told[0].body]);
      assert(notice[0] === "bashd asks" && notice[1] === "made-up <b>told</b>", notice.join(" "));
      await page.evaluate(() => {
        window.isAway = false;
        window.told[0].dispatchEvent(new Event("click"));
      });
      await until(() => page.evaluate(() => document.activeElement.closest(".ask") !== null));
      await answer(page, "Deny");
      await told.done;
      await page.locator("#asks").waitFor({ state: "hidden" });
      // One who asks and goes away takes the card along.
      const gone = bashdAside(["run", "made-up gone"]);
      await card.waitFor();
      gone.child.kill("SIGKILL");
      await page.locator("#asks").waitFor({ state: "hidden" });
    });
  },

  async ending() {
    const running = job("sleep 301 & (sleep 302; true) & wait");
    await withPage(async ({ page }) => {
      await openRun(page, "sleep 301");
      await page.locator("#run-tree").click();
      const tree = page.locator("#ending-tree");
      await tree.getByText("sleep 302", { exact: true }).waitFor();
      await page.locator("#ending-no").click();
      await page.locator("#run-signal").selectOption("STOP");
      await page.locator("#run-remark", { hasText: "got STOP" }).waitFor();
      await page.locator("#run-signal").selectOption("CONT");
      await page.locator("#run-end").click();
      await tree.getByText("sleep 301", { exact: true }).waitFor();
      await page.locator("#ending-yes").click();
      await page.locator("#ending-said", { hasText: "it was ended" }).waitFor();
      const left = await tree.locator("li span:not(.pid):not(.gone)").count();
      assert(left === 0, `${left} are left`);
      await page.locator("#ending-no").click();
      await rowWith(page, "signal").waitFor();
    });
    bashd(["jobs", "rm", running.id]);
  },

  /** With no network but the loopback: the page asks for nothing else, also when it is loaded again. */
  async offline() {
    const away = await new Promise((done) => {
      const socket = net.connect({ host: "192.0.2.1", port: 80 });
      socket.on("error", (error) => done(error.code));
      socket.on("connect", () => done("connected"));
    });
    assert(away === "ENETUNREACH", `there is a network: ${away}`);
    bashd(["run", "seq 1 30000"]);
    const running = job("seq 1 300; echo here; sleep 300");
    await withPage(async ({ page }) => {
      for (let turn = 0; turn < 2; turn += 1) {
        await openRun(page, "echo here");
        await shows(page, "300\nhere");
        await page.keyboard.press("Escape");
        await page.locator("[data-view=then]").click();
        await page.locator("#past-rows tr", { hasText: "seq 1 30000" }).locator("button").click();
        await page.locator("#call-shown", { hasText: "artifact://" }).waitFor();
        const fonts = await page.evaluate(() => getComputedStyle(document.body).color);
        assert(fonts !== "rgb(0, 0, 0)", "its style is missing");
        await page.reload();
        await page.locator("html[data-link=here]").waitFor({ state: "attached" });
      }
    });
    kill(running.id);
  },

  async restart() {
    askAboutMadeUp();
    const running = job("for n in $(seq 1 100000); do echo line $n; sleep 0.1; done");
    const server = await WebServer.start();
    const browser = await TestBrowser.start();
    const page = await browser.page(server.link);
    const { port } = server;
    await openRun(page, "for n in");
    await shows(page, /line 2\b/);
    // Nobody tells a page that is away that these are gone.
    const doomed = bashdAside(["run", "echo doomed; sleep 300"]);
    await rowWith(page, "echo doomed").waitFor();
    const asking = bashdAside(["run", "made-up doomed"]);
    await page.locator(".ask").waitFor();
    await server.stop();
    await page.locator("html[data-link=away]").waitFor({ state: "attached" });
    for (const { child, done } of [doomed, asking]) {
      child.kill("SIGKILL");
      await done;
    }
    bashd(["run", "echo while away"]);
    const again = await WebServer.start(["--port", port]);
    await page.locator("html[data-link=here]").waitFor({ state: "attached" });
    await rowWith(page, "echo while away").waitFor();
    await page.locator(".space .row", { hasText: "echo doomed" }).filter({ hasText: "lost" }).waitFor();
    await page.locator("#asks").waitFor({ state: "hidden" });
    assert((await page.title()) === "bashd", await page.title());
    // The run that was open goes on where it was.
    const last = Number((await shows(page, /line \d+/)).match(/line (\d+)\D*$/)[1]);
    await shows(page, new RegExp(`line ${last + 5}\\b`));
    const text = await screenText(page);
    const numbers = [...text.matchAll(/line (\d+)/g)].map((match) => Number(match[1]));
    assert(numbers.every((number, at) => at === 0 || number === numbers[at - 1] + 1), `lines are missing: ${numbers}`);
    await page.reload();
    await rowWith(page, "for n in").waitFor();
    // A used link does not shut a browser out that was let in.
    await page.goto(server.links[0]);
    await rowWith(page, "for n in").waitFor();
    // One that was never let in sees nothing.
    const stranger = await TestBrowser.start();
    const outside = await stranger.page(server.links[0]);
    await outside.locator("#stranger").waitFor();
    assert((await outside.locator(".space .row").count()) === 0, "a stranger sees calls");
    await stranger.stop();
    await browser.stop();
    await again.stop();
    kill(running.id);
  },

  async keyboard() {
    askAboutMadeUp();
    const running = job("seq 1 500; sleep 300");
    await withPage(async ({ page }) => {
      const keys = page.keyboard;
      await rowWith(page, "seq 1 500").waitFor();
      await keys.press("ArrowDown");
      await keys.press("Enter");
      await shows(page, "500");
      // From the list to the output, by Tab alone.
      const focused = () => page.evaluate(() => document.activeElement?.id ?? "");
      for (let turn = 0; turn < 30 && (await focused()) !== "run-screen"; turn += 1) await keys.press("Tab");
      assert((await focused()) === "run-screen", `the output is not reached: ${await focused()}`);
      await keys.press("Home");
      await shows(page, /^1\n2\n/);
      await keys.press("PageDown");
      await until(async () => !(await screenText(page)).startsWith("1\n"));
      await keys.press("/");
      assert((await focused()) === "run-pattern", "no search by key");
      await keys.type("^250$");
      await keys.press("Enter");
      await shows(page, "250");
      const asking = bashdAside(["run", "made-up key"]);
      await page.locator(".ask").waitFor();
      await until(() => page.locator(".ask button").first().isEnabled());
      await keys.press("Escape");
      await keys.press("Escape");
      await keys.press("a");
      await keys.press("d");
      assert((await asking.done).code === 126, "it was not denied by key");
      await page.locator("#asks").waitFor({ state: "hidden" });
      await page.locator("#list").focus();
      await keys.press("Home");
      await keys.press("x");
      await page.locator("#ending[open]").waitFor();
      assert((await focused()) === "ending-no", "what ends it must not be under the first key");
      await keys.press("Shift+Tab");
      await keys.press("Enter");
      await page.locator("#ending-said", { hasText: "it was ended" }).waitFor();
      await keys.press("Escape");
      await keys.press("Escape");
      await page.locator("#run").waitFor({ state: "hidden" });
      await keys.press("?");
      await page.locator("#help[open]").waitFor();
      await keys.press("Escape");
    });
    bashd(["jobs", "rm", running.id]);
    // A terminal that takes keys is left by one.
    const program = job("cat", ["--pty"]);
    await withPage(async ({ page }) => {
      await openRun(page, "cat");
      await page.locator("#run-screen .xterm-helper-textarea").focus();
      await page.keyboard.type("typed");
      await shows(page, "typed");
      await page.keyboard.press("Control+]");
      assert((await page.evaluate(() => document.activeElement.id)) === "run-close", "the terminal keeps the keyboard");
    });
    kill(program.id);
  },

  async hostile() {
    const evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";
    const script = path.join(process.cwd(), "hostile.sh");
    const escape = "\\033";
    fs.writeFileSync(
      script,
      [
        `printf '%s\\n' '${evil}'`,
        `printf '${escape}]8;;javascript:alert(3)${escape}\\\\a link${escape}]8;;${escape}\\\\\\n'`,
        `printf '${escape}]8;;https://evil.example/${escape}\\\\another${escape}]8;;${escape}\\\\\\n'`,
        `printf '${escape}]52;c;ZXZpbA==${escape}\\\\'`,
        `printf '${escape}]0;evil title${escape}\\\\${escape}]2;evil title\\a'`,
        `printf '${escape}[c${escape}[6n${escape}]11;?${escape}\\\\${escape}[21t'`,
        "printf 'safe \\342\\200\\256 desrever \\342\\200\\254\\n'",
        "head -c 1000000 /dev/zero | tr '\\0' x; echo",
        "head -c 100000 /dev/urandom; echo; echo THE-END; sleep 300",
      ].join("\n"),
    );
    const first = job(`sh ${script} # ${evil} \u202e evil`);
    const second = job(`sh ${script}; read -r x`, ["--pty"]);
    await withPage(async ({ page, browser }) => {
      page.on("dialog", (dialog) => browser.complaints.push(`a dialog: ${dialog.message()}`));
      await browser.context.grantPermissions(["clipboard-read"]).catch(() => {});
      for (const id of [first.id, second.id]) {
        await page.locator(`.space .row[data-id="${id}"]`).click();
        await shows(page, "THE-END");
        await page.locator("#run-first").click();
        const top = await shows(page, "onerror=alert");
        assert(top.includes("</script>"), top);
        assert((await page.locator("#run-screen a").count()) === 0, "there is a link");
        await page.locator("#run-screen").getByText("a link").first().click({ force: true });
        const text = await screenText(page);
        assert(!/[\u202a-\u202e]/.test(text) && text.includes("safe \ufffd"), "text is turned around");
      }
      assert((await page.locator("img").count()) === 1, "there is a picture that is not ours");
      assert(!(await page.title()).includes("evil"), "the title is not ours");
      const command = await rowWith(page, "onerror").locator(".command").textContent();
      assert(command.includes("<img") && !command.includes("\u202e"), command);
      assert(page.context().pages().length === 1, "a page was opened");
      // No answer to the questions of the output was typed into the program.
      const stored = bashd(["jobs", "output", second.id, "--tail", "3"]);
      assert(!/\[\?|\[\d+;\d+R|rgb:/.test(stored.split("THE-END").at(-1)), "the page answered for the terminal");
    });
    kill(first.id);
    kill(second.id);
  },

  async accessible() {
    askAboutMadeUp();
    const running = job("seq 1 300; sleep 300");
    const typed = job("cat", ["--pty"]);
    bashd(["run", "exit 3"]);
    for (const colorScheme of ["dark", "light"]) {
      await withPage(
        async ({ page, browser }) => {
          const check = async (where) => {
            // The checker is not of the page: it comes in by the driver.
            const found = await page.evaluate(`(() => { ${axeSource}; return axe.run(document); })()`);
            const broken = found.violations.map((one) => `${one.id}: ${one.help}\n    ${one.nodes.map((node) => node.html.slice(0, 160)).join("\n    ")}`);
            assert(broken.length === 0, `${colorScheme}, ${where}:\n  ${broken.join("\n  ")}`);
          };
          await rowWith(page, "seq 1 300").waitFor();
          await check("list");
          const asking = bashdAside(["run", "made-up access"]);
          await page.locator(".ask").waitFor();
          await until(() => page.locator(".ask button").first().isEnabled());
          await check("question");
          await openRun(page, "seq 1 300");
          await shows(page, "300");
          await check("run");
          await page.locator("#run-end").click();
          await page.locator("#ending[open] li").first().waitFor();
          await check("end");
          await page.locator("#ending-no").click();
          await openRun(page, "cat");
          await page.locator("#run-fit").waitFor();
          await check("terminal");
          await page.locator("#run-close").click();
          await page.locator("[data-view=then]").click();
          await page.locator("#past-rows tr").first().waitFor();
          await check("then");
          await page.locator("#past-rows tr button").first().click();
          await page.locator("#call-facts dt").first().waitFor();
          await check("call");
          await page.locator("[data-view=now]").click();
          await answer(page, "Deny");
          await asking.done;
          browser.complaints = browser.complaints.filter((text) => !/axe|Content Security Policy/.test(text));
        },
        { colorScheme },
      );
    }
    kill(running.id);
    kill(typed.id);
  },

  async thousand() {
    // Jobs of an hour ago, as their directories show them.
    const pattern = job("sleep 0.6; echo done");
    await until(() => JSON.parse(bashd(["jobs", "show", pattern.id, "--json"])).state === "exited");
    const from = path.dirname(JSON.parse(bashd(["jobs", "show", pattern.id, "--json"])).output_file);
    for (let number = 0; number < 999; number += 1) {
      const id = pattern.id.slice(0, -4) + number.toString(36).padStart(4, "0");
      if (id === pattern.id) continue;
      const to = path.join(path.dirname(from), id);
      fs.cpSync(from, to, { recursive: true, filter: (file) => !fs.lstatSync(file).isSocket() });
      for (const name of fs.readdirSync(to)) {
        const file = path.join(to, name);
        const text = fs.readFileSync(file, "latin1");
        if (text.includes(pattern.id)) fs.writeFileSync(file, text.replaceAll(pattern.id, id).replaceAll("bg_1", `bg_${number + 2}`), "latin1");
      }
    }
    const count = bashd(["jobs", "--all", "--json"]).trim().split("\n").length;
    assert(count >= 999, `there are only ${count} jobs`);
    await withPage(async ({ page }) => {
      await until(async () => Number(await page.locator("#list").getAttribute("aria-rowcount")) > 990);
      const drawn = await page.locator(".space .row").count();
      assert(drawn < 100, `${drawn} rows are in the page`);
      const begun = Date.now();
      await page.reload();
      await until(async () => Number(await page.locator("#list").getAttribute("aria-rowcount")) > 990);
      const loaded = Date.now() - begun;
      const painted = Number(await page.evaluate(() => document.documentElement.dataset.painted));
      const script = await page.evaluate(() => performance.getEntriesByType("longtask").reduce((sum, task) => sum + task.duration, 0));
      console.log(`first paint with ${count} jobs: ${painted} ms of script for the rows, ${loaded} ms from reload to rows`);
      assert(painted < 200 && script < 200, `the first paint took ${painted} ms of script, ${script} ms of long tasks`);
    });
  },

  async past() {
    for (const command of ["yes 'the same line' | head -n 3000", "echo alpha", "exit 3", "seq 1 30000", "echo '</script><img src=x onerror=alert(1)>'"]) bashd(["run", command]);
    bashd(["run", "--record", "--env", "GREETING=hello", "echo first; sleep 0.4; printf '\\033[32mgreen\\033[0m\\n'; sleep 0.4; echo last"]);
    await withPage(async ({ page }) => {
      const rows = page.locator("#past-rows tr");
      await page.locator("body").press("t");
      await rows.nth(5).waitFor();
      assert((await value(page, "past-text")) === "", "the key was typed into the search");
      assert((await page.locator("#chart-calls svg").getAttribute("aria-label")).startsWith("Calls: 6 in 30 days"), "the chart");
      const client = page.locator("#chart-clients li", { hasText: "cli:" });
      // Calls, failed ones, time and saved tokens, beside a name that can be read.
      const numbers = await client.locator("span:not(.name, .bar)").allTextContents();
      assert(numbers[0] === "6" && numbers[1] === "1" && /s$/.test(numbers[2]) && /\d/.test(numbers[3]), numbers.join(" "));
      const hasRoom = await client.evaluate((line) => line.scrollWidth <= line.clientWidth && line.querySelector(".name").scrollWidth <= line.querySelector(".name").clientWidth);
      assert(hasRoom, "there is no room for names");
      // Filters, by keyboard alone.
      await page.locator("#past-text").fill("ALPHA");
      await until(async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes("alpha"));
      assert((await rows.first().innerText()).includes("echo alpha"), await rows.first().innerText());
      await page.locator("#past-text").fill("");
      await page.locator("#past-outcome").selectOption("wrong");
      await until(async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes("exit 3"));
      await page.locator("#past-outcome").selectOption("");
      await page.locator("#past-larger").fill("100k");
      await until(async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes("seq 1 30000"));
      await page.locator("#past-larger").fill("nonsense");
      await page.locator("#past-larger[aria-invalid=true]").waitFor();
      await rows.nth(5).waitFor();
      await page.locator("#past-larger").fill("100k");
      await until(async () => (await rows.count()) === 1);
      // A call's page: raw and as the model saw it.
      await rows.first().locator("button").focus();
      await page.keyboard.press("Enter");
      await page.locator("#call-shown", { hasText: "artifact://" }).waitFor();
      await page.locator("#call-raw", { hasText: "more: open the output" }).waitFor();
      await page.locator("#call-open").click();
      await shows(page, "30000");
      await page.keyboard.press("Escape");
      await page.locator("body").press("t");
      await page.locator("#past-larger").fill("");
      await page.locator("#past-text").fill("onerror");
      await until(async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes("onerror"));
      await rows.first().locator("button").click();
      await page.locator("#call-given", { hasText: "<img src=x onerror=alert(1)>" }).waitFor();
      assert((await page.locator("#call img").count()) === 0, "text became markup");
      // A recording is played, and moved in.
      await page.locator("#past-text").fill("GREEN");
      await until(async () => (await rows.count()) === 1 && (await rows.first().innerText()).includes("green"));
      await rows.first().locator("button").click();
      await page.locator("#call-facts", { hasText: "GREETING=hello" }).waitFor();
      await page.locator("#call-play").click();
      const played = () => page.evaluate(() => [...document.querySelectorAll("#player-screen .xterm-rows > div")].map((row) => row.textContent).join("\n"));
      await until(async () => /first[^]*green[^]*last/.test(await played()), played);
      await page.locator("#player-toggle", { hasText: "Play" }).waitFor();
      await page.locator("#player-seek").fill("200");
      await until(async () => /first/.test(await played()) && !/green/.test(await played()), played);
      await page.locator("#player-toggle").click();
      await until(async () => /last/.test(await played()), played);
      await page.keyboard.press("Escape");
      await page.locator("#call").waitFor({ state: "hidden" });
    });
  },

  async full_screen() {
    if (!fs.existsSync("/usr/bin/vim")) return console.log("vim is missing");
    fs.writeFileSync("text", Array.from({ length: 200 }, (_, number) => `the line ${number + 1}`).join("\n"));
    const running = job("vim -u NONE -N text", ["--pty"]);
    await withPage(async ({ page }) => {
      await openRun(page, "vim");
      await shows(page, /the line 1 *\n/);
      await page.locator("#run-screen .xterm-helper-textarea").focus();
      await page.keyboard.type("G");
      await shows(page, "the line 200");
      await page.keyboard.type("ofrom the page");
      await page.keyboard.press("Escape");
      await page.keyboard.type(":wq\r");
      await rowWith(page, "exit 0").waitFor();
    });
    assert(fs.readFileSync("text", "utf8").includes("from the page"), "nothing was written");
    bashd(["jobs", "rm", running.id]);
  },
};

const name = process.argv[2];
if (!cases[name]) throw new Error(`there is no case ${name}: ${Object.keys(cases).join(", ")}`);
await cases[name]();
