// SPDX-License-Identifier: MIT
// What the reader does: moving about, choosing, searching.
function setView(from, to) {
  const least = 20;  // nanoseconds: a pixel a fraction of one
  let length = Math.min(Math.max(to - from, least), duration * 1.02);
  const middle = (from + to) / 2;
  from = middle - length / 2;
  from = Math.max(-duration * .01, Math.min(from, duration * 1.01 - length));
  view.from = from;
  view.to = from + length;
  redraw();
}
function zoom(factor, at = (view.from + view.to) / 2) {
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function move(part) { setView(view.from + (view.to - view.from) * part, view.to + (view.to - view.from) * part); }
function show(from, to) {
  const room = Math.max((to - from) * .6, duration * 1e-6, 200);
  setView(from - room, to + room);
}
function reveal(lane) {
  current = layout();
  const y = lane.y - view.scroll;
  if (y < 0 || y + lane.height > height - kAxis) view.scroll = Math.max(0, lane.y - 80);
}

// Chooses a goroutine, at a time if there is one; its lane appears.
function select(g, time = null, bring = false) {
  selection.g = g;
  if (time === null) {
    selection.span = -1;
    for (let i = g.first; i < g.first + g.count && selection.span < 0; ++i) if (span.state[i] === kRunning) selection.span = i;
    if (selection.span < 0) selection.span = g.count ? g.first : -1;
  } else {
    selection.span = spanAt(g, time);
  }
  reveal(pin(g));
  if (bring && selection.span >= 0) {
    const i = selection.span, at = time === null ? span.start[i] : time;
    if (at < view.from || at > view.to) setView(at - (view.to - view.from) / 2, at + (view.to - view.from) / 2);
  }
  showPanel("goroutine");
  redraw();
}
function showSpan(index) {
  const g = goroutines[span.g[index]];
  selection.g = g;
  selection.span = index;
  reveal(pin(g));
  show(span.start[index], span.end[index]);
  showPanel("goroutine");
}
function step(by) {
  const g = selection.g;
  if (!g || selection.span < 0) return;
  const next = selection.span + by;
  if (next < g.first || next >= g.first + g.count) return;
  selection.span = next;
  if (span.start[next] < view.from || span.start[next] > view.to) {
    const half = (view.to - view.from) / 2;
    setView(span.start[next] - half, span.start[next] + half);
  }
  showPanel("goroutine");
  redraw();
}
function fitSelection() { if (selection.span >= 0) show(span.start[selection.span], span.end[selection.span]); }
function toggleLane(g) {
  if (gLanes.some((lane) => lane.g === g)) unpin(g); else pin(g);
  showPanel();
  redraw();
}

// Along the arrow, backwards: from a span that was waited through to the goroutine that ended it.
function followWaker(index = selection.span) {
  if (index < 0) return;
  const g = goroutines[span.g[index]];
  while (index < g.first + g.count && span.state[index] !== kRunnable) ++index;
  if (index >= g.first + g.count || span.by[index] < 0) return;
  const waker = goroutines[span.by[index]], time = span.start[index];
  selection.g = waker;
  selection.span = spanAt(waker, time, true);
  reveal(pin(waker));
  pin(g);
  if (time < view.from || time > view.to) setView(time - (view.to - view.from) / 2, time + (view.to - view.from) / 2);
  showPanel("goroutine");
  redraw();
}

// --- the pointer ---

function laneAt(y) { return current.find((lane) => y >= kAxis + lane.y - view.scroll && y < kAxis + lane.y - view.scroll + lane.height); }
function spanUnder(x, y) {
  if (y < kAxis || x < kLabel) return -1;
  const lane = laneAt(y);
  if (!lane || !lane.spans) return -1;
  const time = timeOf(x), slack = (view.to - view.from) / (width - kLabel) * 3;
  let best = -1, distance = slack;
  for (let i = lower(lane.end, time - slack), looked = 0; i < lane.spans.length && lane.start[i] <= time + slack && looked < 500; ++i, ++looked) {
    const away = time < lane.start[i] ? lane.start[i] - time : time > lane.end[i] ? time - lane.end[i] : 0;
    if (away < distance || (away === 0 && distance === 0 && best < 0)) {
      best = lane.spans[i];
      distance = away;
    }
  }
  return best;
}

const tip = byId("tip");
function showTip(event) {
  const index = spanUnder(event.offsetX, event.offsetY);
  tip.hidden = index < 0;
  if (index < 0) return;
  const lines = [nameOf(goroutines[span.g[index]]), stateNames[span.state[index]] + " " + duration_(span.end[index] - span.start[index]) +
    " from " + duration_(span.start[index])];
  if (span.reason[index]) lines.push(text(span.reason[index]));
  if (span.stack[index] >= 0) lines.push(topFrame(span.stack[index]));
  tip.replaceChildren(...lines.map((words) => make("div", { text: words })));
  tip.style.left = Math.max(4, Math.min(event.offsetX + 14, width - tip.offsetWidth - 8)) + "px";
  const below = overviewCanvas.offsetHeight + event.offsetY + 16;
  tip.style.top = (below + tip.offsetHeight > overviewCanvas.offsetHeight + height ? below - tip.offsetHeight - 28 : below) + "px";
}

let drag = null;
lanesCanvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  lanesCanvas.setPointerCapture(event.pointerId);
  drag = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: view.scroll, moved: false, zoom: event.shiftKey };
  if (drag.zoom) brush.from = brush.to = timeOf(event.offsetX);
});
lanesCanvas.addEventListener("pointermove", (event) => {
  if (!drag) return showTip(event);
  const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
  if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
  if (!drag.moved) return;
  tip.hidden = true;
  if (drag.zoom) {
    brush.to = timeOf(event.offsetX);
    return redraw();
  }
  lanesCanvas.classList.add("dragging");
  view.scroll = drag.scroll - dy;
  const shift = dx / (width - kLabel) * (drag.to - drag.from);
  setView(drag.from - shift, drag.to - shift);
});
lanesCanvas.addEventListener("pointerup", (event) => {
  const done = drag;
  drag = null;
  lanesCanvas.classList.remove("dragging");
  if (done && done.zoom && done.moved) setView(Math.min(brush.from, brush.to), Math.max(brush.from, brush.to));
  brush.from = brush.to = null;
  if (!done || done.moved) return redraw();
  const lane = laneAt(event.offsetY);
  if (lane && lane.kind === "head" && event.offsetY > kAxis) {
    folded[lane.key] = !folded[lane.key];
    return redraw();
  }
  if (lane && lane.kind === "G" && event.offsetX < kLabel) return select(lane.g, null, true);
  const index = spanUnder(event.offsetX, event.offsetY);
  if (index < 0) return redraw();
  const before = selection.g;
  selection.g = goroutines[span.g[index]];
  selection.span = index;
  const lanesBefore = gLanes.length;
  pin(selection.g);
  // What was clicked stays under the pointer although a lane appeared above it.
  if (before !== selection.g && gLanes.length > lanesBefore && lane.kind !== "G") view.scroll += lanesBefore ? 28 : 0;
  showPanel("goroutine");
  redraw();
});
lanesCanvas.addEventListener("pointerleave", () => { tip.hidden = true; });
lanesCanvas.addEventListener("dblclick", () => fitSelection());
lanesCanvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  tip.hidden = true;
  if (event.shiftKey) {
    view.scroll += event.deltaY || event.deltaX;
    return redraw();
  }
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return move(event.deltaX / 1000);
  zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeOf(Math.max(kLabel, event.offsetX)));
}, { passive: false });

overviewCanvas.addEventListener("pointerdown", (event) => {
  overviewCanvas.setPointerCapture(event.pointerId);
  overviewCanvas.onpointermove = (moved) => {
    const middle = moved.offsetX / overviewCanvas.clientWidth * duration, half = (view.to - view.from) / 2;
    setView(middle - half, middle + half);
  };
  overviewCanvas.onpointermove(event);
});
overviewCanvas.addEventListener("pointerup", () => { overviewCanvas.onpointermove = null; });

// --- the keyboard ---

const keys = { w: () => zoom(.6), "+": () => zoom(.6), "=": () => zoom(.6), s: () => zoom(1 / .6), "-": () => zoom(1 / .6), a: () => move(-.2),
  ArrowLeft: () => move(-.2), d: () => move(.2), ArrowRight: () => move(.2), ArrowUp: () => { view.scroll -= 40; redraw(); },
  ArrowDown: () => { view.scroll += 40; redraw(); }, "0": () => setView(0, duration), f: fitSelection, "[": () => step(-1), "]": () => step(1),
  b: () => followWaker(), "/": () => search.focus(), Escape: clear };
document.addEventListener("keydown", (event) => {
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  if (event.target.closest && event.target.closest("aside") && event.key.startsWith("Arrow")) return;
  event.preventDefault();
  keys[event.key]();
});
function clear() {
  selection.g = null;
  selection.span = -1;
  showPanel();
  redraw();
}

// --- search ---

const search = byId("search"), found = byId("found");
let hits = [], at = 0;
function find(words) {
  words = words.trim().toLowerCase();
  if (!words) return [];
  const id = words.replace(/^g(?=\d+$)/, ""), exact = [], rest = [];
  for (const g of goroutines) {
    if (String(g.id) === id) exact.push(g);
    else if (rest.length < 200 && (text(g.name).toLowerCase().includes(words) || text(g.func).toLowerCase().includes(words))) rest.push(g);
  }
  return exact.concat(rest).slice(0, 200);
}
function listHits() {
  found.hidden = !search.value.trim();
  found.replaceChildren(...hits.map((g, i) => make("button", { class: "row" + (i === at ? " at" : ""), click: () => choose(i) },
    make("span", { class: "id", text: "G" + g.id }), (text(g.name) ? text(g.name) + "  " : "") + text(g.func))));
  if (!hits.length) found.append(make("div", { class: "row", text: "no goroutine has this id, name or function" }));
  const marked = found.querySelector(".at");
  if (marked) marked.scrollIntoView({ block: "nearest" });
}
function choose(i) {
  if (!hits[i]) return;
  select(hits[i], null, true);
  found.hidden = true;
  lanesCanvas.focus();
}
search.addEventListener("input", () => {
  hits = find(search.value);
  at = 0;
  listHits();
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") choose(at);
  else if (event.key === "Escape") {
    found.hidden = true;
    search.blur();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    at = Math.max(0, Math.min(hits.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
    listHits();
  }
});
document.addEventListener("pointerdown", (event) => { if (!event.target.closest("#find")) found.hidden = true; });

// --- the start ---

byId("name").textContent = baseName(tables.name);
byId("facts").textContent = [duration_(tables.duration), tables.events.toLocaleString("en") + " events", goroutines.length.toLocaleString("en") +
  " goroutines", tables.ps.length + " Ps", tables.ms.length + " Ms", ...(tables.wall ? [new Date(tables.wall).toISOString().slice(0, 19)
    .replace("T", " ") + " UTC"] : [])].join(" \u00b7 ");
if (tables.fault) {
  byId("fault").hidden = false;
  byId("fault").textContent = "The file is broken, what stands before is shown. " + tables.fault;
}
byId("fit").addEventListener("click", () => setView(0, duration));
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = colours.dark ? "light" : "dark";
  readColours();
  showPanel();
  redraw();
});
for (const button of document.querySelectorAll("nav button")) button.addEventListener("click", () => showPanel(button.dataset.tab));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });
new ResizeObserver(redraw).observe(byId("stage"));
readColours();
showPanel();
drawLanes();
drawOverview();
// For tests and curious readers: where things are on the canvas.
window.weftTrace = { view, selection, goroutines, span, xOf, lanes: () => current.map(({ kind, label, y, height: tall }) =>
  ({ kind, label, y: y + kAxis - view.scroll, height: tall })), drawLanes, spanUnder };
