// Charts: bars by day, and names by how often. Each says in words what it shows.

import { duration, node, visible } from "./words.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 360;
const HEIGHT = 64;

function shape(name, attributes) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

const dayName = (day) => day.toLocaleDateString("en", { month: "short", day: "numeric" });

/** A bar for each day; `parts` are stacked, the last one in the colour of failures if there are two. */
export function drawBars(figure, title, days, parts, show) {
  const values = days.map((day) => parts(day));
  const totals = values.map((of) => of.reduce((sum, one) => sum + one, 0));
  const most = Math.max(1, ...totals);
  const all = totals.reduce((sum, one) => sum + one, 0);
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  const best = totals.indexOf(Math.max(...totals));
  const peak = all ? `, most on ${dayName(days[best].day)}: ${show(totals[best])}` : "";
  svg.setAttribute("aria-label", `${title}: ${show(all)} in ${days.length} days${peak}`);
  const step = WIDTH / Math.max(1, days.length);
  for (const [at, of] of values.entries()) {
    const group = shape("g", {});
    const words = of.length > 1 && of[1] ? `, ${show(of[1])} failed` : "";
    const tip = shape("title", {});
    tip.textContent = `${dayName(days[at].day)}: ${show(totals[at])}${words}`;
    group.append(tip, shape("rect", { class: "touch", x: at * step, y: 0, width: step, height: HEIGHT }));
    let base = HEIGHT;
    for (const [part, value] of of.entries()) {
      // What is there can be seen.
      const height = value ? Math.max(1.5, (value / most) * (HEIGHT - 2)) : 0;
      base -= height;
      if (height) group.append(shape("rect", { class: part ? "bad" : "good", x: at * step + step * 0.12, y: base, width: step * 0.76, height }));
    }
    svg.append(group);
  }
  const head = node("figcaption", "", title);
  head.append(node("strong", "", show(all)));
  const foot = node("p", "axis");
  if (days.length > 1) foot.append(node("span", "", dayName(days[0].day)), node("span", "", dayName(days.at(-1).day)));
  figure.replaceChildren(head, svg, foot);
}

const short = (number) => number.toLocaleString("en", { notation: number < 10000 ? "standard" : "compact" });

/** Names with bars, each of which can be chosen. */
export function drawNames(list, named, choose) {
  const most = Math.max(1, ...named.map((one) => one.calls));
  const lines = named.slice(0, 6).map((one) => {
    const line = node("li");
    const button = node("button", "plain");
    button.type = "button";
    button.append(node("span", "name", visible(one.name) || "(unknown)"));
    // A loss is nothing that was saved.
    const numbers = [["number", one.calls], ["failed", one.failed], ["number", one.ms && duration(one.ms)], ["saved", Math.max(0, one.tokens)]];
    for (const [look, value] of numbers) button.append(node("span", look, value ? (typeof value === "number" ? short(value) : value) : ""));
    button.title = `${visible(one.name)}: ${one.calls} calls, ${one.failed} failed, ${duration(one.ms)}, about ${Math.max(0, one.tokens)} tokens saved`;
    const bar = node("span", "bar");
    bar.style.width = `${(100 * one.calls) / most}%`;
    button.append(bar);
    button.addEventListener("click", () => choose(one.name));
    line.append(button);
    return line;
  });
  list.replaceChildren(...lines);
}
