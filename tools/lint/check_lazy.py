#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that a signal handler or a preemption check can reach is initialised at its first use.

A handler may interrupt the initialisation and reach the same place again. Then the thread waits for itself, for ever.
So in the layers below the API (base, arch, os, trace, sched, policy, service):

- a static variable of a function is `constexpr` or `constinit`, so that the compiler makes no guard;
- so is every `thread_local`, its declarations included, because otherwise each access asks whether it is initialised;
- call_once, pthread_once, dlsym and dlopen are refused.

Facts that are known only at run time are found when the runtime starts (sched::find_program_code,
os::find_unwinder_code). `// lazy: REASON` on the line, or in the comment right above, excuses a variable that no
handler and no check reaches, or that has no guard.

Unit tests are free.
"""
import re
import sys

import tree as lint

LAYERS = ("src/base", "src/arch", "src/os", "src/trace", "src/sched", "src/policy", "src/service")
SOURCES = (".h", ".cc")
EXCUSE = re.compile(r"//.*\blazy: \S")
LAZY_CALL = re.compile(r"\b(?:std::call_once|std::once_flag|pthread_once|dlsym|dlvsym|dlopen)\s*(?=[(<\s])")
CONSTANT = re.compile(r"\b(?:constexpr|constinit)\b")
# The text before the brace of a scope that is not a function's.
TYPE_OR_NAMESPACE = re.compile(r'^(?:template\b.*)?\s*(?:(?:inline\s+)?namespace\b|extern\s+""|'
                               r'(?:typedef\s+)?(?:class|struct|union|enum)\b)')
DECLARES_FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|final|->.*|\s)*$")


def strip_comments(text):
    """The text with comments and the contents of strings blanked, line for line."""
    def blank(match):
        found = match.group()
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return '""' + " " * (len(found) - 2) if found[0] == '"' else "' '" + " " * (len(found) - 3)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'',
                  blank, text, flags=re.S)


def statements(code):
    """(line number, in a function, text) of each text that ends in `;`, `{` or `}`. Macros count as functions."""
    scopes, text, first, number = [], "", 1, 1
    in_macro, at_line_start = False, True
    for index, char in enumerate(code):
        if at_line_start and not in_macro and re.match(r"[ \t]*#", code[index:index + 80]):
            in_macro, text = True, ""
            saved, scopes = scopes, ["function"]
        at_line_start = False
        if char == "\n":
            at_line_start = True
            number += 1
            if in_macro and not code[:index].endswith("\\"):
                yield first, True, text.strip()
                in_macro, text, scopes = False, "", saved
        if char not in ";{}":
            if not text.strip():
                first = number
            text += char if char not in "\n\\" else " "
            continue
        head = text.strip()
        in_function = bool(scopes) and scopes[-1] == "function"
        yield first, in_function, head
        if char == "{":
            # An initialiser's braces belong to the function or type around them, and hold no declarations.
            is_type = TYPE_OR_NAMESPACE.search(head) and not DECLARES_FUNCTION.search(head.split(":")[0])
            scopes.append("type" if is_type else "function")
        elif char == "}" and scopes:
            scopes.pop()
        text = ""


def problem_of(head, in_function):
    declaration = re.sub(r"^(?:(?:public|private|protected|default|case\b[^:]*|do|else|\w+)\s*:(?!:)\s*)+", "", head)
    if re.search(r"\bthread_local\b", declaration) and not CONSTANT.search(declaration):
        return "`thread_local` without `constinit`: it may be initialised at its first use"
    if in_function and re.match(r"(?:#\s*define\b.*\s)?static\s", declaration) and not CONSTANT.search(declaration):
        return "static variable of a function without `constinit`: it may be initialised at its first use"
    call = LAZY_CALL.search(declaration)
    if call and not re.match(r"(?:extern\b.*|void\*\s*)dl(?:v?sym|open)", declaration):
        return f"`{call.group().strip()}`: a handler may come in the middle of it"
    return None


def is_excused(lines, number):
    """`// lazy:` on the statement's first line, or in the comment above it."""
    if EXCUSE.search(lines[number - 1]):
        return True
    above = number - 2
    while above >= 0 and lines[above].lstrip().startswith("//"):
        if EXCUSE.search(lines[above]):
            return True
        above -= 1
    return False


def check(tree):
    problems = []
    for path in tree.paths(*LAYERS, suffixes=SOURCES):
        if path.endswith("_test.cc"):
            continue
        text = tree.text(path)
        lines = text.splitlines()
        for number, in_function, head in statements(strip_comments(text)):
            message = problem_of(head, in_function)
            if message and not is_excused(lines, number):
                problems.append((path, number, f"{message}; find it when the runtime starts, or say why not with "
                                               "`// lazy: REASON`"))
    return problems


def self_test():
    def one(text, *fragments, path="src/sched/x.cc"):
        lint.expect(check(lint.Tree(files={path: text})), *fragments)

    # The bug that led to this lint: sched/foreign_frames.cc, interrupted by a handler at its first call.
    one("FramesOnStack look_at_frames(const Goroutine* g) noexcept {\n"
        "  static const os::CodeRange program = os::code_around(&main);\n}\n", "static variable of a function")
    one("void f() {\n  static const bool is_static = getauxval(AT_BASE) == 0;\n}\n", "static variable of a function")
    one("int f() {\n  if (a) {\n    static int n;\n  }\n}\n", "static variable of a function")
    one("auto f = [] {\n  static Big one;\n};\n", "static variable of a function")
    one("#define SITE(name) \\\n  do { \\\n    static Site site(name); \\\n  } while (0)\nint x;\n", "static variable")
    one("#if A\nstatic int f(int);\n#endif\nstatic int g() { return 1; }\nstatic Big at_start;\n")
    one("int f() {\n  static constinit Atom<bool> told{false};\n  static constexpr int k = 3;\n}\n")
    one("struct A {\n  static int f(int a) noexcept;\n  static inline Atom<int> n{0};\n"
        "  static B g() { return {}; }\n};\n")
    one("class A final : public B {\n public:\n  static int f(int a) noexcept;\n  A() : a_{1} {}\n"
        "  static void g();\n};\n")
    one("template <class T>\nstruct A {\n  static T* find() noexcept;\n};\nenum class E : char { kOne, kTwo };\n")
    one("namespace weft {\nnamespace {\nstruct B { static int n(); };\n}\nstatic int m();\n}\n")
    one("thread_local Owner owner;\n", "thread_local")
    one("extern thread_local int x __attribute__((x));\n", "thread_local")
    one("thread_local constinit bool ended = false;\nextern thread_local constinit int x;\n")
    one("// Its destructor counts.\n// lazy: each thread touches it when it starts\nthread_local Owner owner;\n")
    one("thread_local Owner owner;  // lazy: each thread touches it when it starts\n")
    one("// lazy:\nthread_local Owner owner;\n", "thread_local")
    one("// lazy: something else\nint a;\nthread_local Owner owner;\n", "thread_local")
    one("void f() {\n  std::call_once(flag, g);\n}\n", "call_once")
    one("void f() {\n  p = dlsym(RTLD_NEXT, name);\n}\n", "dlsym")
    one("// A thread_local, a static const x = f(); and dlsym(a, b)\nchar s[] = \"static int n\";\n")
    one("void f() {\n  static const int n = g();\n}\n", path="src/sched/x_test.cc")
    one("void f() {\n  static const int n = g();\n}\n", path="src/api/x.cc")
    one("void f(char c) {\n  if (c == '{') g();\n}\nstruct A {\n  static int n();\n};\n")
    one("extern \"C\" {\nstatic int f(int);\n}\nvoid g() {\n  const int big = 1'000'000;\n  static A a{big};\n}\n",
        "static")


if __name__ == "__main__":
    sys.exit(lint.main("check_lazy", check, self_test,
                       lambda tree: f"{len(tree.paths(*LAYERS, suffixes=SOURCES))} files"))
