# SPDX-License-Identifier: MIT
"""bench/run preemption: what checks for preemption cost the code they are in.

The kernels of bench/preemption are compiled three times: plain, with checks at function entries, and with checks on loop
back-edges as well, each with its functions at 16 places within a cache line. They run in turns, kernel by kernel; for each
place the median of the ratios within a round counts, and a row is the geometric mean of those over all places. No check ever
fires here: the table is about code that is left alone, which is nearly all code nearly all the time."""

import argparse
import concurrent.futures
import fnmatch
import glob
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from . import build, machine, statistics, systems

SOURCES = os.path.join(systems.BENCH, "preemption")
UNCHECKED = {"main"}  # the driver
# The alternative to the guard in a slot of the thread: its slot holds the goroutine, and the guard is a word of that.
IN_G = re.compile(r"\bcmpq\s+%fs:112, (%\w+)")
# Every loop that the compiler aligns at all begins with a cache line: else whether the same inner loop lies across two of them
# decides more than any check (one row had +62 % without one differing instruction).
LAYOUT = ["-falign-functions=64", "-falign-loops=64"]
# Where in a cache line functions begin. All that is in one moves with its entry, and a check of 11 bytes moves it, too: with
# functions at one place only, a row compares two places rather than code with code (n_queens had +11 %, the same with instructions
# that do nothing instead of its check, and its plain code takes as long 11 bytes further on). Evenly spaced and narrower than a
# check is long, so that code with checks lies as often in a bad place as code without.
PLACES = range(0, 64, 4)
FUNCTION = re.compile(r"(\.type\s+(\S+),\s*[@%]function\n\2:)")
LIMITS = {"entry": 1.5, "loops": 3.0, "in_g": 1.5}  # percent, geometric mean
ROUND_SECONDS = 0.03


class Wrong(Exception):
    """A kernel failed, or computed something else with checks than without."""


def variants(directory, in_g, say):
    """name -> compiler flags; `loops` is left out, with a reason, where the compiler takes no plugin."""
    architecture = os.uname().machine
    found = {"plain": []}
    if architecture == "x86_64":
        found["entry"] = ["-fsplit-stack", "-freorder-blocks-and-partition"]  # as cmake/WeftFlags.cmake has it
        if in_g:
            return {**found, "in_g": [*found["entry"], "-DGUARD_IN_G"]}
    try:
        loops = plugin_flags(directory)
    except build.Failure as failure:
        say("loops: left out: %s" % failure)
        return found
    found["loops"] = found.get("entry", []) + loops
    return found


def plugin_flags(directory):
    release = os.path.join(directory, "release")
    if not os.path.exists(os.path.join(release, "CMakeCache.txt")):
        build.run(["cmake", "--preset", "release", "-B", release, "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF"], systems.ROOT)
    build.run(["cmake", release])
    values = build.environment_values(release)
    if not values.get("weft_preempt_loops"):
        raise build.Failure(values.get("weft_preempt_note") or "this build knows no plugin")
    build.run(["cmake", "--build", release, "--target", "weft_preempt_plugin"])
    return shlex.split(values["weft_preempt_loops"])


def in_parallel(function, things, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(function, things))


def compile_variant(directory, name, flags, jobs):
    """Assembly of all sources, functions at the beginning of a cache line."""
    out = os.path.join(directory, "bench", "preemption", name)
    os.makedirs(out, exist_ok=True)
    headers = glob.glob(os.path.join(SOURCES, "*.h"))
    plugins = [part for flag in flags for part in flag.split("=") if os.path.isfile(part)]

    def one(source):
        stem = os.path.splitext(os.path.basename(source))[0]
        target = os.path.join(out, stem + ".s")
        own = [flag for flag in flags if stem not in UNCHECKED or flag.startswith("-D")]
        command = [systems.compiler(), *build.CXX_FLAGS, *LAYOUT, *own, "-S", source, "-o", target]
        inputs = headers + plugins + [source]
        if not build.fresh(target, command, inputs):
            build.run(command, timeout=600)
            if name == "in_g" and stem not in UNCHECKED:
                find_guard_in_g(target)
            build.mark(target, command, inputs)
        return target

    return in_parallel(one, sorted(glob.glob(os.path.join(SOURCES, "*.cc"))), jobs)


def link_at(place, assembly, jobs):
    """The program of it whose functions begin so many bytes behind the beginning of a cache line."""
    out = os.path.join(os.path.dirname(assembly[0]), str(place))
    os.makedirs(out, exist_ok=True)

    def one(source):
        target = os.path.join(out, os.path.basename(source))
        with open(source, encoding="utf-8") as file:
            text, found = FUNCTION.subn(r".skip %d\n\1" % place, file.read())
        if found == 0:
            raise build.Failure("%s has no function to move: did the compiler change its form?" % source)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        build.run([systems.compiler(), "-c", target, "-o", target[:-2] + ".o"])
        return target[:-2] + ".o"

    program = os.path.join(out, "kernels")
    command = [systems.compiler(), *libraries(), "-o", program]
    if not build.fresh(program, command, assembly):
        build.run([*command[:1], *in_parallel(one, assembly, jobs), *command[1:]])
        build.mark(program, command, assembly)
    return program


def libraries():
    """zlib, for the kernel that is there where its header is."""
    command = [systems.compiler(), "-E", "-include", "zlib.h", "-x", "c++", os.devnull, "-o", os.devnull]
    return ["-lz"] if subprocess.run(command, capture_output=True, check=False).returncode == 0 else []


def find_guard_in_g(assembly):
    """No compiler makes these checks: what it makes is rewritten, a load of the goroutine before each compare."""
    with open(assembly, encoding="utf-8") as file:
        text, found = IN_G.subn(r"movq\t%fs:112, %r10\n\tcmpq\t(%r10), \1", file.read())
    if found == 0:
        raise build.Failure("%s has no check to rewrite: did the compiler change its form?" % assembly)
    with open(assembly, "w", encoding="utf-8") as file:
        file.write(text)


def run_kernel(program, kernel, count):
    done = subprocess.run([program, kernel, str(count)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Wrong("%s of %s failed: %s" % (kernel, program, done.stderr.strip() or "status %d" % done.returncode))
    nanoseconds, checksum = done.stdout.split()
    return int(nanoseconds), checksum


def instructions(program, kernel):
    """Between one run and two, as callgrind counts: start and end of the process cancel out."""
    counts = []
    for times in ("1", "2"):
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, kernel, times],
                              capture_output=True, text=True, timeout=900, check=False)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not found:
            raise Wrong("%s failed under valgrind: %s" % (kernel, done.stderr[-500:]))
        counts.append(int(found.group(1)))
    return counts[1] - counts[0]


def measure(programs, kernels, rounds, say):
    """kernel -> variant -> place -> one time per round. Every variant must compute the same."""
    order, places = list(programs), list(programs["plain"])
    times = {kernel: {name: {place: [] for place in places} for name in order} for kernel in kernels}
    sums, counts = {}, {}
    for number in range(rounds):
        say("round %d of %d" % (number + 1, rounds))
        for kernel in kernels:
            if kernel not in counts:
                first, _ = run_kernel(programs["plain"][places[0]], kernel, 1)
                counts[kernel] = max(2, min(200, int(ROUND_SECONDS * 1e9 / max(first, 1))))
            for place, name in itertools.product(places, order):
                nanoseconds, checksum = run_kernel(programs[name][place], kernel, counts[kernel])
                if sums.setdefault(kernel, checksum) != checksum:
                    raise Wrong("%s: %s computes %s, others %s" % (kernel, name, checksum, sums[kernel]))
                times[kernel][name][place].append(nanoseconds)
        order = order[1:] + order[:1]
    return times, sums


def rows(times, counted):
    result = []
    for kernel, cells in times.items():
        plain = cells["plain"]
        row = {"kernel": kernel, "plain_ns": statistics.geometric_mean([statistics.median(values) for values in plain.values()]),
               "ratio": {}, "interval": {}, "at_places": {}, "instructions": {}}
        for name in cells:
            if name == "plain":
                continue
            ratios = [[value / other for value, other in zip(cells[name][place], plain[place])] for place in plain]
            row["at_places"][name] = {place: statistics.median(values) for place, values in zip(plain, ratios)}
            row["ratio"][name] = statistics.geometric_mean_of_medians(ratios)
            row["interval"][name] = statistics.bootstrap_interval_of_groups(ratios)
            if kernel in counted:
                row["instructions"][name] = counted[kernel][name] / counted[kernel]["plain"]
        result.append(row)
    return result


def percent(ratio):
    return "%+.1f %%" % ((ratio - 1) * 100)


def means(table, names, key):
    return {name: statistics.geometric_mean([row[key][name] for row in table]) for name in names if all(name in row[key] for row in table)}


def show(table, names):
    counted = any(row["instructions"] for row in table)
    head = "%-18s %10s" % ("kernel", "plain ms")
    for name in names:
        head += "  %9s %20s" % (name, "95 %") + ("  %12s" % "instructions" if counted else "")
    print(head)
    for row in table:
        line = "%-18s %10.3f" % (row["kernel"], row["plain_ns"] / 1e6)
        for name in names:
            low, high = row["interval"][name]
            line += "  %9s %20s" % (percent(row["ratio"][name]), "%s .. %s" % (percent(low), percent(high)))
            if counted:
                line += "  %12s" % percent(row["instructions"][name])
        print(line)
    line = "%-18s %10s" % ("geometric mean", "")
    average, counts = means(table, names, "ratio"), means(table, names, "instructions")
    for name in names:
        line += "  %9s %20s" % (percent(average[name]), "(aim: %+.1f %%)" % LIMITS[name])
        if counted:
            line += "  %12s" % percent(counts[name])
    print(line)


def parse(arguments):
    p = argparse.ArgumentParser(prog="bench/run preemption", description=__doc__, allow_abbrev=False,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="kernels or patterns (default: all)")
    p.add_argument("--rounds", type=int, default=5, help="at each place; default 5")
    p.add_argument("--counts", action="store_true", help="instructions as well, by callgrind (slow, but no load disturbs them)")
    p.add_argument("--guard-in-g", action="store_true",
                   help="instead of loops: checks at entries that find the guard through the goroutine, a load more each")
    p.add_argument("--places", type=int, nargs="+", default=list(PLACES), metavar="BYTES",
                   help="where in a cache line functions begin (default: every four bytes of it)")
    p.add_argument("--quick", action="store_true", help="one round at one place: does everything build and compute the same?")
    p.add_argument("--list", action="store_true", help="names the kernels")
    p.add_argument("--json", metavar="FILE", help="where the result goes (default build/bench/preemption.json)")
    p.add_argument("--build-dir", metavar="DIR", default=os.path.join(systems.ROOT, "build"))
    p.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    return p, p.parse_args(arguments)


def main(arguments) -> int:
    def say(message):
        print(message, file=sys.stderr)

    p, args = parse(arguments)
    directory = os.path.abspath(args.build_dir)
    places = args.places[:1] if args.quick or args.list else args.places
    if any(place not in PLACES for place in places):
        p.error("--places: multiples of 4 below 64")
    if args.rounds < 1:
        p.error("--rounds %d: at least 1" % args.rounds)
    if args.counts and not shutil.which("valgrind"):
        p.error("--counts needs valgrind: apt-get install valgrind")
    try:
        say("compiling the kernels")
        chosen = {"plain": []} if args.list else variants(directory, args.guard_in_g, say)
        assembly = {name: compile_variant(directory, name, flags, args.jobs) for name, flags in chosen.items()}
        say("linking them at %d place%s" % (len(places), "s"[len(places) == 1:]))
        programs = {name: {place: link_at(place, files, args.jobs) for place in places} for name, files in assembly.items()}
        first = places[0]
        kernels = subprocess.run([programs["plain"][first]], capture_output=True, text=True, check=True).stdout.split()
        if args.list:
            print("\n".join(kernels))
            return 0
        for name in args.names:
            if not fnmatch.filter(kernels, name):
                p.error("no kernel %r; known: %s" % (name, ", ".join(kernels)))
        if args.names:
            kernels = [kernel for kernel in kernels if any(fnmatch.fnmatchcase(kernel, name) for name in args.names)]
        watch = machine.CpuWatch()
        times, sums = measure(programs, kernels, 1 if args.quick else args.rounds, say)
        counted = {}
        if args.counts:
            for kernel in kernels:
                say("counting %s" % kernel)
                counted[kernel] = {name: instructions(at[first], kernel) for name, at in programs.items()}
    except (build.Failure, Wrong) as failure:
        say("bench/run preemption: %s" % failure)
        return 1
    table = rows(times, counted)
    names = [name for name in programs if name != "plain"]
    print("Preemption checks: time with them against time without (%s)" % systems.compiler_version())
    print(machine.summary(machine.describe()))
    load = watch.report()
    print("functions at %s bytes of a cache line" % ", ".join(map(str, places)))
    print("others used %.0f %% of the machine, the hypervisor took %.0f %%\n" % (load["others_percent"], load["steal_percent"]))
    show(table, names)
    out = args.json or os.path.join(directory, "bench", "preemption.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"machine": machine.describe(), "load": load, "places": places, "rows": table, "checksums": sums,
                   "geometric_mean": means(table, names, "ratio")}, file, indent=1)
    return 0
