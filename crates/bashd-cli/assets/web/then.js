// What was: calls of the ledger that are looked for, charts of them, and the page of one call.

import { CallPane } from "./call.js";
import { drawBars, drawNames } from "./charts.js";
import { past, sums } from "./server.js";
import { duration, node, shortPath, size, visible } from "./words.js";

const byId = (id) => document.getElementById(id);
const PAGE = 100;
const DAY = 86400e3;

// How far back each word goes, in days.
const PERIODS = { today: 0, week: 6, month: 29, year: 364 };

/** The first moment of a day so many days ago. */
function midnight(days) {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime();
}

/** A number with a unit, such as 10s or 1 MiB; null if there is none. */
export function measure(text, units) {
  const found = /^\s*([\d.]+)\s*([a-z]*)\s*$/i.exec(text);
  if (!found) return null;
  const scale = units[found[2].toLowerCase()];
  return scale ? Math.round(Number(found[1]) * scale) : null;
}

const TIMES = { ms: 1, "": 1000, s: 1000, m: 60e3, h: 3600e3 };
const SIZES = { "": 1, b: 1, k: 1024, kb: 1e3, kib: 1024, m: 1024 ** 2, mb: 1e6, mib: 1024 ** 2, g: 1024 ** 3, gb: 1e9, gib: 1024 ** 3 };

export class ThenView {
  constructor(openRun) {
    this.view = byId("then");
    this.pane = new CallPane(openRun, () => this.last?.focus());
    this.turn = 0;
    const form = byId("past-form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.search();
    });
    let soon;
    form.addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(() => this.search(), 150);
    });
    byId("past-period").addEventListener("change", () => this.add());
    byId("past-more").addEventListener("click", () => this.more());
    byId("past-rows").addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) this.open(row);
    });
    byId("past-rows").addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows what was until now. */
  show() {
    this.view.hidden = false;
    byId("past-text").focus();
    this.search();
    this.add();
  }

  hide() {
    this.view.hidden = true;
    this.pane.close();
  }

  get isShown() {
    return !this.view.hidden;
  }

  since() {
    const period = byId("past-period").value;
    return period in PERIODS ? midnight(PERIODS[period]) : null;
  }

  /** What is looked for. */
  wish() {
    const text = (id) => byId(id).value.trim();
    const outcome = byId("past-outcome").value;
    const wish = { text: byId("past-text").value, client: text("past-client"), since: this.since(), limit: PAGE };
    if (outcome === "wrong") wish.failed = true;
    else if (outcome) wish.outcome = outcome;
    const session = text("past-session");
    if (session) wish.session = session === "(own)" ? "" : session;
    const longer = measure(text("past-longer"), TIMES);
    const larger = measure(text("past-larger"), SIZES);
    if (longer !== null) wish.longer_ms = longer;
    if (larger !== null) wish.larger = larger;
    for (const [id, value] of [["past-longer", longer], ["past-larger", larger]])
      byId(id).setAttribute("aria-invalid", String(text(id) !== "" && value === null));
    return wish;
  }

  async search() {
    this.turn += 1;
    const turn = this.turn;
    this.wanted = this.wish();
    const found = await this.ask(this.wanted);
    if (!found || turn !== this.turn) return;
    byId("past-rows").replaceChildren();
    this.list(found);
    // What is still missing in the index comes.
    clearTimeout(this.again);
    if (found.percent < 100) this.again = setTimeout(() => this.isShown && !byId("past-rows").contains(document.activeElement) && this.search(), 1500);
  }

  async more() {
    const turn = this.turn;
    const found = await this.ask({ ...this.wanted, before: this.next });
    if (found && turn === this.turn) this.list(found);
  }

  async ask(wish) {
    try {
      return await past(wish);
    } catch (error) {
      byId("past-said").textContent = error.message;
      return null;
    }
  }

  list(found) {
    this.next = found.next;
    const rows = found.calls.map(rowOf);
    byId("past-rows").append(...rows);
    const count = byId("past-rows").children.length;
    const said = [count ? `${count.toLocaleString("en")}${found.next === null ? "" : " and more"}` : "No call is like that."];
    if (found.percent < 100) said.push(`${found.percent} % of the ledger is indexed`);
    if (found.damaged) said.push(`${found.damaged} damaged lines skipped`);
    byId("past-said").textContent = said.join(" · ");
    byId("past-more").hidden = found.next === null;
    byId("past-table").hidden = !count;
  }

  /** The charts of the period. */
  async add() {
    let found;
    const since = this.since();
    try {
      found = await sums({ since });
    } catch (error) {
      byId("past-said").textContent = error.message;
      return;
    }
    const days = byDay(found.hours, since);
    drawBars(byId("chart-calls"), "Calls", days, (day) => [day.calls - day.failed, day.failed], (value) => value.toLocaleString("en"));
    drawBars(byId("chart-time"), "Time", days, (day) => [day.ms], duration);
    drawBars(byId("chart-tokens"), "Saved tokens", days, (day) => [Math.max(0, day.tokens)], (value) => `about ${value.toLocaleString("en")}`);
    drawNames(byId("chart-commands"), found.commands, (name) => this.fill("past-text", name));
    drawNames(byId("chart-clients"), found.clients, (name) => this.fill("past-client", name));
  }

  fill(id, text) {
    byId(id).value = text;
    this.search();
  }

  open(row) {
    this.last = row.querySelector("button");
    for (const other of byId("past-rows").querySelectorAll("tr.chosen")) other.classList.remove("chosen");
    row.classList.add("chosen");
    this.pane.open(row.dataset.id);
  }

  key(event) {
    const row = event.target.closest("tr");
    const to = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling, Home: row?.parentElement.firstElementChild, End: row?.parentElement.lastElementChild }[event.key];
    if (!to) return;
    event.preventDefault();
    to.querySelector("button").focus();
  }
}

/** Hours of UTC as days of this place, each one there. */
function byDay(hours, since) {
  const days = new Map();
  const start = (time) => new Date(time.getFullYear(), time.getMonth(), time.getDate());
  const none = (day) => ({ day, calls: 0, failed: 0, ms: 0, bytes: 0, tokens: 0 });
  const first = since ?? (hours.length ? hours[0].hour * 3600e3 : Date.now());
  for (let day = start(new Date(Math.max(first, Date.now() - 366 * DAY))); day <= new Date(); day = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1)) days.set(day.getTime(), none(day));
  for (const hour of hours) {
    const sum = days.get(start(new Date(hour.hour * 3600e3)).getTime());
    if (sum) for (const name of ["calls", "failed", "ms", "bytes", "tokens"]) sum[name] += hour[name];
  }
  return [...days.values()];
}

function rowOf(call) {
  const row = node("tr", call.failed ? "is-failed" : "is-done");
  row.dataset.id = call.id;
  const command = node("td", "command");
  const button = node("button", "plain", visible(call.command) || "(empty)");
  button.type = "button";
  command.append(button);
  const time = new Date(call.time).toLocaleString("sv");
  const where = call.place ? `${call.place}:${shortPath(call.cwd)}` : shortPath(call.cwd);
  const session = call.session === null ? "" : call.session || "(own)";
  row.append(node("td", "time", time), node("td", "state", call.word), command, node("td", "client", visible(call.owner)), node("td", "session", visible(session)), node("td", "where", visible(where)), node("td", "age", duration(call.took)), node("td", "bytes", call.bytes ? size(call.bytes) : ""));
  return row;
}
