#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every ordering atomic access says what it pairs with.

- Atomics in src/ are base/atomic.h's Atom, whose operations carry their order in the name: load_acquire(),
- Atomics in src/ are base/atomic.h's Atom, whose operations carry their order in the name: load_acquire(),
  store_release(), fetch_add_acq_rel(), cas_seq_cst(), full_fence() ... A bare std::atomic, std::memory_order, fence or
  __atomic builtin is refused, except where `// raw atomic: REASON` stands on the line or the one above. Public types
  cannot use Atom, so in include/ and in src/api, where their bodies are, std::atomic and std::memory_order_* may be
  named.
- Each access that is not relaxed carries `// pairs: LABEL` on its line, on another line of the same statement, or in
  the comment right above. Several labels are separated by commas.
- A label found at one access only fails, because a release that no load acquires orders nothing. An access that pairs
  with itself (a reference count), with the kernel, with assembly or with user code says so:
  `// pairs: task.refs (self)`, `(kernel)`, `(asm)`, `(user)`.

Unit tests and the model tests are free.
"""
import re
import sys

import tree as lint

ORDERED_CALL = re.compile(
    r"\b(?:load|store|exchange|swap|fetch_(?:add|sub|and|or|xor)|add|sub|bump|test_and_set|clear|cas|fence|"
    r"(?:try_)?compare_exchange(?:_weak|_strong)?)_(?:acquire|release|acq_rel|seq_cst)\s*\(|\bfull_fence\s*\(")
STD_ORDER = re.compile(r"\bmemory_order(?:_|::)(?:acquire|release|acq_rel|seq_cst|consume)\b")
RAW = re.compile(r"\bstd::atomic\b|\bstd::atomic_\w+|\bstd::memory_order|\bmemory_order_\w+|\b__atomic_\w+|\b__sync_\w+"
                 r"|\batomic_thread_fence\b")
NAMED = re.compile(r"(?:std::)?memory_order(?:_\w+)?|std::atomic(?:_ref)?")
LABEL = re.compile(r"\bpairs:\s*([a-z][a-z0-9_.]*(?:\s*\((?:self|kernel|asm|user)\))?"
                   r"(?:\s*,\s*[a-z][a-z0-9_.]*(?:\s*\((?:self|kernel|asm|user)\))?)*)")
RAW_REASON = re.compile(r"//.*\braw atomic: \S")
SOURCES = (".h", ".cc")
HOME = "src/base/atomic.h"


def split_comment(line):
    """(code, comment) of a line."""
    blank = re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: '"' + " " * (len(match.group()) - 2) + '"', line)
    at = blank.find("//")
    return (blank, "") if at < 0 else (blank[:at], line[at:])


def statement_ends(code):
    return not code.strip() or code.rstrip().endswith((";", "{", "}", ":")) or code.lstrip().startswith("#")


def labels_for(lines, index):
    """The labels that belong to the access at lines[index], and the lines they stand on."""
    first = index
    while first > 0 and not statement_ends(lines[first - 1][0]):
        first -= 1
    last = index
    while last + 1 < len(lines) and not statement_ends(lines[last][0]):
        last += 1
    above = first
    while above > 0 and not lines[above - 1][0].strip() and lines[above - 1][1]:
        above -= 1
    found, used = [], set()
    for number in range(above, last + 1):
        match = LABEL.search(lines[number][1])
        if match:
            found += [word.strip() for word in match.group(1).split(",")]
            used.add(number)
    return found, used


def check(tree):
    problems, sites, mentions, alone_is_fine = [], {}, [], set()
    for path in tree.paths("src", "include", suffixes=SOURCES):
        if path.endswith("_test.cc") or path == HOME:
            continue
        lines = [split_comment(line) for line in tree.text(path).splitlines()]
        used = set()
        for index, (code, comment) in enumerate(lines):
            raw = RAW.search(code)
            ordered = ORDERED_CALL.search(code) or STD_ORDER.search(code)
            if raw and path.startswith("src/") and not (path.startswith("src/api/") and NAMED.fullmatch(raw.group())):
                around = comment + (lines[index - 1][1] if index and not lines[index - 1][0].strip() else "")
                if not RAW_REASON.search(around):
                    problems.append((path, index + 1, f"`{raw.group()}`: use Atom of base/atomic.h, "
                                                      "or say why not with `// raw atomic: REASON`"))
            if not ordered:
                continue
            labels, where = labels_for(lines, index)
            used |= where
            if not labels:
                problems.append((path, index + 1, f"`{ordered.group().rstrip('( ')}` lacks `// pairs: LABEL`"))
            for label in labels:
                name, _, qualifier = label.partition("(")
                name = name.strip()
                sites.setdefault(name, []).append((path, index + 1))
                if qualifier:
                    alone_is_fine.add(name)
        mentions += [(path, index + 1, name.partition("(")[0].strip())
                     for index, (_, comment) in enumerate(lines) if index not in used
                     for match in [LABEL.search(comment)] if match for name in match.group(1).split(",")]
    for name, places in sorted(sites.items()):
        if len(places) == 1 and name not in alone_is_fine:
            problems.append((*places[0], f"label `{name}` stands at one access only: what does it pair with?"))
    for path, number, name in mentions:
        if name not in sites:
            problems.append((path, number, f"label `{name}` stands at no access"))
    return problems


def self_test():
    def one(text, *fragments, path="src/sched/x.h"):
        lint.expect(check(lint.Tree(files={path: text, HOME: "std::atomic<int> x; // the one place\n"})), *fragments)

    pair = "a.store_release(1);  // pairs: x.ready\nif (a.load_acquire()) {}  // pairs: x.ready\n"
    one(pair)
    one("a.store_release(1);  // pairs: x.ready\n", "one access only")
    one("a.store_release(1);\n", "lacks")
    one("// pairs: x.ready\na.store_release(1);\n\n// why\n// pairs: x.ready\nb = a.load_acquire();\n")
    one("// pairs: x.ready\n\na.store_release(1);\n", "lacks", "stands at no access")
    one("while (first(\n    a.load_acquire()))  // pairs: x.r (self)\n  f();\n")
    one("base::full_fence();\n", "lacks")
    one("refs.fetch_sub_acq_rel(1);  // pairs: x.refs (self)\n")
    one("call(a.exchange_acq_rel(1),  // pairs: x.a, x.b\n  2);\nx.load_acquire();  // pairs: x.a\n"
        "x.store_release(0);  // pairs: x.b\n")
    one(pair + "// Orders: the flag  <-- pairs: x.ready\n")
    one(pair + "// Orders: the flag  <-- pairs: x.gone\n", "stands at no access")
    one("a.load_relaxed();\n")
    one('print("a.load_acquire()");\n')
    one("// a.load_acquire() would be too weak\n")
    one("std::atomic<int> a;\n", "use Atom")
    one("std::atomic<int> a;  // raw atomic: shared with C\n")
    one("// raw atomic: shared with C\nstd::atomic<int> a;\n")
    one("a.load(std::memory_order_acquire);  // pairs: a (self)\n", "use Atom")
    one("__atomic_load_n(p, __ATOMIC_RELAXED);\n", "use Atom")
    one("std::atomic<int> a;\na.store(1, std::memory_order_release);\n", "lacks", path="include/weft/x.h")
    one("a.store(1, std::memory_order_release);\n", "lacks", path="src/api/x.cc")
    one("a.store(1, std::memory_order_relaxed);\n", path="src/api/x.cc")
    one("std::atomic_thread_fence(std::memory_order_relaxed);\n", "use Atom", path="src/api/x.cc")
    one("std::atomic<int> a;\na.load_acquire();\n", path="src/sched/x_test.cc")


if __name__ == "__main__":
    sys.exit(lint.main("check_pairs", check, self_test,
                       lambda tree: f"{len(tree.paths('src', 'include', suffixes=SOURCES))} files"))
