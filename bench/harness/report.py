# SPDX-License-Identifier: MIT
"""The table on the terminal."""

import shutil

from . import definitions, machine, noise as noises
from .result import behind_by_row, factor, mark, number, overall
from .svg import short


def columns(result):
    present = [system for system in result["systems"] if any(system["name"] in row["cells"] for row in result["rows"])]
    return [system for system in present if system["status"] == "ok"], result["systems"]


def cell_text(row, name, best):
    cell = row["cells"].get(name)
    if cell is None:
        return ""
    if "median" not in cell:
        return "failed" if cell.get("error") else ""
    text = number(cell["median"])
    if name == "weft":
        return "%s ±%.0f%%" % (text, cell["spread"] * 100)
    ratio = cell.get("ratio")
    if ratio:
        text += " %s%s" % (factor(ratio["median"]), mark(ratio))
    return text + ("*" if best else "")


def table(result) -> str:
    shown, everything = columns(result)
    width = shutil.get_terminal_size((240, 40)).columns
    names = [system["name"] for system in shown]
    texts = {}
    for row in result["rows"]:
        for name in names:
            texts[row["id"], name] = cell_text(row, name, name == row["best_peer"])
    widths = {system["name"]: max([len(system["title"])] + [len(texts[row["id"], system["name"]]) for row in result["rows"]])
              for system in shown}
    title_width = max([len(row["title"]) for row in result["rows"]] + [8])
    lead = title_width + 3 + 1 + 6
    blocks, block, used = [], [], lead
    first = names[0] if names and names[0] == "weft" else None
    for name in names:
        if block and used + widths[name] + 2 > width and len(block) > (1 if first else 0):
            blocks.append(block)
            block, used = [], lead
            if first:
                block, used = [first], lead + widths[first] + 2
        block.append(name)
        used += widths[name] + 2
    blocks.append(block)
    titles = {system["name"]: system["title"] for system in shown}
    lines = []
    for block in blocks:
        lines.append("%-*s  P %-6s" % (title_width, "", "unit") + "".join("  %*s" % (widths[n], titles[n]) for n in block))
        group = None
        for row in result["rows"]:
            if row["group"] != group:
                group = row["group"]
                lines.append(definitions.GROUPS.get(group, group))
            lines.append("%-*s %2d %-6s" % (title_width, row["title"], row["procs"], row["unit"]) +
                         "".join("  %*s" % (widths[n], texts[row["id"], n]) for n in block) +
                         ("  noisy" if row["noisy"] else ""))
        lines.append("")
    return "\n".join(lines)


LEGEND = """\
Medians. ±: spread of weft's runs (interquartile range over median). 2.00x: weft is twice as good, 0.50x: the other one is.
*: best peer (limits and OS threads are for orientation and not counted). ~23%: this ratio varies by so much between rounds or runs."""


def failures(result) -> str:
    lines = []
    for row in result["rows"]:
        for name, cell in row["cells"].items():
            if cell.get("error"):
                kept = " (%d good runs kept)" % len(cell["values"]) if cell["values"] else ""
                lines.append("  %s, P %d, %s: %s%s" % (row["title"], row["procs"], name, cell["error"], kept))
    for system in result["systems"]:
        if system["status"] != "ok":
            lines.append("  %s: %s" % (system["title"], system["status"]))
        for program, message in system.get("not_built", {}).items():
            lines.append("  %s, %s not built: %s" % (system["title"], program, message))
    for note in result.get("skipped", []):
        lines.append("  " + note)
    unique = list(dict.fromkeys(lines))
    return "Left out:\n" + "\n".join(unique) if unique else ""


def summary(result) -> str:
    titles = {system["name"]: system["title"] for system in result["systems"]}
    lines = []
    for name, entry in overall(result).items():
        lines.append("  %-14s weft ahead in %d rows, behind in %d, level in %d; mean over the headline rows %s"
                     % (titles.get(name, name), entry["ahead"], entry["behind"], entry["level"], factor(entry["mean"])
                        if entry["mean"] == entry["mean"] else "-"))
    worst = behind_by_row(result, {"peer"})
    if worst:
        lines.append("Where a peer is ahead (0.50x: twice as good):")
        for row, ahead in worst:
            lines.append("  %-50s P %d  %s" % (row["title"], row["procs"], ", ".join(
                "%s %s" % (titles.get(name, name), factor(ratio)) for name, ratio in ahead)))
    return "\n".join(lines)


def scaling(result) -> str:
    lines = []
    titles = {system["name"]: system["title"] for system in result["systems"]}
    for curve in result.get("scaling", []):
        xs = sorted({point["x"] for line in curve["lines"] for point in line["points"]})
        head = "%-24s" % ("Ps" if curve["axis"] == "procs" else "tasks") + "".join("%12s" % short(x) for x in xs)
        lines.append("%s (%s)" % (curve["title"], curve["unit"]))
        lines.append("  " + head)
        for line in curve["lines"]:
            points = {point["x"]: point for point in line["points"]}
            name = titles.get(line["system"], line["system"])
            label = name if curve["axis"] == "procs" else "%s, P %d" % (name, line["procs"])
            cells = []
            for x in xs:
                point = points.get(x, {})
                cells.append("%s ±%.0f%%" % (number(point["median"]), point["spread"] * 100) if "median" in point
                             else "failed" if point.get("error") else "")
            lines.append("  %-24s" % label + "".join("%12s" % cell for cell in cells))
        lines.append("")
    return "\n".join(lines)


def head(result) -> str:
    settings = result["settings"]
    noise = result.get("noise", {})
    lines = [machine.summary(result["machine"]),
             "%s; %s rounds%s" % (result["date"], settings["rounds_done"], "; QUICK: sizes too small to mean anything"
                                  if settings["quick"] else "")]
    lines.append(", ".join("%s %s" % (system["title"], system["version"]) for system in result["systems"] if system["version"]) +
                 "; " + result["machine"]["compiler"])
    if noises.sentence(result):
        lines.append("NOISE: " + noises.sentence(result))
    if noise.get("others_percent", 0) > 5 or noise.get("steal_percent", 0) > 2:
        lines.append("The machine was not quiet: other processes used %s %% of it, the hypervisor took %s %%."
                     % (noise["others_percent"], noise["steal_percent"]))
    if result.get("interrupted"):
        lines.append("Interrupted: only what was measured until then.")
    return "\n".join(lines)
