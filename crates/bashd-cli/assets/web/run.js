// One run: what is known of it, its output, and what a person does to it.

import { describe, doTo, tree } from "./server.js";
import { OutputScreen } from "./terminal.js";
import { isLive, sessionOf, tone } from "./list.js";
import { count, duration, node, size, visible, visibleLines } from "./words.js";

const byId = (id) => document.getElementById(id);

// Hits that are kept.
const MOST_HITS = 2000;

export class RunPane {
  constructor(closed) {
    this.closed = closed;
    this.pane = byId("run");
    this.row = null;
    this.hits = [];
    this.screen = new OutputScreen(byId("run-screen"), {
      typed: (text) => this.type(text),
      left: () => byId("run-close").focus(),
      moved: () => this.moved(),
      mayCome: () => this.row !== null && isLive(this.row),
      nothing: (why) => this.say(why),
    });
    this.typed = "";
    this.connect();
  }

  connect() {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("run-close", "click", () => this.close());
    on("run-follow", "click", () => (this.screen.isFollowing ? this.screen.halt() : this.screen.follow()));
    on("run-first", "click", () => this.screen.seek(0));
    on("run-last", "click", () => this.screen.follow());
    let soon;
    on("run-offset", "input", () => {
      clearTimeout(soon);
      const wanted = Number(byId("run-offset").value);
      byId("run-offset").ariaValueText = `${size(wanted)} of ${size(this.screen.total)}`;
      soon = setTimeout(() => this.screen.seek(wanted), 80);
    });
    on("run-search", "submit", (event) => {
      event.preventDefault();
      const pattern = byId("run-pattern").value;
      if (pattern && pattern === this.pattern && this.hits.length) this.go(1);
      else this.search(pattern);
    });
    on("run-previous", "click", () => this.go(-1));
    on("run-next", "click", () => this.go(1));
    on("run-fit", "click", () => this.resize());
    on("run-signal", "change", () => this.signal());
    on("run-tree", "click", () => this.showTree(false));
    on("run-end", "click", () => this.showTree(true));
    on("ending-yes", "click", () => this.end());
    on("ending-no", "click", () => byId("ending").close());
    on("run-typing", "submit", (event) => {
      event.preventDefault();
      this.send({ text: `${byId("run-line").value}\n` });
      byId("run-line").value = "";
    });
    on("run-eof", "click", () => this.send({ text: "", close: true }));
    on("run-screen", "keydown", (event) => this.scroll(event));
  }

  /** Opens a run, and says what is known of it. */
  async open(row) {
    this.row = row;
    this.hits = [];
    this.pattern = "";
    this.pane.hidden = false;
    byId("body").classList.add("split");
    byId("run-pattern").value = "";
    this.say("");
    this.showHits();
    this.screen.close();
    this.facts = null;
    this.draw();
    await this.learn();
    if (this.row?.id !== row.id || !this.facts) return;
    const job = this.facts.job;
    this.screen.open({ id: row.id, size: job?.terminal ?? null, takesKeys: this.facts.takes === "keys" });
  }

  /** What the server knows beyond the row. A run can be reached a second after its start. */
  async learn() {
    const id = this.row.id;
    for (;;) {
      try {
        const facts = await describe(id);
        if (this.row?.id !== id) return;
        this.facts = facts;
        if (facts.output !== "none" || !isLive(this.row)) break;
        this.say("Its output can be seen once it has run for a second.");
      } catch (error) {
        if (this.row?.id !== id) return;
        this.say(error.message);
        if (!isLive(this.row)) return;
      }
      this.draw();
      await new Promise((done) => setTimeout(done, 400));
      if (this.row?.id !== id) return;
    }
    const isGone = this.facts.output === "none" && this.row.state !== "asks";
    this.say(isGone ? this.row.error || "Nothing more is kept of it: the reply had all of its output." : "");
    this.draw();
  }

  close() {
    if (!this.row) return;
    this.screen.close();
    this.row = null;
    this.pane.hidden = true;
    byId("body").classList.remove("split");
    this.closed();
  }

  /** Its row has changed. */
  update(row) {
    const wasLive = isLive(this.row);
    this.row = row;
    this.draw();
    // What it takes is different now.
    if (wasLive && !isLive(row)) describe(row.id).then((facts) => this.row?.id === row.id && this.learnt(facts), () => this.learnt({ ...this.facts, takes: "nothing" }));
  }

  learnt(facts) {
    this.facts = facts;
    this.draw();
  }

  draw() {
    const { row, facts } = this;
    if (!row) return;
    const live = isLive(row);
    byId("run-state").className = `chip ${tone(row)}`;
    byId("run-state").textContent = visible(row.word);
    byId("run-command").textContent = visibleLines(facts?.job?.command ?? row.command);
    this.pane.setAttribute("aria-label", `Run ${visible(row.command)}`);
    const session = sessionOf(row);
    const about = [row.owner, session && `session ${session}`, row.profile, row.place, facts?.job?.cwd ?? row.cwd, row.job && `job ${row.job}`, row.took !== null && `took ${duration(row.took)}`, row.id];
    byId("run-meta").textContent = about.filter(Boolean).map(visible).join(" · ");
    const takes = live ? facts?.takes : "nothing";
    byId("run-typing").hidden = takes !== "lines";
    byId("run-fit").hidden = takes !== "keys";
    for (const id of ["run-signals", "run-tree"]) byId(id).hidden = !(live && facts?.job);
    byId("run-end").hidden = !live || row.state === "asks";
    if (row.prompt) this.say(takes === "keys" ? `It asks: ${visible(row.prompt)} — type into the terminal.` : `It asks: ${visible(row.prompt)}`);
    this.moved();
  }

  say(text) {
    byId("run-remark").textContent = text.trim();
  }

  /** Where in the output one is. */
  moved() {
    const { screen } = this;
    const slider = byId("run-offset");
    const place = screen.place();
    slider.max = String(Math.max(screen.total, 0));
    slider.disabled = !screen.total;
    if (document.activeElement !== slider || screen.isFollowing) slider.value = String(place);
    slider.ariaValueText = `${size(place)} of ${size(screen.total)}`;
    byId("run-follow").setAttribute("aria-pressed", String(screen.isFollowing));
    const dropped = screen.dropped ? ` · ${size(screen.dropped)} no longer kept` : "";
    byId("run-where").textContent = screen.total ? `${size(place)} of ${size(screen.total)}${dropped}` : "no output";
  }

  async search(pattern) {
    this.pattern = pattern;
    this.hits = [];
    this.at = -1;
    this.searching?.abort();
    if (!pattern) return this.showHits();
    this.searching = new AbortController();
    const { signal } = this.searching;
    const id = this.row.id;
    try {
      for (let from = 0; ; ) {
        const found = await doTo(id, "search", { pattern, from }, signal);
        if (signal.aborted || this.row?.id !== id) return;
        const isFirst = this.hits.length === 0 && found.hits.length > 0;
        this.hits.push(...found.hits);
        this.showHits(found.searched_to < found.total ? ` (${Math.floor((100 * found.searched_to) / found.total)} %)` : "");
        if (isFirst) this.go(1);
        if (found.searched_to >= found.total || this.hits.length >= MOST_HITS) break;
        from = found.searched_to;
      }
      this.showHits(this.hits.length >= MOST_HITS ? "+" : "");
    } catch (error) {
      if (error.name !== "AbortError") byId("run-hits").textContent = error.message.split("\n").at(-1);
    }
  }

  showHits(more = "") {
    const has = this.hits.length > 0;
    for (const id of ["run-previous", "run-next"]) byId(id).disabled = !has;
    const which = has ? `${this.at + 1} of ${this.hits.length.toLocaleString("en")}${more}` : `no hit${more}`;
    byId("run-hits").textContent = this.pattern ? which : "";
    this.more = more;
  }

  go(by) {
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.showHits(this.more);
    this.screen.show(this.hits[this.at]);
  }

  /** Keys are sent in order, those of one moment together. */
  async type(text) {
    this.typed += text;
    if (this.isTyping) return;
    this.isTyping = true;
    while (this.typed) {
      const now = this.typed;
      this.typed = "";
      await this.send({ text: now });
    }
    this.isTyping = false;
  }

  async send(input) {
    await this.tryTo(() => doTo(this.row.id, "input", input));
  }

  async tryTo(act) {
    try {
      return await act();
    } catch (error) {
      this.say(error.message);
      return null;
    }
  }

  /** Gives the program the size of the page. */
  async resize() {
    const [columns, rows] = this.screen.room ?? [];
    if (!columns) return;
    const wanted = [Math.min(400, Math.max(20, columns)), Math.min(200, Math.max(5, rows))];
    const done = await this.tryTo(() => doTo(this.row.id, "size", { columns: wanted[0], rows: wanted[1] }));
    if (done) this.screen.resize(wanted);
    this.screen.focus();
  }

  async signal() {
    const select = byId("run-signal");
    const signal = select.value;
    select.value = "";
    const done = signal && (await this.tryTo(() => doTo(this.row.id, "signal", { signal })));
    if (done) this.say(`${count(done.processes.length, "process").replace("processs", "processes")} got ${signal}`);
  }

  /** The processes of the run, perhaps to end them. */
  async showTree(ends) {
    const { row } = this;
    const found = await this.tryTo(() => tree(row.id));
    if (!found && !ends) return;
    this.before = found?.processes ?? [];
    byId("ending-title").textContent = ends ? "End this run, with everything it started?" : "Processes of this run";
    byId("ending-command").textContent = visible(row.command);
    byId("ending-yes").hidden = !ends;
    byId("ending-yes").disabled = false;
    byId("ending-no").textContent = ends ? "Leave it" : "Close";
    byId("ending-said").textContent = "";
    this.drawTree(this.before, []);
    byId("ending").showModal();
    byId("ending-no").focus();
  }

  drawTree(processes, gone) {
    const lines = processes.map((process) => {
      const line = node("li");
      const command = node("span", gone.includes(process.pid) ? "gone" : "", visible(process.command));
      command.style.paddingLeft = `${process.depth * 2}ch`;
      line.append(node("span", "pid", String(process.pid)), command);
      return line;
    });
    byId("ending-tree").replaceChildren(...lines);
  }

  async end() {
    byId("ending-yes").disabled = true;
    byId("ending-said").textContent = "ending …";
    try {
      const done = await doTo(this.row.id, "end");
      const left = done.after.map((process) => process.pid);
      this.drawTree(done.before, done.before.map((process) => process.pid).filter((pid) => !left.includes(pid)));
      byId("ending-said").textContent = left.length ? `${left.length} could not be ended` : done.said;
      byId("ending-yes").hidden = true;
      byId("ending-no").textContent = "Close";
      byId("ending-no").focus();
    } catch (error) {
      byId("ending-said").textContent = error.message;
      byId("ending-yes").disabled = false;
    }
  }

  /** Keys at an output that takes none. */
  scroll(event) {
    const { screen } = this;
    if (!screen.term || screen.takesKeys || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = screen.term.rows - 1;
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
    if (event.key in steps) screen.term.scrollLines(steps[event.key]);
    else if (event.key === "Home") screen.seek(0);
    else if (event.key === "End") screen.follow();
    else return;
    event.preventDefault();
  }
}
