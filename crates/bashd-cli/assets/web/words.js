// Numbers and texts as people read them. Text of commands is never markup: it goes into nodes by
// textContent, and what would turn it around or hide in it is made visible.

// Controls, and what changes the direction of text or shows nothing.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** A text on one line in which nothing is hidden. Each character stays one, so that parts fit. */
export function visible(text) {
  return text.replace(HIDDEN, (hidden) => (hidden === "\n" ? "↵" : hidden === "\t" ? " " : "\ufffd"));
}

/** Likewise, with its lines. */
export function visibleLines(text) {
  return text.split("\n").map(visible).join("\n");
}

/** A duration in at most six characters. */
export function duration(millis) {
  const seconds = Math.floor(millis / 1000);
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 1) return `${Math.max(0, Math.round(millis))}ms`;
  if (seconds < 60) return `${seconds}.${Math.floor((millis % 1000) / 100)}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86400)}d${two(Math.floor(seconds / 3600) % 24)}h`;
}

/** A size with its unit, rounded down. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const shown = value < 10 ? Math.floor(value * 10) / 10 : Math.floor(value);
  return `${shown} ${units[unit]}`;
}

/** The last two parts of a path. */
export function shortPath(path) {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}

/** How often something is there. */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A new element with a class and a text. */
export function node(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// As UTF-8: the same characters that turn text around, in what a terminal is fed.
const turners = new Set(["e2808e", "e2808f", "e280aa", "e280ab", "e280ac", "e280ad", "e280ae", "e281a6", "e281a7", "e281a8", "e281a9"]);

/** Output without what would turn its lines around; as many bytes as before. */
export function straight(bytes) {
  let copy = bytes;
  for (let at = bytes.indexOf(0xe2); at >= 0 && at + 2 < bytes.length; at = bytes.indexOf(0xe2, at + 1)) {
    const found = [bytes[at], bytes[at + 1], bytes[at + 2]].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if (!turners.has(found)) continue;
    if (copy === bytes) copy = bytes.slice();
    copy.set([0xef, 0xbf, 0xbd], at);
  }
  for (let at = copy.indexOf(0xd8); at >= 0 && at + 1 < copy.length; at = copy.indexOf(0xd8, at + 1)) {
    if (copy[at + 1] !== 0x9c) continue;
    if (copy === bytes) copy = bytes.slice();
    copy.set([0x3f, 0x3f], at);
  }
  return copy;
}
