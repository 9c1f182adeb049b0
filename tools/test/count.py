#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""count.py JUNIT RESULTS FAILED: prints `passed failed skipped` of a ctest run and writes the failed names to FAILED.

An entry that left a GoogleTest report in RESULTS counts by its cases; an entry that died, hung, or has no report counts
as one.
"""
import os
import sys
import xml.etree.ElementTree as xml


def gtest_cases(path):
    """(passed, names of failed, skipped) of a GoogleTest report, or None if there is no complete one."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return None
    passed, failed, skipped = 0, [], 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None:
            failed.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.get("status") == "notrun" or case.get("result") in ("skipped", "suppressed"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    junit, results, failed_path = sys.argv[1:4]
    passed, failed, skipped = 0, [], 0
    try:
        entries = xml.parse(junit).getroot().iter("testcase")
    except (OSError, xml.ParseError) as error:
        entries = []
        failed.append(f"ctest left no result ({error})")
    for entry in entries:
        name, status = entry.get("name"), entry.get("status")
        cases = gtest_cases(os.path.join(results, name + ".xml"))
        if status == "disabled":
            skipped += 1
        elif status == "notrun" and entry.find("skipped") is not None:
            # The test skipped itself. An executable that could not be built is "notrun", too, but counts as a failure.
            message = entry.find("skipped").get("message", "")
            if "Unable to find executable" in message or "Could not find executable" in message:
                failed.append(f"{name} (not built)")
            else:
                skipped += 1
        elif cases:
            passed += cases[0]
            failed += [f"{name}: {case}" for case in cases[1]]
            skipped += cases[2]
            if status == "fail" and not cases[1]:
                failed.append(f"{name} (failed after its last case)")
        elif status == "run":
            passed += 1
        else:
            failed.append(name)
    with open(failed_path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in failed)
    print(passed, len(failed), skipped)


if __name__ == "__main__":
    main()
