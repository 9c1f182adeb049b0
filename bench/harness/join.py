# SPDX-License-Identifier: MIT
"""Two runs as one result: the rounds of both count, and the ratios on which the two disagree are marked."""

import copy

from . import noise, result as results


def join(first: dict, second: dict) -> dict:
    """The second's rounds after the first's. Raises ValueError where the two did not measure the same; two versions of weft are named both."""
    for what, value in (("machine", lambda run: run["machine"].get("cpu")), ("size", lambda run: run["settings"]["quick"]),
                        ("noise", noise.kind),
                        *((name, lambda run, name=name: version_of(run, name)) for name in names_in(first, second) if name != "weft")):
        if value(first) != value(second):
            raise ValueError("the two runs differ in their %s: %s and %s" % (what, value(first), value(second)))
    joined = copy.deepcopy(first)
    for system in joined["systems"]:
        versions = [version for version in dict.fromkeys((system["version"], version_of(second, system["name"]))) if version]
        system["version"] = " and ".join(versions)
    offset = first["settings"]["rounds_done"]
    joined["settings"]["rounds_done"] = offset + second["settings"]["rounds_done"]
    joined["runs"] = runs_of(first) + [
        {"date": run["date"], "from": run["from"] + offset, "to": run["to"] + offset} for run in runs_of(second)]
    joined["noise"] = {key: max(value, second["noise"].get(key, value)) for key, value in first["noise"].items()}
    rows = {row["id"]: row for row in second["rows"]}
    for row in joined["rows"]:
        for name, cell in row["cells"].items():
            other = rows.get(row["id"], {"cells": {}})["cells"].get(name)
            if other:
                cell["rounds"] += [number + offset for number in other["rounds"]]
                cell["values"] += other["values"]
    known = {row["id"] for row in joined["rows"]}
    joined["rows"] += [row for name, row in rows.items() if name not in known]
    joined["scaling"] = joined.get("scaling") or copy.deepcopy(second.get("scaling", []))
    return results.summarise(joined)


def names_in(first, second):
    return [name for name in (system["name"] for system in first["systems"]) if version_of(first, name) and version_of(second, name)]


def version_of(run, name):
    return next((system["version"] for system in run["systems"] if system["name"] == name), "")


def runs_of(run) -> list:
    """The runs a result is made of: which rounds (from, to) are of which date."""
    return run.get("runs") or [{"date": run["date"], "from": 0, "to": run["settings"]["rounds_done"]}]


def disagreements(result: dict) -> list:
    """(row, system, ratios of the runs) where they differ by more than what is called noise."""
    found = []
    for row in result["rows"]:
        for name, cell in row["cells"].items():
            ratios = cell.get("ratio", {}).get("runs", [])
            if results.differ(ratios):
                found.append((row, name, ratios))
    return found


def text(result: dict) -> str:
    found = disagreements(result)
    ratios = sum("ratio" in cell for row in result["rows"] for cell in row["cells"].values())
    lines = ["%d ratios, %d runs: they agree within %.0f %% on all but %d, which are marked ~." % (
        ratios, len(runs_of(result)), results.NOISY * 100, len(found))]
    for row, name, runs in found:
        lines.append("  %-*s P %d  %-8s %s" % (max(len(entry[0]["title"]) for entry in found), row["title"], row["procs"], name,
                                              "  ".join(results.factor(ratio) for ratio in runs)))
    return "\n".join(lines)
