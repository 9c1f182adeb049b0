# SPDX-License-Identifier: MIT
"""The stored form of a run (JSON), and what is derived from it: medians, spreads, ratios."""

import json
import math

from . import statistics

FORMAT = 1
NOISY = 0.15  # a ratio whose spread is larger is marked
CLEAR = 0.97  # who is less than 3 % ahead is level


def row_from(workload, metric, procs, cells) -> dict:
    row = {
        "id": "%s.%s@%d" % (workload.name, metric.key, procs),
        "workload": workload.name, "group": workload.group, "metric": metric.key, "title": metric.title,
        "unit": metric.unit, "better": metric.better, "floor": metric.floor, "procs": procs,
        "headline": metric.headline, "short": metric.short or metric.title, "cells": {},
    }
    for cell in cells:
        values = {number: sample[metric.key] for number, sample in cell.samples if metric.key in sample}
        entry = {"rounds": sorted(values), "values": [values[number] for number in sorted(values)]}
        if cell.error:
            entry["error"] = cell.error
        elif not values:
            entry["error"] = "printed no " + metric.key
        row["cells"][cell.system.name] = entry
    return row


def workload_entry(workload) -> dict:
    """What the page says about a row, kept with the numbers: definitions may change later."""
    return {"what": workload.what, "limit": workload.limit, "notes": dict(workload.notes), "without": dict(workload.without),
            "args": dict(workload.args)}


def clamp(row, value):
    return max(value, row.get("floor") or 0.0)


def advantage(row, ours, theirs):
    """How many times better the first value is: above 1 the first is ahead, below 1 the second."""
    ours, theirs = clamp(row, ours), clamp(row, theirs)
    if ours <= 0 or theirs <= 0:
        return None
    return theirs / ours if row["better"] == "lower" else ours / theirs


def differ(ratios) -> bool:
    """Are the ratios of several runs further apart than what is called noise?"""
    return len(ratios) > 1 and max(ratios) > min(ratios) * (1 + NOISY)


def wobble(ratio) -> float:
    """How far a ratio varies: between rounds (interquartile range over median) or between runs, whichever is more."""
    runs = ratio.get("runs", [])
    return max(ratio["spread"], max(runs) / min(runs) - 1 if runs and min(runs) > 0 else 0.0)


def mark(ratio) -> str:
    """~23%: the ratio is noisy, and by so much."""
    return "~%.0f%%" % (100 * wobble(ratio)) if ratio["noisy"] else ""


def by_run(result, rounds, ratios) -> list:
    """The median ratio of each run, where a result is made of several (join.py)."""
    found = []
    for run in result.get("runs", []):
        values = [ratio for number, ratio in zip(rounds, ratios) if run["from"] <= number < run["to"]]
        if values:
            found.append(statistics.median(values))
    return found


def summarise(result: dict) -> dict:
    """Adds to every cell: median, spread, and against weft the ratio of each round with its median and spread."""
    kinds = {system["name"]: system["kind"] for system in result["systems"]}
    for row in result["rows"]:
        weft = row["cells"].get("weft", {})
        ours = dict(zip(weft.get("rounds", []), weft.get("values", [])))
        best = None
        for name, cell in row["cells"].items():
            values = cell["values"]
            if values:
                cell["median"] = statistics.median(values)
                cell["spread"] = round(statistics.spread(values), 4)
            if name == "weft" or not values or not ours:
                continue
            pairs = [(number, advantage(row, ours[number], value)) for number, value in zip(cell["rounds"], values) if number in ours]
            rounds = [number for number, ratio in pairs if ratio is not None]
            ratios = [ratio for _, ratio in pairs if ratio is not None]
            if not ratios:
                continue
            low, high = statistics.bootstrap_interval(ratios)
            runs = by_run(result, rounds, ratios)
            cell["ratio"] = {"median": statistics.median(ratios), "spread": round(statistics.spread(ratios), 4), "low": low, "high": high,
                             "noisy": statistics.spread(ratios) > NOISY or differ(runs)}
            if runs:
                cell["ratio"]["runs"] = runs
        for name, cell in row["cells"].items():
            if kinds.get(name) == "peer" and not name.startswith("weft:") and "median" in cell:
                if best is None or better(row, cell["median"], row["cells"][best]["median"]):
                    best = name
        row["best_peer"] = best
        row["noisy"] = bool(best and row["cells"][best].get("ratio", {}).get("noisy"))
    for curve in result.get("scaling", []):
        for line in curve["lines"]:
            for point in line["points"]:
                if point["values"]:
                    point["median"] = statistics.median(point["values"])
                    point["spread"] = round(statistics.spread(point["values"]), 4)
    return result


def better(row, first, second) -> bool:
    return first < second if row["better"] == "lower" else first > second


def overall(result: dict) -> dict:
    """Per system with a ratio: rows ahead, rows behind, and the geometric mean of the ratios over the headline rows."""
    found = {}
    for row in result["rows"]:
        for name, cell in row["cells"].items():
            ratio = cell.get("ratio")
            if not ratio:
                continue
            entry = found.setdefault(name, {"ahead": 0, "behind": 0, "level": 0, "ratios": []})
            if ratio["low"] > 1.0 and ratio["median"] > 1 / CLEAR:
                entry["ahead"] += 1
            elif ratio["high"] < 1.0 and ratio["median"] < CLEAR:
                entry["behind"] += 1
            else:
                entry["level"] += 1
            if row["headline"]:
                entry["ratios"].append(ratio["median"])
    for entry in found.values():
        entry["mean"] = statistics.geometric_mean(entry.pop("ratios"))
    return found


def behind(result: dict, systems=None) -> list:
    """(row, system, ratio) wherever somebody is clearly ahead of weft, worst first."""
    kinds = {system["name"]: system["kind"] for system in result["systems"]}
    found = []
    for row in result["rows"]:
        for name, cell in row["cells"].items():
            ratio = cell.get("ratio")
            if ratio and ratio["high"] < 1.0 and ratio["median"] < CLEAR and name != "raw" and not name.startswith("weft:"):
                if systems is None or name in systems or kinds.get(name) in systems:
                    found.append((row, name, ratio["median"]))
    return sorted(found, key=lambda entry: entry[2])


def behind_by_row(result: dict, systems=None) -> list:
    """The same, one entry per row: (row, [(system, ratio), ...])."""
    rows = {}
    for row, name, ratio in behind(result, systems):
        rows.setdefault(row["id"], (row, []))[1].append((name, ratio))
    return list(rows.values())


def number(value) -> str:
    """Three significant digits, without exponents."""
    if value is None or math.isnan(value):
        return "-"
    size = abs(value)
    if size >= 1e6:
        return "%.2fM" % (value / 1e6) if size < 1e7 else "%.1fM" % (value / 1e6) if size < 1e8 else "%.0fM" % (value / 1e6)
    if size >= 1e4:
        return "%.1fk" % (value / 1e3) if size < 1e5 else "%.0fk" % (value / 1e3)
    if size >= 100:
        return "%.0f" % value
    if size >= 10:
        return "%.1f" % value
    if size >= 1:
        return "%.2f" % value
    return "%.3f" % value if size >= 0.0005 else "0"


def factor(ratio) -> str:
    """2.3x: weft is that many times better; 0.50x: the other one is twice as good."""
    return "%.0fx" % ratio if ratio >= 9.95 else "%.1fx" % ratio if ratio >= 0.995 else "%.2fx" % ratio


def load(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ValueError("not a result of this harness (format %s expected)" % FORMAT)
    return summarise(result)


def save(result: dict, path: str):
    """JSON with one row per line, so that two results can be compared by eye and by version control."""
    def line(value):
        return json.dumps(rounded(value), ensure_ascii=False)

    parts = []
    for key, value in result.items():
        if isinstance(value, list) and value:
            parts.append(" %s: [\n  %s\n ]" % (json.dumps(key), ",\n  ".join(line(entry) for entry in value)))
        elif key == "workloads":
            parts.append(" %s: {\n  %s\n }" % (json.dumps(key), ",\n  ".join(
                "%s: %s" % (json.dumps(name), line(entry)) for name, entry in value.items())))
        else:
            parts.append(" %s: %s" % (json.dumps(key), line(value)))
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


def rounded(value):
    """Six significant digits: more would be noise."""
    if isinstance(value, float):
        return float("%.6g" % value)
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value
