# SPDX-License-Identifier: MIT
"""The command line of bench/run."""

import argparse
import contextlib
import dataclasses
import fnmatch
import glob
import os
import shutil
import subprocess
import sys
import time

from . import build, compare, curves, definitions, join, machine, measure, noise, page, readme, report, result as results, systems

DESCRIPTION = """\
Measures weft beside other runtimes. Programs of all systems run in turns (A B C A B C ...), at least seven rounds; the table
shows medians, spreads and how many times better weft is. Also writes JSON and a page with charts."""

EPILOG = """\
examples:
  bench/run                                     everything, all peers that are installed (about half an hour)
  bench/run yield-2 spawn 'buffered-*'          some rows; --list shows the names
  bench/run --peers go,tokio --procs 2 channels a group, two peers, two Ps
  bench/run --compare old.json                  measure what old.json has, then compare; exit status 1: something is slower
  bench/run --load new.json --compare old.json  compare two stored results
  bench/run --load one.json --join two.json --json both.json   two runs as one result, with what they disagree on
  bench/run --also old=../weft-old spawn        another source tree of weft as one more column, interleaved
  bench/run --variant global:WEFT_POLICY=global the same weft with other environment variables as one more column
  bench/run --noise popular pingpong            beside a busy process on one CPU: who loses least?
  bench/run --scaling                           curves: cost against number of tasks and of Ps
  bench/run --readme-table result.json          the table of docs/bench/README.md
  bench/run preemption [--help]                 what preemption checks cost the code they are in
  bench/run tracing [--help]                    what recording a trace costs while it goes on

exit status: 0 good, 1 a significant regression or nothing could be measured, 2 wrong usage."""

MIN_ROUNDS = 7


class Usage(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, "%s\nbench/run: %s\n" % (self.format_usage().rstrip(), message))


def parser() -> argparse.ArgumentParser:
    p = Usage(prog="bench/run", usage="bench/run [names] [options]; bench/run --help shows them", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
              allow_abbrev=False)
    p.add_argument("names", nargs="*", help="workloads, patterns or groups (default: all)")
    p.add_argument("--peers", default="all", help="comma-separated: go, tokio (with kanal), fiber, asio, boost (fiber and asio), tbb, "
                   "threads, raw, none (default: all)")
    p.add_argument("--procs", help="comma-separated numbers of Ps (default: each row's own, mostly 1,2)")
    p.add_argument("--rounds", type=int, default=MIN_ROUNDS, help="rounds, at least %d (default %d)" % (MIN_ROUNDS, MIN_ROUNDS))
    p.add_argument("--time", type=float, default=0, metavar="S", help="keep adding rounds until S seconds have passed")
    p.add_argument("--quick", action="store_true", help="tiny sizes, any number of rounds: checks that everything works, measures nothing")
    p.add_argument("--noise", action="store_true", help="a busy process on one CPU all the while; the result says so, and is only compared with such")
    p.add_argument("--json", metavar="FILE", help="where the result goes (default build/bench/result.json)")
    p.add_argument("--html", metavar="FILE", help="where the page goes (default build/bench/result.html)")
    p.add_argument("--svg", metavar="DIR", help="where the pictures go (default build/bench/svg)")
    p.add_argument("--load", metavar="FILE", help="show a stored result instead of measuring")
    p.add_argument("--join", metavar="FILE", help="with --load: another run of the same; the rounds of both count, and ratios on which they "
                   "disagree are marked")
    p.add_argument("--compare", metavar="OLD.json", help="show what changed against a stored result")
    p.add_argument("--threshold", type=float, default=5.0, metavar="PERCENT", help="smallest change that counts for --compare (default 5)")
    p.add_argument("--readme-table", metavar="FILE", help="print the markdown table of a stored result")
    p.add_argument("--scaling", action="store_true", help="curves instead of rows; names choose among them")
    p.add_argument("--micro", action="store_true", help="build and run bench/micro (Google Benchmark); names are its filter")
    p.add_argument("--lib", metavar="FILE", help="link this libweft.a instead of building one")
    p.add_argument("--also", action="append", default=[], metavar="NAME=TREE", help="another source tree of weft as one more column")
    p.add_argument("--ladder", action="store_true", help="the steps of the documents' plan, V0 to V4, as columns beside the whole (V5)")
    p.add_argument("--variant", action="append", default=[], metavar="NAME:VAR=VALUE[,..]", help="weft with environment variables as one more column")
    p.add_argument("--build-dir", metavar="DIR", default=os.path.join(systems.ROOT, "build"), help="default: build")
    p.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="parallel compilations")
    p.add_argument("--list", action="store_true", help="show workloads, curves and systems")
    return p


def choose(p, names, available, groups=None):
    if not names:
        return list(available)
    chosen = []
    for name in names:
        found = [entry for entry in available if entry.name == name or fnmatch.fnmatchcase(entry.name, name)
                 or (groups and getattr(entry, "group", None) == name)]
        if not found:
            p.error("unknown name %r; known: %s%s" % (name, ", ".join(entry.name for entry in available),
                                                     "; groups: " + ", ".join(groups) if groups else ""))
        chosen += [entry for entry in found if entry not in chosen]
    return [entry for entry in available if entry in chosen]


def choose_systems(p, args):
    chosen = [systems.BY_NAME["weft"]]
    if args.lib:
        if not os.path.isfile(args.lib):
            p.error("--lib %s: no such file" % args.lib)
        chosen[0] = dataclasses.replace(chosen[0], library=args.lib)
    for step in (0, 2, 3, 4) if args.ladder else ():
        chosen.append(systems.variant(chosen[0], "V%d" % step, "", environment=(("WEFT_DEBUG", "ladder=%d" % step),)))
    for text in args.variant:
        name, found, settings = text.partition(":")
        pairs = [tuple(pair.split("=", 1)) for pair in settings.split(",") if "=" in pair]
        if not found or not name or len(pairs) != settings.count(",") + 1:
            p.error("--variant %s: NAME:VAR=VALUE[,VAR=VALUE] expected" % text)
        chosen.append(systems.variant(chosen[0], name, "", environment=tuple(pairs)))
    for text in args.also:
        name, found, tree = text.partition("=")
        if not found or not name or not os.path.isfile(os.path.join(tree, "CMakeLists.txt")):
            p.error("--also %s: NAME=TREE expected, TREE with a CMakeLists.txt" % text)
        tree = os.path.abspath(tree)
        chosen.append(systems.variant(chosen[0], name, "", tree=tree, library="", version=lambda tree=tree: systems.weft_version(tree)))
    wanted = []
    for word in args.peers.split(","):
        if word not in systems.PEER_WORDS:
            p.error("unknown peer %r; known: %s" % (word, ", ".join(systems.PEER_WORDS)))
        wanted += systems.PEER_WORDS[word]
    return chosen + [system for system in systems.SYSTEMS if system.name in wanted]


def choose_procs(p, args):
    if args.procs is None:
        return None
    try:
        procs = [int(word) for word in args.procs.split(",")]
    except ValueError:
        p.error("--procs %s: numbers separated by commas expected" % args.procs)
    if any(not 1 <= value <= 1024 for value in procs):
        p.error("--procs %s: 1 to 1024" % args.procs)
    return list(dict.fromkeys(procs))


def show_list():
    print("workloads (name, group, what, systems):")
    for workload in definitions.WORKLOADS:
        takes = [system.name for system in systems.SYSTEMS if system.has(workload.program) and any(
            workload.takes(system.name, procs) for procs in workload.procs)]
        print("  %-15s %-9s %s" % (workload.name, workload.group, workload.what))
        print("  %-15s %-9s P %s; %s" % ("", "", ",".join(map(str, workload.procs)), ", ".join(takes)))
    print("\ncurves (--scaling):")
    for curve in curves.SCALING:
        print("  %-15s %s (%s)" % (curve.name, curve.title, ", ".join(curve.systems)))
    print("\nsystems:")
    for system in systems.SYSTEMS:
        missing = system.missing() if system.missing else ""
        version = system.version() if system.version and not missing else ""
        print("  %-9s %s" % (system.name, "missing: " + missing if missing else "%s %s" % (system.title, version)))


class Progress:
    """One line that changes on a terminal, one line per round elsewhere."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.start = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.last = None

    def __call__(self, number, index, count, job, cell):
        elapsed = time.monotonic() - self.start
        if self.terminal:
            left = ""
            if number >= 1 and number < self.rounds:
                done = number + index / count
                left = ", about %d s left" % max(0, elapsed / done * (self.rounds - done))
            sys.stderr.write("\r\033[Kround %d of %d: %s, %s%s" % (number + 1, max(self.rounds, number + 1), job.label, cell.system.name, left))
            sys.stderr.flush()
        elif (number, job.label) != self.last:
            self.last = (number, job.label)
            sys.stderr.write("[%5.0f s] round %d of %d, %d of %d: %s\n" % (elapsed, number + 1, max(self.rounds, number + 1), index + 1, count, job.label))

    def end(self):
        if self.terminal:
            sys.stderr.write("\r\033[K")


def say(message):
    sys.stderr.write(message + "\n")


def runner(builder, system, workload, procs, arguments, client):
    command = builder.command(system, workload.program)
    if workload.kind in definitions.CLIENTS:
        run = {"echo": measure.run_echo, "http": measure.run_http}[workload.kind]
        return lambda: run(command, client, system, procs, arguments, workload.timeout)
    words = measure.command_line(command, system, procs, arguments)
    return lambda: measure.run_program(words, system, workload.timeout)


def plan_rows(workloads, chosen, builder, procs_wanted, quick, skipped):
    """Jobs to run, and for each the (workload, procs) whose rows it gives."""
    jobs, rows = [], []
    clients = {"echo": builder.command(systems.BY_NAME["raw"], "echo_client"), "http": shutil.which("wrk")}
    for workload in workloads:
        client = clients.get(workload.kind)
        if workload.kind in definitions.CLIENTS and not client:
            skipped.append("%s: its client is missing: %s" % (workload.title, definitions.CLIENTS[workload.kind]))
            continue
        if workload.need_mb and not quick and machine.available_mb() < workload.need_mb:
            skipped.append("%s: needs %d MB of free memory, %d are there" % (workload.title, workload.need_mb, machine.available_mb()))
            continue
        for procs in procs_wanted or workload.procs:
            if not workload.min_procs <= procs <= workload.max_procs:
                continue
            cells = []
            for system in chosen:
                base = "weft" if system.name.startswith("weft:") else system.name
                if not workload.takes(base, procs) or not builder.command(system, workload.program):
                    continue
                arguments = workload.arguments(base, quick)
                cells.append(measure.Cell(system, runner(builder, system, workload, procs, arguments, client)))
            if cells:
                label = "%s, P %d" % (workload.title, procs)
                jobs.append(measure.Job(label, cells, workload.rounds))
                rows.append((workload, procs, cells))
    return jobs, rows


def plan_curves(chosen_curves, chosen, builder, procs_wanted, quick):
    jobs, lines = [], []
    names = {system.name: system for system in chosen}
    for curve in chosen_curves:
        for index, point in enumerate(curve.points):
            if quick and index > 1:
                break
            arguments = {key: value for key, value in point.items() if key != "x"}
            if quick:
                arguments = {key: min(value, {"tasks": 2000, "count": 100, "hops": 2000, "n": 15, "primes": 100, "settle-ms": 0}.get(key, value))
                             for key, value in arguments.items()}
                if "burst" in arguments:
                    arguments["burst"] = min(arguments["burst"], arguments["tasks"])
            values = [point["x"]] if curve.axis == "procs" else list(procs_wanted or curve.procs)
            for procs in values:
                cells = []
                for name, system in names.items():
                    base = "weft" if name.startswith("weft:") else name
                    if base not in curve.systems or point["x"] > curve.limits.get(base, 1 << 60):
                        continue
                    command = builder.command(system, curve.program)
                    if not command:
                        continue
                    words = measure.command_line(command, system, procs, arguments)
                    cells.append(measure.Cell(system, lambda words=words, system=system: measure.run_program(words, system, 120)))
                if cells:
                    jobs.append(measure.Job("%s, %s %d, P %d" % (curve.name, curve.axis, point["x"], procs), cells))
                    lines.append((curve, point["x"], procs, cells))
    return jobs, lines


def curves_from(lines):
    found = {}
    for curve, x, procs, cells in lines:
        entry = found.setdefault(curve.name, {"name": curve.name, "title": curve.title, "unit": curve.unit, "axis": curve.axis, "lines": []})
        for cell in cells:
            key = procs if curve.axis == "tasks" else 0
            line = next((line for line in entry["lines"] if line["system"] == cell.system.name and line["procs"] == key), None)
            if line is None:
                line = {"system": cell.system.name, "procs": key, "points": []}
                entry["lines"].append(line)
            point = {"x": x, "values": [sample[curve.metric] for _, sample in cell.samples if curve.metric in sample]}
            if cell.error:
                point["error"] = cell.error
            line["points"].append(point)
    return list(found.values())


def system_entry(system, builder):
    status = builder.failures.get((system.name, None), "")
    entry = {"name": system.name, "title": system.title, "kind": system.kind,
             "version": (system.version() if system.version and not status.startswith("missing") else ""), "status": status or "ok"}
    broken = {program: message for (name, program), message in builder.failures.items() if name == system.name and program}
    if broken:
        entry["not_built"] = broken
    return entry


def measure_all(p, args):
    quick = args.quick
    if args.rounds < 1 or (args.rounds < MIN_ROUNDS and not quick):
        p.error("--rounds %d: at least %d, fewer cannot tell noise from change (any number with --quick)" % (args.rounds, MIN_ROUNDS))
    chosen = choose_systems(p, args)
    procs = choose_procs(p, args)
    if args.scaling:
        chosen_curves = choose(p, args.names, curves.SCALING)
        wanted = {system: {curve.program for curve in chosen_curves if system.name.split(":")[0] in curve.systems} for system in chosen}
    else:
        workloads = choose(p, args.names, definitions.WORKLOADS, definitions.GROUPS)
        wanted = {system: {workload.program for workload in workloads} for system in chosen}
        if any(workload.kind == "echo" for workload in workloads):
            wanted.setdefault(systems.BY_NAME["raw"], set()).add("echo_client")
    builder = build.Builder(os.path.abspath(args.build_dir), max(1, args.jobs), say)
    builder.build(wanted)
    skipped = []
    rows, lines = [], []
    if args.scaling:
        jobs, lines = plan_curves(chosen_curves, chosen, builder, procs, quick)
    else:
        jobs, rows = plan_rows(workloads, chosen, builder, procs, quick, skipped)
    load = os.getloadavg()[0]
    if load > 0.5 and not quick:
        say("The machine is busy (load %.1f): ratios stay fair, but expect noisy rows." % load)
    watch = machine.CpuWatch()
    progress = Progress(args.rounds)
    busy = noise.Load(noise.usual_cpu()) if args.noise else None
    try:
        with busy or contextlib.nullcontext():
            done, interrupted = measure.measure(jobs, args.rounds, args.time, progress)
    except noise.Failure as failure:
        p.exit(1, "bench/run: --noise: %s\n" % failure)
    progress.end()
    result = {
        "format": results.FORMAT, "date": machine.today(), "machine": machine.describe(), "noise": watch.report(),
        "settings": {"rounds": args.rounds, "rounds_done": done, "quick": quick, "names": args.names, "procs": procs,
                     "load": busy and busy.entry},
        "systems": [system_entry(system, builder) for system in chosen], "skipped": skipped, "interrupted": interrupted,
        "workloads": {workload.name: results.workload_entry(workload) for workload, _, _ in rows},
        "rows": [results.row_from(workload, metric, count, cells) for workload, count, cells in rows for metric in workload.metrics],
        "scaling": curves_from(lines),
    }
    return results.summarise(result)


def load(p, path):
    try:
        return results.load(path)
    except (OSError, ValueError, KeyError) as error:
        p.error("%s: %s" % (path, error))


def write(args, result, default):
    directory = os.path.join(os.path.abspath(args.build_dir), "bench")
    beside = "-noise" if result["settings"].get("load") else ""  # does not overwrite what was measured in quiet
    name = ("scaling" if args.scaling else "result") + beside
    targets = {"json": args.json or (default and os.path.join(directory, name + ".json")),
               "html": args.html or (default and os.path.join(directory, name + ".html")),
               "svg": args.svg or (default and os.path.join(directory, "svg" + beside))}
    for path in (targets["json"], targets["html"]):
        if path:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if targets["json"]:
        results.save(result, targets["json"])
    if targets["html"]:
        with open(targets["html"], "w", encoding="utf-8") as file:
            file.write(page.render(result))
    if targets["svg"]:
        page.write_pictures(result, targets["svg"])
    shown = ["%s %s" % (kind, os.path.relpath(path)) for kind, path in targets.items() if path]
    if shown:
        print("Written: " + ", ".join(shown))


def show(result):
    print(report.head(result))
    print()
    if result["rows"]:
        print(report.table(result))
        print(report.LEGEND)
        text = report.summary(result)
        if text:
            print("\n" + text)
    if result.get("scaling"):
        print(report.scaling(result))
    text = report.failures(result)
    if text:
        print("\n" + text)
    print()


def run_micro(p, args):
    if not systems.header("benchmark/benchmark.h"):
        p.exit(1, "bench/run: bench/micro needs Google Benchmark: apt-get install libbenchmark-dev\n")
    system = systems.BY_NAME["weft"]
    if args.lib:
        system = dataclasses.replace(system, library=args.lib)
    programs = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(systems.BENCH, "micro", "*.cc"))}
    micro = dataclasses.replace(system, name="micro", title="micro", directory="micro")
    builder = build.Builder(os.path.abspath(args.build_dir), max(1, args.jobs), say)
    try:
        include, flags, library = builder.weft_library(system)
    except build.Failure as failure:
        p.exit(1, "bench/run: weft: not built: %s\n" % failure)
    micro = dataclasses.replace(micro, libraries=(*["-I", include], *flags, library, "-lbenchmark_main", "-lbenchmark"))
    builder.build({micro: programs})
    status = 0
    for program in sorted(programs):
        command = builder.command(micro, program)
        if command:
            words = command + ["--benchmark_filter=" + "|".join(args.names)] if args.names else command
            status |= subprocess.run(words, check=False).returncode
    return 1 if status or not builder.commands else 0


def refuse_unlike(p, old, new_kind):
    try:
        compare.refuse_unlike(old, new_kind)
    except ValueError as error:
        p.error("--compare: %s" % error)


def main(arguments=None) -> int:
    p = parser()
    args = p.parse_args(arguments)
    if args.list:
        show_list()
        return 0
    if args.readme_table:
        print(readme.table(load(p, args.readme_table)))
        return 0
    if args.noise and (args.micro or args.load):
        p.error("--noise is for measuring rows and curves: neither --micro nor --load knows it")
    if args.micro:
        return run_micro(p, args)
    if args.join and not args.load:
        p.error("--join needs --load: it joins two stored results")
    old = load(p, args.compare) if args.compare else None
    if args.load:
        result = load(p, args.load)
        if args.join:
            try:
                result = join.join(result, load(p, args.join))
            except ValueError as error:
                p.error("--join: %s" % error)
        show(result)
        if args.join:
            print(join.text(result))
        write(args, result, default=False)
    else:
        if old:
            refuse_unlike(p, old, noise.LOADED if args.noise else noise.QUIET)
        if old and not args.names and not args.scaling:
            known = {row["workload"] for row in old["rows"]} & set(definitions.BY_NAME)
            args.names = [workload.name for workload in definitions.WORKLOADS if workload.name in known]
        result = measure_all(p, args)
        show(result)
        write(args, result, default=True)
    if old:
        refuse_unlike(p, old, noise.kind(result))
        comparison = compare.compare(old, result, args.threshold / 100)
        print("\n" + compare.text(comparison))
        return 1 if compare.regressed(comparison) else 0
    measured = any("median" in cell for row in result["rows"] for cell in row["cells"].values())
    measured = measured or any("median" in point for curve in result["scaling"] for line in curve["lines"] for point in line["points"])
    return 0 if measured else 1
