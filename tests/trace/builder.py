# SPDX-License-Identifier: MIT
"""Small traces for the tests, written by hand: M 0 runs P 0, everything in one generation of version 1.23."""
NONE = 2**64 - 1
EVENTS = {"ProcStatus": 13, "GoCreate": 14, "GoStart": 16, "GoDestroy": 17, "GoStop": 19, "GoBlock": 20, "GoUnblock": 21,
          "GoSyscallBegin": 22, "GoSyscallEnd": 23, "GoStatus": 25, "STWBegin": 26, "STWEnd": 27, "GoLabel": 39, "UserTaskBegin": 40,
          "UserTaskEnd": 41, "UserRegionBegin": 42, "UserRegionEnd": 43, "UserLog": 44}


def number(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def batch(m, time, payload):
    return b"\x01" + number(1) + number(m) + number(time) + number(len(payload)) + payload


def trace(events, strings, stacks):
    """events: (name, dt, args...) in order; stacks: lists of (function string, file string, line)."""
    out, time, chunk, chunk_time = b"go 1.23 trace\0\0\0", 1000, b"", 1000
    for name, dt, *args in events:
        if len(chunk) > 60000:
            out, chunk, chunk_time = out + batch(0, chunk_time, chunk), b"", time
        chunk += bytes([EVENTS[name]]) + number(dt) + b"".join(map(number, args))
        time += dt
    out += batch(0, chunk_time, chunk)
    table = b"\x04"
    for i, text in enumerate(strings, 1):
        data = text if isinstance(text, bytes) else text.encode()
        table += b"\x05" + number(i) + number(len(data)) + data
    out += batch(NONE, 1000, table)
    table, pc = b"\x02", 1
    for i, frames in enumerate(stacks, 1):
        table += b"\x03" + number(i) + number(len(frames))
        for function, file, line in frames:
            table += number(pc) + number(function) + number(file) + number(line)
            pc += 1
    return out + batch(NONE, 1000, table) + batch(NONE, 1000, b"\x08" + number(1_000_000_000))


def conversation(name="worker"):
    """Goroutine 1 creates 2, which is preempted, calls, wakes 1 and ends."""
    return trace([("ProcStatus", 0, 0, 1), ("GoStatus", 0, 1, 0, 2), ("UserTaskBegin", 5, 1, 0, 7, 1), ("GoCreate", 1000, 2, 2, 1),
                  ("GoBlock", 1000, 1, 1), ("GoStart", 500, 2, 1), ("GoLabel", 10, 3), ("UserRegionBegin", 10, 1, 8, 1),
                  ("GoStop", 9000, 2, 1), ("GoStart", 5000, 2, 2), ("UserLog", 10, 1, 7, 3, 1), ("UserRegionEnd", 90, 1, 8, 1),
                  ("GoSyscallBegin", 100, 1, 1), ("GoSyscallEnd", 4000), ("GoUnblock", 2000, 1, 1, 1), ("GoDestroy", 400),
                  ("GoStart", 3000, 1, 2), ("STWBegin", 10, 9, 1), ("STWEnd", 700), ("UserTaskEnd", 5, 1, 1), ("GoDestroy", 7000)],
                 ["chan receive", "preempted", name, "main", "main.cpp", "work()", "task", "region", "set_maxprocs"],
                 [[(4, 5, 7)], [(6, 5, 3)]])


def ping_pong(rounds, names=None):
    """Goroutines 1 and 2 wake each other `rounds` times: six events a round."""
    names = names or ["ping", "pong"]
    events = [("ProcStatus", 0, 0, 1), ("GoStatus", 0, 1, 0, 2), ("GoLabel", 1, 2), ("GoCreate", 10, 2, 1, 2), ("GoBlock", 10, 1, 1),
              ("GoStart", 10, 2, 1), ("GoLabel", 1, 3)]
    sequence, running = {1: 0, 2: 1}, 2
    for _ in range(2 * rounds):
        other = 3 - running
        sequence[other] += 1
        events.append(("GoUnblock", 700, other, sequence[other], 1))
        events.append(("GoBlock", 50, 1, 1))
        sequence[other] += 1
        events.append(("GoStart", 60, other, sequence[other]))
        running = other
    return trace(events, ["chan receive", *names, "play()", "game.cpp", "main"], [[(4, 5, 9)], [(6, 5, 30)]])
