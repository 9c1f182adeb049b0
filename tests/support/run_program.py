#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a whole program and judges it by the `// check:` lines of its source, or by NAME.expected beside it.

  // check: run [NAME=VALUE ...] [ARGUMENT ...]   starts one run; what follows is about it. Without any: one plain run
  // check: exit 0 | 2 | SIGABRT | SIGSEGV,SIGABRT   how it must end (default 0); a list means any of them
  // check: stdout REGEX          must be found in the standard output (Python regex, multi-line: ^ and $ match at lines)
  // check: stderr REGEX          likewise for the standard error
  // check: not-stdout REGEX      must not be found
  // check: not-stderr REGEX
  // check: first-stderr REGEX    must match the whole first line of the standard error
  // check: within SECONDS        must end by then (default 20; scaled in slow builds)
  // check: repeat N              so often, each time alike (a race that must not be lost once)
  // check: not-in asan tsan aarch64   is skipped in these builds: the one run, or before the first `run` line the program
  // check: long                  the run belongs to `weft test --long`, where it is a test of its own (option --long)

With --trace WEFT-TOOLS each run is traced, and must leave a valid trace besides (tests/trace/run_traced.py).
With --everywhere (examples) each run is made under both policies and with 1, 2 and 4 processors, unless it says itself.

A run that ends with status 77 says on its standard output why it cannot be tried here, and is skipped.
NAME.expected, if there, is the exact standard output. Exit status 0: all runs as said; 1: not; 77: skipped; 2: bad use.
"""
import argparse
import copy
import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))

import run_traced  # noqa: E402


SKIPPED = 77


class Run:
    def __init__(self, env=None, args=None):
        self.env = env or {}
        self.args = args or []
        self.exits = ["0"]
        self.texts = []  # (stream, wanted, regex)
        self.within = 20.0
        self.repeat = 1
        self.skip = []
        self.long = False

    def title(self):
        words = [f"{name}={value}" for name, value in self.env.items()] + self.args
        return " ".join(words) or "plain run"


class BadCheck(Exception):
    pass


def everywhere(runs):
    """Each run under every policy and number of processors; what a run sets itself stays."""
    result = []
    for run in runs:
        seen = []
        for policy in ("classic", "global"):
            for processors in ("1", "2", "4"):
                there = copy.copy(run)
                there.env = {"WEFT_POLICY": policy, "WEFT_MAXPROCS": processors} | run.env
                if there.env not in seen:
                    seen.append(there.env)
                    result.append(there)
    return result


def parse(source_text):
    """Returns (runs, builds to skip). Checks before the first `run` line belong to every run."""
    common, runs = Run(), []
    target = common
    for number, line in enumerate(source_text.splitlines(), 1):
        match = re.match(r"//\s*check:\s*(\S+)\s*(.*?)\s*$", line)
        if not match:
            continue
        verb, rest = match.groups()
        if verb == "run":
            env, args = {}, []
            for word in shlex.split(rest):
                name, equals, value = word.partition("=")
                if equals and not args and re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
                    env[name] = value
                else:
                    args.append(word)
            target = Run(env, args)
            target.exits, target.texts, target.within = list(common.exits), list(common.texts), common.within
            target.repeat = common.repeat
            runs.append(target)
        elif verb == "exit":
            target.exits = [word.strip() for word in rest.split(",")]
            for word in target.exits:
                if not re.fullmatch(r"\d+|SIG[A-Z0-9]+", word) or (word.startswith("SIG") and not hasattr(signal, word)):
                    raise BadCheck(f"line {number}: `{word}` is neither a status nor a signal")
        elif verb in ("stdout", "stderr", "not-stdout", "not-stderr", "first-stderr"):
            try:
                target.texts.append((verb, re.compile(rest, re.MULTILINE)))
            except re.error as error:
                raise BadCheck(f"line {number}: {error} in `{rest}`") from error
            if not rest:
                raise BadCheck(f"line {number}: `{verb}` without a pattern")
        elif verb == "within":
            target.within = float(rest)
        elif verb == "repeat":
            if not rest.isdigit() or int(rest) < 1:
                raise BadCheck(f"line {number}: `{rest}` is no number of times")
            target.repeat = int(rest)
        elif verb == "not-in":
            target.skip += rest.split()
        elif verb == "long":
            if target is common:
                raise BadCheck(f"line {number}: `long` belongs below a `run` line")
            target.long = True
        else:
            raise BadCheck(f"line {number}: unknown check `{verb}`")
    known = set(re.findall(r"^WEFT_CASE\((\w+)\)", source_text, re.MULTILINE))
    called = {word.removeprefix("--case=") for run in runs for word in run.args if word.startswith("--case=")}
    if known != called:
        raise BadCheck(f"cases and `run --case=` lines differ: {', '.join(sorted(known ^ called))}")
    return runs or [common], common.skip


def ending(status):
    if status >= 0:
        return str(status)
    return signal.Signals(-status).name


def complaints(run, status, stdout, stderr):
    """What the run did other than its checks say."""
    found = []
    if ending(status) not in run.exits:
        found.append(f"ended with {ending(status)}, not {' or '.join(run.exits)}")
    for verb, pattern in run.texts:
        if verb == "first-stderr":
            first = stderr.split("\n", 1)[0]
            if not pattern.fullmatch(first):
                found.append(f"first line of stderr is `{first}`, not `{pattern.pattern}`")
            continue
        text = stdout if verb.endswith("stdout") else stderr
        if verb.startswith("not-"):
            if pattern.search(text):
                found.append(f"{verb[4:]} has `{pattern.pattern}`")
        elif not pattern.search(text):
            found.append(f"{verb} lacks `{pattern.pattern}`")
    return found


def execute(command, run, scale, more_environment=None):
    environment = dict(os.environ, **(more_environment or {}))
    environment.update(run.env)
    start = time.monotonic()
    # Its own group, so that a program that hangs is ended with its children.
    process = subprocess.Popen(command + run.args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment, start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=run.within * scale)
        late = None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGQUIT)  # a weft program answers with a dump of its goroutines
        try:
            stdout, stderr = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        late = f"did not end within {run.within * scale:g} s"
    text = [stream.decode("utf-8", "replace") for stream in (stdout, stderr)]
    return process.returncode, text[0], text[1], late, time.monotonic() - start


def self_test():
    runs, skip = parse('// check: exit 2\n// check: run A=1 x\n// check: stderr ^fatal: .*$\n'
                       '// check: run y\n// check: exit SIGABRT,SIGSEGV\n// check: not-in tsan\n// check: repeat 3\n')
    assert [run.title() for run in runs] == ["A=1 x", "y"] and skip == [] and runs[1].skip == ["tsan"]
    assert [run.repeat for run in runs] == [1, 3]
    assert [run.long for run in parse("// check: run x\n// check: run y\n// check: long\n")[0]] == [False, True]
    assert parse("// check: not-in asan\n// check: run x\n")[1] == ["asan"]
    assert len(everywhere(runs)) == 12 and everywhere(runs)[0].env == {"WEFT_POLICY": "classic", "WEFT_MAXPROCS": "1", "A": "1"}
    assert [run.env["WEFT_POLICY"] for run in everywhere([Run({"WEFT_MAXPROCS": "3"})])] == ["classic", "global"]
    assert runs[0].exits == ["2"] and runs[1].exits == ["SIGABRT", "SIGSEGV"]
    assert not complaints(runs[0], 2, "", "a\nfatal: b\n")
    assert complaints(runs[0], 0, "", "a\nfatal: b\n") and complaints(runs[0], 2, "", "nothing\n")
    assert not complaints(runs[1], -6, "", "") and complaints(runs[1], -9, "", "")
    for bad in ("// check: exti 2", "// check: exit SIGNONE", "// check: stdout [", "// check: repeat 0",
                "// check: long", "WEFT_CASE(forgotten) {", "// check: run --case=unknown"):
        try:
            parse(bad)
        except BadCheck:
            continue
        raise AssertionError(bad)
    sleeper = Run()
    sleeper.within = 0.2
    assert execute([sys.executable, "-c", "import time; time.sleep(30)"], sleeper, 1)[3]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source")
    parser.add_argument("--build", default="none")
    parser.add_argument("--arch", default="x86_64")
    parser.add_argument("--timeout-scale", type=float, default=1)
    parser.add_argument("--everywhere", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--trace", metavar="WEFT-TOOLS")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return 0
    if not options.source or not options.command:
        parser.error("--source and a program are needed")

    with open(options.source, encoding="utf-8") as source:
        try:
            runs, skip = parse(source.read())
        except BadCheck as error:
            print(f"{options.source}: {error}", file=sys.stderr)
            return 2
    runs = [run for run in runs if run.long == options.long]
    if options.everywhere:
        runs = everywhere(runs)
    if options.build in skip or options.arch in skip:
        print(f"skipped: not for {options.build} on {options.arch}")
        return 77
    expected = None
    expected_path = os.path.splitext(options.source)[0] + ".expected"
    if os.path.exists(expected_path):
        with open(expected_path, encoding="utf-8") as file:
            expected = os.path.basename(expected_path), file.read()

    counts = {"ok": 0, "failed": 0, "skipped": 0}
    for run in runs:
        if options.build in run.skip or options.arch in run.skip:
            print(f"[ skip ] {run.title()}: not for {options.build} on {options.arch}")
            counts["skipped"] += 1
            continue
        counts[judge(run, options, expected)] += 1
    if counts["failed"]:
        return 1
    return 0 if counts["ok"] else 77


def shortened(text, first=60, last=20):
    """A dump of a thousand goroutines says no more than one of a few."""
    lines = [line if len(line) < 400 else line[:400] + "..." for line in text.splitlines()]
    if len(lines) > first + last:
        lines[first:-last] = [f"... {len(lines) - first - last} lines ..."]
    return "\n".join(lines)


def judge(run, options, expected):
    """Runs it as often as wanted; the first failure is shown."""
    total = 0.0
    for attempt in range(1, run.repeat + 1):
        with run_traced.Traced(options.trace) as traced:
            status, stdout, stderr, late, seconds = execute(options.command, run, options.timeout_scale, traced.environment)
            problem = None if late or status == SKIPPED else traced.problem()
        total += seconds
        if status == SKIPPED and not late:
            print(f"[ skip ] {run.title()}: {stdout.strip().removeprefix('skipped: ')}")
            return "skipped"
        found = [late] if late else complaints(run, status, stdout, stderr)
        if problem:
            found.append(problem)
        if expected is not None and stdout != expected[1]:
            found.append(f"standard output differs from {expected[0]}")
        if found:
            which = f", attempt {attempt} of {run.repeat}" if run.repeat > 1 else ""
            print(f"[FAILED] {run.title()} ({seconds:.1f} s{which})")
            for what in found:
                print(f"    {what}")
            print(f"--- stdout\n{shortened(stdout)}\n--- stderr\n{shortened(stderr)}\n---")
            return "failed"
    print(f"[  ok  ] {run.title()} ({total:.1f} s)")
    return "ok"


if __name__ == "__main__":
    sys.exit(main())
