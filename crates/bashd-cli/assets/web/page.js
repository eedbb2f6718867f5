// The page: comes in, follows what happens, and hands it to the list, the questions and the run that
// is open.

import { AskCards } from "./asks.js";
import { CallList, isLive } from "./list.js";
import { RunPane } from "./run.js";
import { enter, follow } from "./server.js";
import { ThenView } from "./then.js";
import { node, visible } from "./words.js";

const byId = (id) => document.getElementById(id);

const run = new RunPane(() => byId("list").focus());
const list = new CallList(byId("list"), byId("space"), byId("nothing"), open);
const asks = new AskCards(byId("asks"), notify);
const then = new ThenView(openPast);
let link = "connecting …";

/** Goes to what happens now, or to what was. */
function turnTo(view) {
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  const isThen = view === "then";
  byId("body").hidden = isThen;
  for (const id of ["now-filters", "filter"]) byId(id).hidden = isThen;
  if (isThen) then.show();
  else {
    then.hide();
    list.draw();
    byId("list").focus();
  }
}

/** The output of a past call, as of any run. */
function openPast(call) {
  turnTo("now");
  const row = list.rows.get(call.id) ?? { id: call.id, state: "ended", word: call.word, failed: call.failed, owner: call.owner, session: call.session, profile: call.record.profile, place: call.place, command: call.command, cwd: call.cwd, since: call.time, took: call.took, bytes: call.bytes, last_line: "", job: null, error: call.record.error, question: null, prompt: null };
  run.open(row);
}

function open(id) {
  const row = list.rows.get(id);
  if (row) run.open(row);
}

function tell(name, piece) {
  const begun = performance.now();
  list.tell(piece, name === "all");
  const rows = [...list.rows.values()];
  asks.show(rows);
  if (run.row) {
    const now = list.rows.get(run.row.id);
    if (now && now !== run.row) run.update(now);
  }
  count(rows);
  // What tests and people measure.
  if (name === "all") document.documentElement.dataset.painted = (performance.now() - begun).toFixed(1);
}

function count(rows) {
  const asking = rows.filter((row) => row.state === "asks").length;
  const live = rows.filter(isLive).length - asking;
  const place = byId("counts");
  place.replaceChildren();
  if (asking) place.append(node("span", "asking", `${asking} asking`), " · ");
  place.append(`${live} running · ${rows.length - live - asking} ended`);
  if (link) place.append(` · ${link}`);
  document.title = asking ? `(${asking}) asks · bashd` : "bashd";
}

function state(now) {
  link = { here: "", away: "connection lost, trying again …", stranger: "not let in" }[now];
  document.documentElement.dataset.link = now;
  count([...list.rows.values()]);
  if (now === "stranger") stranger("");
}

function stranger(why) {
  for (const id of ["asks", "body", "then"]) byId(id).hidden = true;
  byId("stranger").hidden = false;
  const text = why.trim().replaceAll("`", "");
  byId("stranger-why").textContent = text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function notify(row) {
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const notice = new Notification("bashd asks", { body: visible(row.command), tag: row.id });
  notice.addEventListener("click", () => {
    window.focus();
    asks.focus();
  });
}

function setUpNotices() {
  const button = byId("notify");
  if (!("Notification" in window) || Notification.permission === "denied") return;
  const show = () => {
    button.hidden = Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(Notification.permission === "granted"));
  };
  button.addEventListener("click", () => Notification.requestPermission().then(show));
  show();
}

function filterBy(filter) {
  for (const button of document.querySelectorAll("[data-filter]")) button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
  list.show(filter, byId("filter").value);
}

for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => turnTo(button.dataset.view));
for (const button of document.querySelectorAll("[data-filter]")) button.addEventListener("click", () => filterBy(button.dataset.filter));
byId("filter").addEventListener("input", () => list.show(list.filter, byId("filter").value));
byId("keys").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  const target = event.target;
  if (document.querySelector("dialog[open]")) return;
  const isTyping = target.matches("input:not([type=range]), select, textarea") || target.closest(".xterm");
  if (event.key === "Escape" && !(isTyping && target.closest(".xterm"))) {
    if (isTyping && target.value) target.value = "";
    else if (isTyping && target.id === "filter") byId("list").focus();
    else if (then.isShown) then.pane.close();
    else run.close();
    if (target.id === "filter") list.show(list.filter, target.value);
    event.preventDefault();
  } else if (isTyping) return;
  else if (event.key === "t") {
    // Or it is typed into the search, which has the focus then.
    event.preventDefault();
    turnTo(then.isShown ? "now" : "then");
  }
  else if (event.key === "/") focusOn(then.isShown ? "past-text" : run.row ? "run-pattern" : "filter", event);
  else if (event.key === "?") byId("help").showModal();
  else if (event.key === "a") asks.focus();
  else if (event.key === "x" && !then.isShown) end(event);
});

function focusOn(id, event) {
  event.preventDefault();
  byId(id).focus();
}

/** Ends the chosen call, after a look at what that is. */
async function end(event) {
  const id = run.row?.id ?? list.chosen;
  const row = list.rows.get(id);
  if (!row || !isLive(row) || row.state === "asks") return;
  event.preventDefault();
  if (run.row?.id !== id) run.open(row);
  run.showTree(true);
}

setUpNotices();
try {
  await enter();
  follow(tell, state);
} catch (error) {
  state("stranger");
  stranger(error.message);
}
byId("list").focus();
