// What waits for a person, first on the page: the rule, the part of the command that it is about,
// and the four answers. Whoever answers first, here or elsewhere, the card goes.

import { answerQuestion } from "./server.js";
import { sessionOf } from "./list.js";
import { node, visible } from "./words.js";

const ANSWERS = [
  ["once", "Allow once", "o", "main"],
  ["session", "Allow in this session", "s", ""],
  ["always", "Always allow", "A", ""],
  ["deny", "Deny", "d", "danger"],
];

// A question that has only just come up is not answered by a click for something else.
const PAUSE = 500;

export class AskCards {
  constructor(place, notify) {
    this.place = place;
    this.notify = notify;
    this.cards = new Map();
    this.isFirst = true;
  }

  /** The questions that are open now. */
  show(rows) {
    const open = new Map(rows.filter((row) => row.question).map((row) => [row.id, row]));
    const had = [...this.cards.values()].some((card) => card.contains(document.activeElement));
    for (const [id, card] of this.cards) {
      if (open.has(id)) continue;
      card.remove();
      this.cards.delete(id);
    }
    for (const [id, row] of open) {
      if (this.cards.has(id)) continue;
      const card = this.make(row);
      this.cards.set(id, card);
      this.place.append(card);
      if (!this.isFirst) this.notify(row);
    }
    this.isFirst = false;
    this.place.hidden = this.cards.size === 0;
    // The keyboard stays among the questions until there are none.
    if (had && !this.place.contains(document.activeElement)) this.focus() || document.getElementById("list").focus();
    return this.cards.size;
  }

  focus() {
    const first = this.cards.values().next().value;
    first?.focus();
    return Boolean(first);
  }

  make(row) {
    const card = node("article", "ask");
    card.tabIndex = 0;
    card.dataset.id = row.id;
    card.setAttribute("aria-label", `Question about ${visible(row.command)}`);
    const title = node("h2");
    title.append(node("span", "rule", visible(row.question.rule)), visible(row.question.message));
    const session = sessionOf(row);
    const about = [row.owner, session && `session ${session}`, row.profile, row.place, row.cwd].filter(Boolean);
    const said = node("span", "said");
    said.setAttribute("role", "status");
    const buttons = node("div", "buttons");
    const give = (answer) => this.give(row.id, answer, buttons, said);
    for (const [answer, text, key, look] of ANSWERS) {
      const button = node("button", look, text);
      button.type = "button";
      button.dataset.answer = answer;
      button.disabled = true;
      button.append(node("kbd", "", key));
      button.addEventListener("click", () => give(answer));
      buttons.append(button);
    }
    buttons.append(said);
    setTimeout(() => enable(buttons, true), PAUSE);
    card.addEventListener("keydown", (event) => {
      const found = ANSWERS.find((one) => one[2] === event.key);
      if (!found || event.ctrlKey || event.altKey || event.metaKey || buttons.firstChild.disabled) return;
      event.preventDefault();
      event.stopPropagation();
      give(found[0]);
    });
    // What is known of its effects comes here, once the server says so.
    const effects = node("div", "effects");
    card.append(title, marked(row.command, row.question.part), effects, node("p", "meta", visible(about.join(" · "))), buttons);
    return card;
  }

  async give(id, answer, buttons, said) {
    enable(buttons, false);
    try {
      await answerQuestion(id, answer);
      said.textContent = answer === "deny" ? "denied" : "allowed";
    } catch (error) {
      // Somebody else may have answered: then the card is about to go.
      said.textContent = error.message;
      setTimeout(() => enable(buttons, true), PAUSE);
    }
  }
}

function enable(buttons, isOn) {
  for (const button of buttons.querySelectorAll("button")) button.disabled = !isOn;
}

/** A command with carets under the part that is meant. */
function marked(command, part) {
  const text = node("pre");
  let start = 0;
  for (const line of command.split("\n")) {
    const end = start + line.length;
    text.append(visible(line), "\n");
    const from = part ? Math.max(part[0], start) : 0;
    const upto = part ? Math.min(part[1], end) : 0;
    if (part && from < upto) {
      const marks = node("span", "marks", " ".repeat(from - start) + "^".repeat(upto - from));
      marks.setAttribute("aria-hidden", "true");
      text.append(marks, "\n");
    }
    start = end + 1;
  }
  return text;
}
