// SPDX-License-Identifier: MIT
// Lanes: spans in order of time with running sums, so that a pixel that covers thousands of spans costs two binary searches.
function makeLane(kind, label, indices, extra = {}) {
  const n = indices.length;
  const lane = { kind, label, spans: indices, start: new Float64Array(n), end: new Float64Array(n), sums: [], y: 0, height: 24, ...extra };
  for (let i = 0; i < n; ++i) {
    lane.start[i] = span.start[indices[i]];
    lane.end[i] = span.end[indices[i]];
  }
  // sums[s][i]: time in state s of the spans before i.
  for (const state of kind === "G" ? [0, 1, 2, 3, 4] : [kRunning, kCall, kExiled]) {
    const sum = lane.sums[state] = new Float64Array(n + 1);
    for (let i = 0; i < n; ++i) sum[i + 1] = sum[i] + (span.state[indices[i]] === state ? lane.end[i] - lane.start[i] : 0);
  }
  return lane;
}

// Time of a state between two moments.
function timeIn(lane, state, from, to) {
  const sum = lane.sums[state];
  if (!sum) return 0;
  const first = lower(lane.end, from), last = lower(lane.start, to);
  if (first >= last) return 0;
  let time = sum[last] - sum[first];
  if (span.state[lane.spans[first]] === state) time -= Math.max(0, from - lane.start[first]);
  if (span.state[lane.spans[last - 1]] === state) time -= Math.max(0, lane.end[last - 1] - to);
  return Math.max(time, 0);
}

function collect(of, count) {
  const sizes = new Uint32Array(count);
  for (let i = 0; i < spanCount; ++i) if (of[i] >= 0) ++sizes[of[i]];
  const lists = Array.from(sizes, (size) => new Uint32Array(size)), at = new Uint32Array(count);
  for (let i = 0; i < spanCount; ++i) if (of[i] >= 0) lists[of[i]][at[of[i]]++] = i;
  for (const list of lists) list.sort((a, b) => span.start[a] - span.start[b] || span.end[a] - span.end[b]);
  return lists;
}

const pLanes = collect(span.p, tables.ps.length).map((list, p) => makeLane("P", "P " + tables.ps[p], list, { p }));
const mLanes = collect(span.m, tables.ms.length).map((list, m) => makeLane("M", "M " + tables.ms[m], list, { m }));
// Of the time of all Ps: running, computing without a P in the stead of one that is idle, in calls.
function useOf(from, to) {
  const sum = (lanes, state) => lanes.reduce((time, lane) => time + timeIn(lane, state, from, to), 0);
  const all = (to - from) * Math.max(1, pLanes.length);
  const busy = sum(pLanes, kRunning), call = sum(pLanes, kCall), exiled = tables.exiled ? sum(mLanes, kExiled) : 0;
  return [busy / all, Math.min(exiled, Math.max(0, all - busy - call)) / all, call / all];
}
const gLanes = [];  // on demand, the last one on top
const folded = { P: false, M: tables.ms.length > 12, G: false };

// Runnable goroutines at a time: those that became so minus those that ceased.
const runnable = { start: null, end: null };
{
  let count = 0;
  for (let i = 0; i < spanCount; ++i) count += span.state[i] === kRunnable;
  runnable.start = new Float64Array(count);
  runnable.end = new Float64Array(count);
  for (let i = 0, at = 0; i < spanCount; ++i) {
    if (span.state[i] !== kRunnable) continue;
    runnable.start[at] = span.start[i];
    runnable.end[at++] = span.end[i];
  }
  runnable.start.sort();
  runnable.end.sort();
}
function runnableAt(time) { return lower(runnable.start, time + 0.5) - lower(runnable.end, time + 0.5); }

function pin(g) {
  let lane = gLanes.find((it) => it.g === g);
  if (!lane) {
    const indices = new Uint32Array(g.count);
    for (let i = 0; i < g.count; ++i) indices[i] = g.first + i;
    lane = makeLane("G", nameOf(g), indices, { g, height: 28 });
    gLanes.unshift(lane);
    if (gLanes.length > 40) gLanes.pop();
  }
  folded.G = false;
  return lane;
}
function unpin(g) {
  const at = gLanes.findIndex((it) => it.g === g);
  if (at >= 0) gLanes.splice(at, 1);
}

// All lanes from top to bottom, heads included, with their places.
function layout() {
  const all = [{ kind: "use", label: "Utilisation", height: 54 }];
  const section = (key, label, lanes) => {
    if (!lanes.length) return;
    all.push({ kind: "head", key, label: label + " (" + lanes.length + ")", height: 22 });
    if (!folded[key]) all.push(...lanes);
  };
  section("G", "Goroutines", gLanes);
  section("P", "Ps", pLanes);
  section("M", "Ms", mLanes);
  let y = 0;
  for (const lane of all) {
    lane.y = y;
    y += lane.height;
  }
  all.total = y;
  return all;
}
