# SPDX-License-Identifier: MIT
"""Shared by the lints: the files of the tree, how to report, and the --self-test switch."""
import argparse
import os
import re
import sys

SKIPPED_DIRECTORIES = {".git", "build", "__pycache__", ".cache", ".vscode", ".idea"}


class Tree:
    """A source tree on disk, or a dictionary path -> text in self-tests."""

    def __init__(self, root=None, files=None):
        self.root = root
        self.files = files

    def paths(self, *prefixes, suffixes=()):
        return sorted(path for path in self._all()
                      if (not prefixes or path.startswith(tuple(prefix + "/" for prefix in prefixes)))
                      and (not suffixes or path.endswith(tuple(suffixes))))

    def _all(self):
        if self.files is not None:
            return list(self.files)
        if not hasattr(self, "_cache"):
            self._cache = []
            for directory, names, files in os.walk(self.root):
                names[:] = [name for name in names
                            if name not in SKIPPED_DIRECTORIES and not name.startswith("build-")]
                self._cache += [os.path.relpath(os.path.join(directory, file), self.root) for file in files]
        return self._cache

    def exists(self, path):
        if self.files is not None:
            return path in self.files
        return os.path.exists(os.path.join(self.root, path))

    def text(self, path):
        """The file's text, or None if it is not text."""
        if self.files is not None:
            return self.files[path]
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        if b"\0" in data:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return None


def without_strings(line):
    """The line with the contents of string literals blanked, so that patterns do not match inside them."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)


def main(name, check, self_test, summary):
    """check(tree) returns a list of (path, line number, message); summary(tree) says what was checked."""
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail, and on what")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        print(f"{name}: self-test passed")
        return 0
    tree = Tree(options.root)
    problems = check(tree)
    for path, line, message in problems:
        print(f"{path}:{line}: {message}" if line else f"{path}: {message}", file=sys.stderr)
    print(f"{name}: {summary(tree)}, {len(problems)} problems" if problems else f"{name}: {summary(tree)}, fine")
    return 1 if problems else 0


def expect(problems, *fragments):
    """For self-tests: exactly these problems, in order, each recognised by a part of its message."""
    messages = [message for _, _, message in problems]
    if len(messages) != len(fragments) or not all(part in text for part, text in zip(fragments, messages)):
        raise AssertionError(f"expected problems {list(fragments)}, got {messages}")
