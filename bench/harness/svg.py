# SPDX-License-Identifier: MIT
"""The charts, as SVG text. Each can stand alone (a file that a README shows) or inside the page; both know light and dark."""

import html
import math

from . import noise
from .result import factor, number

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"

LIGHT = {"text": "#212529", "soft": "#6b737b", "grid": "#e3e6e9", "line": "#adb5bd", "back": "#ffffff", "good": "#f3f9f1",
         "bad": "#fdf3f2", "raw": "#c3c9cf", "accent": "#d9480f"}
DARK = {"text": "#e6e8ea", "soft": "#98a1aa", "grid": "#2c3238", "line": "#5c656e", "back": "#15181b", "good": "#182018",
        "bad": "#241a19", "raw": "#525b64", "accent": "#ff7a3d"}

# System colours are chosen to be told apart by colour-blind readers and on both backgrounds; weft alone is orange.
COLOURS = {"weft": "var(--accent)", "go": "#0c8599", "tokio": "#7048e8", "kanal": "#a98bf5", "fiber": "#2b8a3e",
           "asio": "#74b816", "tbb": "#1971c2", "threads": "#868e96", "raw": "var(--raw)"}
SPARE = ["#c2255c", "#e8590c", "#f08c00", "#5c940d", "#087f5b"]


def colour(name: str) -> str:
    return COLOURS.get(name) or SPARE[sum(name.encode()) % len(SPARE)]


def variables(values) -> str:
    return ";".join("--%s:%s" % (name, value) for name, value in values.items())


RULES = (
    "svg text{font-family:%s;font-size:12px;fill:var(--text);font-variant-numeric:tabular-nums}"
    "svg .soft{fill:var(--soft)}svg .small{font-size:11px}svg .bold{font-weight:600}svg .end{text-anchor:end}"
    "svg .mid{text-anchor:middle}svg .grid{stroke:var(--grid);stroke-width:1}svg .axis{stroke:var(--line);stroke-width:1}"
    "svg .whisker{stroke:var(--text);stroke-width:1;opacity:.45}svg .ours{fill:var(--accent);font-weight:600}" % FONT)


def style() -> str:
    return "svg{%s}@media(prefers-color-scheme:dark){svg{%s}}%s" % (variables(LIGHT), variables(DARK), RULES)


def escape(text) -> str:
    return html.escape(str(text), quote=True)


def document(width, height, body, alone, label) -> str:
    margin = 12 if alone else 0
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="%d %d %d %d" width="%d" height="%d" role="img" aria-label="%s">' % (
        -margin, -margin, width + 2 * margin, height + 2 * margin, width + 2 * margin, height + 2 * margin, escape(label))
    if not alone:
        return head + body + "</svg>"
    back = '<rect x="%d" y="%d" width="100%%" height="100%%" style="fill:var(--back)"/>' % (-margin, -margin)
    return head + "<style>" + style() + "</style>" + back + body + "</svg>\n"


def text(x, y, content, classes="", extra="") -> str:
    return '<text x="%.1f" y="%.1f" class="%s"%s>%s</text>' % (x, y, classes, extra, escape(content))


def titled(tip, inner) -> str:
    return "<g><title>%s</title>%s</g>" % (escape(tip), inner)


def ratio_range(rows, names):
    lows, highs = [], []
    for row in rows:
        for name in names:
            ratio = row["cells"].get(name, {}).get("ratio")
            if ratio:
                lows.append(ratio["low"])
                highs.append(ratio["high"])
    if not lows:
        return 0.5, 2.0
    return min(0.5, max(min(lows), 0.01) / 1.15), max(2.0, min(max(highs), 2000) * 1.15)


def nice_ticks(low, high):
    ticks = []
    for exponent in range(-3, 5):
        for step in (1, 2, 5):
            value = step * 10.0 ** exponent
            if low <= value <= high:
                ticks.append(value)
    return ticks if len(ticks) <= 9 else [tick for tick in ticks if math.log10(tick) % 1 == 0] if len(ticks) > 16 else [
        tick for tick in ticks if not str(tick).lstrip("0.").startswith("5")]


def overview(result, systems=("go", "tokio", "kanal", "fiber", "asio", "tbb"), alone=True) -> str:
    """Every headline row: how many times better weft is than each peer, on a logarithmic axis."""
    rows = [row for row in result["rows"] if row["headline"] and any(
        row["cells"].get(name, {}).get("ratio") for name in systems)]
    if not rows:
        return ""
    titles = {system["name"]: system["title"] for system in result["systems"]}
    used = [name for name in systems if any(row["cells"].get(name, {}).get("ratio") for row in rows)]
    left, right, top, line_height, width = 236, 76, 66, 20, 1000
    height = top + line_height * len(rows) + 30
    low, high = ratio_range(rows, used)
    plot = width - left - right

    def place(value):
        value = min(max(value, low), high)
        return left + (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) * plot

    one, bottom = place(1), top + line_height * len(rows)
    body = ['<rect x="%.1f" y="%d" width="%.1f" height="%d" style="fill:var(--bad)"/>' % (left, top, one - left, bottom - top),
            '<rect x="%.1f" y="%d" width="%.1f" height="%d" style="fill:var(--good)"/>' % (one, top, left + plot - one, bottom - top)]
    if noise.title(result):
        body.append(text(0, 24, noise.title(result).strip(), "bold"))
    x = left
    for name in used:
        body.append('<circle cx="%.1f" cy="20" r="5" style="fill:%s"/>' % (x + 5, colour(name)))
        body.append(text(x + 15, 24, titles.get(name, name)))
        x += 34 + 6.7 * len(titles.get(name, name))
    body.append(text(one - 6, top - 22, "peer ahead", "soft small end"))
    body.append(text(one + 6, top - 22, "weft ahead", "soft small"))
    for tick in nice_ticks(low, high):
        body.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/>' % (place(tick), top, place(tick), bottom))
        body.append(text(place(tick), top - 6, ("%g" % tick) + "x", "soft small mid"))
    body.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" style="stroke:var(--accent);stroke-width:2"/>' % (one, top, one, bottom))
    for index, row in enumerate(rows):
        y = top + line_height * index + line_height / 2
        if index and row["group"] != rows[index - 1]["group"]:
            body.append('<line x1="0" y1="%.1f" x2="%d" y2="%.1f" class="grid"/>' % (y - line_height / 2, width, y - line_height / 2))
        if not index or row["short"] != rows[index - 1]["short"]:
            body.append(text(left - 34, y + 4, row["short"], "end"))
        body.append(text(left - 8, y + 4, "P%d" % row["procs"], "soft small end"))
        best = row["best_peer"]
        ours = row["cells"]["weft"]["median"]
        body.append(text(width - 4, y + 4, number(ours) + ("x" if row["unit"] == "x" else " " + row["unit"]), "ours end small"))
        for name in used:
            ratio = row["cells"].get(name, {}).get("ratio")
            if not ratio:
                continue
            tip = "%s, P %d: %s %s %s, weft %s; weft %s" % (row["title"], row["procs"], titles.get(name, name), number(
                row["cells"][name]["median"]), row["unit"], number(ours), factor(ratio["median"]))
            mark = '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" style="stroke:%s;stroke-width:1.5;opacity:.55"/>' % (
                place(ratio["low"]), y, place(ratio["high"]), y, colour(name))
            fill = "fill:%s" % colour(name) if not ratio["noisy"] else "fill:var(--back);stroke:%s;stroke-width:2" % colour(name)
            mark += '<circle cx="%.1f" cy="%.1f" r="%s" style="%s"/>' % (place(ratio["median"]), y, "5.5" if name == best else "4.2", fill)
            body.append(titled(tip, mark))
    body.append(text(left, bottom + 20, "Each dot: how many times better weft is. Large: best peer. Hollow: varies by more than 15 %. "
                     "Right: weft's median.", "soft small"))
    return document(width, height, "".join(body), alone, "weft against its peers, ratio per workload")


CUT = 12  # bars longer than this many times the shortest are cut, with a mark; the number tells the truth


def bars(rows, result, alone=False, width=420, title="") -> str:
    """One metric at each P: horizontal bars from zero, weft in front, whiskers for the middle half of the runs."""
    titles = {system["name"]: system["title"] for system in result["systems"]}
    order = [system["name"] for system in result["systems"]]
    medians = [cell["median"] for row in rows for name, cell in row["cells"].items() if "median" in cell and name != "raw"]
    medians = [value for value in medians if value > 0] or [1.0]
    if rows[0]["better"] == "lower":
        limit = min(max(medians), CUT * min(medians)) * 1.02
    else:
        limit = max(medians) * 1.02
    left, right, bar, gap = 96, 112, 13, 5
    plot = width - left - right
    body, y = [], 4
    if title:
        body.append(text(0, 16, title, "bold"))
        y = 30
    if alone and noise.title(result):
        body.append(text(0, y + 2, noise.title(result).strip(), "soft small"))
        y += 16
    for row in rows:
        names = [name for name in order if "median" in row["cells"].get(name, {})]
        failed = [name for name in order if name in row["cells"] and "median" not in row["cells"][name]]
        if not names and not failed:
            continue
        body.append(text(0, y + 10, "P %d" % row["procs"], "soft small"))
        body.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="axis"/>' % (left, y, left, y + (bar + gap) * (len(names) + len(failed)) - gap))
        for name in names:
            cell = row["cells"][name]
            value = cell["median"]
            length = max(min(max(value, 0), limit) / limit * plot, 1.5)
            cut = value > limit * 1.001
            end = left + length
            shape = '<rect x="%d" y="%.1f" width="%.1f" height="%d" rx="2" style="fill:%s"/>' % (left, y, length, bar, colour(name))
            if cut:
                shape += '<path d="M%.1f %.1f l5 %.1f l-5 %.1f l5 %.1f" style="fill:none;stroke:var(--back);stroke-width:3"/>' % (
                    left + length - 16, y - 1, (bar + 2) / 3, (bar + 2) / 3, (bar + 2) / 3)
            elif value > 0 and len(cell["values"]) > 2:
                ordered = sorted(cell["values"])
                q1, q3 = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
                a, b = (left + min(max(q, 0), limit) / limit * plot for q in (q1, q3))
                if b - a > 1.5:
                    end = max(end, b)
                    shape += '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="whisker"/>' % (a, y + bar / 2, b, y + bar / 2)
            ratio = cell.get("ratio")
            label = number(value)
            tip = "%s: median %s %s of %d runs, spread %.0f %%" % (
                titles.get(name, name), number(value), row["unit"], len(cell["values"]), cell["spread"] * 100)
            note = result["workloads"].get(row["workload"], {}).get("notes", {}).get(name)
            if note:
                tip += " (%s)" % note
            inner = text(left - 6, y + bar - 3, titles.get(name, name) + ("†" if note and not alone else ""), "end small" + (" ours" if name == "weft" else ""))
            inner += shape + text(end + 6, y + bar - 3, label, "small" + (" ours" if name == "weft" else ""))
            if ratio:
                inner += text(end + 12 + 6.6 * len(label), y + bar - 3, factor(ratio["median"]) + ("~" if ratio["noisy"] else ""), "soft small")
            body.append(titled(tip, inner))
            y += bar + gap
        for name in failed:
            body.append(text(left - 6, y + bar - 3, titles.get(name, name), "end small soft"))
            body.append(titled(row["cells"][name].get("error", ""), text(left + 6, y + bar - 3, "failed", "small soft")))
            y += bar + gap
        y += 10
    return document(width, int(y - 4), "".join(body), alone, title or rows[0]["title"])


def curve_chart(curve, result, alone=False, width=420, height=250) -> str:
    """A scaling curve: one line per system and P over the number of tasks or Ps."""
    titles = {system["name"]: system["title"] for system in result["systems"]}
    lines = [line for line in curve["lines"] if any("median" in point for point in line["points"])]
    values = [point["median"] for line in lines for point in line["points"] if point.get("median", 0) > 0]
    if not values:
        return ""
    xs = sorted({point["x"] for line in lines for point in line["points"]})
    left, right, top, bottom = 52, 104, 24, 34
    log = max(values) / min(values) > 8
    low, high = (min(values) / 1.3, max(values) * 1.3) if log else (0.0, max(values) * 1.1)

    def px(x):
        a, b = math.log(xs[0]), math.log(xs[-1])
        return left + ((math.log(x) - a) / (b - a) if b > a else 0.5) * (width - left - right)

    def py(value):
        share = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) if log else value / high
        return height - bottom - share * (height - top - bottom)

    body = []
    for tick in (nice_ticks(low, high) if log else linear_ticks(high)):
        body.append('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/>' % (left, py(tick), width - right, py(tick)))
        body.append(text(left - 6, py(tick) + 4, short(tick), "soft small end"))
    for x in xs:
        body.append(text(px(x), height - bottom + 16, short(x), "soft small mid"))
    body.append(text((left + width - right) / 2, height - 4, "Ps" if curve["axis"] == "procs" else "tasks", "soft small mid"))
    body.append(text(left - 6, 10, curve["unit"], "soft small end"))
    if alone and noise.title(result):
        body.append(text(left, 10, noise.title(result).strip(), "soft small"))
    ends = []
    for line in lines:
        points = [(px(point["x"]), py(point["median"]), point) for point in line["points"] if point.get("median", 0) > 0]
        dash = "" if curve["axis"] == "procs" or line["procs"] != 1 else ";stroke-dasharray:5 3"
        path = "M" + " L".join("%.1f %.1f" % (x, y) for x, y, _ in points)
        body.append('<path d="%s" style="fill:none;stroke:%s;stroke-width:%s%s"/>' % (
            path, colour(line["system"]), "2.6" if line["system"] == "weft" else "1.8", dash))
        for x, y, point in points:
            body.append(titled("%s, P %d, %s: %s %s" % (titles.get(line["system"], line["system"]), line["procs"], number(point["x"]),
                                                      number(point["median"]), curve["unit"]),
                               '<circle cx="%.1f" cy="%.1f" r="3" style="fill:%s"/>' % (x, y, colour(line["system"]))))
        label = titles.get(line["system"], line["system"]) + ("" if curve["axis"] == "procs" else " P%d" % line["procs"])
        ends.append([points[-1][1], points[-1][0], label, line["system"]])
    ends.sort()
    for index in range(1, len(ends)):  # keep labels apart
        ends[index][0] = max(ends[index][0], ends[index - 1][0] + 13)
    for y, x, label, name in ends:
        body.append(text(x + 8, y + 4, label, "small" + (" bold" if name == "weft" else ""), ' style="fill:%s"' % colour(name)))
    return document(width, height, "".join(body), alone, curve["title"])


def short(value) -> str:
    """A tick: 250, 1k, 1.5M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return "%g%s" % (value / size, letter)
    return "%g" % value


def linear_ticks(high):
    step = 10 ** math.floor(math.log10(high))
    while high / step < 4:
        step /= 2
    return [step * index for index in range(int(high / step) + 1)]
