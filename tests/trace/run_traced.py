#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_traced.py [--quick] WEFT-TOOLS -- PROGRAM ARGUMENT...: runs the program with WEFT_TRACE set, and checks the trace.

The program, a GoogleTest one, must come to its end, and leave a trace that `weft trace --check` accepts, and Go's own reader
where `go` is on the PATH (--quick: if the trace is not too large for it). Traces of processes that it starts itself are checked too, unless these end before anything is recorded.
Whether its cases pass is not judged here: some count allocations, or want to be fast. Exit status 0: all valid; 1: not; 77: skipped."""
import functools
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NOTHING_YET = ("nothing was recorded", "the file is empty")
# Go's reader takes 5 us an event, and a storm makes millions of them a second: of each kind a little is enough.
STRESS_SECONDS = "0.05"
QUICK_BYTES = 3_000_000  # some 600,000 events


@functools.cache
def go_reader():
    """Go's `trace` tool, asked for once: `go tool` looks for it anew for seconds. None: there is no Go."""
    if not shutil.which("go"):
        return None
    found = subprocess.run(["go", "tool", "-n", "trace"], capture_output=True, text=True, check=False)
    path = found.stdout.strip()
    return [path] if found.returncode == 0 and os.access(path, os.X_OK) else ["go", "tool", "trace"]


class Traced:
    """A directory for the traces of one run. Without tools: nothing is traced."""

    def __init__(self, tools, quick=False):
        self.tools = tools
        self.most_for_go = QUICK_BYTES if quick else float("inf")
        self.work = tempfile.TemporaryDirectory() if tools else None
        self.environment = {"WEFT_TRACE": os.path.join(self.work.name, "%p.trace")} if tools else {}
        if tools:
            self.environment["WEFT_STRESS_SECONDS"] = os.environ.get("WEFT_STRESS_SECONDS", STRESS_SECONDS)
        self.said = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.work:
            self.work.cleanup()

    def problem(self):
        """What is wrong with the traces, or None."""
        if not self.work:
            return None
        names = sorted(os.listdir(self.work.name))
        if not names:
            return "no trace was written"
        for name in names:
            problem = self.problem_of(os.path.join(self.work.name, name), len(names) == 1)
            if problem:
                return problem
        return None if self.said else "nothing was recorded in any trace"

    def problem_of(self, path, is_only_one):
        done = subprocess.run([self.tools, "trace", "--check", path], capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).strip()
        if done.returncode != 0:
            if not is_only_one and any(text in said for text in NOTHING_YET):
                return None
            return "weft trace --check: " + said
        if go_reader() and os.path.getsize(path) <= self.most_for_go:
            done = subprocess.run([*go_reader(), "-d=parsed", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False)
            if done.returncode != 0 or done.stderr:
                return "go tool trace: " + done.stderr.strip()[:1000]
        self.said.append("%s; %d bytes" % (said.splitlines()[-1], os.path.getsize(path)))
        return None


def main(arguments):
    quick = arguments[0] == "--quick"
    tools, command = arguments[1 if quick else 0], arguments[arguments.index("--") + 1:]
    with Traced(tools, quick) as traced:
        done = subprocess.run(command, env=dict(os.environ, **traced.environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
        if done.returncode == SKIPPED:
            return SKIPPED
        problem = traced.problem() if done.returncode in (0, 1) else "ended with status %d" % done.returncode
        if problem:
            print("%s\nFAIL  %s: %s" % (done.stdout[-3000:], command[0], problem))
            return 1
        print("\n".join("ok    " + said for said in traced.said))
        if not go_reader():
            print("note  go is not on the PATH: Go's own reader was not asked")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
