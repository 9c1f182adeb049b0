#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the sources with .clang-format; --fix rewrites them. Not part of the test run, because versions of
clang-format differ in small things, and a machine with another version must not fail."""
import argparse
import os
import shutil
import subprocess
import sys

import tree as lint


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("files", nargs="*", help="default: all sources")
    options = parser.parse_args()
    tool = next((name for name in [f"clang-format-{version}" for version in range(24, 13, -1)] + ["clang-format"]
                 if shutil.which(name)), None)
    if not tool:
        sys.exit("check_format: clang-format not found: apt-get install clang-format-19")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    files = options.files or [os.path.join(root, path) for path in lint.Tree(root).paths(
        "src", "include", "tests", "tools", "examples", "bench", suffixes=(".h", ".cc", ".cpp"))]
    if not files:
        return 0
    if options.fix:
        return subprocess.call([tool, "-i", *files])
    differing = [file for file in files
                 if subprocess.run([tool, "--dry-run", "-Werror", file], capture_output=True, check=False).returncode]
    for file in differing:
        print(os.path.relpath(file, root))
    print(f"check_format: {len(files)} files, {len(differing)} differ ({tool}; --fix rewrites them)")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
