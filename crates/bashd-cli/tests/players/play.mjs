// Plays every export of a run in Chromium: casts by asciinema's player, the page and the pictures by themselves.
//
//   node play.mjs DIRECTORY NODE_MODULES
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const [directory, modules] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "x.js"))("playwright-core");

const fail = (text) => { throw new Error(text); };
// Blanks and breaks between parts of a line are the player's.
const bare = (text) => text.replaceAll(/\s/g, "");
const has = (text, part, where) => bare(text).includes(bare(part)) || fail(`${where} lacks ${JSON.stringify(part)}: ${JSON.stringify(text)}`);

// A page on loopback: asciinema's player fetches its cast.
const player = join(modules, "asciinema-player/dist/bundle");
const files = {
  "/player.js": [join(player, "asciinema-player.min.js"), "text/javascript"],
  "/player.css": [join(player, "asciinema-player.css"), "text/css"],
};
for (const name of ["two.cast", "three.cast", "page.html", "still.svg", "moving.svg"]) {
  const kind = name.endsWith(".html") ? "text/html" : name.endsWith(".svg") ? "image/svg+xml" : "application/x-asciicast";
  files["/" + name] = [join(directory, name), kind];
}
const page = (cast) => `<!doctype html><link rel="stylesheet" href="/player.css"><div id="p"></div><script src="/player.js"></script>
<script>window.player = AsciinemaPlayer.create("/${cast}", document.getElementById("p"), {speed: 4, fit: false});
player.addEventListener("ended", () => { window.isOver = true; }); player.play();</script>`;
const server = createServer(async (request, response) => {
  const known = files[request.url];
  const cast = request.url.match(/^\/play\/(.*)$/);
  response.setHeader("content-type", cast ? "text/html" : known ? known[1] : "text/plain");
  response.end(cast ? page(cast[1]) : known ? await readFile(known[0]) : "");
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const base = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const open = async (path) => {
    const tab = await browser.newPage();
    const heard = [];
    tab.on("console", (message) => message.type() === "error" && heard.push(message.text()));
    tab.on("pageerror", (error) => heard.push(String(error)));
    tab.on("dialog", (dialog) => { heard.push("dialog: " + dialog.message()); dialog.dismiss(); });
    tab.on("request", (request) => request.url().startsWith(base) || request.url().startsWith("data:") || heard.push("asked for " + request.url()));
    await tab.goto(base + path);
    return [tab, heard.filter.bind(heard, (text) => !text.includes("favicon"))];
  };
  for (const cast of ["two.cast", "three.cast"]) {
    const [tab, heard] = await open(`/play/${cast}`);
    await tab.waitForFunction(() => window.isOver, null, { timeout: 20000 });
    const text = await tab.locator(".ap-player").innerText();
    for (const part of ["red </script><img src=x onerror=alert(1)>", "link", "last", "日本"]) has(text, part, cast);
    const duration = await tab.evaluate(() => window.player.getDuration());
    if (!(duration > 0.7 && duration < 10)) fail(`${cast} takes ${duration} s`);
    if (heard(() => true).some((text) => text.startsWith("dialog"))) fail(heard(() => true).join("\n"));
  }
  {
    const [tab, heard] = await open("/page.html");
    const screen = () => tab.locator("#screen").innerText();
    has(await screen(), "last", "the page");
    await tab.locator("#seek").fill("100");
    if ((await screen()).includes("last")) fail("the page shows at its start what came at its end");
    has(await screen(), "red </script><img src=x onerror=alert(1)>", "the page at its start");
    await tab.locator("#speed").selectOption("4");
    await tab.locator("#seek").fill("0");
    await tab.locator("#play").press("Enter");
    await tab.waitForFunction(() => document.body.dataset.played === "yes", null, { timeout: 20000 });
    has(await screen(), "日", "the page");
    has(await tab.locator("h1").innerText(), "</script>", "its title");
    if (heard().length > 0) fail("the page: " + heard().join("\n"));
    const links = await tab.locator("a, img, iframe").count();
    if (links > 0) fail(`${links} elements that no player has`);
  }
  for (const [file, isMoving] of [["still.svg", false], ["moving.svg", true]]) {
    const [tab, heard] = await open("/" + file);
    const seen = () => tab.evaluate(() => [...document.querySelectorAll("text")].filter((text) => getComputedStyle(text).visibility === "visible").map((text) => text.textContent).join("\n"));
    if (isMoving) {
      await tab.evaluate(() => { document.documentElement.pauseAnimations(); document.documentElement.setCurrentTime(0.1); });
      if ((await seen()).includes("last")) fail("the moving picture shows at its start what came at its end");
      await tab.evaluate(() => document.documentElement.setCurrentTime(9));
    }
    has(await seen(), "last", file);
    has(await seen(), "</script><img src=x", file);
    if (heard().length > 0) fail(file + ": " + heard().join("\n"));
  }
  console.log("all played");
} finally {
  await browser.close();
  server.close();
}
