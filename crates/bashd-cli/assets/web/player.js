// Plays a recorded run in a terminal, with a bar to move in it.

import "./strict_style.js";
import { cast } from "./server.js";
import { silence, themeNow } from "./terminal.js";
import { Terminal } from "./vendor/xterm.mjs";
import { duration } from "./words.js";

const byId = (id) => document.getElementById(id);
const SPEEDS = [0.5, 1, 2, 4, 8];
// Pauses are no longer than this, in seconds.
const LONGEST_PAUSE = 2;

export class CastPlayer {
  constructor() {
    byId("player-toggle").addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    byId("player-seek").addEventListener("input", () => this.seek(Number(byId("player-seek").value) / 1000));
    byId("player-speed").addEventListener("change", () => {
      this.base = { clock: performance.now(), at: this.at ?? 0 };
    });
    for (const speed of SPEEDS) byId("player-speed").append(new Option(`${speed}×`, String(speed), speed === 1, speed === 1));
  }

  async open(id) {
    this.close();
    this.id = id;
    byId("player").hidden = false;
    byId("player-time").textContent = "…";
    let text;
    try {
      text = await cast(id);
    } catch (error) {
      byId("player-time").textContent = error.message;
      return;
    }
    if (this.id !== id) return;
    const [head, ...lines] = text.trim().split("\n").map((line) => JSON.parse(line));
    // Long pauses are shortened, as `--idle` does.
    let before = 0;
    let cut = 0;
    this.events = lines.map(([at, kind, data]) => {
      cut += Math.max(0, at - before - LONGEST_PAUSE);
      before = at;
      return { at: at - cut, kind, data };
    });
    this.end = this.events.at(-1)?.at ?? 0;
    this.term = new Terminal({ cols: head.width, rows: head.height, disableStdin: true, cursorInactiveStyle: "none", scrollback: 2000, fontSize: 12, theme: themeNow(), fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono") });
    silence(this.term.parser);
    this.term.open(byId("player-screen"));
    byId("player-seek").max = String(Math.ceil(this.end * 1000));
    this.seek(0);
    this.play();
    byId("player-toggle").focus();
  }

  close() {
    this.pause();
    this.id = null;
    this.term?.dispose();
    this.term = null;
    byId("player").hidden = true;
  }

  play() {
    if (!this.term) return;
    if (this.at >= this.end) this.seek(0);
    this.isPlaying = true;
    this.base = { clock: performance.now(), at: this.at };
    this.say();
    this.tick();
  }

  pause() {
    this.isPlaying = false;
    cancelAnimationFrame(this.frame);
    this.say();
  }

  tick() {
    if (!this.isPlaying) return;
    const speed = Number(byId("player-speed").value);
    this.go(this.base.at + ((performance.now() - this.base.clock) / 1000) * speed);
    if (this.at >= this.end) return this.pause();
    this.frame = requestAnimationFrame(() => this.tick());
  }

  /** To any time: from the beginning if that is before. */
  seek(at) {
    if (!this.term) return;
    if (this.at === undefined || at < this.at || this.next === undefined) {
      this.term.reset();
      this.next = 0;
    }
    this.at = 0;
    this.go(at);
    this.base = { clock: performance.now(), at };
  }

  go(at) {
    this.at = Math.min(at, this.end);
    let text = "";
    while (this.next < this.events.length && this.events[this.next].at <= this.at) {
      const event = this.events[this.next];
      this.next += 1;
      if (event.kind === "o") text += event.data;
      else if (event.kind === "r") {
        this.term.write(text);
        text = "";
        const [columns, rows] = event.data.split("x").map(Number);
        this.term.resize(columns, rows);
      }
    }
    if (text) this.term.write(text);
    this.say();
  }

  say() {
    byId("player-toggle").textContent = this.isPlaying ? "Pause" : "Play";
    if (!this.events || !this.term) return;
    const now = Math.round((this.at ?? 0) * 1000);
    byId("player-seek").value = String(now);
    const words = `${duration(now)} of ${duration(this.end * 1000)}`;
    byId("player-seek").ariaValueText = words;
    byId("player-time").textContent = words;
  }
}
