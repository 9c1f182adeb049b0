#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_page.py WEFT-TOOLS [--out DIR]: uses the trace page as a reader does, in headless Chromium: zoom, search, click
a goroutine, follow an unblock arrow; with hostile names; with a million events. --out keeps the page and screenshots."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import builder  # noqa: E402
import browser as chromium  # noqa: E402

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
failures = 0


def check(ok, what, shown=None):
    global failures
    print("%s  %s%s" % ("ok  " if ok else "FAIL", what, "" if ok or shown is None else ": %s" % (shown,)), flush=True)
    failures += not ok


def page_of(tools, data, out, name):
    trace = os.path.join(out, name)
    with open(trace, "wb") as file:
        file.write(data)
    subprocess.run([tools, "trace", trace], check=True, timeout=120, stderr=subprocess.DEVNULL)
    return trace + ".html"


def view(b):
    return b.run("[weftTrace.view.from, weftTrace.view.to]")


def lane(b, kind, label=None):
    """Middle of a lane, in window coordinates."""
    return b.run("""(() => { const box = document.getElementById("lanes").getBoundingClientRect();
      const it = weftTrace.lanes().find(l => l.kind === %r && (%s === null || l.label === %s));
      return it && [box.left + 112 + (box.width - 112) / 2, box.top + it.y + it.height / 2]; })()""".replace("%r", repr(kind), 1)
                 % (("null",) * 2 if label is None else (repr(label),) * 2))


def span_x(b, index):
    """Window x of the middle of a span."""
    return b.run("document.getElementById('lanes').getBoundingClientRect().left + "
                 "weftTrace.xOf((weftTrace.span.start[%d] + weftTrace.span.end[%d]) / 2)" % (index, index))


def drive(b, page, out):
    b.open(page)
    b.wait("window.weftTrace !== undefined")
    b.frame()
    b.screenshot(os.path.join(out, "start.png"))
    check(b.run("document.querySelectorAll('#panel .site').length") >= 2, "spawn sites are listed")
    p = lane(b, "P", "P 0")
    check(p, "P 0 has a lane")

    whole = view(b)
    b.wheel(p[0], p[1], -300)
    zoomed = view(b)
    check(zoomed[1] - zoomed[0] < .6 * (whole[1] - whole[0]), "the wheel zooms in", (whole, zoomed))
    b.run("document.getElementById('lanes').focus()")
    b.key("d")
    moved = view(b)
    check(moved[0] > zoomed[0] and abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 1, "d moves right", (zoomed, moved))
    b.key("w")
    check(view(b)[1] - view(b)[0] < moved[1] - moved[0], "w zooms in")
    b.key("s")
    before = view(b)
    b.drag(p[0], p[1], p[0] + 150, p[1])
    check(view(b)[0] < before[0], "dragging moves the view", (before, view(b)))
    b.key("0")
    check(view(b) == whole or abs(view(b)[0] - whole[0]) < 2, "0 shows the whole trace", view(b))

    b.key("/")
    b.type("pong")
    check(b.run("document.querySelectorAll('#found button.row').length") == 1, "search by name finds one goroutine")
    b.screenshot(os.path.join(out, "search.png"))
    b.key("Enter")
    check(b.run("weftTrace.selection.g && weftTrace.selection.g.id") == 2, "Enter chooses it")
    check(lane(b, "G"), "its lane appears")
    check("pong" in b.run("document.getElementById('who').textContent"), "the panel names it")
    for words, count in (("1", 1), ("g2", 1), ("play()", 2), ("no such thing", 0)):
        b.run("document.getElementById('search').value = ''; document.getElementById('search').focus()")
        b.type(words)
        hits = b.run("document.querySelectorAll('#found button.row').length")
        check(hits == count if count != 2 else hits >= 1, "search for '%s'" % words, hits)
    b.key("Escape")

    # Click a span in the P's lane: the third running span of goroutine 1.
    index = b.run("(() => { const g = weftTrace.goroutines[0]; let seen = 0; for (let i = g.first; i < g.first + g.count; ++i)"
                  " if (weftTrace.span.state[i] === 1 && ++seen === 3) return i; })()")
    b.run("weftTrace.view.from = weftTrace.span.start[%d] - 4000; weftTrace.view.to = weftTrace.span.end[%d] + 4000; weftTrace.drawLanes()"
          % (index, index))
    p = lane(b, "P", "P 0")
    b.click(span_x(b, index), p[1])
    check(b.run("weftTrace.selection.span") == index, "a click chooses the span under it", b.run("weftTrace.selection.span"))
    check("G1" in b.run("document.getElementById('who').textContent"), "the panel shows its goroutine")
    b.screenshot(os.path.join(out, "clicked.png"))

    b.run("document.getElementById('lanes').focus()")
    b.key("]")
    check("Waiting for" in b.run("document.getElementById('answer').textContent"), "] goes on: why it is not running",
          b.run("document.getElementById('answer').textContent"))
    check("chan receive" in b.run("document.getElementById('answer').textContent"), "the answer says what it waits for")
    box = b.run("(() => { const box = document.getElementById('follow').getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()")
    waits_until = b.run("weftTrace.span.end[weftTrace.selection.span]")
    b.click(*box)
    check(b.run("weftTrace.selection.g.id") == 2, "following the arrow leads to who woke it")
    at = b.run("[weftTrace.span.start[weftTrace.selection.span], weftTrace.span.end[weftTrace.selection.span]]")
    check(at[0] <= waits_until <= at[1], "at the moment it did so", (at, waits_until))
    b.screenshot(os.path.join(out, "followed.png"))
    b.run("document.getElementById('lanes').focus()")
    b.key("]")
    b.key("b")
    check(b.run("weftTrace.selection.g.id") == 1, "b follows the arrow back")
    for tab in ("waits", "latency", "log", "sites"):
        b.run("document.querySelector('nav button[data-tab=%s]').click()" % tab)
        check(b.run("document.getElementById('panel').textContent.length") > 15, "panel %s" % tab)
        b.screenshot(os.path.join(out, tab + ".png"))
    b.scheme("dark")
    b.screenshot(os.path.join(out, "dark.png"))
    check(b.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)", "dark when the system is")
    b.run("document.getElementById('theme').click()")
    check(b.run("getComputedStyle(document.body).backgroundColor") == "rgb(247, 248, 250)", "the button makes it light")
    b.scheme("light")
    check(not b.problems(), "no exception, nothing fetched", b.problems())


EVIL = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'><b>bold</b>\n\x1b[31m"


def hostile(b, page):
    b.open(page)
    b.wait("window.weftTrace !== undefined")
    b.key("/")
    b.type("onerror")
    check(b.run("document.querySelectorAll('#found button.row').length") == 2, "hostile names are found as text")
    b.key("Enter")
    shown = b.run("document.getElementById('who').textContent")
    check("<b>bold</b>\\n\\x1b[31m" in shown, "they are shown as they are", shown)
    for tab in ("sites", "waits", "log", "goroutine"):
        b.run("document.querySelector('nav button[data-tab=%s]').click()" % tab)
    check(b.run("window.pwned") is None and b.run("document.images.length") == 0, "and never executed")
    check(not b.problems(), "no exception, nothing fetched", b.problems())


def large(b, page):
    start = time.monotonic()
    b.open(page)
    b.wait("window.weftTrace !== undefined")
    opened = time.monotonic() - start
    frames = b.run("""(() => { const times = []; const v = weftTrace.view, to = v.to;
      for (let i = 0; i < 12; ++i) { v.to = to / (1 << 2 * i); const start = performance.now(); weftTrace.drawLanes();
        times.push(performance.now() - start); } v.to = to; return Math.max(...times); })()""")
    print("      a million events: opened in %.1f s, slowest picture %.0f ms" % (opened, frames))
    check(opened < 60 and frames < 1000, "a million events stay usable", (opened, frames))
    b.key("/")
    b.type("pong")
    b.key("Enter")
    check(b.run("weftTrace.selection.g.id") == 2, "search in a million events")


def main():
    p = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    p.add_argument("tools")
    p.add_argument("--out", help="keep pages and screenshots here")
    args = p.parse_args()
    program = chromium.find_browser()
    if not program:
        print("test_page: skipped, no Chromium: apt-get install chromium")
        return SKIPPED
    tools = os.path.abspath(args.tools)
    with tempfile.TemporaryDirectory(prefix="weft-page-") as scratch:
        out = os.path.abspath(args.out) if args.out else scratch
        os.makedirs(out, exist_ok=True)
        b = chromium.Browser(program, 1400, 850)
        try:
            drive(b, page_of(tools, builder.ping_pong(200), out, "ping_pong.trace"), out)
            hostile(b, page_of(tools, builder.ping_pong(20, [EVIL, EVIL]), out, "hostile.trace"))
            large(b, page_of(tools, builder.ping_pong(170_000), out, "million.trace"))
        finally:
            b.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
