#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words that must not be in the tree: paths of one developer's machine, postponed work in the sources, merge markers;
and words that must: the SPDX line at the top of every source (examples are for copying, and go without)."""
import re
import sys

import tree as lint

# Put together from parts, so that this file passes its own check.
MACHINE_PATH = re.compile(r"(?<![\w.$}/~-])/" + r"(?:work/|home/(?!\w*\$)\w+/|root/|Users/\w+/)")
POSTPONED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
MERGE = re.compile(r"^(?:<{7} |>{7} |={7}$)")
SPDX = "SPDX-License" + "-Identifier: MIT"
SOURCES = (".h", ".cc", ".cpp", ".S", ".c", ".py", ".cmake", ".go")


def check(tree):
    problems = []
    for path in tree.paths():
        text = tree.text(path)
        if text is None:
            continue
        if path.endswith(SOURCES) and not path.startswith("examples/") and SPDX not in "\n".join(text.splitlines()[:4]):
            problems.append((path, 1, f"lacks the line `{SPDX}`"))
        for number, line in enumerate(text.splitlines(), 1):
            machine = MACHINE_PATH.search(line)
            if machine:
                problems.append((path, number, f"`{machine.group()}` is a path of one machine"))
            if path.startswith(("src/", "include/")) and POSTPONED.search(line):
                problems.append((path, number, "postponed work belongs in an issue, not in the source"))
            if MERGE.match(line):
                problems.append((path, number, "a merge marker"))
    return problems


def self_test():
    head = f"// {SPDX}\n"

    def one(text, *fragments, path="src/os/x.cc"):
        lint.expect(check(lint.Tree(files={path: text})), *fragments)

    one(head)
    one("int x;\n", "lacks the line")
    one(head + "// TO" + "DO: later\n", "postponed work")
    one("int x;\n", path="examples/x.cpp")
    one("TO" + "DO list\n", path="docs/x.md")
    one("see /" + "work/notes\n", "path of one machine", path="docs/x.md")
    one("see /" + "home/anna/x\n", "path of one machine", path="docs/x.md")
    one("open /proc/self/task and build/" + "work/x, ~/" + "work/\n", path="docs/x.md")
    one(head + "<<<<<<< ours\n", "merge marker")
    lint.expect(check(lint.Tree(files={"docs/x.png": None})))


if __name__ == "__main__":
    sys.exit(lint.main("check_words", check, self_test, lambda tree: f"{len(tree.paths())} files"))
