#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks survive what compilers and linkers do with them: link-time optimisation, static linking, landing pads, other linkers.

Each combination of flags is compiled, linked with the library and run with WEFT_DEBUG=preempt (every check gives way) and slices of 1 ms: the result
is that of a plain run, and the checks were there. Linkers that are not installed are left out, and it is said so.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = str(sum(-1 if (i + 44) % 7 == 3 else i + 44 for i in range(1000)))

# (name, flags for compiling and linking, is the linker one that ruins -fsplit-stack)
WAYS = [
    ("plain", "-O2", False),
    ("unoptimised, no-pie, landing pads, no PLT", "-O0 -no-pie -fcf-protection -fno-plt", False),
    ("static", "-O2 -static", False),
    ("link-time optimisation", "-O2 -flto", False),
    ("link-time optimisation, static", "-O2 -flto -static", False),
    ("gold", "-O2 -fuse-ld=gold", True),
    ("lld", "-O2 -fuse-ld=lld", True),
    ("mold", "-O2 -fuse-ld=mold", False),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--split-stack", default="", help="flags of the compiler's own checks")
    parser.add_argument("--plugin", default="", help="flags of the plugin's checks at entries and in loops")
    parser.add_argument("--also-when-linking", action="store_true", help="with link-time optimisation the plugin runs then")
    args = parser.parse_args()
    source = Path(__file__).with_name("combinations.cc")
    failed = False
    with tempfile.TemporaryDirectory() as made:
        objects = {}

        def run(*command, **more):
            return subprocess.run(command, capture_output=True, text=True, cwd=made, **more)

        def complain(name, checks, what):
            nonlocal failed
            failed = True
            print(f"FAILED {name} ({checks}): {what}")

        Path(made, "probe.cc").write_text("int main() {}\n")
        for name, flags, ruins in WAYS:
            flags = flags.split()
            if run(args.cxx, *flags, "probe.cc", "-o", "probe").returncode != 0:
                print(f"left out: {name} (cannot be linked here)")
                continue
            for checks, options in (("split-stack", args.split_stack), ("plugin", args.plugin)):
                if not options:
                    continue
                options = shlex.split(options)
                if ruins and checks == "split-stack":  # with code set apart such linkers refuse it: no need to tell anybody
                    options = [o for o in options if o != "-freorder-blocks-and-partition"]
                compiling = tuple(f for f in flags if not f.startswith(("-fuse-ld", "-static")))
                compiled = objects.get((checks, compiling, ruins))
                if compiled is None:
                    compiled = f"{len(objects)}.o"
                    done = run(args.cxx, "-std=c++20", "-I", args.include, *options, *compiling, "-c", str(source), "-o", compiled)
                    if done.returncode != 0:
                        complain(name, checks, done.stderr)
                        continue
                    objects[checks, compiling, ruins] = compiled
                linking = options if checks == "split-stack" or args.also_when_linking else []
                done = run(args.cxx, *linking, *flags, compiled, args.library, "-pthread", "-ldl", "-o", "program")
                if done.returncode != 0:
                    complain(name, checks, done.stderr)
                    continue
                done = run("./program", env=dict(os.environ, WEFT_DEBUG="preempt", WEFT_SLICE="1"), timeout=240)
                if done.returncode != 0 or done.stdout != f"{EXPECTED}, preempted\n":
                    complain(name, checks, f"status {done.returncode}, {done.stdout!r}, expected {EXPECTED}\n{done.stderr}")
                else:
                    print(f"ok: {name} ({checks})")
                # The command and the package leave these out (tests/command/run, tests/consumers/run); who links by hand is told.
                told = "fire at every call" in done.stderr
                if told != (ruins and checks == "split-stack"):
                    complain(name, checks, "the linker has made checks fire at every call" if told else "nobody was told of it")
    return failed


if __name__ == "__main__":
    sys.exit(main())
