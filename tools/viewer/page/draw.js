// SPDX-License-Identifier: MIT
// Two canvases: the whole trace above, the lanes of the view below.
const lanesCanvas = byId("lanes"), overviewCanvas = byId("overview");
const kLabel = 112, kAxis = 24;
const view = { from: 0, to: duration, scroll: 0 };
const selection = { g: null, span: -1 };
const brush = { from: null, to: null };
let width = 0, height = 0, colours = {}, current = layout(), scheduled = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["bg", "card", "ink", "soft", "line", "faint", "accent", "running", "runnable", "call", "waiting", "exiled", "held", "select",
    "on", "shade"]) colours[name] = style.getPropertyValue("--" + name).trim();
  colours.states = [colours.runnable, colours.running, colours.call, colours.waiting, colours.exiled];
  colours.dark = parseInt(colours.bg.slice(1, 3), 16) < 100;
}

// Goroutines of one spawn site share a colour. Steps of the golden angle keep neighbours apart.
const hues = new Map();
function colourOf(g) {
  let hue = hues.get(g.group);
  if (hue === undefined) hues.set(g.group, hue = (150 + g.group * 137.5) % 360);
  return colours.dark ? `hsl(${hue} 42% 58%)` : `hsl(${hue} 46% 50%)`;
}

const xOf = (time) => kLabel + (time - view.from) / (view.to - view.from) * (width - kLabel);
const timeOf = (x) => view.from + (x - kLabel) / (width - kLabel) * (view.to - view.from);

function fitCanvas(canvas) {
  const scale = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const w = Math.max(1, Math.round(box.width * scale)), h = Math.max(1, Math.round(box.height * scale));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return [context, box.width, box.height];
}

function redraw() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    drawLanes();
    drawOverview();
  });
}

function niceStep(range, pixels) {
  const raw = range / Math.max(1, pixels / 110), power = 10 ** Math.floor(Math.log10(raw));
  return power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
}

function drawLanes() {
  let context;
  [context, width, height] = fitCanvas(lanesCanvas);
  current = layout();
  view.scroll = Math.max(0, Math.min(view.scroll, current.total - (height - kAxis)));
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  drawWorld(context);
  context.save();
  context.beginPath();
  context.rect(0, kAxis, width, height - kAxis);
  context.clip();
  for (const lane of current) {
    const y = kAxis + lane.y - view.scroll;
    if (y > height || y + lane.height < kAxis) continue;
    context.save();
    context.beginPath();
    context.rect(kLabel, y, width - kLabel, lane.height);
    context.clip();
    if (lane.kind === "use") drawUse(context, y, lane.height);
    else if (lane.kind !== "head") drawLane(context, lane, y);
    context.restore();
    drawLabel(context, lane, y);
  }
  drawArrows(context);
  context.restore();
  drawAxis(context);
}

function drawAxis(context) {
  context.fillStyle = colours.card;
  context.fillRect(0, 0, width, kAxis);
  context.strokeStyle = colours.line;
  context.fillStyle = colours.soft;
  context.textAlign = "left";
  const step = niceStep(view.to - view.from, width - kLabel);
  context.beginPath();
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(xOf(t)) + .5;
    context.moveTo(x, 0);
    context.lineTo(x, kAxis);
    context.fillText(duration_(t), x + 4, kAxis / 2 + 1);
  }
  context.moveTo(0, kAxis - .5);
  context.lineTo(width, kAxis - .5);
  context.stroke();
  context.fillStyle = colours.card;
  context.fillRect(0, 0, kLabel, kAxis - 1);
  context.fillStyle = colours.soft;
  context.fillText(duration_(view.to - view.from) + " shown", 8, kAxis / 2 + 1);
  if (brush.from !== null) {
    context.fillStyle = colours.accent;
    context.globalAlpha = .18;
    context.fillRect(Math.min(xOf(brush.from), xOf(brush.to)), 0, Math.abs(xOf(brush.to) - xOf(brush.from)), height);
    context.globalAlpha = 1;
  }
}

// Stopped worlds and collections are stripes behind all lanes.
function drawWorld(context) {
  for (const range of worldRanges) {
    if (range.end < view.from || range.start > view.to) continue;
    const from = Math.max(kLabel, xOf(range.start)), to = Math.min(width, xOf(range.end));
    context.fillStyle = range.kind === 0 ? colours.accent : colours.soft;
    context.globalAlpha = range.kind === 0 ? .22 : .09;
    context.fillRect(from, kAxis, Math.max(1, to - from), height);
    context.globalAlpha = 1;
  }
}

function drawLabel(context, lane, y) {
  context.textAlign = "left";
  if (lane.kind === "head") {
    context.fillStyle = colours.faint;
    context.fillRect(0, y, width, lane.height - 1);
    context.fillStyle = colours.soft;
    context.fillText((folded[lane.key] ? "\u25b8 " : "\u25be ") + lane.label, 8, y + lane.height / 2);
    return;
  }
  context.fillStyle = colours.card;
  context.fillRect(0, y, kLabel, lane.height);
  context.fillStyle = selection.g && lane.g === selection.g ? colours.select : colours.ink;
  context.save();
  context.beginPath();
  context.rect(0, y, kLabel - 6, lane.height);
  context.clip();
  context.fillText(lane.label, 8, y + lane.height / 2);
  context.restore();
  context.fillStyle = colours.line;
  context.fillRect(0, y + lane.height - 1, width, .6);
  context.fillRect(kLabel - 1, y, 1, lane.height);
}

function drawUseAt(context, x, wide, bottom, tall, use) {
  [colours.running, colours.exiled, colours.call].forEach((colour, i) => {
    context.fillStyle = colour;
    bottom -= use[i] * tall;
    context.fillRect(x, bottom, wide, use[i] * tall);
  });
}

// Busy Ps (green), goroutines that compute without one (blue-green), Ps in calls (violet) and, as a line, goroutines that wait for a P.
function drawUse(context, y, h) {
  const top = y + 6, tall = h - 10, values = [];
  let most = 1;
  for (let x = kLabel; x < width; x += 2) {
    const from = timeOf(x), to = timeOf(x + 2);
    drawUseAt(context, x, 2, top + tall, tall, useOf(from, to));
    const waiting = runnableAt((from + to) / 2);
    values.push(waiting);
    most = Math.max(most, waiting);
  }
  context.strokeStyle = colours.runnable;
  context.lineWidth = 1.5;
  context.beginPath();
  values.forEach((value, i) => context.lineTo(kLabel + 2 * i, top + tall - value / most * (tall - 2)));
  context.stroke();
  context.lineWidth = 1;
  const words = "runnable \u2264 " + most, wide = context.measureText(words).width;
  context.fillStyle = colours.card;
  context.globalAlpha = .85;
  context.fillRect(width - wide - 14, top - 2, wide + 10, 16);
  context.globalAlpha = 1;
  context.fillStyle = colours.ink;
  context.textAlign = "right";
  context.fillText(words, width - 9, top + 6);
}

function drawLane(context, lane, y) {
  const top = y + 3, tall = lane.height - 6;
  const first = lower(lane.end, view.from), last = lower(lane.start, view.to);
  if (lane.kind === "P") drawHeld(context, lane, y);
  if (last - first > (width - kLabel) * 2) drawDense(context, lane, top, tall);
  else for (let i = first; i < last; ++i) drawSpan(context, lane, i, top, tall);
  if (lane.kind === "G") drawRegions(context, lane, top, tall);
  if (lane.kind !== "M") drawSamples(context, lane, y);
}

function drawSpan(context, lane, i, top, tall) {
  const index = lane.spans[i], from = Math.max(xOf(lane.start[i]), kLabel - 4), to = Math.min(xOf(lane.end[i]), width + 4);
  const wide = Math.max(1, to - from), state = span.state[index], g = goroutines[span.g[index]];
  const inset = lane.kind === "G" && state === kWaiting ? tall * .3 : 0;
  context.fillStyle = lane.kind === "G" ? colours.states[state] : state === kCall ? colours.call : state === kExiled ? colours.exiled : colourOf(g);
  context.fillRect(from, top + inset, wide > 2.5 ? wide - .7 : wide, tall - 2 * inset);
  if (index === selection.span || (lane.kind !== "G" && g === selection.g)) {
    context.strokeStyle = colours.select;
    context.lineWidth = index === selection.span ? 2.5 : 1.2;
    context.strokeRect(from + .5, top + inset + .5, Math.max(1, wide - 1.5), tall - 2 * inset - 1);
    context.lineWidth = 1;
  }
  if (wide > 26) drawName(context, lane, index, from, wide, top + tall / 2, inset > 0);
}

function drawName(context, lane, index, from, wide, y, thin) {
  const state = span.state[index], g = goroutines[span.g[index]];
  let words = lane.kind !== "G" ? nameOf(g) + (state === kCall ? " (call)" : state === kExiled ? " (without a P)" : "")
    : state === kWaiting ? text(span.reason[index]) || "waiting" : stateNames[state];
  const room = Math.floor((wide - 8) / 6.2);
  if (thin && room < words.length) return;
  if (words.length > room) words = words.slice(0, Math.max(1, room - 1)) + "\u2026";
  context.fillStyle = thin ? colours.ink : "#ffffff";
  if (!thin && colours.dark) context.fillStyle = colours.on;
  context.textAlign = "left";
  context.fillText(words, Math.max(from, kLabel) + 4, y + .5);
}

// More spans than pixels: the long ones as they are, and of each pixel between them how much is in which state, as heights.
function drawDense(context, lane, top, tall) {
  const order = lane.kind === "G" ? [kRunning, kExiled, kCall, kRunnable, kWaiting] : [kRunning, kExiled, kCall];
  for (let x = kLabel; x < width; ++x) {
    const from = timeOf(x), to = timeOf(x + 1), i = lower(lane.end, to);
    if (i < lane.spans.length && lane.start[i] <= to && xOf(lane.end[i]) - xOf(Math.max(lane.start[i], view.from)) >= 3) {
      drawSpan(context, lane, i, top, tall);
      x = Math.max(x, Math.floor(xOf(lane.end[i])) - 1);
      continue;
    }
    let bottom = top + tall;
    for (const state of order) {
      const part = tall * Math.min(1, timeIn(lane, state, from, to) / (to - from));
      if (part < .2) continue;
      context.fillStyle = colours.states[state];
      context.fillRect(x, bottom - part, 1, part);
      bottom -= part;
    }
  }
}

function drawHeld(context, lane, y) {
  const held = procSpans[lane.p], first = lower(held.end, view.from), last = lower(held.start, view.to);
  if (last - first > 4000) return;
  context.fillStyle = colours.held;
  for (let i = first; i < last; ++i) {
    if (held.state[i] !== 0) context.fillRect(xOf(held.start[i]), y + 1, xOf(held.end[i]) - xOf(held.start[i]), lane.height - 2);
  }
}

function drawRegions(context, lane, top, tall) {
  const list = regionsOf.get(lane.g.index) || [];
  if (list.length > 20000) return;
  for (const range of list) {
    if (range.end < view.from || range.start > view.to) continue;
    const from = xOf(range.start), wide = xOf(range.end) - from;
    if (wide < 3) continue;
    context.strokeStyle = colours.ink;
    context.strokeRect(from + .5, top + tall - 1, wide - 1, 1);
  }
}

function drawSamples(context, lane, y) {
  if (samples.length > 100000) return;
  context.fillStyle = colours.ink;
  for (const sample of samples) {
    if (sample.time < view.from || sample.time > view.to) continue;
    if (lane.kind === "P" ? sample.p === lane.p : sample.g === lane.g.index) context.fillRect(xOf(sample.time) - .5, y + lane.height - 4, 1.5, 3);
  }
}

// Where something a goroutine did at a time can be pointed at: in its own lane, else on the P or M it ran on.
function placeOf(g, time) {
  const own = current.find((lane) => lane.kind === "G" && lane.g === g);
  if (own) return own;
  const at = spanAt(g, time, true);
  if (at < 0) return null;
  return current.find((lane) => (lane.kind === "P" && lane.p === span.p[at]) || (lane.kind === "M" && lane.m === span.m[at])) || null;
}

function drawArrows(context) {
  context.save();
  context.beginPath();
  context.rect(kLabel, kAxis, width - kLabel, height - kAxis);
  context.clip();
  for (const lane of current) {
    if (lane.kind !== "G") continue;
    const first = lower(lane.end, view.from), last = lower(lane.start, view.to);
    if (last - first > 1200) continue;
    for (let i = first; i < last; ++i) {
      const index = lane.spans[i];
      if (span.by[index] < 0) continue;
      const from = placeOf(goroutines[span.by[index]], span.start[index]);
      if (from && from !== lane) drawArrow(context, index, from, lane);
    }
  }
  context.restore();
}

function drawArrow(context, index, from, to) {
  const chosen = index === selection.span || index === selection.span + 1 && span.g[index] === (selection.g && selection.g.index);
  const x = xOf(span.start[index]), down = to.y > from.y;
  const a = kAxis - view.scroll + from.y + from.height / 2, b = kAxis - view.scroll + to.y + (down ? 4 : to.height - 4);
  context.strokeStyle = context.fillStyle = chosen ? colours.select : colours.ink;
  context.globalAlpha = chosen ? 1 : .45;
  context.lineWidth = chosen ? 2 : 1;
  context.beginPath();
  context.moveTo(x - 5, a);
  context.bezierCurveTo(x - 5, a + (b - a) * .4, x, a + (b - a) * .6, x, b);
  context.stroke();
  context.beginPath();
  context.moveTo(x, b);
  context.lineTo(x - 3.5, b + (down ? -6 : 6));
  context.lineTo(x + 3.5, b + (down ? -6 : 6));
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1;
}

function drawOverview() {
  const [context, w, h] = fitCanvas(overviewCanvas);
  if (!drawOverview.cache || drawOverview.cache.length !== Math.ceil(w)) {
    drawOverview.cache = Array.from({ length: Math.ceil(w) }, (_, x) => useOf(duration * x / w, duration * (x + 1) / w));
  }
  drawOverview.cache.forEach((use, x) => drawUseAt(context, x, 1, h, h - 4, use));
  const from = view.from / duration * w, to = Math.max(from + 3, view.to / duration * w);
  context.fillStyle = colours.bg;
  context.globalAlpha = .72;
  context.fillRect(0, 0, from, h);
  context.fillRect(to, 0, w - to, h);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  context.strokeRect(from + 1, 1, Math.max(2, to - from - 2), h - 2);
}
