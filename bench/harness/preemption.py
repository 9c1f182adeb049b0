# SPDX-License-Identifier: MIT
"""bench/run preemption: what checks for preemption cost the code they are in.

The kernels of bench/preemption are compiled three times: plain, with checks at function entries, and with checks on loop
back-edges as well. They run in turns, kernel by kernel; each row is the median of the ratios within a round. No check
ever fires here: the table is about code that is left alone, which is nearly all code nearly all the time."""

import argparse
import concurrent.futures
import fnmatch
import glob
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
# Every function and loop begins with a cache line: else whether the same inner loop lies across two of them decides more than any
# check (one row had +62 % without one differing instruction).
LAYOUT = ["-falign-functions=64", "-falign-loops=64"]
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


def compile_variant(directory, name, flags, jobs):
    out = os.path.join(directory, "bench", "preemption", name)
    os.makedirs(out, exist_ok=True)
    headers = glob.glob(os.path.join(SOURCES, "*.h"))
    plugins = [part for flag in flags for part in flag.split("=") if os.path.isfile(part)]

    def one(source):
        stem = os.path.splitext(os.path.basename(source))[0]
        target = os.path.join(out, stem + ".o")
        own = [flag for flag in flags if stem not in UNCHECKED or flag.startswith("-D")]
        command = [systems.compiler(), *build.CXX_FLAGS, *LAYOUT, *own, "-c", source, "-o", target]
        inputs = headers + plugins + [source]
        if not build.fresh(target, command, inputs):
            if name == "in_g" and stem not in UNCHECKED:
                compile_with_guard_in_g(command, target)
            else:
                build.run(command, timeout=600)
            build.mark(target, command, inputs)
        return target

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(one, sorted(glob.glob(os.path.join(SOURCES, "*.cc")))))
    program = os.path.join(out, "kernels")
    build.run([systems.compiler(), *objects, *libraries(), "-o", program])
    return program


def libraries():
    """zlib, for the kernel that is there where its header is."""
    command = [systems.compiler(), "-E", "-include", "zlib.h", "-x", "c++", os.devnull, "-o", os.devnull]
    return ["-lz"] if subprocess.run(command, capture_output=True, check=False).returncode == 0 else []


def compile_with_guard_in_g(command, target):
    """No compiler makes these checks: what it makes is rewritten, a load of the goroutine before each compare."""
    assembly = target[:-2] + ".s"
    build.run([*command[:-4], "-S", command[-3], "-o", assembly], timeout=600)
    with open(assembly, encoding="utf-8") as file:
        text, found = IN_G.subn(r"movq\t%fs:112, %r10\n\tcmpq\t(%r10), \1", file.read())
    if found == 0:
        raise build.Failure("%s has no check to rewrite: did the compiler change its form?" % assembly)
    with open(assembly, "w", encoding="utf-8") as file:
        file.write(text)
    build.run([command[0], "-c", assembly, "-o", target])


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
    """kernel -> variant -> one time per round. Every variant must compute the same."""
    times = {kernel: {name: [] for name in programs} for kernel in kernels}
    sums, counts = {}, {}
    order = list(programs)
    for number in range(rounds):
        say("round %d of %d" % (number + 1, rounds))
        for kernel in kernels:
            if kernel not in counts:
                first, _ = run_kernel(programs["plain"], kernel, 1)
                counts[kernel] = max(2, min(200, int(ROUND_SECONDS * 1e9 / max(first, 1))))
            for name in order:
                nanoseconds, checksum = run_kernel(programs[name], kernel, counts[kernel])
                if sums.setdefault(kernel, checksum) != checksum:
                    raise Wrong("%s: %s computes %s, others %s" % (kernel, name, checksum, sums[kernel]))
                times[kernel][name].append(nanoseconds)
        order = order[1:] + order[:1]
    return times, sums


def rows(times, counted):
    result = []
    for kernel, cells in times.items():
        row = {"kernel": kernel, "plain_ns": statistics.median(cells["plain"]), "ratio": {}, "interval": {}, "instructions": {}}
        for name, values in cells.items():
            if name == "plain":
                continue
            ratios = [value / plain for value, plain in zip(values, cells["plain"])]
            row["ratio"][name] = statistics.median(ratios)
            row["interval"][name] = statistics.bootstrap_interval(ratios)
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
    p.add_argument("--rounds", type=int, default=15, help="default 15")
    p.add_argument("--counts", action="store_true", help="instructions as well, by callgrind (slow, but no load disturbs them)")
    p.add_argument("--guard-in-g", action="store_true",
                   help="instead of loops: checks at entries that find the guard through the goroutine, a load more each")
    p.add_argument("--quick", action="store_true", help="one round: does everything build and compute the same?")
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
    if args.rounds < 1:
        p.error("--rounds %d: at least 1" % args.rounds)
    if args.counts and not shutil.which("valgrind"):
        p.error("--counts needs valgrind: apt-get install valgrind")
    try:
        say("compiling the kernels")
        chosen = {"plain": []} if args.list else variants(directory, args.guard_in_g, say)
        programs = {name: compile_variant(directory, name, flags, args.jobs) for name, flags in chosen.items()}
        kernels = subprocess.run([programs["plain"]], capture_output=True, text=True, check=True).stdout.split()
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
                counted[kernel] = {name: instructions(program, kernel) for name, program in programs.items()}
    except (build.Failure, Wrong) as failure:
        say("bench/run preemption: %s" % failure)
        return 1
    table = rows(times, counted)
    names = [name for name in programs if name != "plain"]
    print("Preemption checks: time with them against time without (%s)" % systems.compiler_version())
    print(machine.summary(machine.describe()))
    load = watch.report()
    print("others used %.0f %% of the machine, the hypervisor took %.0f %%\n" % (load["others_percent"], load["steal_percent"]))
    show(table, names)
    out = args.json or os.path.join(directory, "bench", "preemption.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"machine": machine.describe(), "load": load, "rows": table, "checksums": sums,
                   "geometric_mean": means(table, names, "ratio")}, file, indent=1)
    return 0
