# SPDX-License-Identifier: MIT
"""Old result against new: what became slower or faster, and whether that can be chance.

A machine that is 30 % slower today makes every row 30 % slower. So weft's new values are first divided by the drift of
the row: how much the other systems of that row, in the same versions, moved between the two runs (geometric mean of their
medians). Then a Mann-Whitney test asks whether old and corrected new values differ by more than order of chance, and
Benjamini-Hochberg keeps the share of false alarms over all rows at 5 %. Besides, a change must exceed a threshold
(5 % unless given): a certain but tiny change is no regression."""

from . import statistics
from .result import clamp, factor, number


def drift_of(old_row, new_row, same_version) -> tuple:
    """(factor by which the row's peers moved, how many peers say so)."""
    moves = []
    for name, new_cell in new_row["cells"].items():
        old_cell = old_row["cells"].get(name, {})
        if name in same_version and "median" in new_cell and "median" in old_cell:
            before, after = clamp(new_row, old_cell["median"]), clamp(new_row, new_cell["median"])
            if before > 0 and after > 0:
                moves.append(after / before)
    return (statistics.geometric_mean(moves), len(moves)) if moves else (1.0, 0)


def compare(old, new, threshold=0.05, rate=0.05) -> dict:
    versions = {system["name"]: system["version"] for system in old["systems"]}
    same_version = {system["name"] for system in new["systems"]
                    if system["name"] != "weft" and not system["name"].startswith("weft:")
                    and versions.get(system["name"]) == system["version"]}
    old_rows = {row["id"]: row for row in old["rows"]}
    entries, missing = [], []
    for row in new["rows"]:
        before = old_rows.get(row["id"])
        if "median" not in row["cells"].get("weft", {}):
            if before and "median" in before["cells"].get("weft", {}):
                missing.append(row["id"])
            continue
        if not before or "median" not in before["cells"].get("weft", {}):
            continue
        drift, peers = drift_of(before, row, same_version)
        old_values = [clamp(row, value) for value in before["cells"]["weft"]["values"]]
        new_values = [clamp(row, value / drift) for value in row["cells"]["weft"]["values"]]
        change = statistics.median(new_values) / statistics.median(old_values) - 1 if statistics.median(old_values) else 0.0
        worse = change if row["better"] == "lower" else -change
        entries.append({"row": row, "old": before["cells"]["weft"]["median"], "new": row["cells"]["weft"]["median"],
                        "drift": drift, "peers": peers, "change": change, "worse": worse,
                        "p": statistics.mann_whitney(old_values, new_values)})
    if entries:
        for entry, significant in zip(entries, statistics.benjamini_hochberg([entry["p"] for entry in entries], rate)):
            entry["significant"] = significant
            entry["regression"] = significant and entry["worse"] > threshold
            entry["improvement"] = significant and entry["worse"] < -threshold
    return {"entries": entries, "missing": missing, "threshold": threshold,
            "same_machine": old["machine"].get("cpu") == new["machine"].get("cpu"),
            "regressions": [entry for entry in entries if entry["regression"]]}


def text(comparison) -> str:
    entries = comparison["entries"]
    if not entries and not comparison["missing"]:
        return "The two results have no row of weft in common."
    width = max([len(entry["row"]["title"]) for entry in entries] + [8])
    lines = ["%-*s  P %-6s %10s %10s %8s %8s %8s" % (width, "weft, old against new", "unit", "old", "new", "drift", "change", "p")]
    for entry in entries:
        row = entry["row"]
        verdict = ("  SLOWER" if entry["regression"] else "  faster" if entry["improvement"] else
                   "  (unsure)" if abs(entry["worse"]) > comparison["threshold"] else "")
        lines.append("%-*s %2d %-6s %10s %10s %8s %+7.1f%% %8.4f%s" % (
            width, row["title"], row["procs"], row["unit"], number(entry["old"]), number(entry["new"]),
            factor(entry["drift"]) if entry["peers"] else "-", entry["change"] * 100, entry["p"], verdict))
    for name in comparison["missing"]:
        lines.append("%s: weft had a value before and has none now  SLOWER" % name)
    lines.append("")
    lines.append("drift: how much the same row's other systems moved between the runs; change: weft's, drift taken off. SLOWER and "
                 "faster: more than %.0f %% and not by chance\n(Mann-Whitney, false alarms over all rows held at 5 %%); (unsure): "
                 "more than that, but the runs vary too much to tell." % (comparison["threshold"] * 100))
    if not comparison["same_machine"]:
        lines.append("The two results come from different CPUs: only the drift-corrected change means anything.")
    lines.append("%d rows compared, %d slower, %d faster." % (
        len(entries), len(comparison["regressions"]) + len(comparison["missing"]),
        sum(entry["improvement"] for entry in entries)))
    return "\n".join(lines)


def regressed(comparison) -> bool:
    return bool(comparison["regressions"] or comparison["missing"])
