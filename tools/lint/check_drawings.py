#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is each drawing made of the source beside it?

docs/X.dot is the source of docs/X.svg. The SVG carries the hash of the source it was made of, because the output of
graphviz differs between versions. --fix makes the SVGs anew (it needs graphviz: apt-get install graphviz)."""
import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MARK = "<!-- source sha256: %s -->"


def mark_of(source):
    with open(source, "rb") as file:
        return MARK % hashlib.sha256(file.read()).hexdigest()


def sources(folder):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".dot"))


def problems_in(folder):
    found = []
    for source in sources(folder):
        picture = source[:-4] + ".svg"
        try:
            with open(picture, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            found.append("%s is missing: tools/lint/check_drawings.py --fix" % picture)
            continue
        if mark_of(source) not in text:
            found.append("%s is not made of %s as it is now: tools/lint/check_drawings.py --fix" % (picture, source))
    return found


def fix(folder):
    for source in sources(folder):
        svg = subprocess.run(["dot", "-Tsvg", source], capture_output=True, text=True, check=True).stdout
        with open(source[:-4] + ".svg", "w", encoding="utf-8") as file:
            file.write(svg.rstrip("\n") + "\n" + mark_of(source) + "\n")
        print("check_drawings: %s made" % (source[:-4] + ".svg"))


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        source, picture = os.path.join(folder, "a.dot"), os.path.join(folder, "a.svg")
        with open(source, "w", encoding="utf-8") as file:
            file.write("digraph { a }")
        assert problems_in(folder), "a missing picture is a problem"
        with open(picture, "w", encoding="utf-8") as file:
            file.write("<svg/>\n" + mark_of(source))
        assert not problems_in(folder)
        with open(source, "a", encoding="utf-8") as file:
            file.write("// changed")
        assert problems_in(folder), "a changed source is a problem"
    print("check_drawings: self-test passed")


def main():
    if "--self-test" in sys.argv:
        self_test()
        return 0
    folder = os.path.join(ROOT, "docs")
    if "--fix" in sys.argv:
        fix(folder)
    found = problems_in(folder)
    for problem in found:
        print("check_drawings: " + os.path.relpath(problem, ROOT) if problem.startswith(ROOT) else "check_drawings: " + problem)
    print("check_drawings: %d drawings, %s" % (len(sources(folder)), "fine" if not found else "%d problems" % len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
