#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone, without warnings, and twice in one file; the public ones under a user's strict flags,
because a warning in a header is a warning in every program that includes it. Uses $CXX, or g++, or clang++."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

import tree as lint

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-"]
PUBLIC_FLAGS = ["-std=c++20", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast",
                "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wextra-semi", "-Wundef"]
PRIVATE_FLAGS = ["-std=gnu++20", "-DWEFT_DEBUG_CHECKS=1"]


def compiler():
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    sys.exit("check_headers: no C++ compiler found (g++ or clang++, or set CXX)")


def compile_alone(root, spelling):
    """Returns the first line of the compiler's complaint, or None. Assembly-only headers are still C++ headers."""
    text = f"#include {spelling}\n#include {spelling}\n"
    command = compiler() + ["-I", os.path.join(root, "include"), "-I", os.path.join(root, "src"),
                            "-I", os.path.join(root, "tests")]
    command += (PUBLIC_FLAGS if spelling.startswith("<") else PRIVATE_FLAGS) + FLAGS
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or ["failed"]
    return errors[0]


def check(tree):
    headers = [(path, f"<{path[len('include/'):]}>") for path in tree.paths("include", suffixes=(".h",))]
    headers += [(path, f'"{path.split("/", 1)[1]}"') for path in tree.paths("src", suffixes=(".h",))]
    headers += [(path, f'"{path.split("/", 1)[1]}"') for path in tree.paths("tests/support", suffixes=(".h",))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: (header[0], compile_alone(tree.root, header[1])), headers)
    return [(path, 0, f"does not compile alone: {error}") for path, error in results if error]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/base"))

        def one(text, *fragments):
            with open(os.path.join(root, "src/base/x.h"), "w", encoding="utf-8") as file:
                file.write(text)
            lint.expect(check(lint.Tree(root)), *fragments)

        one("#pragma once\n#include <vector>\ninline std::vector<int> f() { return {}; }\n")
        one("#pragma once\ninline std::vector<int> f() { return {}; }\n", "does not compile alone")
        one("struct Twice {};\n", "does not compile alone")


if __name__ == "__main__":
    sys.exit(lint.main("check_headers", check, self_test,
                       lambda tree: f"{len(tree.paths('include', 'src', suffixes=('.h',)))} headers"))
