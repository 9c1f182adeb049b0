#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sources of one layer can be compiled together (WEFT_UNITY, which a first `weft run` uses).

So no two sources of a layer give the same name to different things in their anonymous namespaces: classes, variables,
constants, aliases, or functions with the same parameters. Functions that differ in their parameters are fine. Names are
read at the start of lines, as clang-format leaves them. Unit tests are free.
"""
import re
import sys

import tree as lint

LAYERS = ("base", "arch", "os", "trace", "sched", "policy", "service", "profile", "api", "insight", "runtime")
OPENS = re.compile(r"^namespace \{")
CLOSES = re.compile(r"^\}  // namespace$")
NAMED = re.compile(r"^namespace ([\w:]+) \{")
TYPE = re.compile(r"^(?:template <.*> )?(?:class|struct|union|enum|enum class|enum struct|using(?= \w+ =))(?: alignas\(.*?\))? (\w+)(?: final)?(?: :.*)?\s*(?:[{=;:]|$)")
FUNCTION = re.compile(r"^(?:[\w:<>,*&\[\] ]|\([^()]*\))*?[ *&](\w+)\((.*?)(?:\)|$)")
VARIABLE = re.compile(r"^(?:[\w:<>,*& ]|\([^()]*\))+?[ *&](\w+)(?:\[.*?\])*(?:\{| =|;)")
EXCUSED = ("src/api/errno_location.cc", "src/api/thread_locals.cc", "src/sched/state/scheduler.cc", "src/insight/site.cc")


def parameters(text):
    """The types, as far as they can be told: names and defaults go."""
    types = []
    for one in text.split(","):
        one = re.sub(r"=.*", "", one).strip()
        types.append(re.sub(r"(?<=[ *&])\w+$", "", one).strip().replace("* ", "*").replace("*", " *").replace("  ", " ") if " " in one or "*" in one or "&" in one else one)
    return ",".join(types)


def names(text):
    """(line number, namespace, name) of what anonymous namespaces hold."""
    inside, space = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if NAMED.match(line):
            space = NAMED.match(line).group(1)
        if OPENS.match(line):
            inside = True
        elif CLOSES.match(line):
            inside = False
        elif inside and re.match(r"[A-Za-z_]", line) and not re.match(r"(?:template|static_assert|asm|public|private|WEFT_|using \w+(?:::\w+)*;|using \w+::)\b", line):
            line = re.sub(r"^(?:\[\[\w+\]\] |__attribute__\(\(.*?\)\) )*", "", line)
            for pattern in (TYPE, VARIABLE, FUNCTION):
                found = pattern.match(line)
                if found:
                    forward = pattern is TYPE and line.rstrip().endswith(";") and not line.startswith("using")
                    if not forward:
                        yield number, space, found.group(1) + ("(" + parameters(found.group(2)) + ")" if pattern is FUNCTION else "")
                    break


def check(tree):
    problems = []
    for layer in LAYERS:
        seen = {}
        for path in tree.paths("src/" + layer, suffixes=(".cc",)):
            if path.endswith("_test.cc") or "_aarch64" in path or path in EXCUSED:
                continue
            for number, space, name in names(tree.text(path)):
                other = seen.setdefault((space, name), path)
                if other != path:
                    problems.append((path, number, f"`{name}` is also in {other}: the two cannot be compiled together; rename one"))
    return problems


def self_test():
    def two(first, second, *fragments):
        text = "namespace weft::os {\nnamespace {\n%s\n}  // namespace\n}\n"
        lint.expect(check(lint.Tree(files={"src/os/a.cc": text % first, "src/os/b.cc": text % second})), *fragments)

    for line, name in (("struct Search {", "Search"), ("class Walk final : public Base {", "Walk"),
                       ("constexpr int kPage = 4096;", "kPage"), ("CodeRange linker;", "linker"), ("using State = int;", "State"),
                       ("int look(int* at) {", "look(int *)"), ("constinit base::Atom<int> told{false};", "told"),
                       ("std::size_t sizes[kMost] = {};", "sizes")):
        two(line, line, "`%s` is also in src/os/a.cc" % name)
        two(line, "")
    two("int look(int* at) {", "int look(long at) {")
    two("int look(int* at) {", "int look(int* there) {", "`look(int *)`")
    two("struct Search;", "struct Search {")
    two("using sched::scheduler;", "using sched::scheduler;")
    two("  return look(at);", "  return look(at);")


def summary(tree):
    return "%d sources" % sum(1 for layer in LAYERS for path in tree.paths("src/" + layer, suffixes=(".cc",)) if not path.endswith("_test.cc"))


if __name__ == "__main__":
    sys.exit(lint.main("check_unity", check, self_test, summary))
