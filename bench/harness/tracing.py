# SPDX-License-Identifier: MIT
"""bench/run tracing: what recording a trace costs while it goes on.

bench/tracing/overhead.cc does the same work with and without a trace being written, in turns, in one process; each row is
the median of the ratios within a round. The trace goes to a real file, which is removed."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile

from . import build, machine, statistics, systems

LIMITS = {"pipeline": 1.10, "ping-pong": 2.0}


def program(directory, jobs, say):
    weft = systems.BY_NAME["weft"]
    builder = build.Builder(directory, jobs, say)
    include, flags, library = builder.weft_library(weft)
    tracing = dataclasses.replace(weft, name="tracing", title="tracing", directory="tracing", libraries=("-I", include, *flags, library))
    builder.build({tracing: {"overhead"}})
    command = builder.command(tracing, "overhead")
    if not command:
        raise build.Failure(builder.failure(tracing, "overhead"))
    return command


def measure(command, rounds):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([*command, str(rounds), os.path.join(scratch, "overhead.trace")], capture_output=True, text=True,
                              timeout=1800, check=False)
    if done.returncode != 0:
        raise build.Failure("it failed: %s" % (done.stderr.strip() or "status %d" % done.returncode))
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(lines):
    """One a workload and number of Ps, in the order of their appearance."""
    found = {}
    for line in lines:
        found.setdefault((line["workload"], line["procs"]), []).append(line)
    result = []
    for (workload, procs), cells in found.items():
        ratios = [cell["traced_s"] / cell["off_s"] for cell in cells]
        result.append({"workload": workload, "procs": procs, "off_s": statistics.median([cell["off_s"] for cell in cells]),
                       "traced_s": statistics.median([cell["traced_s"] for cell in cells]), "ratio": statistics.median(ratios),
                       "interval": statistics.bootstrap_interval(ratios), "bytes": cells[-1]["bytes"], "aim": LIMITS[workload]})
    return result


def show(table):
    print("%-10s %3s %10s %10s %8s %16s %8s %10s" % ("workload", "P", "off ms", "traced ms", "ratio", "95 %", "aim", "trace MB"))
    for row in table:
        low, high = row["interval"]
        print("%-10s %3d %10.2f %10.2f %8.3f %16s %8.2f %10.1f" %
              (row["workload"], row["procs"], row["off_s"] * 1e3, row["traced_s"] * 1e3, row["ratio"], "%.3f .. %.3f" % (low, high),
               row["aim"], row["bytes"] / 1e6))


def parse(arguments):
    p = argparse.ArgumentParser(prog="bench/run tracing", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=15, help="default 15")
    p.add_argument("--json", metavar="FILE", help="where the result goes (default build/bench/tracing.json)")
    p.add_argument("--build-dir", metavar="DIR", default=os.path.join(systems.ROOT, "build"))
    p.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    return p, p.parse_args(arguments)


def main(arguments) -> int:
    def say(message):
        print(message, file=sys.stderr)

    p, args = parse(arguments)
    if args.rounds < 1:
        p.error("--rounds %d: at least 1" % args.rounds)
    directory = os.path.abspath(args.build_dir)
    try:
        command = program(directory, max(1, args.jobs), say)
        say("measuring")
        watch = machine.CpuWatch()
        table = rows(measure(command, args.rounds))
    except build.Failure as failure:
        say("bench/run tracing: %s" % failure)
        return 1
    print("Tracing: time with a trace being written against time without (%s)" % systems.compiler_version())
    print(machine.summary(machine.describe()))
    load = watch.report()
    print("others used %.0f %% of the machine, the hypervisor took %.0f %%\n" % (load["others_percent"], load["steal_percent"]))
    show(table)
    out = args.json or os.path.join(directory, "bench", "tracing.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"machine": machine.describe(), "load": load, "rows": table}, file, indent=1)
    return 0
