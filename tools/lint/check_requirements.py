#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/requirements.md says where every requirement is met and what shows it, and it stays true.

The file holds tables `| id | requirement | state | code | test |`. Every id below must have one row. The requirement
is a sentence of at most 25 words. State is done, partly or not yet (words after it, as in "partly: no batch policy",
are welcome). In the code and test cells every path-like word (`src/sched/idle.cc`, `sched/idle.cc`, `bench/micro/`)
must exist; `File.cc:test_name` must be a test, program case or function of that name in that file; a bare file name
must be unique in the tree. A row that is done names at least one file of code and one test or measurement; a row that
is partly met names some code.
"""
import re
import sys

import tree as lint

DOCUMENT = "docs/requirements.md"
RANGES = ("A01-A13 A20-A31 A40-A44 A50-A56 B01-B01 D01-D07 E01-E16 C01-C07 C10-C16 C20-C28")
MOST_WORDS = 25
ROW = re.compile(r"^\|\s*([A-E]\d\d)\s*\|")
REFERENCE = re.compile(r"^([\w.+-]+(?:/[\w.+-]+)*/?)(?::([\w./*+-]+))?$")
EXTENSIONS = (".h", ".cc", ".cpp", ".c", ".S", ".py", ".md", ".pml", ".cmake", ".go", ".sh", ".txt", ".json")


def identifiers():
    result = []
    for part in RANGES.split():
        first, last = part.split("-")
        result += [f"{first[0]}{number:02}" for number in range(int(first[1:]), int(last[1:]) + 1)]
    return result


def resolve(tree, name):
    """The path meant by `name`, or None. Paths count from the root, or from src/."""
    for prefix in ("", "src/"):
        path = prefix + name
        if tree.exists(path.rstrip("/")):
            return path.rstrip("/")
        if any(other.startswith(path.rstrip("/") + "/") for other in tree.paths()):
            return path.rstrip("/")
    if "/" not in name:
        found = [path for path in tree.paths() if path.rsplit("/", 1)[-1] == name]
        if len(found) == 1:
            return found[0]
    return None


def has_test(text, test):
    """Is `test` the name of a test, a case or a function in text? `Suite.name` means that very test."""
    suite, dot, name = test.rpartition(".")
    if dot and suite:
        return re.search(rf"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|WEFT_TEST\w*)\s*\(\s*{re.escape(suite)}\s*,\s*{re.escape(name)}\s*\)",
                         text) is not None
    return re.search(rf"(?<![\w.]){re.escape(test)}(?!\w)", text) is not None


def check_cell(tree, cell, number):
    """Returns (how many files are named, problems)."""
    named, problems = 0, []
    for word in re.split(r"[,;\s]+|<br/?>", cell.replace("`", " ")):
        word = word.strip("().")
        match = REFERENCE.match(word)
        if not match or not ("/" in match.group(1) or match.group(1).endswith(EXTENSIONS)):
            continue
        name, test = match.groups()
        if "/" in name and not name.endswith(EXTENSIONS) and not name.endswith("/") and resolve(tree, name) is None \
                and name.split("/")[0] not in ("src", "tests", "bench", "docs", "tools", "include", "examples"):
            continue  # prose such as enter/exit
        path = resolve(tree, name)
        if path is None:
            problems.append((DOCUMENT, number, f"`{name}` is not in the tree"))
            continue
        named += 1
        if test:
            text = tree.text(path)
            if text is None or not has_test(text, test):
                problems.append((DOCUMENT, number, f"`{path}` has no test `{test}`"))
    return named, problems


def check(tree):
    if not tree.exists(DOCUMENT):
        return [(DOCUMENT, 0, "is not there")]
    problems, seen = [], {}
    for number, line in enumerate(tree.text(DOCUMENT).splitlines(), 1):
        if not ROW.match(line):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        name = cells[0]
        if name in seen:
            problems.append((DOCUMENT, number, f"{name} stands twice (line {seen[name]})"))
        seen[name] = number
        if len(cells) != 5:
            problems.append((DOCUMENT, number, f"{name}: a row is `| id | requirement | state | code | test |`"))
            continue
        words = len(cells[1].split())
        if not 0 < words <= MOST_WORDS:
            problems.append((DOCUMENT, number, f"{name}: its text has {words} words, not 1 to {MOST_WORDS}"))
        state = re.match(r"(done|partly|not yet)\b", cells[2].strip("*` "))
        if not state:
            problems.append((DOCUMENT, number, f"{name}: state `{cells[2]}` is not done, partly or not yet"))
            continue
        code, found = check_cell(tree, cells[3], number)
        problems += found
        tests, found = check_cell(tree, cells[4], number)
        problems += found
        if state.group(1) != "not yet" and not code:
            problems.append((DOCUMENT, number, f"{name} is {state.group(1)} but names no code"))
        if state.group(1) == "done" and not tests:
            problems.append((DOCUMENT, number, f"{name} is done but names no test"))
    for name in identifiers():
        if name not in seen:
            problems.append((DOCUMENT, 0, f"{name} is missing"))
    for name in seen:
        if name not in identifiers():
            problems.append((DOCUMENT, seen[name], f"{name} is not a requirement"))
    return problems


def self_test():
    assert len(identifiers()) == 84

    def document(**rows):
        lines = ["| id | requirement | state | code | test |", "|---|---|---|---|---|"]
        for name in identifiers():
            row = rows.get(name, f"| {name} | x | not yet | | |")
            if row:
                lines.append(row)
        return "\n".join(lines + [rows["extra"]] if "extra" in rows else lines)

    def one(*fragments, **rows):
        lint.expect(check(lint.Tree(files={
            DOCUMENT: document(**rows), "src/sched/idle.cc": "", "src/sched/idle_test.cc": "TEST(Idle, wakes_one) {}\n",
            "bench/micro/spawn.cc": ""})), *fragments)

    good = "| A01 | x | done | `src/sched/idle.cc` | `src/sched/idle_test.cc:wakes_one`, bench/micro/ |"
    one(A01=good)
    one(A01="| A01 | x | done | sched/idle.cc, enter/exit pairs | idle_test.cc:Idle.wakes_one |")
    one(A01="| A01 | x | partly: half of it | idle.cc | |")
    one("A02 is missing", A02=None)
    one("stands twice", A01=good, extra=good)
    one("is not a requirement", extra="| A99 | x | not yet | | |")
    one("is not done, partly or not yet", A01="| A01 | x | soon | | |")
    one("is not in the tree", "names no code", A01="| A01 | x | partly | src/sched/gone.cc | |")
    one("has no test", A01=good.replace("wakes_one", "wakes_two"))
    one("has no test", A01=good.replace("wakes_one", "wakes"))
    one("has no test", A01=good.replace("wakes_one", "Other.wakes_one"))
    one("names no test", A01="| A01 | x | done | idle.cc | by inspection |")
    one("a row is", A01="| A01 | x | done | idle.cc |")
    one("0 words", A01=good.replace("| x |", "| |"))
    one(A01=good.replace("| x |", "|" + " x" * MOST_WORDS + " |"))
    one("26 words", A01=good.replace("| x |", "|" + " x" * (MOST_WORDS + 1) + " |"))
    lint.expect(check(lint.Tree(files={})), "is not there")


def summary(tree):
    text = tree.text(DOCUMENT) if tree.exists(DOCUMENT) else ""
    counts = {state: len(re.findall(rf"^\|\s*[A-E]\d\d\s*\|[^|]*\|[\s*`]*{state}\b", text, re.MULTILINE))
              for state in ("done", "partly", "not yet")}
    return ", ".join(f"{count} {state}" for state, count in counts.items())


if __name__ == "__main__":
    sys.exit(lint.main("check_requirements", check, self_test, summary))
