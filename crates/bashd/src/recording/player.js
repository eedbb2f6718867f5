
"use strict";
// Plays the film of this page: rows of text with their times. Text is set as text, never as markup.
(() => {
  const film = JSON.parse(document.getElementById("film").textContent);
  const [screen, play, seek, time, speed] = ["screen", "play", "seek", "time", "speed"].map((id) => document.getElementById(id));
  const rows = [], shots = [], shown = [];
  for (let row = 0; row < film.rows; row++) {
    const line = document.createElement("div");
    line.className = "row";
    line.style.width = film.columns + "ch";
    screen.append(line);
    rows.push(line); shots.push([]); shown.push(undefined);
  }
  for (const shot of film.shots) if (shots[shot[0]]) shots[shot[0]].push(shot);
  for (const list of shots) list.sort((a, b) => a[1] - b[1]);
  seek.max = film.duration;

  // The last shot of a row that began by then, if it has not ended.
  const at = (list, now) => {
    let low = 0, high = list.length;
    while (low < high) { const middle = (low + high) >> 1; if (list[middle][1] <= now) low = middle + 1; else high = middle; }
    const shot = list[low - 1];
    return shot && (shot[2] === null || shot[2] > now) ? shot : null;
  };
  const paint = (line, shot) => {
    line.replaceChildren();
    for (const [column, columns, text, [foreground, background, bits]] of shot ? shot[3] : []) {
      const span = document.createElement("span");
      span.textContent = text;
      span.style.left = column + "ch";
      span.style.width = columns + "ch";
      if (foreground) span.style.color = foreground;
      if (background) span.style.background = background;
      if (bits & 1) span.style.fontWeight = "bold";
      if (bits & 2) span.style.opacity = "0.65";
      if (bits & 4) span.style.fontStyle = "italic";
      if (bits & 8) span.style.textDecoration = "underline";
      line.append(span);
    }
  };
  const stamp = (ms) => Math.floor(ms / 60000) + ":" + String(Math.floor(ms / 1000) % 60).padStart(2, "0");
  let now = film.duration, since = null;
  const show = () => {
    rows.forEach((line, row) => {
      const shot = at(shots[row], now);
      if (shot !== shown[row]) { paint(line, shot); shown[row] = shot; }
    });
    seek.value = now;
    time.textContent = stamp(now) + " / " + stamp(film.duration);
    play.textContent = since === null ? "Play" : "Pause";
  };
  const stop = () => { since = null; show(); };
  const tick = (moment) => {
    if (since === null) return;
    now += (moment - since) * Number(speed.value);
    since = moment;
    if (now >= film.duration) { now = film.duration; stop(); document.body.dataset.played = "yes"; return; }
    show();
    requestAnimationFrame(tick);
  };
  const start = () => { if (now >= film.duration) now = 0; since = performance.now(); show(); requestAnimationFrame(tick); };
  const toggle = () => (since === null ? start() : stop());
  play.addEventListener("click", toggle);
  seek.addEventListener("input", () => { now = Number(seek.value); show(); });
  document.addEventListener("keydown", (event) => {
    if (event.target === play || event.target === seek || event.target === speed) return;
    if (event.key === " ") { event.preventDefault(); toggle(); }
    if (event.key === "ArrowRight") { now = Math.min(film.duration, now + 5000); show(); }
    if (event.key === "ArrowLeft") { now = Math.max(0, now - 5000); show(); }
  });
  show();
  if (location.hash === "#play") start();
})();
