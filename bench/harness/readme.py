# SPDX-License-Identifier: MIT
"""The table of docs/bench/README.md, made from a stored result so that nobody has to believe a number without its machine and date."""

from . import machine, noise
from .result import behind_by_row, factor, number, wobble

COLUMNS = ("weft", "go", "tokio", "kanal", "fiber", "asio", "tbb", "threads", "raw")
REFERENCES = ("threads", "raw")


def best_of(row, names):
    best = None
    for name in names:
        value = row["cells"].get(name, {}).get("median")
        if name in REFERENCES or value is None:
            continue
        if best is None or (value < row["cells"][best]["median"]) == (row["better"] == "lower"):
            best = name
    return best


def cell_text(rows, name, used) -> str:
    """The values at each P, joined by a stroke; bold where this system is the best."""
    texts = []
    for row in rows:
        value = row["cells"].get(name, {}).get("median")
        if value is None:
            texts.append("-")
        else:
            texts.append("**%s**" % number(value) if best_of(row, used) == name else number(value))
    return "" if all(text == "-" for text in texts) else " / ".join(texts)


def table(result) -> str:
    headline = [row for row in result["rows"] if row["headline"]]
    used = [name for name in COLUMNS if any("median" in row["cells"].get(name, {}) for row in headline)]
    titles = {system["name"]: system["title"] for system in result["systems"]}
    versions = {system["name"]: system["version"] for system in result["systems"]}
    lines = ["| | P | " + " | ".join(titles[name] for name in used) + " |", "|---|---|" + "---:|" * len(used)]
    for key in dict.fromkeys((row["workload"], row["metric"]) for row in headline):
        rows = [row for row in headline if (row["workload"], row["metric"]) == key]
        unit = ", " + rows[0]["unit"] if rows[0]["unit"] not in ("", "x") else ""
        noisy = [wobble(row["cells"][row["best_peer"]]["ratio"]) for row in rows if row["noisy"]]
        noisy = " ~%.0f%%" % (100 * max(noisy)) if noisy else ""
        lines.append("| %s%s%s | %s | %s |" % (rows[0]["title"], unit, noisy, " / ".join(str(row["procs"]) for row in rows),
                                              " | ".join(cell_text(rows, name, used) for name in used)))
    lines.append("")
    lines.append("Medians of %d interleaved rounds%s, %s, on %s. %s; %s. Bold: the best runtime; the raw limit and OS threads show what the "
                 "machine gives. More is better for speed-ups, shares and messages, less for all else.%s"
                 % (result["settings"]["rounds_done"], " in %d runs" % len(result["runs"]) if "runs" in result else "", result["date"][:10], machine.summary(result["machine"]),
                    ", ".join("%s %s" % (titles[name], versions[name]) for name in used if versions.get(name)),
                    result["machine"]["compiler"],
                    " ~23%: the ratio to the best peer varies by so much between rounds or runs." if any(row["noisy"] for row in headline) else ""))
    if noise.sentence(result):
        lines.append("**%s**" % noise.sentence(result))
    if result["settings"]["quick"]:
        lines.append("**Quick run: the sizes are too small for these numbers to mean anything.**")
    lines.append("")
    behind = [(row, ahead) for row, ahead in behind_by_row(result, {"peer", "threads"}) if row["headline"]]
    if "weft" not in used:
        lines.append("weft was not measured.")
    elif behind:
        lines.append("Where others are ahead: " + "; ".join("%s, P %d: %s" % (row["title"], row["procs"], ", ".join(
            "%s by %s" % (titles[name], factor(1 / ratio)) for name, ratio in ahead)) for row, ahead in behind) + ".")
    else:
        lines.append("In none of these rows is another runtime clearly ahead.")
    return "\n".join(lines)
