// What every browser case needs: a `bashd web` in the home of the test, commands of bashd beside it,
// and a page in a real Chromium whose complaints fail the case.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_MODULES, "harness.js"));
const { chromium } = require("playwright-core");
export const axeSource = require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const BASHD = process.env.BASHD;
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const LIMIT = Number(process.env.LIMIT ?? 20000);

// Nothing of the browser looks for the network.
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

/** A `bashd web`, to be ended. */
export class WebServer {
  static async start(words = ["--port", "0"]) {
    const server = new WebServer();
    server.child = spawn(BASHD, ["web", ...words], { stdio: ["ignore", "inherit", "pipe"] });
    server.links = [];
    server.lines = [];
    const lines = createInterface({ input: server.child.stderr });
    lines.on("line", (line) => {
      server.lines.push(line);
      const link = line.match(/https?:\/\/\S+#[0-9a-f]+/)?.[0];
      if (link) server.links.push(link);
    });
    await until(() => server.links.length > 0, () => `no link: ${server.lines.join("\n")}`);
    return server;
  }

  get link() {
    return this.links.at(-1);
  }

  get port() {
    return new URL(this.link).port;
  }

  async stop() {
    if (this.child.exitCode !== null) return;
    this.child.kill("SIGTERM");
    await once(this.child, "exit");
  }
}

/** Runs bashd to its end; its stdout. */
export function bashd(words, input) {
  const done = spawnSync(BASHD, words, { input, encoding: "utf8" });
  if (done.error) throw done.error;
  return done.stdout;
}

/** Starts bashd and does not wait: the promise is its end. */
export function bashdAside(words) {
  const child = spawn(BASHD, words, { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (out += text));
  const done = once(child, "exit").then(([code]) => ({ code, out }));
  return { child, done };
}

/** A background job; its description. */
export function job(command, words = []) {
  bashd(["run", "--background", ...words, command]);
  const lines = bashd(["jobs", "--all", "--json"]).trim().split("\n").filter(Boolean);
  return JSON.parse(lines.at(-1));
}

/** Waits for something to be so. */
export async function until(isSo, why = () => "", limit = LIMIT) {
  const begun = Date.now();
  for (;;) {
    const found = await isSo();
    if (found) return found;
    if (Date.now() - begun > limit) throw new Error(`not in time: ${isSo}\n${why()}`);
    await new Promise((done) => setTimeout(done, 25));
  }
}

/** A browser, and pages in it. */
export class TestBrowser {
  static async start(options = {}) {
    const browser = new TestBrowser();
    browser.browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET, headless: true });
    browser.context = await browser.browser.newContext({ viewport: { width: 1360, height: 820 }, ...options });
    browser.context.setDefaultTimeout(LIMIT);
    browser.complaints = [];
    return browser;
  }

  /** A page at a link. What the browser complains about is kept. */
  async page(link) {
    const page = await this.context.newPage();
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack}`));
    page.on("console", (message) => {
      const text = `${message.type()}: ${message.text()}`;
      // A server that is away, or refuses, is part of some cases.
      if (message.type() === "error" && !/Failed to load resource/.test(text)) this.complaints.push(text);
    });
    page.on("request", (request) => {
      const { hostname } = new URL(request.url());
      if (!["127.0.0.1", "localhost"].includes(hostname)) this.complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(link);
    return page;
  }

  async stop() {
    await this.browser.close();
    if (this.complaints.length) throw new Error(`the browser complained:\n${this.complaints.join("\n")}`);
  }
}

/** The row of the list with this text. */
export const rowWith = (page, text) => page.locator(".space .row", { hasText: text }).first();

/** Opens the run with this text. */
export async function openRun(page, text) {
  await rowWith(page, text).click();
  await page.locator("#run").waitFor();
}

/** What the terminal shows, as text. */
export const screenText = (page) => page.evaluate(() => [...document.querySelectorAll("#run-screen .xterm-rows > div")].map((row) => row.textContent).join("\n"));

/** Waits until the terminal shows a text, or a pattern. */
export async function shows(page, pattern) {
  let text = "";
  const isThere = () => (typeof pattern === "string" ? text.includes(pattern) : pattern.test(text));
  return until(async () => ((text = await screenText(page)), isThere() && text), () => `${pattern} in:\n${text}`);
}

export function assert(isSo, why) {
  if (!isSo) throw new Error(why);
}

/** Runs one case with a server and a browser, and ends both. */
export async function withPage(act, options = {}) {
  const server = await WebServer.start();
  const browser = await TestBrowser.start(options);
  try {
    const page = await browser.page(server.link);
    await page.locator("html[data-link=here]").waitFor({ state: "attached" });
    await act({ page, server, browser });
    await browser.stop();
  } finally {
    await browser.browser.close();
    await server.stop();
  }
}
