#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a source of the library with one mistake in it, for a model test that must find it.

The test names its mutants in comments:

  // mutant: NAME in FILE, caught by TEST
  //   - lines of FILE
  //   + what stands there instead

Indentation does not count. The lines must occur exactly once: a mutant that no longer applies is an error, not a success.
"""
import argparse
import pathlib
import re
import sys


def read_mutant(test, name):
    old, new, found = [], [], False
    for line in test.read_text().splitlines():
        head = re.match(r"// mutant: (\w+) in ([\w/.]+), caught by (\w+)$", line)
        if head:
            found = head[1] == name
            file = head[2] if found else None
        elif found and line.startswith("//   -"):
            old.append(line[6:].strip())
        elif found and line.startswith("//   +"):
            new.append(line[6:].strip())
        elif found:
            break
        if found:
            result = (file, old, new)
    if not old:
        sys.exit(f"{test}: there is no mutant {name} with '-' lines")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", type=pathlib.Path, required=True)
    parser.add_argument("--mutant", required=True)
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    file, old, new = read_mutant(arguments.test, arguments.mutant)
    text = (arguments.sources / file).read_text()
    pattern = re.compile(r"^[ \t]*" + r"\n[ \t]*".join(re.escape(line) for line in old) + "$", re.MULTILINE)
    count = len(pattern.findall(text))
    if count != 1:
        sys.exit(f"{arguments.test}: the text of mutant {arguments.mutant} occurs {count} times in {file}, not once; "
                 "change the mutant with the source")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(pattern.sub(lambda _: "\n".join(new), text))


if __name__ == "__main__":
    main()
