#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every include points down.

  base  <  arch, os  <  trace  <  sched  <  policy, service, profile  <  api  <  posix, insight  <  runtime  <  tls

- A file of src/ includes its own layer and lower ones, by path from src/ ("os/clock.h"), never "../".
- policy, service and profile do not include each other; the services do not include one another either
  (netpoll_epoll.cc and netpoll.h are one service: the names share a beginning).
- arch and os are of one rank: arrows between them may go one way only.
- The rooms of src/sched have ranks of their own (ROOMS). A module is a header with its source; modules of one room do not
  depend on each other in a circle, except for those of CORE.
- Public headers (include/weft) include the standard library and <weft/...>, nothing of src/.
- Below api, of the public headers only the plain-data ones (detail/, error.h, runtime.h, go.h) may be included.
- tests/ and examples/ use public headers only ("support/..." within tests; models may include src/). tools/ may
  include public headers, trace/format.h and one another. A unit test (x_test.cc in src/ or tools/) may include
  anything; a test of an example (x_test.cc, x_fuzz.cc) also the headers of tests/.
"""
import re
import sys

import tree as lint

# The one support file that is a part of the runtime: a policy for the tests of the seam.
SEAM_POLICY = "tests/support/round_robin.cc"
RANK = {"base": 0, "arch": 1, "os": 1, "trace": 2, "sched": 3, "policy": 4, "service": 4, "profile": 4, "api": 5, "posix": 6, "insight": 6, "runtime": 7, "tls": 8}
ROOMS = {"queue": 0, "rule": 1, "bias": 1, "timer": 2, "model": 3, "memory": 4, "frames": 4, "state": 5, "tracing": 6,
         "core": 7, "wait": 8, "world": 9, "observe": 9}
# The switch, blocking calls, leases and preemption: each begins where another ends.
CORE = {"core/dispatch", "core/handoff", "core/lease", "core/preempt"}
PUBLIC_BELOW_API = ("weft/detail/", "weft/error.h", "weft/runtime.h", "weft/go.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SOURCES = (".h", ".cc", ".cpp", ".S", ".c")


def includes(text):
    """(line number, written with quotes?, target); a public header counts as <weft/...>, with quotes or without."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"' and not match.group(2).startswith("weft/"), match.group(2)


def stem(path):
    return re.sub(r"(_test)?\.\w+$", "", path.rsplit("/", 1)[-1])


def same_service(one, other):
    return one == other or one.startswith(other + "_") or other.startswith(one + "_")


def check_src_file(tree, path, sideways):
    layer = path.split("/")[1] if path.count("/") >= 2 else None
    if layer not in RANK:
        return [(path, 0, f"src/{layer or ''} is not a layer ({', '.join(RANK)})")]
    problems = []
    for number, quoted, target in includes(tree.text(path)):
        if not quoted:
            if target.startswith("weft/"):
                if not tree.exists("include/" + target):
                    problems.append((path, number, f"<{target}> is not in include/"))
                elif RANK[layer] < RANK["api"] and not target.startswith(PUBLIC_BELOW_API) \
                        and not path.endswith("_test.cc"):
                    problems.append((path, number, f"{layer} is below api and may not include <{target}>"))
            continue
        if target.startswith(("../", "./")) or "/../" in target:
            problems.append((path, number, f'"{target}": write the path from src/, as "os/clock.h"'))
            continue
        if path.endswith("_test.cc") and target.startswith("support/") and tree.exists("tests/" + target):
            continue
        other = target.split("/")[0]
        if "/" not in target or other not in RANK or not tree.exists("src/" + target):
            problems.append((path, number, f'"{target}" is not a file of a layer in src/'))
            continue
        if path.endswith("_test.cc") or other == layer and layer != "service":
            continue
        if layer == "service" and other == "service":
            if not same_service(stem(path), stem(target)):
                problems.append((path, number, f"service {stem(path)} may not include its peer {target}"))
        elif RANK[other] > RANK[layer]:
            problems.append((path, number, f"{layer} (L{RANK[layer]}) may not include {target} (L{RANK[other]})"))
        elif RANK[other] == RANK[layer]:
            if RANK[layer] == 4:
                problems.append((path, number, f"{layer} may not include its peer {target}"))
            else:
                sideways.setdefault((layer, other), (path, number))
    return problems


def module(path):
    """src/sched/core/search.cc -> core/search; None: not in a room, or a test."""
    match = re.match(r"(?:src/)?sched/(\w+)/(\w+)\.(?:h|cc)$", path)
    return None if match is None or path.endswith("_test.cc") else f"{match.group(1)}/{match.group(2)}"


def check_rooms(tree):
    problems, needs, first = [], {}, {}
    for path in tree.paths("src/sched", suffixes=(".h", ".cc")):
        own = module(path)
        if own is None:
            if not path.endswith("_test.cc"):
                problems.append((path, 0, f"is in no room of src/sched ({', '.join(ROOMS)})"))
            continue
        room = own.split("/")[0]
        if room not in ROOMS:
            problems.append((path, 0, f"src/sched/{room} is not a room ({', '.join(ROOMS)})"))
            continue
        for number, quoted, target in includes(tree.text(path)):
            other = module(target) if quoted else None
            if other is None or other == own or other.split("/")[0] not in ROOMS:
                continue
            if ROOMS[other.split("/")[0]] > ROOMS[room]:
                problems.append((path, number, f"room {room} (rank {ROOMS[room]}) may not include {target} "
                                               f"(rank {ROOMS[other.split('/')[0]]})"))
            needs.setdefault(own, set()).add(other)
            first.setdefault((own, other), (path, number))
    return problems + circles(needs, first)


def circles(needs, first):
    """A problem for each include that closes a circle of modules, unless all of it is in CORE."""
    problems, done, way = [], set(), []

    def visit(one):
        way.append(one)
        for other in sorted(needs.get(one, ())):
            if other in way:
                circle = way[way.index(other):]
                if not set(circle) <= CORE:
                    problems.append((*first[(one, other)], f"{' -> '.join(circle + [other])} is a circle of modules"))
            elif other not in done:
                visit(other)
        done.add(way.pop())

    for one in sorted(needs):
        if one not in done:
            visit(one)
    return problems


def check_public_header(tree, path):
    problems = []
    for number, quoted, target in includes(tree.text(path)):
        if quoted:
            problems.append((path, number, f'public headers include <weft/...> and the standard library, not "{target}"'))
        elif target.startswith("weft/") and not tree.exists("include/" + target):
            problems.append((path, number, f"<{target}> is not in include/"))
    return problems


def check_user(tree, path):
    """What tests/, examples/ and tools/ may include of src/."""
    problems = []
    kind = path.split("/")[0]
    for number, quoted, target in includes(tree.text(path)):
        if not quoted:
            continue
        beside = path.rsplit("/", 1)[0] + "/" + target
        if kind == "tests":
            allowed = tree.exists("tests/" + target) or tree.exists(beside) or path.startswith("tests/model/") or path == SEAM_POLICY
        elif kind == "tools":
            allowed = target == "trace/format.h" or tree.exists("tools/" + target) or tree.exists(beside) \
                or path.endswith("_test.cc") and (tree.exists("src/" + target) or tree.exists("tests/" + target))
        else:
            allowed = tree.exists(beside) or path.endswith(("_test.cc", "_fuzz.cc")) and tree.exists("tests/" + target)
        if not allowed or target.startswith("../") or "/../" in target:
            problems.append((path, number, f'{kind}/ may not include "{target}"'))
    return problems


def check(tree):
    problems, sideways = [], {}
    for path in tree.paths("src", suffixes=SOURCES):
        problems += check_src_file(tree, path, sideways)
    problems += check_rooms(tree)
    for path in tree.paths("include", suffixes=SOURCES):
        problems += check_public_header(tree, path)
    for path in tree.paths("tests", "examples", "tools", suffixes=SOURCES):
        problems += check_user(tree, path)
    for (layer, other), (path, number) in sorted(sideways.items()):
        if (other, layer) in sideways and layer < other:
            back = sideways[(other, layer)]
            problems.append((path, number, f"{layer} and {other} include each other (the other way: {back[0]}:{back[1]})"))
    return problems


def self_test():
    def tree(**changes):
        files = {"src/base/bits.h": "", "src/os/clock.h": '#include "base/bits.h"\n', "src/arch/context.h": "",
                 "src/trace/format.h": "", "src/sched/core/park.h": '#include "os/clock.h"\n', "src/sched/queue/ring.h": "",
                 "src/policy/batch.h": "",
                 "src/service/netpoll.h": '#include "sched/core/park.h"\n',
                 "src/service/netpoll_epoll.cc": '#include "service/netpoll.h"\n', "src/service/timer_heap.h": "",
                 "include/weft/go.h": "#include <vector>\n#include <weft/detail/x.h>\n", "include/weft/detail/x.h": "",
                 "include/weft/chan.h": "", "tests/stress/a_test.cc": '#include <weft/go.h>\n#include "support/x.h"\n',
                 "tests/support/x.h": "", "tools/weft/main.cc": '#include "trace/format.h"\n'}
        files.update({path: text for path, text in changes.items()})
        return lint.Tree(files=files)

    def one(path, include, *fragments):
        lint.expect(check(tree(**{path: f"#include {include}\n"})), *fragments)

    lint.expect(check(tree()))
    one("src/os/x.cc", '"sched/core/park.h"', "os (L1) may not include sched/core/park.h (L3)")
    one("src/base/x.cc", '"os/clock.h"', "base (L0) may not include")
    one("src/policy/x.cc", '"service/netpoll.h"', "may not include its peer")
    one("src/service/timer_heap.cc", '"service/netpoll.h"', "may not include its peer")
    one("src/service/netpoll_fake.cc", '"service/netpoll.h"')
    one("src/sched/core/x.cc", '"../os/clock.h"', "write the path from src/")
    one("src/sched/core/x.cc", '"sched/core/missing.h"', "is not a file of a layer")
    one("src/sched/core/x.cc", "<weft/chan.h>", "is below api")
    one("src/sched/core/x.cc", '"weft/go.h"')
    one("src/sched/core/x.cc", '"weft/chan.h"', "is below api")
    one("src/sched/core/x_test.cc", '"policy/batch.h"')
    one("src/extra/x.cc", "<vector>", "is not a layer")
    one("src/sched/core/x.cc", '"sched/queue/ring.h"')
    one("src/sched/queue/x.cc", '"sched/core/park.h"', "room queue (rank 0) may not include sched/core/park.h (rank 7)")
    one("src/sched/x.cc", "<vector>", "is in no room")
    one("src/sched/attic/x.cc", "<vector>", "attic is not a room")
    circle = {"src/sched/core/a.h": '#include "sched/core/b.h"\n', "src/sched/core/b.h": "",
              "src/sched/core/b.cc": '#include "sched/core/a.h"\n'}
    lint.expect(check(tree(**circle)), "core/a -> core/b -> core/a is a circle")
    lint.expect(check(tree(**{path.replace("/a.", "/dispatch.").replace("/b.", "/lease."):
                              text.replace("/a.", "/dispatch.").replace("/b.", "/lease.") for path, text in circle.items()})))
    one("include/weft/x.h", '"os/clock.h"', "public headers include")
    one("include/weft/x.h", "<weft/none.h>", "is not in include/")
    one("tests/stress/x_test.cc", '"os/clock.h"', "tests/ may not include")
    one("tests/model/x_test.cc", '"os/clock.h"')
    one("tools/weft/x.cc", '"os/clock.h"', "tools/ may not include")
    one("examples/x.cpp", '"os/clock.h"', "examples/ may not include")
    for name, fragments in (("x_fuzz.cc", ()), ("x.h", ("examples/ may not include",))):
        lint.expect(check(tree(**{"tests/support/a.h": "", "examples/x/" + name: '#include "support/a.h"\n'})), *fragments)
    lint.expect(check(tree(**{"src/os/a.cc": '#include "arch/context.h"\n'})))
    lint.expect(check(tree(**{"src/os/a.cc": '#include "arch/context.h"\n', "src/arch/b.cc": '#include "os/clock.h"\n'})),
                "arch and os include each other")


if __name__ == "__main__":
    sys.exit(lint.main("check_layers", check, self_test,
                       lambda tree: f"{len(tree.paths('src', 'include', suffixes=SOURCES))} files"))
