#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives gdb with tools/debugger/weft-gdb.py: on a living program with 1000 parked goroutines.

usage: gdb.py GDB SCRIPT PROGRAM. Exit status 0: all as it should be; 1: not; 77: gdb has no Python, or may not trace here.
"""
import re
import subprocess
import sys


def run_gdb(gdb, arguments, commands):
    full = [gdb, "-q", "-nx", "-batch"]
    for command in ["set pagination off", "set width 0", "set confirm off"]:
        full += ["-ex", command]
    for command in commands:
        full += ["-ex", command]
    done = subprocess.run(full + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, text=True)
    return done.stdout


def expect(text, what, *patterns):
    for pattern in patterns:
        if re.search(pattern, text, re.M) is None:
            print(f"{what}: not found: {pattern}\n{text[:6000]}")
            sys.exit(1)


def check_goroutines(text, what):
    expect(text, what,
           r"goroutines like goroutine \d+ \[chan receive.*insight\.cc:\d+, started at .*insight\.cc:\d+$",
           r'^goroutine \d+ "the only "sender"" \[chan send.*insight\.cc:\d+, started at .*insight\.cc:\d+$',
           r"^\d+ P, \d+ M, \d+ in the global queue$")
    receivers = sum(int(count or 1) for count in
                    re.findall(r"^(?:(\d+) goroutines like )?goroutine \d+ \[chan receive", text, re.M))
    if receivers != 1000:
        print(f"{what}: {receivers} goroutines wait to receive, not 1000\n{text[:6000]}")
        sys.exit(1)


def main():
    gdb, script, program = sys.argv[1:4]
    if "has Python" not in run_gdb(gdb, [], ["python print('gdb has Python')"]):
        print("gdb has no Python")
        return 77
    live = run_gdb(gdb, ["--args", program, "--case=parked"],
                   [f"source {script}", "break all_are_parked", "run", "info goroutines", "info weft",
                    "info goroutines chan send", "goroutine apply all bt", "kill"])
    if re.search(r"ptrace|Cannot (create|trace)|not permitted", live) and "Breakpoint 1," not in live:
        print("gdb may not trace a program here")
        return 77
    expect(live, "live", r"Breakpoint 1, .*all_are_parked")
    check_goroutines(re.split(r"\n\ngoroutine \d+ ", live)[0], "live")  # before the stacks of all
    expect(live, "live", r"^#\d+ .*chan_core.*$", r"^#\d+ .*insight\.cc:\d+$")
    if "SIG63" in live or "SIG62" in live:
        print("live: gdb speaks of the runtime's signal\n" + live[-3000:])
        return 1
    print("gdb: 1000 goroutines")
    return 0


sys.exit(main())
