// The list of calls and jobs. Only the rows that can be seen are in the page, so that a thousand
// cost no more than thirty.

import { duration, node, shortPath, size, visible } from "./words.js";

const ROW = 28;
const SPARE = 8;
const CELLS = ["state", "command", "last", "client", "session", "where", "age", "bytes"];

export const isLive = (row) => row.state !== "ended" && row.state !== "lost";

/** The class for the colour of a row's state. */
export function tone(row) {
  if (row.state === "asks") return "is-asking";
  if (row.state === "waiting") return "is-waiting";
  if (row.failed) return "is-failed";
  return isLive(row) ? "is-live" : "is-done";
}

/** Its session, as people read it. */
export const sessionOf = (row) => (row.session === null ? "" : row.session || "(own)");

const rank = (row) => (row.state === "asks" || row.state === "waiting" ? 0 : isLive(row) ? 1 : 2);

export class CallList {
  constructor(grid, space, nothing, open) {
    Object.assign(this, { grid, space, nothing, open });
    this.rows = new Map();
    this.shown = [];
    this.used = new Map();
    this.filter = "all";
    this.text = "";
    this.chosen = null;
    this.offset = 0;
    grid.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(grid);
    grid.addEventListener("keydown", (event) => this.key(event));
    space.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(row.dataset.id, true);
    });
    setInterval(() => this.draw(), 1000);
  }

  /** What happened; `isAll` if nothing else is there. With `known`, only these and `rows` are there. */
  tell({ rows, gone, known, now }, isAll) {
    this.offset = now - Date.now();
    if (isAll) this.rows.clear();
    if (known) {
      const kept = new Set(known);
      for (const id of this.rows.keys()) if (!kept.has(id)) this.rows.delete(id);
    }
    for (const row of rows) this.rows.set(row.id, row);
    for (const id of gone) this.rows.delete(id);
    this.sort();
  }

  show(filter, text) {
    this.filter = filter;
    this.text = text.toLowerCase();
    this.grid.scrollTop = 0;
    this.sort();
  }

  wants(row) {
    if (this.filter === "live" && !isLive(row)) return false;
    if (this.filter === "failed" && !row.failed) return false;
    if (!this.text) return true;
    const texts = [row.command, row.owner, row.session, row.cwd, row.place, row.job, row.word, row.id];
    return texts.some((text) => text?.toLowerCase().includes(this.text));
  }

  sort() {
    this.shown = [...this.rows.values()].filter((row) => this.wants(row));
    this.shown.sort((one, other) => rank(one) - rank(other) || other.since - one.since);
    this.space.style.height = `${this.shown.length * ROW}px`;
    this.grid.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.nothing.hidden = this.shown.length > 0;
    this.nothing.textContent = this.rows.size
      ? "No call is like that."
      : "Nothing yet: calls of every bashd of yours appear here as they come in.";
    this.draw();
  }

  /** How long it takes or took. */
  millis(row) {
    return row.took ?? Date.now() + this.offset - row.since;
  }

  draw() {
    const first = Math.max(0, Math.floor(this.grid.scrollTop / ROW) - SPARE);
    const last = Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / ROW) + SPARE;
    const seen = new Set();
    for (const [number, row] of this.shown.slice(first, last).entries()) {
      seen.add(row.id);
      let element = this.used.get(row.id);
      if (!element) {
        element = makeRow(row.id);
        this.used.set(row.id, element);
        this.space.append(element);
      }
      this.fill(element, row, first + number);
    }
    for (const [id, element] of this.used) {
      if (seen.has(id)) continue;
      element.remove();
      this.used.delete(id);
    }
    this.point();
  }

  fill(element, row, number) {
    element.style.transform = `translateY(${number * ROW}px)`;
    element.setAttribute("aria-rowindex", String(number + 2));
    element.setAttribute("aria-selected", String(row.id === this.chosen));
    element.children[6].textContent = duration(this.millis(row));
    if (element.row === row) return;
    element.row = row;
    element.className = `row ${tone(row)}`;
    const where = row.place ? `${row.place}:${shortPath(row.cwd)}` : shortPath(row.cwd);
    const texts = [row.word, row.command, row.last_line, row.owner, sessionOf(row), where];
    texts.forEach((text, at) => (element.children[at].textContent = visible(text)));
    element.children[7].textContent = row.bytes ? size(row.bytes) : "";
  }

  point() {
    const element = this.used.get(this.chosen);
    if (element) this.grid.setAttribute("aria-activedescendant", element.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  choose(id, opens) {
    this.chosen = id;
    this.draw();
    if (opens) this.open(id);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = this.shown.findIndex((row) => row.id === this.chosen);
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      this.open(this.chosen);
    } else if (event.key in steps && this.shown.length) {
      event.preventDefault();
      const next = Math.min(this.shown.length - 1, Math.max(0, at < 0 ? 0 : at + steps[event.key]));
      const top = next * ROW;
      const room = this.grid.clientHeight - 2 * ROW;
      if (top < this.grid.scrollTop) this.grid.scrollTop = top;
      else if (top > this.grid.scrollTop + room) this.grid.scrollTop = top - room;
      this.choose(this.shown[next].id, false);
    }
  }
}

let number = 0;

function makeRow(id) {
  const element = node("div", "row");
  element.id = `row-${(number += 1)}`;
  element.dataset.id = id;
  element.setAttribute("role", "row");
  for (const name of CELLS) {
    const cell = node("span", name);
    cell.setAttribute("role", "gridcell");
    element.append(cell);
  }
  return element;
}
