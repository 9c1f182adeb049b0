# SPDX-License-Identifier: MIT
"""The HTML page: one file, nothing loaded from anywhere."""

import os

from . import definitions, machine, noise as noises, svg
from .result import behind_by_row, factor, mark, number, overall
from .svg import escape

STYLE = """
:root{%(light)s;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{%(dark)s}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 %(font)s}
main{max-width:1360px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:30px;margin:0 0 4px;letter-spacing:-.02em}h1 b{color:var(--accent)}
h2{font-size:20px;margin:44px 0 4px;padding-top:14px;border-top:1px solid var(--grid)}
h3{font-size:14.5px;margin:0}h3 .soft{font-weight:400}
p{margin:6px 0 12px;max-width:80ch}.soft{color:var(--soft)}.small{font-size:12.5px}
nav{display:flex;flex-wrap:wrap;gap:6px 18px;margin:14px 0 4px;font-size:14px}
a{color:inherit;text-decoration-color:var(--line);text-underline-offset:3px}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:13.5px;margin:12px 0}
.facts dt{color:var(--soft)}.facts dd{margin:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(180px,1fr));gap:12px;margin:18px 0}
.tile{border:1px solid var(--grid);border-radius:10px;padding:12px 14px}
.tile .big{font-size:26px;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.tile .name{font-size:13px;color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(410px,100%%),1fr));gap:16px;margin-top:14px}
.card{border:1px solid var(--grid);border-radius:10px;padding:14px 16px 10px;min-width:0}
.card p{font-size:12.5px;margin:2px 0 10px}.card svg{max-width:100%%;height:auto;display:block}
.badge{font-size:11px;font-weight:600;border:1px solid var(--line);border-radius:9px;padding:0 7px;color:var(--soft);margin-left:6px}
.wide{overflow-x:auto;margin-top:10px}.wide svg{display:block}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{text-align:right;padding:4px 10px;border-bottom:1px solid var(--grid)}th{font-weight:600;color:var(--soft)}
td:first-child,th:first-child{text-align:left}td.ours{color:var(--accent);font-weight:600}td .r{color:var(--soft);font-size:11.5px;font-weight:400}
td.best{font-weight:600}
ul{padding-left:20px;margin:6px 0}.columns{columns:2 420px;column-gap:40px}li{break-inside:avoid}li{margin:2px 0}
.warn{border-left:3px solid var(--accent);padding:6px 12px;margin:14px 0;background:var(--bad)}
footer{margin-top:46px;padding-top:12px;border-top:1px solid var(--grid);font-size:13px;color:var(--soft)}
"""


def style() -> str:
    return STYLE % {"light": svg.variables(svg.LIGHT), "dark": svg.variables(svg.DARK), "font": svg.FONT}


def facts(result) -> str:
    noise = result.get("noise", {})
    versions = ", ".join("%s %s" % (system["title"], system["version"]) for system in result["systems"] if system["version"])
    items = [("Machine", machine.summary(result["machine"])), ("Compiler", result["machine"]["compiler"]), ("Versions", versions),
             ("Measured", "%s, %d interleaved rounds, others used %s %% of the machine, hypervisor %s %%" % (
                 result["date"].replace("T", " "), result["settings"]["rounds_done"], noise.get("others_percent", "?"),
                 noise.get("steal_percent", "?")))]
    return '<dl class="facts">' + "".join("<dt>%s</dt><dd>%s</dd>" % (escape(a), escape(b)) for a, b in items) + "</dl>"


def tiles(result) -> str:
    titles = {system["name"]: system["title"] for system in result["systems"]}
    parts = []
    for name, entry in overall(result).items():
        if name in ("raw", "threads"):
            continue
        mean = factor(entry["mean"]) if entry["mean"] == entry["mean"] else "-"
        parts.append('<div class="tile"><div class="name">against %s</div><div class="big">%s</div><div class="small soft">ahead in %d, '
                     'level in %d, behind in %d</div></div>' % (escape(titles.get(name, name)), mean, entry["ahead"], entry["level"], entry["behind"]))
    return '<div class="tiles">' + "".join(parts) + "</div>" if parts else ""


def behind_list(result) -> str:
    titles = {system["name"]: system["title"] for system in result["systems"]}
    found = behind_by_row(result, {"peer", "threads"})
    if not any("ratio" in cell for row in result["rows"] for cell in row["cells"].values()):
        return ""
    if not found:
        return '<h2 id="behind">Where others are ahead</h2><p>In no row, beyond the noise.</p>'
    items = "".join("<li>%s, P %d: %s</li>" % (escape(row["title"]), row["procs"], ", ".join(
        "%s&nbsp;<b>%s</b>" % (escape(titles.get(name, name)), factor(1 / ratio)) for name, ratio in ahead)) for row, ahead in found)
    return ('<h2 id="behind">Where others are ahead</h2><p class="soft small">By how much, where it is beyond the noise.</p>'
            '<ul class="small columns">%s</ul>' % items)


def cards(result, group) -> str:
    seen, parts = [], []
    for row in result["rows"]:
        key = (row["workload"], row["metric"])
        if row["group"] == group and key not in seen:
            seen.append(key)
    for workload, metric in seen:
        rows = [row for row in result["rows"] if (row["workload"], row["metric"]) == (workload, metric)]
        first = rows[0]
        badges = '<span class="badge">noisy</span>' if any(row["noisy"] for row in rows) else ""
        direction = "more is better" if first["better"] == "higher" else "less is better"
        unit = "%s, %s" % (first["unit"], direction) if first["unit"] else direction
        systems = {system["name"]: system["title"] for system in result["systems"]}
        about = result["workloads"].get(workload, {"what": "", "limit": "", "notes": {}})
        notes = "; ".join("%s: %s" % (systems.get(name, name), note) for name, note in about["notes"].items()
                          if any("median" in row["cells"].get(name, {}) for row in rows))
        parts.append('<div class="card" data-row="%s.%s"><h3>%s <span class="soft small">%s</span>%s</h3><p class="soft">%s%s</p>%s%s</div>' % (
            escape(workload), escape(metric), escape(first["title"]), escape(unit), badges, escape(sentence(about["what"])),
            escape(" Bound: " + sentence(about["limit"])), svg.bars(rows, result),
            '<p class="soft">† %s</p>' % escape(notes) if notes else ""))
    return '<div class="cards">' + "".join(parts) + "</div>"


def sentence(words) -> str:
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def full_table(result) -> str:
    shown = [system for system in result["systems"] if any(system["name"] in row["cells"] for row in result["rows"])]
    lines = ["<tr><th>row</th><th>P</th><th>unit</th>" + "".join("<th>%s</th>" % escape(system["title"]) for system in shown) + "</tr>"]
    for row in result["rows"]:
        cells = []
        for system in shown:
            name = system["name"]
            cell = row["cells"].get(name)
            if cell is None:
                reason = result["workloads"].get(row["workload"], {}).get("without", {}).get(name, "")
                cells.append('<td class="soft" title="%s">%s</td>' % (escape(reason), "–" if reason else ""))
            elif "median" not in cell:
                cells.append('<td class="soft" title="%s">failed</td>' % escape(cell.get("error", "")))
            else:
                extra = "±%.0f%%" % (cell["spread"] * 100)
                if "ratio" in cell:
                    extra = factor(cell["ratio"]["median"]) + mark(cell["ratio"])
                classes = "ours" if name == "weft" else "best" if name == row["best_peer"] else ""
                cells.append('<td class="%s">%s <span class="r">%s</span></td>' % (classes, number(cell["median"]), extra))
        lines.append("<tr><td>%s</td><td>%d</td><td>%s</td>%s</tr>" % (escape(row["title"]), row["procs"], escape(row["unit"]), "".join(cells)))
    return '<div class="wide"><table>' + "".join(lines) + "</table></div>"


def left_out(result) -> str:
    items = []
    for system in result["systems"]:
        if system["status"] != "ok":
            items.append("%s: %s" % (system["title"], system["status"]))
        for program, message in system.get("not_built", {}).items():
            items.append("%s, %s not built: %s" % (system["title"], program, message))
    items += result.get("skipped", [])
    return '<h2 id="left-out">Left out</h2><ul class="small">' + "".join(
        "<li>%s</li>" % escape(item) for item in dict.fromkeys(items)) + "</ul>" if items else ""


def render(result) -> str:
    groups = [group for group in definitions.GROUPS if any(row["group"] == group for row in result["rows"])]
    links = ['<a href="#%s">%s</a>' % (group, escape(definitions.GROUPS[group])) for group in groups]
    if result.get("scaling"):
        links.append('<a href="#scaling">Scaling</a>')
    links.append('<a href="#table">All numbers</a>')
    body = ["<h1><b>weft</b> benchmarks%s</h1>" % noises.title(result), '<p class="soft">Goroutines for C++ beside other runtimes: the same workloads, run in turns on '
            "the same machine.</p>", facts(result)]
    if noises.sentence(result):
        body.append('<div class="warn">%s</div>' % escape(noises.sentence(result)))
    if result["settings"]["quick"]:
        body.append('<div class="warn">A quick run: the sizes are too small for these numbers to mean anything.</div>')
    if result.get("interrupted"):
        body.append('<div class="warn">The run was interrupted; this is what was measured until then.</div>')
    body.append("<nav>" + "".join(links) + "</nav>")
    body.append(tiles(result))
    picture = svg.overview(result, alone=False)
    if picture:
        body.append('<h2 id="overview">At a glance</h2><div class="wide">%s</div>' % picture)
    body.append(behind_list(result))
    for group in groups:
        body.append('<h2 id="%s">%s</h2>' % (group, escape(definitions.GROUPS[group])))
        body.append(cards(result, group))
    if result.get("scaling"):
        body.append('<h2 id="scaling">Scaling</h2><p class="soft small">Dashed: one P. Axes are logarithmic where the values span more than '
                    'a factor of eight.</p><div class="cards">')
        for curve in result["scaling"]:
            chart = svg.curve_chart(curve, result)
            if chart:
                body.append('<div class="card" data-row="%s"><h3>%s</h3>%s</div>' % (escape(curve["name"]), escape(curve["title"]), chart))
        body.append("</div>")
    if result["rows"]:
        body.append('<h2 id="table">All numbers</h2><p class="soft small">Medians; beside them weft\'s spread (interquartile range over '
                    "median), or how many times better weft is. ~23%: this ratio varies by so much (more than 15 %) between rounds or runs. Bold: best peer.</p>")
        body.append(full_table(result))
    body.append(left_out(result))
    body.append("<footer>Every round runs each system once on each row, so that a slow minute hits all alike; ratios are formed within a "
                "round and then their median is taken. Raw limits and OS threads are for orientation and not counted as peers. "
                "bench/README.md says what each row means and what bounds it.</footer>")
    head = ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
            "<title>weft benchmarks%s</title><style>%s%s</style></head><body><main>" % (noises.title(result), style(), svg.RULES))
    return head + "\n".join(body) + "</main></body></html>\n"


def write_pictures(result, directory) -> list:
    """The SVG files that a README shows."""
    os.makedirs(directory, exist_ok=True)
    written = []

    def write(name, content):
        if content:
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            written.append(path)

    write("overview.svg", svg.overview(result))
    done = set()
    for row in result["rows"]:
        if row["headline"] and row["workload"] not in done:
            done.add(row["workload"])
            rows = [other for other in result["rows"] if (other["workload"], other["metric"]) == (row["workload"], row["metric"])]
            unit = " (%s)" % row["unit"] if row["unit"] not in ("", "x") else ""
            write(row["workload"] + ".svg", svg.bars(rows, result, alone=True, title=row["title"] + unit))
    for curve in result.get("scaling", []):
        write("scaling-%s.svg" % curve["name"], svg.curve_chart(curve, result, alone=True))
    return written
