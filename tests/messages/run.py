#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py CASES INCLUDE COMPILER: does each compiler at hand say the one sentence of each case of CASES, first and alone, and briefly?

A case is what stands between its `// case: NAME` line and the next; it is compiled with what stands before the first case.
`// says: TEXT` is how the sentence begins, which is a static_assert's or the compiler's own. Without any case the rest must compile.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

MOST_LINES = 24  # of about 120 columns; std::invoke takes 20 to 80, and they are longer
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror=unused-result", "-fno-diagnostics-color"]


def cases_of(text):
    """What is common to all, its end, and (name, sentence, code, line) of each case."""
    parts = re.split(r"^ *// case: (\w+)\n *// says: (.+)\n", re.split(r" *// end\n", text)[0], flags=re.MULTILINE)
    common, end = parts[0], re.split(r" *// end\n", text)[1]
    line = common.count("\n") + 1
    cases = []
    for name, sentence, code in zip(parts[1::3], parts[2::3], parts[3::3]):
        cases.append((name, sentence, code, line + 2))
        line += 2 + code.count("\n")
    return common, end, cases


def compilers(chosen):
    """The chosen one and the other kind's newest, if there is one."""
    found = [chosen]
    version = subprocess.run([chosen, "--version"], capture_output=True, text=True, check=True).stdout
    others = ["g++"] if "clang" in version else ["clang++"] + ["clang++-%d" % n for n in range(25, 15, -1)]
    found += [other for other in others if shutil.which(other)][:1]
    return found


def judge(output, sentence):
    """What is wrong with what the compiler said."""
    errors = re.findall(r"^.*\berror: (.*)$", output, re.MULTILINE)
    if not errors:
        return "there is no error"
    if not re.match(r"(static assertion failed( due to requirement '.*')?: \"?)?" + re.escape(sentence), errors[0]):
        return "the first error is: " + errors[0]
    if len(errors) > 1:
        return "there are further errors: " + errors[1]
    if len(output.splitlines()) > MOST_LINES:
        return "it takes %d lines" % len(output.splitlines())
    return None


class Bench:
    """One compiler, with the common part's headers compiled before."""

    def __init__(self, compiler, include, directory):
        self.command = [compiler, *FLAGS, "-I", include]
        self.headers = os.path.join(directory, os.path.basename(compiler) + "_headers.h")

    def compile(self, code, *more):
        return subprocess.run([*self.command, *more, "-fsyntax-only", "-x", "c++", "-"], input=code, text=True,
                              capture_output=True, check=False)

    def precompile(self, includes):
        with open(self.headers, "w", encoding="utf-8") as file:
            file.write(includes)
        kind = ".pch" if "clang" in os.path.basename(self.command[0]) else ".gch"
        subprocess.run([*self.command, "-x", "c++-header", self.headers, "-o", self.headers + kind], check=True)

    def run(self, rest, end, case, path):
        name, sentence, code, line = case
        whole = rest + '#line %d "%s"\n' % (line, os.path.basename(path)) + code + end
        return name, sentence, self.compile(whole, "-include", self.headers).stderr


def main():
    path, include, chosen = sys.argv[1:4]
    with open(path, encoding="utf-8") as file:
        common, end, cases = cases_of(file.read())
    includes = "".join(re.findall(r"^#include .*\n", common, re.MULTILINE))
    rest = re.sub(r"^#include .*\n", "", common, flags=re.MULTILINE)
    failed = count = 0
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for compiler in compilers(chosen):
            bench = Bench(compiler, include, directory)
            bench.precompile(includes)
            right = bench.compile(rest + end, "-include", bench.headers)
            if right.returncode != 0:
                print("%s: what is common to all cases does not compile:\n%s" % (compiler, right.stderr))
                failed += 1
                continue
            for name, sentence, output in pool.map(lambda case: bench.run(rest, end, case, path), cases):
                count += 1
                wrong = judge(output, sentence)
                if wrong:
                    failed += 1
                    print("%s: %s: %s\n%s" % (compiler, name, wrong, output))
            print("%s: %d cases" % (compiler, len(cases)))
    sys.exit(1 if failed or count == 0 else 0)


main()
