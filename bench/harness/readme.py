# SPDX-License-Identifier: MIT
"""The README's table, made from a stored result so that nobody has to believe a number without its machine and date."""

from . import machine
from .result import behind, factor, number

COLUMNS = ("weft", "go", "tokio", "kanal", "fiber", "asio", "tbb", "threads", "raw")


def table(result) -> str:
    rows = [row for row in result["rows"] if row["headline"]]
    used = [name for name in COLUMNS if any("median" in row["cells"].get(name, {}) for row in rows)]
    titles = {system["name"]: system["title"] for system in result["systems"]}
    versions = {system["name"]: system["version"] for system in result["systems"]}
    lines = ["| | P | " + " | ".join(titles[name] for name in used) + " |",
             "|---|---|" + "---:|" * len(used)]
    for row in rows:
        peers = [name for name in used if name not in ("raw", "threads") and "median" in row["cells"].get(name, {})]
        best = None
        for name in peers:
            value = row["cells"][name]["median"]
            if best is None or (value < row["cells"][best]["median"]) == (row["better"] == "lower"):
                best = name
        cells = []
        for name in used:
            cell = row["cells"].get(name, {})
            if "median" not in cell:
                cells.append("")
                continue
            text = number(cell["median"])
            cells.append("**%s**" % text if name == best else text)
        unit = ", " + row["unit"] if row["unit"] and row["unit"] != "x" else ""
        lines.append("| %s%s%s | %d | %s |" % (row["title"], unit, " ~" if row["noisy"] else "", row["procs"], " | ".join(cells)))
    lines.append("")
    lines.append("Medians of %d interleaved rounds on %s, %s. %s; %s. Bold: best of the runtimes; **raw limit** and **OS threads** "
                 "show what the machine gives. Speed-ups and shares: more is better, all else: less."
                 % (result["settings"]["rounds_done"], result["date"][:10], machine.summary(result["machine"]),
                    ", ".join("%s %s" % (titles[name], versions[name]) for name in used if versions.get(name)),
                    result["machine"]["compiler"]))
    if any(row["noisy"] for row in rows):
        lines.append("~: the ratio to the best peer varies by more than 15 % between rounds.")
    if result["settings"]["quick"]:
        lines.append("**Quick run: the sizes are too small for these numbers to mean anything.**")
    worst = [entry for entry in behind(result, {"peer", "threads"}) if entry[0]["headline"]]
    lines.append("")
    if worst:
        lines.append("Where weft is not ahead: " + "; ".join(
            "%s at P %d (%s is %s better)" % (row["title"], row["procs"], titles[name], factor(1 / ratio))
            for row, name, ratio in worst) + ".")
    else:
        lines.append("No peer is clearly ahead of weft in any of these rows.")
    return "\n".join(lines)
