// SPDX-License-Identifier: MIT
// The panel beside the timeline. Everything from the trace goes through textContent.
const panel = byId("panel");
let tab = "sites";

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  const { click, ...rest } = options;
  for (const [key, value] of Object.entries(rest)) {
    if (key === "text") element.textContent = value;
    else if (key === "style") element.style.cssText = value;
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value);
  }
  if (click) element.addEventListener("click", click);
  element.append(...children);
  return element;
}
const heading = (words) => make("h3", { text: words });
const paragraph = (words, kind = "") => make("p", { text: words, class: kind });
const link = (words, click, id) => make("button", { text: words, class: "link", click, ...(id ? { id } : {}) });

function stateBar(time) {
  const all = time.reduce((a, b) => a + b, 0) || 1, bar = make("div", { class: "bar" });
  for (const [state, colour] of [[kRunning, "running"], [kExiled, "exiled"], [kRunnable, "runnable"], [kCall, "call"], [kWaiting, "waiting"]]) {
    bar.append(make("i", { style: `width:${(100 * time[state] / all).toFixed(2)}%;background:var(--${colour})`,
      title: stateNames[state] + " " + duration_(time[state]) }));
  }
  return bar;
}
function stateTimes(time) {
  return `running ${duration_(time[kRunning])} \u00b7 runnable ${duration_(time[kRunnable])} \u00b7 in calls ${duration_(time[kCall])}` +
    ` \u00b7 waiting ${duration_(time[kWaiting])}` + (time[kExiled] > 0 ? ` \u00b7 without a P ${duration_(time[kExiled])}` : "");
}
function timesOf(g) {
  const time = [0, 0, 0, 0, 0];
  for (let i = g.first; i < g.first + g.count; ++i) time[span.state[i]] += span.end[i] - span.start[i];
  return time;
}
function stackList(stack, limit = 12) {
  const list = make("ol");
  const depth = stack < 0 ? 0 : tables.stacks[stack].length / 3;
  for (let i = 0; i < Math.min(depth, limit); ++i) list.append(make("li", { text: frameText(stack, i) }));
  if (depth > limit) list.append(make("li", { text: `and ${depth - limit} more frames`, class: "soft" }));
  return list;
}

// What the Ps did while somebody was runnable: [idle time, [goroutine, time] longest first].
function meanwhile(from, to) {
  const ran = new Map();
  let idle = 0, looked = 0;
  for (const held of procSpans) {
    for (let i = lower(held.end, from); i < held.start.length && held.start[i] < to; ++i) {
      if (held.state[i] === 0) idle += Math.max(0, Math.min(to, held.end[i]) - Math.max(from, held.start[i]));
    }
  }
  for (const lane of pLanes) {
    for (let i = lower(lane.end, from); i < lane.spans.length && lane.start[i] < to && looked < 5000; ++i, ++looked) {
      const g = span.g[lane.spans[i]];
      ran.set(g, (ran.get(g) || 0) + Math.min(to, lane.end[i]) - Math.max(from, lane.start[i]));
    }
  }
  return [idle, [...ran].sort((a, b) => b[1] - a[1]).slice(0, 5)];
}

// The answer to "why was it not running?" for one span.
function explain(index) {
  const box = make("div", { class: "answer", id: "answer" }), state = span.state[index];
  const from = span.start[index], to = span.end[index], g = goroutines[span.g[index]], reason = text(span.reason[index]);
  const long = duration_(to - from) + (span.open[index] ? " (until the trace ends)" : "");
  const woke = (words, by, stack) => {
    const line = make("p");
    line.append(words + " ");
    if (by >= 0) line.append(link(nameOf(goroutines[by]), () => followWaker(index), "follow"));
    else line.append("the runtime (a timer, the network or a thread outside)");
    box.append(line);
    if (stack >= 0) box.append(paragraph("at " + topFrame(stack), "soft"));
  };
  if (state === kWaiting) {
    box.append(paragraph(`Waiting for ${long}: ${reason || "reason not said"}.`));
    if (span.stack[index] >= 0) box.append(paragraph("at " + topFrame(span.stack[index]), "soft"));
    const next = index + 1;
    if (next < g.first + g.count && span.state[next] === kRunnable) woke("Ended by", span.by[next], span.byStack[next]);
    else box.append(paragraph("Nobody woke it before the trace ended.", "soft"));
  } else if (state === kRunnable) {
    const preempted = reason === "preempted";
    box.append(paragraph(preempted ? `Preempted, then runnable for ${long} before it got a P again.`
      : `Runnable for ${long}, but no P ran it (${reason || "runnable"}).`));
    if (span.by[index] >= 0 || reason === "unblocked") woke(reason === "created" ? "Created by" : "Unblocked by", span.by[index], span.byStack[index]);
    const [idle, ran] = meanwhile(from, to);
    if (idle > 0) box.append(paragraph(`Ps were idle for ${duration_(idle)} of it together: one was free, but not awake yet.`));
    if (ran.length) box.append(paragraph("Meanwhile the Ps ran:", "soft"));
    for (const [other, time] of ran) {
      box.append(make("p", {}, link(nameOf(goroutines[other]), () => select(goroutines[other], from, true)), " " + duration_(time)));
    }
  } else if (state === kExiled) {
    box.append(paragraph(`Computing for ${long}` + (span.m[index] >= 0 ? ` on M ${tables.ms[span.m[index]]}` : "") +
      (span.p[index] >= 0 ? ", about to lose its P." : " without a P: it had computed for long without giving way, and its P went to others.")));
    if (span.stack[index] >= 0) box.append(paragraph("at " + topFrame(span.stack[index]), "soft"));
  } else if (state === kCall) {
    const kept = span.p[index] >= 0;
    box.append(paragraph(`In a blocking call for ${long}` + (span.m[index] >= 0 ? ` on M ${tables.ms[span.m[index]]}` : "") +
      (kept ? `, still holding P ${tables.ps[span.p[index]]}.` : "; its P was taken for others.")));
    if (span.stack[index] >= 0) box.append(paragraph("at " + topFrame(span.stack[index]), "soft"));
  } else {
    box.append(paragraph(`Running for ${long} on P ${span.p[index] >= 0 ? tables.ps[span.p[index]] : "?"}, M ` +
      `${span.m[index] >= 0 ? tables.ms[span.m[index]] : "?"}.`));
    const next = index + 1;
    if (next < g.first + g.count) {
      const then = span.state[next];
      box.append(paragraph("Then: " + stateNames[then] + (text(span.reason[next]) ? " (" + text(span.reason[next]) + ")" : "") + "."));
    }
  }
  return box;
}

// All causes of not running, summed up.
function causes(g) {
  const sums = new Map();
  for (let i = g.first; i < g.first + g.count; ++i) {
    const state = span.state[i];
    if (state === kRunning || state === kExiled) continue;
    const reason = text(span.reason[i]);
    const cause = state === kWaiting ? "waiting: " + (reason || "not said") : state === kCall ? "in a call" + (span.p[i] < 0 ? ", P taken" : "")
      : reason === "preempted" ? "preempted, no P" : "runnable, no P (" + (reason || "?") + ")";
    const sum = sums.get(cause) || { count: 0, time: 0, longest: i };
    ++sum.count;
    sum.time += span.end[i] - span.start[i];
    if (span.end[i] - span.start[i] > span.end[sum.longest] - span.start[sum.longest]) sum.longest = i;
    sums.set(cause, sum);
  }
  const table = make("table", {}, make("tr", {}, ...["cause", "times", "together", "longest"].map((words) => make("th", { text: words }))));
  for (const [cause, sum] of [...sums].sort((a, b) => b[1].time - a[1].time)) {
    table.append(make("tr", {}, make("td", { text: cause }), make("td", { text: String(sum.count) }), make("td", { text: duration_(sum.time) }),
      make("td", {}, link(duration_(span.end[sum.longest] - span.start[sum.longest]), () => showSpan(sum.longest)))));
  }
  return table;
}

function goroutinePanel() {
  const g = selection.g;
  if (!g) {
    return [paragraph("Click a span, or search for a goroutine."),
      paragraph("Its lane, what it waited for and who woke it appear here.", "soft")];
  }
  const parts = [make("h2", { text: nameOf(g), id: "who" })];
  if (g.name && g.func) parts.push(paragraph("runs " + text(g.func), "soft"));
  parts.push(paragraph((g.flags & 1 ? "created at " : "from before the trace; seen from ") + duration_(g.start) +
    (g.flags & 2 ? ", ended at " + duration_(g.end) : ", alive at the end"), "soft"));
  if (g.creator >= 0) {
    parts.push(make("p", { class: "soft" }, "by ", link(nameOf(goroutines[g.creator]), () => select(goroutines[g.creator], g.start, true)),
      g.creationStack >= 0 ? " at " + topFrame(g.creationStack) : ""));
  }
  const time = timesOf(g);
  parts.push(stateBar(time), paragraph(stateTimes(time), "soft"));
  parts.push(make("div", { class: "buttons" }, make("button", { text: "\u2039 before", id: "before", click: () => step(-1) }),
    make("button", { text: "after \u203a", id: "after", click: () => step(1) }),
    make("button", { text: "Fit", click: () => fitSelection() }),
    make("button", { text: gLanes.some((lane) => lane.g === g) ? "Hide lane" : "Show lane", click: () => toggleLane(g) })));
  if (selection.span >= 0) {
    parts.push(heading(span.state[selection.span] === kRunning || span.state[selection.span] === kExiled ? "What is it doing?" : "Why is it not running?"), explain(selection.span));
    if (span.stack[selection.span] >= 0) parts.push(heading("Stack"), stackList(span.stack[selection.span]));
    const woken = wokenDuring(selection.span);
    if (woken.length) parts.push(heading("It woke"), ...woken);
  }
  parts.push(heading("Why was it not running, in all"), causes(g));
  const regions = regionsOf.get(g.index) || [];
  if (regions.length) {
    parts.push(heading("Regions (" + regions.length + ")"));
    for (const range of regions.slice(0, 30)) {
      parts.push(make("p", {}, link(text(range.name) || "(no name)", () => show(range.start, range.end)), " " + duration_(range.end - range.start)));
    }
  }
  return parts;
}

function wokenDuring(index) {
  const g = span.g[index], rows = [];
  for (let i = bys.first[g]; i < bys.first[g + 1] && rows.length < 12; ++i) {
    const other = bys.list[i];
    if (span.start[other] < span.start[index] || span.start[other] > span.end[index]) continue;
    rows.push(make("p", {}, link(nameOf(goroutines[span.g[other]]), () => showSpan(other)), " at " + duration_(span.start[other])));
  }
  return rows;
}

function histogram(buckets) {
  const most = Math.max(1, ...buckets), box = make("div", { class: "bars" });
  let first = buckets.findIndex((count) => count > 0), last = buckets.length - 1;
  while (last > first && !buckets[last]) --last;
  for (let b = Math.max(first, 0); first >= 0 && b <= last; ++b) {
    box.append(make("span", { text: "\u2265 " + duration_(b === 0 ? 0 : 2 ** b) }),
      make("i", { style: `width:${100 * buckets[b] / most}%` }), make("span", { text: String(buckets[b]) }));
  }
  return box;
}

function sitesPanel() {
  const parts = [];
  for (const group of tables.groups.slice(0, 200)) {
    const box = make("div", { class: "site" });
    const names = make("p", {}, make("i", { style: "display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px;background:" +
      colourOf(goroutines[group.goroutines[0]]) }), make("b", { text: group.goroutines.length + " \u00d7 " }), group.text);
    box.append(names, stateBar(group.time), paragraph(stateTimes(group.time), "soft"));
    const list = make("p");
    for (const index of group.goroutines.slice(0, 8)) {
      list.append(link("G" + goroutines[index].id, () => select(goroutines[index], null, true)), " ");
    }
    if (group.goroutines.length > 8) list.append(`and ${group.goroutines.length - 8} more`);
    box.append(list);
    if (group.latency.some((count) => count)) {
      const details = make("details", {}, make("summary", { text: "latency: runnable until it ran" }));
      details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(histogram(group.latency)); });
      box.append(details);
    }
    parts.push(box);
  }
  if (tables.groups.length > 200) parts.push(paragraph(`and ${tables.groups.length - 200} more sites`, "soft"));
  return parts;
}

function spanRows(list) {
  return list.map((index) => make("p", {}, link(duration_(span.end[index] - span.start[index]) + "  " + nameOf(goroutines[span.g[index]]),
    () => showSpan(index)), " " + (text(span.reason[index]) || stateNames[span.state[index]]) + " at " + duration_(span.start[index])));
}

function waitsPanel() {
  const table = make("table", {}, make("tr", {}, ...["waiting for", "times", "together"].map((words) => make("th", { text: words }))));
  for (const [reason, count, time] of tables.waits) {
    table.append(make("tr", {}, make("td", { text: text(reason) || "(not said)" }), make("td", { text: String(count) }),
      make("td", { text: duration_(time) })));
  }
  return [heading("Reasons"), table, heading("Longest waits"), ...spanRows(tables.longestWaits),
    heading("Longest runnable without running"), ...spanRows(tables.longestRunnable)];
}

function latencyPanel() {
  return [paragraph("From runnable to running, all goroutines. Spawn sites have their own."), heading("Scheduling latency"),
    histogram(tables.latency)];
}

function logPanel() {
  const parts = [];
  for (const [time, count] of tables.procs) parts.push(paragraph(`${duration_(time)}  maxprocs ${count}`));
  for (const range of ranges.filter((it) => it.kind === 0 || it.kind === 3).slice(0, 200)) {
    parts.push(make("p", {}, link(duration_(range.start) + "  " + (range.kind === 0 ? "world stopped: " : "task: ") + text(range.name),
      () => show(range.start, range.end)), " " + duration_(range.end - range.start)));
  }
  for (const [time, g, key, words] of tables.messages.slice(0, 1000)) {
    parts.push(make("p", {}, link(duration_(time), () => (g >= 0 ? select(goroutines[g], time, true) : show(time, time))),
      " " + (text(key) ? text(key) + ": " : "") + text(words)));
  }
  return parts.length ? parts : [paragraph("Nothing was logged.", "soft")];
}

function showPanel(name = tab) {
  tab = name;
  for (const button of document.querySelectorAll("nav button")) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
  const parts = { goroutine: goroutinePanel, sites: sitesPanel, waits: waitsPanel, latency: latencyPanel, log: logPanel }[tab]();
  panel.replaceChildren(...parts);
  panel.scrollTop = 0;
}
