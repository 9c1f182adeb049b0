#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py LIBWEFT_SO [--update]: the names that libweft.so shows, against tests/abi/names.txt.

A name that is gone, or a function whose parameters have changed (its name is another then), breaks programs that were
linked before: that is an error. New names are only told of; --update takes them, and removes what is gone, which is for
a version with another SONAME (docs/abi.md). Weak names, instances of templates and inline functions, are not promised."""
import os
import re
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.txt")


def shown(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {name.split("@")[0] for kind, name in re.findall(r" ([TDBRu]) (\S+)$", text, re.M)}


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return text.splitlines()


def main():
    arguments = [one for one in sys.argv[1:] if one != "--update"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    now = shown(arguments[0])
    if len(now) < 100 or "weft_morestack" not in now and os.uname().machine == "x86_64":
        sys.exit(f"{arguments[0]} shows {len(now)} names only: is it libweft.so?")
    if "--update" in sys.argv:
        with open(LIST, "w", encoding="utf-8") as file:
            file.writelines(name + "\n" for name in sorted(now))
        return 0
    with open(LIST, encoding="utf-8") as file:
        stored = set(file.read().split())
    gone, new = sorted(stored - now), sorted(now - stored)
    for name in demangled(gone) if gone else []:
        print("gone:", name)
    for name in demangled(new) if new else []:
        print("new:", name)
    if new:
        print(f"{len(new)} new names: tests/abi/check.py LIBWEFT_SO --update records them")
    if gone:
        print(f"{len(gone)} names are gone: programs that were linked before do not start. docs/abi.md says when that may be")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
