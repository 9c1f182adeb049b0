#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compile_guide.py PAGE INCLUDE COMPILER: is every ```cpp block of the page a program, or the inside of a function?"""
import re
import subprocess
import sys

PROLOGUE = """\
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <weft/io.h>
#include <weft/net.h>
#include <weft/trace.h>
#include <weft/weft.h>
"""


def blocks(text):
    """(line, code) of each block."""
    for found in re.finditer(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start()) + 2, found.group(1)


def main():
    guide, include, *compiler = sys.argv[1:]
    with open(guide, encoding="utf-8") as file:
        text = file.read()
    failed = count = 0
    for line, code in blocks(text):
        count += 1
        where = '#line %d "%s"\n' % (line, guide)
        if code.startswith("#include"):
            code = where + code
        else:
            code = PROLOGUE + "void inside_of_a_function();\nvoid inside_of_a_function() {\n" + where + code + "}\n"
        command = [*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-fsyntax-only", "-I", include, "-x", "c++", "-"]
        result = subprocess.run(command, input=code, text=True, check=False)
        failed += result.returncode != 0
    print("%d pieces of code, %d do not compile" % (count, failed))
    sys.exit(1 if failed or count == 0 else 0)


main()
