# SPDX-License-Identifier: MIT
"""Old result against new: what became slower or faster, and whether that can be chance.

A machine that is 30 % slower today makes every row 30 % slower. So each of weft's values is first divided by the drift of
its round: how far the other systems of that row, in the same versions, were in that round from their medians in the old
result (the median of these factors over the systems). Then a Mann-Whitney test asks whether what is left of old and new
differs by more than chance, and Benjamini-Hochberg keeps the share of false alarms over all rows at 5 %. Besides, a change
must exceed a threshold (5 % unless given): a certain but tiny change is no regression."""

from . import noise, statistics
from .result import clamp, factor, number


def drift_by_round(row, reference, names) -> dict:
    """Round -> how much slower (above 1) or faster the systems `names` were than their old medians."""
    moves = {}
    for name in names:
        cell, middle = row["cells"][name], clamp(reference, reference["cells"][name]["median"])
        for number_of_round, value in zip(cell["rounds"], cell["values"]):
            value = clamp(row, value)
            if value > 0 and middle > 0:
                moves.setdefault(number_of_round, []).append(value / middle)
    return {number_of_round: statistics.median(found) for number_of_round, found in moves.items()}


def without_drift(row, drift) -> list:
    cell = row["cells"]["weft"]
    return [clamp(row, value) / drift.get(number_of_round, 1.0) for number_of_round, value in zip(cell["rounds"], cell["values"])]


def measured(row, name) -> bool:
    return bool(row) and "median" in row["cells"].get(name, {})


def refuse_unlike(old, new_kind):
    """A load takes more from one system than from another, so that no correction for drift can take it off."""
    if noise.kind(old) != new_kind:
        raise ValueError("the old result was measured %s, the new one %s: they cannot be compared" % (noise.kind(old), new_kind))


def compare(old, new, threshold=0.05, rate=0.05) -> dict:
    refuse_unlike(old, noise.kind(new))
    versions = {system["name"]: system["version"] for system in old["systems"]}
    same_version = [system["name"] for system in new["systems"]
                    if system["name"] != "weft" and not system["name"].startswith("weft:")
                    and versions.get(system["name"]) == system["version"]]
    old_rows = {row["id"]: row for row in old["rows"]}
    entries, missing = [], []
    for row in new["rows"]:
        before = old_rows.get(row["id"])
        if not measured(before, "weft"):
            continue
        if not measured(row, "weft"):
            missing.append(row["id"])
            continue
        names = [name for name in same_version if measured(before, name) and measured(row, name)]
        drift = drift_by_round(row, before, names)
        old_values = without_drift(before, drift_by_round(before, before, names))
        new_values = without_drift(row, drift)
        middle = statistics.median(old_values)
        change = statistics.median(new_values) / middle - 1 if middle else 0.0
        entries.append({"row": row, "old": before["cells"]["weft"]["median"], "new": row["cells"]["weft"]["median"],
                        "drift": statistics.median(list(drift.values())) if drift else 1.0, "peers": len(names),
                        "change": change, "worse": change if row["better"] == "lower" else -change,
                        "p": statistics.mann_whitney(old_values, new_values)})
    for entry, significant in zip(entries, statistics.benjamini_hochberg([entry["p"] for entry in entries], rate)):
        entry["regression"] = significant and entry["worse"] > threshold
        entry["improvement"] = significant and entry["worse"] < -threshold
    return {"entries": entries, "missing": missing, "threshold": threshold,
            "same_machine": old["machine"].get("cpu") == new["machine"].get("cpu"),
            "regressions": [entry for entry in entries if entry["regression"]]}


def text(comparison) -> str:
    entries = comparison["entries"]
    if not entries and not comparison["missing"]:
        return "The two results have no row of weft in common."
    width = max([len(entry["row"]["title"]) for entry in entries] + [21])
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
