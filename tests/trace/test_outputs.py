#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_outputs.py WEFT-TOOLS [--update]: the texts of `weft trace`, against tests/trace/golden, and its errors."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import builder  # noqa: E402

failures = 0


def check(ok, what, shown=""):
    global failures
    print("%s  %s" % ("ok  " if ok else "FAIL", what))
    if not ok:
        failures += 1
        print(shown)


def run(tools, *arguments, cwd):
    done = subprocess.run([tools, "trace", *arguments], capture_output=True, cwd=cwd, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def golden(name, text, update):
    path = os.path.join(HERE, "golden", name)
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        check(file.read() == text, "golden " + name, text)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def outputs(tools, work, update):
    with open(os.path.join(HERE, "traces", "go126.trace"), "rb") as file:
        real = file.read()
    write(os.path.join(work, "go126.trace"), real)
    write(os.path.join(work, "talk.trace"), builder.conversation())
    for name in ("go126", "talk"):
        status, text, errors = run(tools, name + ".trace", "--summary", cwd=work)
        check(status == 0 and not errors, "%s: summary" % name, errors)
        golden(name + ".summary", text, update)
        status, text, errors = run(tools, "--check", name + ".trace", cwd=work)
        check(status == 0 and not errors, "%s: check" % name, errors)
        golden(name + ".check", text, update)
        status, text, errors = run(tools, name + ".trace", "--json", cwd=work)
        check(status == 0 and not errors, "%s: JSON" % name, errors)
        events = json.loads(text)["traceEvents"]
        check(all(event["ts"] >= 0 and event.get("dur", 0) >= 0 for event in events), "%s: JSON times" % name)
        lanes = {event["tid"] for event in events if event["pid"] == 1 and event["ph"] == "X"}
        named = {event["tid"] for event in events if event["pid"] == 1 and event["ph"] == "M"}
        check(lanes and lanes <= named, "%s: every P lane of the JSON has a name" % name)
        starts = sorted(event["id"] for event in events if event["ph"] == "s")
        ends = sorted(event["id"] for event in events if event["ph"] == "f")
        check(starts and starts == ends, "%s: every arrow of the JSON has two ends" % name)
        if name == "talk":
            golden("talk.json", text, update)
        status, _, errors = run(tools, name + ".trace", cwd=work)
        check(status == 0 and os.path.getsize(os.path.join(work, name + ".trace.html")) > 20000, "%s: page" % name, errors)
    return real


def faults(tools, work, real):
    cases = {"empty": b"", "foreign": b"#!/bin/sh\necho hello\n", "header": real[:9], "cut": real[:len(real) // 2],
             "flipped": real[:40] + bytes([real[40] ^ 0xff]) + real[41:], "old": b"go 1.21 trace\0\0\0" + real[16:]}
    for name, data in cases.items():
        write(os.path.join(work, name), data)
        for mode in ("--check", "--summary", "--json", "-o-"):
            status, _, errors = run(tools, name, mode, cwd=work)
            check(status == 1 and errors.count("\n") == 1 and errors.startswith("weft: %s: offset " % name),
                  "%s %s: one line with an offset" % (name, mode), errors)
    # What stands before a cut is shown: both halves of a conversation's generation are there, the next one is not.
    data = builder.conversation()
    write(os.path.join(work, "tail"), data + b"\x01\x02\x00")
    status, text, errors = run(tools, "tail", "--summary", cwd=work)
    check(status == 1 and "goroutines  2" in text and "21 events, is shown" in errors, "what stands before a cut is shown", text + errors)


def bad_use(tools, work):
    for arguments in ([], ["missing.trace"], ["--frobnicate", "talk.trace"], ["talk.trace", "other"], ["talk.trace", "-o"],
                      ["--json", "--summary", "talk.trace"], ["--check", "talk.trace", "-o", "x"]):
        status, text, errors = run(tools, *arguments, cwd=work)
        check(status == 2 and not text and "usage: weft trace" in errors, "bad use: %s" % " ".join(arguments), errors)
    status, text, errors = run(tools, "--help", cwd=work)
    check(status == 0 and text.startswith("usage: weft trace FILE") and not errors, "help is on stdout")
    status, _, errors = run(tools, "talk.trace", "-o", "no/such/directory", cwd=work)
    check(status == 1 and "cannot be written" in errors, "an output that cannot be written", errors)
    status, _, errors = run(tools, ".", "--check", cwd=work)
    check(status in (1, 2) and errors, "a directory is refused", errors)


def main():
    update = "--update" in sys.argv
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="weft-trace-") as work:
        real = outputs(tools, work, update)
        faults(tools, work, real)
        bad_use(tools, work)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
