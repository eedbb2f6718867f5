// Speaks to the server: comes in by the token, asks, and follows the one stream of what happens.

const KEY = "bashd-key";

/** The server does not know this browser (any more). */
export class NotAdmitted extends Error {}

/** The server refused, and says why. */
export class Refused extends Error {
  constructor(status, text) {
    super(text.trim());
    this.status = status;
  }
}

/** Exchanges the token of the link, if there is one, and takes it out of the address. */
export async function enter() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/api/enter", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (answer.ok) localStorage.setItem(KEY, (await answer.json()).key);
  else if (!localStorage.getItem(KEY)) throw new NotAdmitted(await answer.text());
}

async function ask(path, options = {}) {
  const headers = { "x-bashd-key": localStorage.getItem(KEY) ?? "", ...options.headers };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.status === 401) throw new NotAdmitted(await answer.text());
  if (!answer.ok) throw new Refused(answer.status, await answer.text());
  return answer;
}

async function post(path, value, signal) {
  const answer = await ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
    signal,
  });
  return answer.json();
}

export const describe = async (id) => (await ask(`/api/runs/${id}`)).json();
export const tree = async (id) => (await ask(`/api/runs/${id}/tree`)).json();
export const doTo = (id, deed, value = {}, signal) => post(`/api/runs/${id}/${deed}`, value, signal);
export const readEffects = async (id) => (await ask(`/api/asks/${id}`)).json();
/** Calls of the ledger that are looked for; calls added up; all about one; a recorded one. */
export const past = (wish) => post("/api/past", wish);
export const sums = (wish) => post("/api/past/sums", wish);
export const describePast = async (id) => (await ask(`/api/past/${id}`)).json();
export const cast = async (id) => (await ask(`/api/past/${id}/cast`)).text();
export const answerQuestion = (id, answer) => post(`/api/asks/${id}`, { answer });

/** A slice of a run's output, with its place. */
export async function slice(id, wish, signal) {
  const answer = await ask(`/api/runs/${id}/output?${new URLSearchParams(wish)}`, { signal });
  const number = (name) => Number(answer.headers.get(`x-bashd-${name}`));
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return {
    bytes,
    offset: number("offset"),
    next: number("next"),
    total: number("total"),
    written: number("written"),
    dropped: number("dropped"),
    skipped: number("skipped"),
    isAlive: number("alive") === 1,
  };
}

const pause = (millis) => new Promise((done) => setTimeout(done, millis));

/**
 * Follows the stream for ever. `tell` gets each piece, `state` whether there is a connection. After
 * a break it goes on behind the last piece.
 */
export async function follow(tell, state) {
  let place = null;
  let wait = 250;
  for (;;) {
    try {
      const answer = await ask("/api/now", { headers: place ? { "last-event-id": place } : {} });
      state("here");
      wait = 250;
      for await (const event of events(answer.body)) {
        place = event.id ?? place;
        tell(event.name, JSON.parse(event.data));
      }
    } catch (error) {
      if (error instanceof NotAdmitted) {
        state("stranger");
        return;
      }
    }
    state("away");
    await pause(wait);
    wait = Math.min(wait * 1.5, 3000);
  }
}

/** The events of a stream of server-sent events. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const pieces = rest.split("\n\n");
    rest = pieces.pop();
    for (const piece of pieces) {
      const event = { name: "message", data: "", id: null };
      for (const line of piece.split("\n")) {
        const at = line.indexOf(": ");
        const field = line.slice(0, at);
        const text = line.slice(at + 2);
        if (field === "event") event.name = text;
        else if (field === "data") event.data += text;
        else if (field === "id") event.id = text;
      }
      if (event.data) yield event;
    }
  }
}
