#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test-timeout: 300
# test-labels: serial
"""echo_server by socat, and with thousands of idle connections. Usage: echo_server.py EXECUTABLE [CASE...]"""
import os
import re
import resource
import select
import socket
import tempfile
import time

from support import PATIENCE, Server, Skip, equal, eventually, main, read_all, run, tool

ANY = "127.0.0.1:0"
IDLE = 9000


def serves_socat(program):
    socat = tool("socat")
    with Server(program, ANY) as server:
        text = b"".join(b"line %d\n" % i for i in range(20_000))
        equal(run(socat, "-t60", "-", "TCP:%s:%d" % server.address, input=text), text)


def echoes_while_the_client_sends_byte_by_byte(program):
    with Server(program, ANY) as server, server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(500):
            connection.sendall(bytes([i % 256]))
        connection.shutdown(socket.SHUT_WR)
        equal(read_all(connection), bytes(i % 256 for i in range(500)))


def traced(program, *options):
    """The server under strace. The tracer is the grandchild: the process is the server."""
    strace = tool("strace")
    try:
        run(strace, "-f", "-o", os.devnull, "true")
    except AssertionError:
        raise Skip("no process may be traced here") from None
    return Server(strace, "-D", "-f", "-qq", *options, program, ANY)


def with_faults(program, *faults):
    """The server, with system calls that fail as said (strace's inject=)."""
    calls = ",".join(dict.fromkeys(fault.partition(":")[0] for fault in faults))
    injections = [word for fault in faults for word in ("-e", "inject=" + fault)]
    return traced(program, "-o", os.devnull, "-e", "trace=" + calls, *injections)


def exchange(server, clients, rounds):
    connections = [server.connect() for _ in range(clients)]
    for number in range(rounds):
        for connection in connections:
            connection.sendall(b"message %d" % number)
        for connection in connections:
            wanted = b"message %d" % number
            got = b""
            while len(got) < len(wanted):
                part = connection.recv(len(wanted) - len(got))
                assert part, "the server closed a connection"
                got += part
            equal(got, wanted)
    for connection in connections:
        connection.close()


def skips_connections_that_are_gone_when_accepted(program):  # NP12
    for error in ("ECONNABORTED", "EPROTO"):
        with with_faults(program, f"accept4:error={error}:when=1+2") as server:
            exchange(server, 20, 3)
        assert "accept" not in server.errors, server.errors


def is_not_disturbed_by_interrupted_calls(program):  # F03, F33
    with with_faults(program, "epoll_pwait2:error=EINTR:when=3+2", "recvfrom:error=EINTR:when=2+3", "sendto:error=EINTR:when=2+3",
                     "accept4:error=EINTR:when=2+2", "read:error=EINTR:when=20+5") as server:
        exchange(server, 10, 50)


def survives_a_poller_that_has_no_room(program):  # F33
    for error in ("ENOMEM", "ENOSPC"):
        with with_faults(program, f"epoll_ctl:error={error}:when=6+4") as server:
            served = dropped = 0
            for _ in range(40):
                with server.connect() as connection:
                    try:
                        # Nothing to read yet, so the server has to register it; who is sent something may be served without that.
                        select.select([connection], [], [], 0.05)
                        connection.sendall(b"x")
                        got = connection.recv(1)
                    except (ConnectionResetError, BrokenPipeError):
                        got = b""
                    served, dropped = served + (got == b"x"), dropped + (got == b"")
            assert served >= 20 and dropped >= 5, f"{served} served, {dropped} dropped"
        assert re.search(r"accept: ", server.errors), server.errors


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))


def round_trips(connections, rounds):
    """Microseconds, sorted: all connections always have one message under way."""
    poller = select.epoll()
    by_number = {connection.fileno(): connection for connection in connections}
    message = b"x" * 100
    sent, times = {}, []
    for number, connection in by_number.items():
        poller.register(number, select.EPOLLIN)
        sent[number] = time.perf_counter()
        connection.sendall(message)
    while len(times) < rounds * len(connections):
        for number, _ in poller.poll(PATIENCE):
            got = by_number[number].recv(200)
            assert got == message, got  # so small a message comes in one piece
            now = time.perf_counter()
            times.append((now - sent[number]) * 1e6)
            sent[number] = now
            by_number[number].sendall(message)
    poller.close()
    for connection in connections:  # the last ones
        connection.recv(200)
    return sorted(times)


def hardly_asks_the_kernel_to_sleep_and_wake_while_there_is_work(program):  # A04: one in seven microseconds went into that
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "calls")
        with traced(program, "-c", "-o", path) as server:  # more work than it can do: each of its calls takes long
            round_trips([server.connect() for _ in range(50)], 100)

        def calls():
            with open(path, encoding="ascii") as file:
                return {fields[-1]: int(fields[3]) for fields in map(str.split, file) if len(fields) in (5, 6) and fields[3].isdigit()}
        eventually(lambda: calls().get("total", 0) > 0, "strace says nothing")
        counted = calls()
        total, sleeps = counted["total"], counted.get("futex", 0)
        print(f"         {sleeps} futex calls of {total}")
        assert total >= 2 * 50 * 100, f"{counted}: were they traced?"
        assert sleeps < total / 10, f"{sleeps} futex calls of {total}"


def carries_thousands_of_idle_connections(program):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < IDLE + 500:
        raise Skip(f"at most {hard} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, IDLE + 2000) if hard != resource.RLIM_INFINITY else IDLE + 2000, hard))
    with Server(program, ANY) as server:
        active = [server.connect() for _ in range(50)]
        alone = round_trips(active, 100)
        base, descriptors = resident_kib(server), server.descriptors()
        idle = [server.connect() for _ in range(IDLE)]
        eventually(lambda: server.descriptors() >= descriptors + IDLE, "not all are accepted")
        time.sleep(0.5)
        each = (resident_kib(server) - base) / IDLE
        crowded = round_trips(active, 100)

        def p99(times):
            return times[len(times) * 99 // 100]
        print(f"         {IDLE} idle connections: {each:.2f} KiB each; p99 of the active ones {p99(alone):.0f} us alone, "
              f"{p99(crowded):.0f} us beside them")
        assert p99(crowded) < 10 * max(p99(alone), 1000), "the idle ones are felt"
        if "ASAN_OPTIONS" not in os.environ and "TSAN_OPTIONS" not in os.environ and "UBSAN_OPTIONS" not in os.environ:
            assert each <= 8, f"an idle connection costs {each:.2f} KiB"
        for connection in active + idle:
            connection.close()
        eventually(lambda: server.descriptors() <= descriptors, "descriptors leak")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    main([serves_socat, echoes_while_the_client_sends_byte_by_byte, skips_connections_that_are_gone_when_accepted,
          is_not_disturbed_by_interrupted_calls, survives_a_poller_that_has_no_room,
          hardly_asks_the_kernel_to_sleep_and_wake_while_there_is_work, carries_thousands_of_idle_connections])
