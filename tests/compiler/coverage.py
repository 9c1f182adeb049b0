#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every cycle in an object's machine code contains a preemption check.

Disassembles, draws each function's flow graph, takes out the checks and looks for a cycle in what is left. Jumps through
tables and pointers have no successors here: the cycles they close are found by running them (loops_test.cc). Loops that
the compiler makes after every plugin's pass, around a locked instruction or an exclusive store, are no loops of the
program: they end as soon as no other thread is in the way. A block copy written out as a loop is none either: compile
with -mstringop-strategy=libcall, -fno-jump-tables and -fno-reorder-blocks-and-partition."""
import argparse
import re
import subprocess
import sys

JUMP = re.compile(r"^(j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z|loop\w*)$")
ENDS = re.compile(r"^(ret|retq|jmp|jmpq|b|br|ud2|udf|brk|hlt)$")
CHECK = re.compile(r"cmp\s+%fs:0x70,%rsp|cmp\s+sp, x\d+")
NEVER_RETURNS = re.compile(r"__throw_|__cxa_(re)?throw|__cxa_call_unexpected|_Unwind_Resume|abort|terminate|longjmp|__stack_chk_fail")
HARDWARE_LOOP = re.compile(r"lock |cmpxchg|xchg|st[l]?xr|stxp|stlxp")


def functions(text):
    """(name, [(address, mnemonic, whole instruction)])"""
    name, body = None, []
    for line in text.splitlines():
        start = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
        if start:
            if body:
                yield name, body
            name, body = start.group(1), []
            continue
        relocation = re.match(r"^\s*[0-9a-f]+: R_\w+\s+(\S+)", line)
        if relocation and body:
            address, mnemonic, instruction = body[-1]
            if JUMP.match(mnemonic):  # to another function: the address shown is not the target
                body[-1] = (address, "ret" if ENDS.match(mnemonic) else "call", instruction)
            elif NEVER_RETURNS.search(relocation.group(1)):
                body[-1] = (address, "ret", instruction)
            continue
        found = re.match(r"^\s*([0-9a-f]+):\t\s*(.*)$", line)
        if found and found.group(2):
            words = found.group(2).split()
            while words and words[0] in ("bnd", "notrack", "lock", "rep", "repz", "repnz", "data16", "cs"):
                words.pop(0)
            body.append((int(found.group(1), 16), words[0] if words else "", found.group(2)))
    if body:
        yield name, body


def target(instruction):
    found = re.search(r"(?:^|[\s,])(?:0x)?([0-9a-f]+) <", instruction)
    return int(found.group(1), 16) if found else None


def successors(body):
    addresses = {address for address, _, _ in body}
    following = {}
    for index, (address, mnemonic, text) in enumerate(body):
        result = []
        if not ENDS.match(mnemonic) and index + 1 < len(body):
            result.append(body[index + 1][0])
        if JUMP.match(mnemonic) and target(text) in addresses:
            result.append(target(text))
        following[address] = result
    return following


def unchecked_cycle(body):
    """Addresses of a cycle without a check, or None."""
    skipped = {address for address, _, text in body if CHECK.search(text) or HARDWARE_LOOP.search(text)}
    following = successors(body)
    state = {}
    for root, _, _ in body:
        if root in state or root in skipped:
            continue
        path, stack = [root], [iter(following[root])]
        state[root] = 1
        while stack:
            step = next((step for step in stack[-1] if step not in skipped), None)
            if step is None:
                state[path.pop()] = 2
                stack.pop()
            elif state.get(step) == 1:
                return path[path.index(step):]
            elif step not in state:
                state[step] = 1
                path.append(step)
                stack.append(iter(following[step]))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()
    bad = count = checks = 0
    for path in options.objects:
        text = subprocess.run([options.objdump, "-dr", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
        for name, body in functions(text):
            count += 1
            checks += sum(bool(CHECK.search(instruction)) for _, _, instruction in body)
            cycle = unchecked_cycle(body)
            if cycle:
                bad += 1
                print("%s: a loop without a check in %s:" % (path, name))
                known = {address: instruction for address, _, instruction in body}
                for address in cycle[:30]:
                    print("  %x: %s" % (address, known[address]))
    print("%d functions, %d checks, %d with a loop that has none" % (count, checks, bad))
    return 1 if bad or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
