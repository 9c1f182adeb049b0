#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/behaviours.md names the tests that show each behaviour of channels, select, synchronisation, timers and sockets,
and how faults around sockets and processes end, and it stays true.

The file holds a table `| id | what | test |`. Every id below must have one row with at least one test. The files and
tests it names must exist, judged as in docs/requirements.md (check_requirements.py). A bare file name may also be one
of tests/conformance/.
"""
import re
import sys

import check_requirements as requirements
import tree as lint

DOCUMENT = "docs/behaviours.md"
IDS = {"CH": "1 2 3 4 6 7 8 9 10 11 13 14 15 16 19 22", "SE": "1 2 3 4 6 7 8 9 10 11 12 17",
       "SY": "1 2 3 5 6 8 9 10 11 12 14 15 16 17 18 19 20 21 22 23 24 25 26", "TM": "1 2 3 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
       "NP": "1 2 3 4 5 6 7 8 9 10 12 13 16 18 19 21 22", "F": "3 7 9 10 11 12 13 14 31 32 33 34"}
ROW = re.compile(r"^\|\s*((?:CH|SE|SY|TM|NP|F)\d\d)\s*\|")


def identifiers():
    return [f"{area}{int(number):02}" for area, numbers in IDS.items() for number in numbers.split()]


def with_paths(tree, cell):
    """Bare names of conformance tests become paths: other directories have tests of the same name."""
    def path(match):
        return "tests/conformance/" + match.group(0) if tree.exists("tests/conformance/" + match.group(0)) else match.group(0)
    return re.sub(r"(?<![\w/.])\w+_test\.cc", path, cell)


def check(tree):
    if not tree.exists(DOCUMENT):
        return [(DOCUMENT, 0, "is not there")]
    problems, seen = [], {}
    for number, line in enumerate(tree.text(DOCUMENT).splitlines(), 1):
        match = ROW.match(line)
        if not match:
            continue
        name = match.group(1)
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if name in seen:
            problems.append((DOCUMENT, number, f"{name} stands twice (line {seen[name]})"))
        seen[name] = number
        if len(cells) != 3:
            problems.append((DOCUMENT, number, f"{name}: a row is `| id | what | test |`"))
            continue
        named, found = requirements.check_cell(tree, with_paths(tree, cells[2]), number)
        problems += [(DOCUMENT, line_number, text) for _, line_number, text in found]
        if not named:
            problems.append((DOCUMENT, number, f"{name} names no test"))
    for name in identifiers():
        if name not in seen:
            problems.append((DOCUMENT, 0, f"{name} is missing"))
    for name, number in seen.items():
        if name not in identifiers():
            problems.append((DOCUMENT, number, f"{name} is not a behaviour"))
    return problems


def self_test():
    def one(*fragments, **rows):
        lines = [rows.get(name, f"| {name} | x | chan_test.cc:Chan.works |") for name in identifiers()]
        text = "\n".join(line for line in lines + [rows.get("extra")] if line)
        lint.expect(check(lint.Tree(files={
            DOCUMENT: text, "tests/conformance/chan_test.cc": "TEST_P(Chan, works) {}\n",
            "tests/model/api/chan_test.cc": "TEST(Model, holds) {}\n"})), *fragments)

    assert len(identifiers()) == 97
    one()
    one("has no test", CH01="| CH01 | x | chan_test.cc:broken |")
    one("has no test", CH01="| CH01 | x | chan_test.cc:holds |")
    one(CH01="| CH01 | x | tests/model/api/chan_test.cc:holds |")
    one("is not in the tree", "names no test", CH01="| CH01 | x | tests/gone_test.cc |")
    one("names no test", CH01="| CH01 | x | by inspection |")
    one("CH02 is missing", CH02=None)
    one("stands twice", extra="| CH01 | x | chan_test.cc:works |")
    one("is not a behaviour", extra="| CH99 | x | chan_test.cc:works |")
    one("a row is", CH01="| CH01 | chan_test.cc:works |")
    lint.expect(check(lint.Tree(files={})), "is not there")


if __name__ == "__main__":
    sys.exit(lint.main("check_behaviours", check, self_test, lambda tree: f"{len(identifiers())} behaviours"))
