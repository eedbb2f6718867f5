// The page of one past call: everything that is known of it, its output as it was and as the model
// saw it, and a player if it was recorded.

import { CastPlayer } from "./player.js";
import { describePast, slice } from "./server.js";
import { count, duration, node, size, visible, visibleLines } from "./words.js";

const byId = (id) => document.getElementById(id);

// Of an output so much is shown here; the whole opens as a run.
const SHOWN = { at: 0, bytes: 131072, lines: 3000 };

// What a terminal would act on, in a text.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])|\r(?=\n)/g;

const plain = (text) => visibleLines(text.replace(SEQUENCES, ""));

export class CallPane {
  constructor(openRun, closed) {
    this.pane = byId("call");
    this.closed = closed;
    this.player = new CastPlayer();
    this.id = null;
    byId("call-close").addEventListener("click", () => this.close());
    byId("call-open").addEventListener("click", () => openRun(this.about));
    byId("call-play").addEventListener("click", () => this.player.open(this.id));
  }

  async open(id) {
    this.id = id;
    this.player.close();
    let about;
    try {
      about = await describePast(id);
    } catch (error) {
      if (this.id === id) this.say(error.message);
      return;
    }
    if (this.id !== id) return;
    this.about = about;
    this.pane.hidden = false;
    byId("then").classList.add("split");
    this.draw();
    byId("call-close").focus();
    if (about.stored) await this.read(id);
  }

  close() {
    if (this.id === null) return;
    this.id = null;
    this.player.close();
    this.pane.hidden = true;
    byId("then").classList.remove("split");
    this.closed();
  }

  get isOpen() {
    return this.id !== null;
  }

  say(text) {
    byId("past-said").textContent = text.trim();
  }

  draw() {
    const { about } = this;
    const { record } = about;
    byId("call-state").className = `chip ${about.failed ? "is-failed" : "is-done"}`;
    byId("call-state").textContent = about.word;
    byId("call-title").textContent = visible(about.command).slice(0, 200);
    this.pane.setAttribute("aria-label", `Call ${visible(about.command).slice(0, 200)}`);
    byId("call-facts").replaceChildren(...facts(about, record).flatMap(([name, value]) => [node("dt", "", name), value instanceof Node ? value : node("dd", "", value)]));
    byId("call-given").textContent = visibleLines(record.command);
    byId("call-given-head").textContent = record.as_run ? "As given" : "Command";
    byId("call-run-part").hidden = !record.as_run;
    byId("call-run").textContent = visibleLines(record.as_run ?? "");
    byId("call-open").hidden = !about.stored;
    byId("call-play").hidden = !about.recorded;
    byId("call-raw").textContent = about.stored ? "…" : "";
    const kept = about.stored ? `${size(about.stored.bytes)}, ${count(about.stored.lines, "line")}` : "not stored";
    byId("call-raw-head").textContent = `Raw · ${kept}`;
    const shown = about.shown;
    byId("call-shown-head").textContent = shown === null ? "As the model saw it · not known" : `As the model saw it · ${size(new TextEncoder().encode(shown).length)}`;
    byId("call-shown").textContent = shown === null ? "" : visibleLines(shown);
    byId("call-why").textContent = whyNothing(about);
    byId("call-sides").hidden = !about.stored;
    const { changes } = about;
    byId("call-changes-part").hidden = !changes;
    if (changes) {
      byId("call-changes-head").textContent = `Changed files · ${changes.count} · ${changes.state}`;
      byId("call-changes").replaceChildren(...changes.paths.map((path) => changed(path)));
    }
  }

  async read(id) {
    try {
      const cut = await slice(id, SHOWN);
      if (this.id !== id) return;
      const rest = cut.total - cut.next;
      const text = plain(new TextDecoder().decode(cut.bytes));
      byId("call-raw").textContent = rest > 0 ? `${text}\n… ${size(rest)} more: open the output` : text;
    } catch (error) {
      if (this.id === id) byId("call-raw").textContent = error.message;
    }
  }
}

function changed({ path, kind }) {
  const line = node("li", kind);
  line.append(node("span", "kind", { created: "A", modified: "M", deleted: "D" }[kind] ?? "?"), node("span", "", visible(path)));
  line.title = kind;
  return line;
}

function whyNothing(about) {
  if (about.stored) return about.shown === null ? "Its profile would show it otherwise today, or too little of it is kept." : "";
  if (!about.bytes) return "It wrote nothing.";
  return "Its reply had all of its output, so none is stored. With recording.enabled it is.";
}

function list(lines) {
  const value = node("dd");
  for (const line of lines) value.append(node("div", "mono", visible(line)));
  return value;
}

/** What is known of a call, in words. */
function facts(about, record) {
  const rule = record.objection;
  const isAllowed = !["denied", "refused"].includes(record.outcome);
  const verdict = rule ? `${rule.rule} ${rule.decision === "ask" ? "asked" : "denied"}: ${rule.message}${isAllowed && rule.decision === "ask" ? " — a person allowed it" : ""}` : isAllowed && record.outcome !== "managed" ? "allowed: no rule objected" : "";
  const timings = [`${duration(record.wall_ms)} from request to reply`, record.ran_ms !== null && `${duration(record.ran_ms)} of it ran`].filter(Boolean).join(", ");
  const output = `${size(record.output_bytes)}, ${count(record.output_lines, "line")}${record.minimized ? `; ${size(record.minimized.shown_bytes)} shown, by ${record.minimized.by}` : ""}`;
  const all = [
    ["Time", new Date(about.time).toLocaleString("sv", { timeZoneName: "short" })],
    ["Took", timings],
    ["Verdict", visible(verdict)],
    ["Why", visible(record.error ?? "")],
    ["Client", visible([record.owner, record.session !== undefined && `session ${record.session || "(own)"}`, record.profile].filter(Boolean).join(" · "))],
    ["Directory", visible(`${record.place ? `${record.place}:` : ""}${record.cwd}`)],
    ["Environment", record.env?.length ? list(record.env.map(([name, value]) => `${name}=${value}`)) : ""],
    ["Output", output],
    ["Left running", record.left?.length ? list(record.left.map((left) => `${left.pid} ${left.command}${left.job ? ` (job ${left.job})` : ""}`)) : ""],
    ["Job", visible(record.job ?? "")],
    ["Refused", record.refused?.length ? list(record.refused.map((one) => [one.kind, one.what].filter(Boolean).join(" "))) : ""],
    ["Connected", record.connections?.length ? list(record.connections.map((one) => String(one.host ?? JSON.stringify(one)))) : ""],
    ["Id", record.id],
  ];
  return all.filter(([, value]) => value !== "");
}
