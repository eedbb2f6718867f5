// A run's output in a terminal: follows its end, or shows the part around any place of it. However
// long it is, only a window of it is loaded. Nothing that a command prints acts on more than the
// terminal: no links, no clipboard, no titles, no colours of the page, and no answers to questions.

import "./strict_style.js";
import { Terminal } from "./vendor/xterm.mjs";
import { FitAddon } from "./vendor/addon-fit.mjs";
import { NotAdmitted, Refused, slice } from "./server.js";
import { straight } from "./words.js";

const SLICE = { bytes: 128 * 1024, lines: 4000 };
const TAIL = { bytes: 256 * 1024, lines: 8000 };
const SCROLLBACK = 40000;
const MOST_CHUNKS = 8;
const CHUNK = 64 * 1024;
const FAR_BEHIND = 1024 * 1024;
// Of a longer output of a full-screen program the beginning sets the terminal up.
const WHOLE = 1024 * 1024;
const BEGINNING = 64 * 1024;
const EDGE = 30;

const DARK = { background: "#0e1116", foreground: "#dbe1e9", cursor: "#6fb3ff", selectionBackground: "#2f5b8f", black: "#3a4452", red: "#ff8080", green: "#63d297", yellow: "#f2bd4d", blue: "#6fb3ff", magenta: "#d59bf6", cyan: "#5fd3e0", white: "#dbe1e9", brightBlack: "#7d8999", brightRed: "#ff9d9d", brightGreen: "#8ce8b6", brightYellow: "#ffd47a", brightBlue: "#9ccbff", brightMagenta: "#e6bfff", brightCyan: "#93e8f1", brightWhite: "#ffffff" };
const LIGHT = { background: "#ffffff", foreground: "#1b222c", cursor: "#0a5cc2", selectionBackground: "#b9d5f7", black: "#1b222c", red: "#b4231a", green: "#0f7040", yellow: "#7d5200", blue: "#0a5cc2", magenta: "#8430a8", cyan: "#0b6b78", white: "#566273", brightBlack: "#566273", brightRed: "#c7362c", brightGreen: "#158a50", brightYellow: "#946200", brightBlue: "#1b70dd", brightMagenta: "#9a45c0", brightCyan: "#0f7d8c", brightWhite: "#1b222c" };
const light = matchMedia("(prefers-color-scheme: light)");

export const themeNow = () => (light.matches ? LIGHT : DARK);

const pause = (millis) => new Promise((done) => setTimeout(done, millis));

/** Takes what would reach beyond the terminal, or be answered into the program's input. */
export function silence(parser) {
  const take = () => true;
  for (const id of [{ final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, { final: "n" }, { prefix: "?", final: "n" }, { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }, { final: "t" }, { prefix: ">", final: "q" }, { final: "x" }])
    parser.registerCsiHandler(id, take);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, take);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, take);
  for (const code of [0, 1, 2, 4, 5, 8, 9, 10, 11, 12, 52, 104, 110, 111, 112, 777, 1337]) parser.registerOscHandler(code, take);
}

export class OutputScreen {
  constructor(element, told) {
    this.element = element;
    this.told = told;
    this.turn = 0;
    this.chunks = [];
    light.addEventListener("change", () => this.term && (this.term.options.theme = light.matches ? LIGHT : DARK));
    new ResizeObserver(() => this.adapt()).observe(element);
    setInterval(() => this.watch(), 120);
  }

  /** Shows a run from its end on. */
  open({ id, size, takesKeys }) {
    this.close();
    Object.assign(this, { id, size, takesKeys, total: 0, dropped: 0, isAlive: true, note: "" });
    this.term = new Terminal({
      convertEol: !size,
      cols: size?.[0] ?? 80,
      rows: size?.[1] ?? 24,
      cursorInactiveStyle: takesKeys ? "outline" : "none",
      disableStdin: !takesKeys,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: 13,
      linkHandler: { activate: () => {} },
      logLevel: "off",
      minimumContrastRatio: 4.5,
      scrollback: SCROLLBACK,
      scrollSensitivity: 3,
      screenReaderMode: true,
      theme: light.matches ? LIGHT : DARK,
    });
    silence(this.term.parser);
    this.fit = new FitAddon();
    this.term.loadAddon(this.fit);
    this.term.open(this.element);
    this.term.onData((text) => this.isFollowing && this.takesKeys && this.told.typed(text));
    this.term.attachCustomKeyEventHandler((event) => this.key(event));
    if (this.term.textarea && !takesKeys) this.term.textarea.tabIndex = -1;
    this.adapt();
    this.follow();
  }

  close() {
    this.turn += 1;
    this.asking?.abort();
    this.term?.dispose();
    this.term = null;
    this.chunks = [];
    this.isFollowing = false;
  }

  /** A key at the terminal: whether the program gets it. */
  key(event) {
    if (event.ctrlKey && event.key === "]") {
      if (event.type === "keydown") this.told.left();
      event.preventDefault();
      return false;
    }
    return this.takesKeys;
  }

  focus() {
    if (this.takesKeys) this.term?.focus();
    else this.element.focus();
  }

  /** A program's terminal keeps its size; other output has the width of the page. */
  adapt() {
    const room = this.term && this.fit.proposeDimensions();
    if (!room?.cols) return;
    this.room = [room.cols, room.rows];
    if (!this.size) this.term.resize(Math.max(20, room.cols), Math.max(2, room.rows));
    else if (this.term.cols !== this.size[0] || this.term.rows !== this.size[1]) this.term.resize(...this.size);
  }

  /** Another size of the program's terminal. */
  resize(size) {
    this.size = size;
    this.adapt();
  }

  begin() {
    this.asking?.abort();
    this.asking = new AbortController();
    this.turn += 1;
    return this.turn;
  }

  cut(wish) {
    return slice(this.id, wish, this.asking.signal);
  }

  know(cut) {
    Object.assign(this, { total: cut.total, dropped: cut.dropped, isAlive: cut.isAlive });
  }

  /** Goes to the end, and stays there. */
  async follow() {
    const turn = this.begin();
    this.isFollowing = true;
    // Who scrolled back a moment ago wants to be at the end now.
    this.seen = this.term?.buffer.active.viewportY;
    this.told.moved();
    let next = null;
    while (turn === this.turn) {
      try {
        if (next === null) next = await this.showEnd(turn);
        else next = await this.more(turn, next);
      } catch (error) {
        if (turn !== this.turn || error instanceof NotAdmitted) return;
        const isGone = error instanceof Refused && error.status === 404 && this.chunks.length > 0;
        if (isGone || (error instanceof Refused && !this.told.mayCome())) {
          this.isAlive = false;
          if (!this.chunks.length) this.told.nothing(error.message);
        } else await pause(500);
      }
      if (turn !== this.turn) return;
      this.told.moved();
      if (next !== null && !this.isAlive && next >= this.total) break;
      if (!this.isAlive && next === null) break;
    }
  }

  async showEnd(turn) {
    let cut = await this.cut(TAIL);
    let beginning = null;
    if (this.size && cut.offset > 0 && cut.total <= WHOLE) cut = await this.cut({ at: 0, bytes: WHOLE });
    else if (this.size && cut.offset > 0) beginning = await this.cut({ at: 0, bytes: BEGINNING });
    if (turn !== this.turn) return null;
    // What moves meanwhile is not the reader.
    this.busy = turn;
    if (!(await this.clear(turn))) return null;
    // One that draws on the other screen has said so at its beginning.
    const text = beginning && new TextDecoder().decode(beginning.bytes);
    if (text?.includes("\u001b[?1049h")) await this.write(beginning.bytes);
    if (turn !== this.turn) return null;
    this.know(cut);
    await this.append(cut, turn);
    if (turn !== this.turn) return null;
    this.term?.scrollToBottom();
    this.seen = this.term?.buffer.active.viewportY;
    if (this.busy === turn) this.busy = 0;
    return cut.next;
  }

  async more(turn, next) {
    while (document.hidden && turn === this.turn) await pause(300);
    const begun = performance.now();
    const cut = await this.cut({ at: next, wait: 20000, ...SLICE });
    if (turn !== this.turn) return next;
    this.know(cut);
    if (cut.total - cut.next > FAR_BEHIND && !this.size) {
      // It writes faster than anybody reads: its end is what is shown.
      return this.showEnd(turn);
    }
    await this.append(cut, turn);
    if (cut.bytes.length) await pause(Math.max(0, 60 - (performance.now() - begun)));
    return cut.next;
  }

  write(bytes) {
    return new Promise((done) => (this.term ? this.term.write(straight(bytes), done) : done()));
  }

  /**
   * Takes everything away, also what is still on its way to the terminal; false if something else
   * is to be shown by now.
   */
  async clear(turn) {
    await this.write(new Uint8Array());
    if (turn !== this.turn || !this.term) return false;
    this.term.reset();
    this.chunks = [];
    return true;
  }

  /** Adds what follows the last chunk, unless something else is to be shown by now. */
  async append(cut, turn) {
    if (turn !== this.turn || !cut.bytes.length || !this.term) return;
    const last = this.chunks.at(-1);
    if (last && last.next === cut.offset && last.length + cut.bytes.length < CHUNK) {
      last.parts.push(cut.bytes);
      last.length += cut.bytes.length;
      last.next = cut.next;
    } else {
      const chunk = { offset: cut.offset, next: cut.next, parts: [cut.bytes], length: cut.bytes.length };
      chunk.marker = this.term.registerMarker(0);
      this.chunks.push(chunk);
      if (this.chunks.length > 2 * MOST_CHUNKS) this.chunks.shift();
    }
    await this.write(cut.bytes);
  }

  async rewrite(chunks, turn) {
    if (!(await this.clear(turn))) return;
    for (const chunk of chunks) {
      this.chunks.push({ ...chunk, marker: this.term?.registerMarker(0) });
      for (const part of chunk.parts) {
        await this.write(part);
        if (turn !== this.turn) return;
      }
    }
  }

  /** Shows what is around an offset, with its line at the top. */
  async seek(offset) {
    const turn = this.begin();
    this.isFollowing = false;
    this.busy = turn;
    try {
      const before = offset > 0 ? await this.cut({ before: offset, ...SLICE }) : null;
      const behind = await this.cut({ at: offset, ...TAIL });
      if (turn !== this.turn) return null;
      this.know(behind);
      if (!(await this.clear(turn))) return null;
      if (before) await this.append(before, turn);
      if (turn !== this.turn) return null;
      const line = this.line();
      await this.append(behind, turn);
      if (turn !== this.turn) return null;
      this.term.scrollToLine(line);
      this.seen = line;
      this.told.moved();
      return line;
    } catch (error) {
      if (turn === this.turn && error.name !== "AbortError") this.told.nothing(error.message);
      return null;
    } finally {
      if (this.busy === turn) this.busy = 0;
    }
  }

  /** The line at which the next byte goes. */
  line() {
    const buffer = this.term.buffer.active;
    return buffer.baseY + buffer.cursorY;
  }

  /** Shows a hit of a search, and marks it. */
  async show(hit) {
    const isFar = hit.offset - hit.line_offset > 2000;
    const line = await this.seek(isFar ? hit.offset : hit.line_offset);
    if (line === null) return;
    this.term.scrollToLine(Math.max(0, line - 3));
    const buffer = this.term.buffer.active;
    for (let row = line; row < Math.min(line + 40, buffer.length); row += 1) {
      const at = hit.text ? buffer.getLine(row)?.translateToString(true).indexOf(hit.text) : -1;
      if (at < 0) continue;
      this.term.select(at, row, hit.text.length);
      return;
    }
  }

  /** The chunk at a line. */
  chunkAt(line) {
    const begun = this.chunks.filter((chunk) => chunk.marker && !chunk.marker.isDisposed && chunk.marker.line <= line);
    return begun.at(-1);
  }

  /** The offset of the first line that is seen. */
  place() {
    if (this.isFollowing || !this.term) return this.total;
    const y = this.term.buffer.active.viewportY;
    const chunk = this.chunkAt(y) ?? this.chunks[0];
    if (!chunk) return 0;
    const from = chunk.marker?.line ?? 0;
    const after = this.chunks[this.chunks.indexOf(chunk) + 1]?.marker?.line ?? this.line();
    const share = after > from ? Math.min(1, Math.max(0, (y - from) / (after - from))) : 0;
    return Math.round(chunk.offset + share * (chunk.next - chunk.offset));
  }

  /** Looks whether the person has scrolled, and loads what comes into sight. */
  watch() {
    const buffer = this.term?.buffer.active;
    if (!buffer || buffer.type !== "normal" || this.busy === this.turn || !this.chunks.length) return;
    const y = buffer.viewportY;
    const before = this.seen;
    this.seen = y;
    if (this.isFollowing) {
      if (y < buffer.baseY - 1 && y < before) this.halt();
      return;
    }
    if (y === before) return;
    this.told.moved();
    if (y <= EDGE && y < before && this.chunks[0].offset > 0) this.extendUp(y);
    else if (y >= buffer.baseY - EDGE && y > before) {
      if (this.chunks.at(-1).next < this.total) this.extendDown();
      else if (this.isAlive && y === buffer.baseY) this.follow();
    }
  }

  /** Stays where it is. */
  halt() {
    this.begin();
    this.isFollowing = false;
    this.told.moved();
  }

  async extendUp(y) {
    const turn = this.begin();
    this.busy = turn;
    try {
      const anchor = this.chunkAt(y) ?? this.chunks[0];
      const delta = y - (anchor.marker?.line ?? 0);
      const cut = await this.cut({ before: this.chunks[0].offset, ...SLICE });
      if (turn !== this.turn || !cut.bytes.length) return;
      const added = { offset: cut.offset, next: cut.next, parts: [cut.bytes], length: cut.bytes.length };
      await this.rewrite([added, ...this.chunks].slice(0, MOST_CHUNKS), turn);
      if (turn !== this.turn) return;
      const again = this.chunks.find((chunk) => chunk.offset === anchor.offset);
      this.term.scrollToLine(Math.max(0, (again?.marker?.line ?? 0) + delta));
      this.seen = this.term.buffer.active.viewportY;
    } catch {
      // The next scroll tries again.
    } finally {
      if (this.busy === turn) this.busy = 0;
    }
  }

  async extendDown() {
    const turn = this.begin();
    this.busy = turn;
    try {
      const cut = await this.cut({ at: this.chunks.at(-1).next, ...SLICE });
      if (turn !== this.turn) return;
      this.know(cut);
      const y = this.term.buffer.active.viewportY;
      await this.append(cut, turn);
      if (turn !== this.turn) return;
      // A terminal at its end goes along with what is written; the reader stays.
      this.term.scrollToLine(y);
      this.seen = y;
      this.told.moved();
    } catch {
      // Likewise.
    } finally {
      if (this.busy === turn) this.busy = 0;
    }
  }
}
