// SPDX-License-Identifier: MIT
// The trace: tables from JSON, everything numerous in typed arrays.
const byId = (id) => document.getElementById(id);
const tables = JSON.parse(byId("tables").textContent);
const kRunnable = 0, kRunning = 1, kCall = 2, kWaiting = 3, kExiled = 4;
const stateNames = ["runnable", "running", "in a call", "waiting", "computing without a P"];

class Numbers {
  constructor(id) {
    const element = byId(id), text = atob(element.textContent);
    this.bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) this.bytes[i] = text.charCodeAt(i);
    this.at = 0;
    element.remove();
  }
  more() { return this.at < this.bytes.length; }
  next() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return value;
  }
  index() { return this.next() - 1; }
}

const goroutines = [];
{
  const in_ = new Numbers("goroutines");
  let id = 0, span = 0;
  while (in_.more()) {
    const g = { index: goroutines.length, id: (id += in_.next()), name: in_.next(), func: in_.next(), creator: in_.index(),
      creationStack: in_.index(), flags: in_.next(), start: in_.next(), end: 0, first: span, count: 0, group: -1 };
    g.end = g.start + in_.next();
    span += g.count = in_.next();
    goroutines.push(g);
  }
}
const spanCount = goroutines.reduce((sum, g) => sum + g.count, 0);
const span = { state: new Uint8Array(spanCount), open: new Uint8Array(spanCount), start: new Float64Array(spanCount),
  end: new Float64Array(spanCount), g: new Int32Array(spanCount), reason: new Int32Array(spanCount), stack: new Int32Array(spanCount),
  m: new Int32Array(spanCount).fill(-1), p: new Int32Array(spanCount).fill(-1), by: new Int32Array(spanCount).fill(-1),
  byStack: new Int32Array(spanCount).fill(-1) };
{
  const in_ = new Numbers("spans");
  for (const g of goroutines) {
    let end = 0;
    for (let i = g.first; i < g.first + g.count; ++i) {
      const bits = in_.next();
      span.state[i] = bits & 7;
      span.open[i] = bits >> 3;
      span.start[i] = end + in_.next();
      span.end[i] = end = span.start[i] + in_.next();
      span.g[i] = g.index;
      span.reason[i] = in_.next();
      span.stack[i] = in_.index();
      if (span.state[i] === kRunning || span.state[i] === kCall || span.state[i] === kExiled) {
        span.m[i] = in_.index();
        span.p[i] = in_.index();
      } else if (span.state[i] === kRunnable) {
        span.by[i] = in_.index();
        span.byStack[i] = in_.index();
      }
    }
  }
}
const procSpans = tables.ps.map(() => ({ start: [], end: [], state: [], m: [] }));
for (const in_ = new Numbers("procspans"); in_.more();) {
  const p = procSpans[in_.next()];
  p.state.push(in_.next());
  const start = in_.next();
  p.start.push(start);
  p.end.push(start + in_.next());
  p.m.push(in_.index());
}
const ranges = [];
for (const in_ = new Numbers("ranges"); in_.more();) {
  const range = { kind: in_.next(), start: in_.next(), end: 0, g: -1, name: 0 };
  range.end = range.start + in_.next();
  range.g = in_.index();
  range.name = in_.next();
  ranges.push(range);
}
const worldRanges = ranges.filter((range) => range.kind < 2);
const regionsOf = new Map();
for (const range of ranges) {
  if (range.kind !== 2) continue;
  if (!regionsOf.has(range.g)) regionsOf.set(range.g, []);
  regionsOf.get(range.g).push(range);
}
const samples = [];
for (const in_ = new Numbers("samples"); in_.more();) {
  samples.push({ time: in_.next(), g: in_.index(), p: in_.index(), stack: in_.index() });
}
tables.groups.forEach((group, i) => { for (const g of group.goroutines) goroutines[g].group = i; });
const duration = Math.max(tables.duration, 1);

// First index with array[index] >= value, between 0 and length.
function lower(array, value, from = 0, to = array.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (array[middle] < value) from = middle + 1; else to = middle;
  }
  return from;
}

// The span of a goroutine at a time; of two that touch there, the one before if `before`. -1 outside its life.
function spanAt(g, time, before = false) {
  let from = g.first, to = g.first + g.count;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (span.end[middle] < time || (!before && span.end[middle] === time && middle + 1 < g.first + g.count)) from = middle + 1;
    else to = middle;
  }
  return from < g.first + g.count && span.start[from] <= time ? from : -1;
}

// Spans that goroutine g made runnable: bys.list[bys.first[g] .. bys.first[g + 1]].
const bys = { first: new Uint32Array(goroutines.length + 1), list: null };
for (let i = 0; i < spanCount; ++i) if (span.by[i] >= 0) ++bys.first[span.by[i] + 1];
for (let g = 0; g < goroutines.length; ++g) bys.first[g + 1] += bys.first[g];
bys.list = new Uint32Array(bys.first[goroutines.length]);
{
  const at = bys.first.slice();
  for (let i = 0; i < spanCount; ++i) if (span.by[i] >= 0) bys.list[at[span.by[i]]++] = i;
}

// --- words ---

const text = (id) => tables.strings[id] || "";
function duration_(ns) {
  if (ns < 1e3) return ns.toFixed(0) + " ns";
  const [value, unit] = ns < 1e6 ? [ns / 1e3, "\u00b5s"] : ns < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)) + " " + unit;
}
function titleOf(g) { return text(g.name || g.func); }
function nameOf(g) { return "G" + g.id + (titleOf(g) ? " " + titleOf(g) : ""); }
function baseName(path) { return path.slice(path.lastIndexOf("/") + 1); }
function frameText(stack, i) {
  const frames = tables.stacks[stack];
  return text(frames[3 * i]) + (frames[3 * i + 1] ? "  " + baseName(text(frames[3 * i + 1])) + ":" + frames[3 * i + 2] : "");
}
function topFrame(stack) { return stack >= 0 && tables.stacks[stack].length ? frameText(stack, 0) : ""; }
